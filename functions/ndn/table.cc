#include "functions/ndn/table.h"

#include "core/columns.h"
#include "core/error.h"
#include "functions/ndn/name.h"

namespace heddle::ndn {

using cuckoo::CuckooTable;
using cuckoo::kValueShift;

void NameTable::reset(size_t capacity, uint64_t seed, uint32_t offset, uint16_t data) {
  hashes_.reset(capacity, seed, 0, {offset, data});
  outputs_.clear();
  std::fill(std::begin(counts_), std::end(counts_), 0);
}

NameTable::Place NameTable::place_of(const std::string& wire) const {
  Place place{};
  const HostBytes bytes{reinterpret_cast<const uint8_t*>(wire.data())};
  visit_prefixes(bytes, 0, static_cast<uint32_t>(wire.size()), hashes_.image().seed, ~0u,
                 [&](int, uint64_t key, uint32_t hash) {
                   place = {key, hash};
                 });
  return place;
}

/** Keeps Image::owner. */
void NameTable::count(int components, int more) {
  size_t& count = counts_[components];
  count += static_cast<size_t>(more);
  const uint32_t bit = 1u << components, before = hashes_.owner();
  const uint32_t after = count > 0 ? before | bit : before & ~bit;
  if (after != before) CuckooTable::Writer(hashes_).set_owner(after);
}

void NameTable::set(const std::string& wire, int components, uint16_t output) {
  const auto [key, hash] = place_of(wire);
  const auto found = outputs_.find(wire);
  if (found == outputs_.end() && hashes_.find(hash, key) != 0)
    throw Error("the name " + name_text(wire) + " collides with another; start again, with other random numbers");
  if (!CuckooTable::Writer(hashes_).set(hash, key, static_cast<uint16_t>(output + 1)))
    throw Error(format("the table is full (%zu names, CAPACITY %zu)", size(), hashes_.capacity()));
  if (found == outputs_.end()) count(components, 1);
  outputs_[wire] = {components, output};
}

bool NameTable::remove(const std::string& wire) {
  const auto found = outputs_.find(wire);
  if (found == outputs_.end()) return false;
  const auto [key, hash] = place_of(wire);
  CuckooTable::Writer(hashes_).remove(hash, key);
  count(found->second.components, -1);
  outputs_.erase(found);
  return true;
}

void NameTable::clear() {
  CuckooTable::Writer(hashes_).remove_if(0, hashes_.image().buckets, [](uint64_t) { return true; });
  CuckooTable::Writer(hashes_).set_owner(0);
  outputs_.clear();
  std::fill(std::begin(counts_), std::end(counts_), 0);
}

std::optional<uint16_t> NameTable::find(const std::string& wire) const {
  const auto found = outputs_.find(wire);
  if (found == outputs_.end()) return std::nullopt;
  return found->second.output;
}

void Group::look_up(const NameTable& table, const uint8_t* const* packets, const uint32_t* lengths, uint16_t* next,
                    int n) {
  const CuckooTable& hashes = table.hashes();
  const uint64_t seed = hashes.image().seed;
  const uint32_t offset = hashes.image().constants[0], wanted = table.lengths();
  const auto data = static_cast<uint16_t>(hashes.image().constants[1]);
  int first[kGroup + 1] = {};  // of each packet's look-ups; they follow one another, the shortest name first
  for (int i = 0; i < n; ++i) {
    const HostBytes bytes{packets[i]};
    int count = first[i];
    Tlv name;
    const Kind kind = find_name(bytes, offset, lengths[i], name);
    next[i] = static_cast<uint16_t>(kDrop | kMalformed);
    if (kind == Kind::fragment) next[i] = static_cast<uint16_t>(kDrop | kIsFragment);
    if (kind == Kind::interest || kind == Kind::data) {
      const bool right =
          visit_prefixes(bytes, name.value, name.end, seed, wanted,
                         [&](int, uint64_t key, uint32_t hash) { keys_[count] = key, hashes_[count] = hash, ++count; });
      if (right) next[i] = kind == Kind::data ? data : static_cast<uint16_t>(kDrop | kNoRoute);
      if (!right || kind == Kind::data) count = first[i];
    }
    first[i + 1] = count;
  }
  hashes.lookup_bulk(hashes_, keys_, words_, first[n]);
  for (int i = 0; i < n; ++i)
    for (int k = first[i + 1]; k > first[i]; --k)
      if (words_[k - 1] != 0) {
        next[i] = static_cast<uint16_t>((words_[k - 1] >> kValueShift) - 1);
        break;
      }
}

}  // namespace heddle::ndn
