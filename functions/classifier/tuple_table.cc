#include "functions/classifier/tuple_table.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "functions/classifier/image_table.h"
#include "functions/classifier/tuple_engine.h"

namespace heddle::classifier {
namespace {

size_t heads_bytes(const TupleWay& way) { return sizeof(uint64_t) << (64 - way.shift); }

size_t heads_bytes(std::span<const TupleWay> ways) {
  size_t bytes = 0;
  for (const TupleWay& way : ways) bytes += heads_bytes(way);
  return bytes;
}

}  // namespace

std::span<const std::byte> TupleTable::bytes() const {
  if (built_ == nullptr) {
    const Tables tables = now_();
    auto built = lay_out(tables);
    fill(*built, tables);
    built_ = std::move(built);
  }
  return {built_->memory.get(), built_->bytes};
}

std::unique_ptr<TupleTable::Built> TupleTable::lay_out(const Tables& tables) const {
  constexpr size_t kFewestIds = 4096, kFewestWays = 64, kMinHeads = size_t{256} << 10;
  Image image{};
  put_places(image, limits_.layout);
  image.no_match = limits_.no_match;
  auto built = std::make_unique<Built>();
  built->ids =
      static_cast<uint32_t>(std::min<size_t>(tables.ids + std::max<size_t>(tables.ids / 4, kFewestIds), kMaxRules));
  built->most_ways = static_cast<uint32_t>(std::max(2 * tables.ways.size(), kFewestWays));
  const size_t heads = heads_bytes(tables.ways);
  size_t end = sizeof image;
  const auto take = [&](size_t bytes) {
    const size_t start = (end + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
    end = start + bytes;
    return start;
  };
  image.ways = take(size_t{kLists} * built->most_ways * sizeof(ImageWay));
  built->next_heads = take(heads + std::max(heads / 4, kMinHeads));
  built->end_heads = end;
  image.checks = take(built->ids * places() * sizeof(TupleCheck));
  image.entries = take(built->ids * sizeof(TupleEntry));
  built->memory = map_huge_pages(end);
  built->bytes = end;
  std::memcpy(built->memory.get(), &image, sizeof image);
  return built;
}

/** Copies the table's heads into free room; returns where. */
uint64_t TupleTable::put_heads(Built& built, const TupleWay& way) {
  const uint64_t at = std::exchange(built.next_heads, built.next_heads + heads_bytes(way));
  std::memcpy(built.memory.get() + at, way.heads, heads_bytes(way));
  built.at[way.heads] = at;
  return at;
}

/** Writes the present list; returns where it is. The heads are in place. */
uint64_t TupleTable::put_list(Built& built, std::span<const TupleWay> ways) {
  const uint64_t at = built.image().ways + uint64_t{built.list} * built.most_ways * sizeof(ImageWay);
  auto* list = reinterpret_cast<ImageWay*>(built.memory.get() + at);
  for (const TupleWay& way : ways) *list++ = {way.mask, built.at.at(way.heads), way.best, way.shift, way.link};
  return at;
}

void TupleTable::fill(Built& built, const Tables& tables) const {
  for (const TupleWay& way : tables.ways) put_heads(built, way);
  put_list(built, tables.ways);
  Image& image = built.image();
  std::memcpy(built.memory.get() + image.entries, entries_, tables.ids * sizeof *entries_);
  if (checks_ != nullptr)
    std::memcpy(built.memory.get() + image.checks, checks_, tables.ids * places() * sizeof *checks_);
  image.tables = Image::tables_word(0, static_cast<uint32_t>(tables.ways.size()));
  image.moment = tables.version;
}

bool TupleTable::has_room(const Tables& tables) const {
  size_t heads = 0;
  for (const TupleWay& way : tables.ways)
    if (!built_->at.contains(way.heads)) heads += heads_bytes(way);
  return tables.ids <= built_->ids && tables.ways.size() <= built_->most_ways && built_->lists_used < kLists &&
         heads <= built_->end_heads - built_->next_heads;
}

void TupleTable::note_entry(uint32_t id) {
  if (built_ == nullptr || id >= built_->ids) return;
  const auto add = [&](uint64_t offset, const auto* from, size_t count) {
    for (size_t i = 0; i < count; ++i, offset += sizeof *from)
      first_.push_back({offset, from + i, static_cast<uint32_t>(sizeof *from)});
  };
  const Image& image = built_->image();
  add(image.entries + id * sizeof(TupleEntry), reinterpret_cast<const uint64_t*>(entries_ + id),
      sizeof(TupleEntry) / sizeof(uint64_t));
  const size_t check = id * places();
  if (checks_ != nullptr)
    add(image.checks + check * sizeof(TupleCheck), reinterpret_cast<const uint32_t*>(checks_ + check),
        places() * sizeof(TupleCheck) / sizeof(uint32_t));
}

void TupleTable::note_lane(const uint32_t& lane, Notes& notes) const {
  if (built_ == nullptr) return;
  const auto offset =
      static_cast<uint64_t>(reinterpret_cast<const std::byte*>(&lane) - reinterpret_cast<const std::byte*>(entries_));
  if (offset < built_->ids * sizeof(TupleEntry))
    notes.push_back({built_->image().entries + offset, &lane, sizeof lane});
}

void TupleTable::note(const uint64_t* heads, const uint64_t& head) {
  if (built_ == nullptr) return;
  const auto found = built_->at.find(heads);
  if (found == built_->at.end()) return;  // a new table's, which is copied as a whole
  rest_.push_back({found->second + static_cast<uint64_t>(&head - heads) * sizeof head, &head, sizeof head});
}

void TupleTable::make_room(const Tables& tables, bool anew) {
  if (built_ != nullptr && (anew || behind_ || !has_room(tables))) next_ = lay_out(tables);
}

void TupleTable::fall_behind() {
  first_.clear(), rest_.clear();
  next_ = nullptr;
  behind_ = built_ != nullptr;
}

/** Writes the words as they are now, here and on devices. */
void TupleTable::send(Notes& notes) const {
  std::vector<TableWord> words;
  words.reserve(notes.size());
  for (const auto& [offset, from, bytes] : notes) {
    TableWord& word = words.emplace_back(TableWord{offset, 0, bytes});
    std::memcpy(&word.value, from, bytes);  // the low bytes
    std::memcpy(built_->memory.get() + offset, from, bytes);
  }
  notes.clear();
  if (!words.empty()) changed(words);
}

void TupleTable::send_word(uint64_t offset, uint64_t value) const {
  std::memcpy(built_->memory.get() + offset, &value, sizeof value);
  const TableWord word{offset, value, sizeof value};
  changed({&word, 1});
}

void TupleTable::publish() {
  const Tables tables = now_();
  const bool with_ways = std::exchange(ways_changed_, false);
  if (next_ != nullptr) {
    fill(*next_, tables);
    built_ = std::move(next_);
    first_.clear(), rest_.clear();
    behind_ = false;
    return replaced();
  }
  if (behind_) return first_.clear(), rest_.clear();
  if (built_ == nullptr) return;
  Built& built = *built_;
  const auto sent = [&](uint64_t at, size_t bytes) { changed(at, {built.memory.get() + at, bytes}); };
  if (with_ways) {
    std::unordered_map<const uint64_t*, uint64_t> kept;
    for (const TupleWay& way : tables.ways) {
      if (!built.at.contains(way.heads)) sent(put_heads(built, way), heads_bytes(way));
      kept[way.heads] = built.at[way.heads];
    }
    built.at = std::move(kept);
    built.list = (built.list + 1) % kLists;
    ++built.lists_used;
    if (!tables.ways.empty()) sent(put_list(built, tables.ways), tables.ways.size() * sizeof(ImageWay));
  }
  send(first_);
  send(rest_);
  if (with_ways)
    send_word(offsetof(Image, tables),
              Image::tables_word(built.list * built.most_ways, static_cast<uint32_t>(tables.ways.size())));
  if (built.image().moment != tables.version) send_word(offsetof(Image, moment), tables.version);
}

}  // namespace heddle::classifier
