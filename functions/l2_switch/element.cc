#include <algorithm>
#include <map>
#include <random>
#include <sstream>

#include "click/arguments.h"
#include "core/error.h"
#include "core/load.h"
#include "core/text_file.h"
#include "functions/l2_switch/l2_switch.h"

namespace heddle {

using namespace l2_switch;
using cuckoo::hash_of;
using cuckoo::kKeyMask;

namespace {

uint64_t key_of(const uint8_t* address) {
  return uint64_t{__builtin_bswap32(load_u32(address))} << 16 | __builtin_bswap16(load_u16(address + 4));
}

uint64_t read_address(std::string_view text) {
  return key_of(click::value_of<click::EthernetAddress>(text).bytes.data());
}

std::string address_text(uint64_t key) {
  click::EthernetAddress address;
  for (size_t byte = 0; byte < 6; ++byte) address.bytes[byte] = static_cast<uint8_t>(key >> (40 - 8 * byte));
  return to_text(address);
}

}  // namespace

std::string L2Switch::add(const std::string& text) {
  std::istringstream words(text);
  std::string address, port, more;
  words >> address >> port;
  if (port.empty() || words >> more) return "expected ADDRESS PORT";
  click::EthernetAddress parsed;
  uint32_t number = 0;
  if (!click::parse(address, parsed)) return "'" + address.substr(0, 80) + "' is not " + click::expectation(parsed);
  if (port_count() == 0) return "no port is connected";
  if (!click::parse(port, number, 0u, port_count() - 1))
    return "'" + port.substr(0, 80) + "' is not a connected port, " + click::expectation(number, 0u, port_count() - 1);
  const uint64_t key = key_of(parsed.bytes.data());
  if (is_group(key)) return "'" + address + "' is a group address, to which all packets are flooded";
  if (!Writer(table_).set(hash_of(table_.image(), key), key, value_of(number, 0)))
    return format("the table is full (%zu entries, CAPACITY %zu)", table_.size(), table_.capacity());
  return "";
}

void L2Switch::read_file(const std::string& path, click::Arguments& arguments) {
  std::vector<std::string> errors;
  read_lines(path, read_text_file(path, "file of Ethernet addresses"), "#", errors,
             [this](std::string_view line) { return add(std::string(line)); });
  for (const std::string& error : errors) arguments.error(error);
}

void L2Switch::configure(click::Arguments& arguments) {
  size_t capacity = 65536;
  click::Duration timeout{timeout_us_};
  arguments.keyword("FILE", file_).keyword("CAPACITY", capacity, size_t{1}, size_t{100'000'000});
  arguments.keyword("TIMEOUT", timeout).keyword("LEARN", learn_);
  timeout_us_ = timeout.microseconds;
  if (port_count() > kMaxPorts) arguments.error(format("has %u ports; the most are %u", port_count(), kMaxPorts));
  std::random_device random;
  table_.reset(capacity, uint64_t{random()} << 32 | random(),
               owner_of(port_count(), learn_ ? tick_.load() : 0u, round_));
  if (!file_.empty()) read_file(file_, arguments);
  for (const auto& argument : arguments.rest())
    if (const std::string problem = add(argument.text); !problem.empty())
      arguments.error(argument, "an entry: " + problem);
}

Access L2Switch::access(Processor) const {
  Access access{.reads = {kEthDst}, .column_reads = columns(Column::paint)};
  if (learn_) access.reads.push_back(kEthSrc);
  return access;
}

std::span<const char* const> L2Switch::drop_reasons() const {
  static constexpr const char* kReasons[] = {"short", "same_port", "reserved"};
  return kReasons;
}

void L2Switch::start(const Environment&) {
  started_ = swept_ = Clock::now();
  has_started_ = true;
  if (on_cpu) table_.choose_form();
}

std::string L2Switch::choice() const {
  if (placed_on_gpu_) return {};
  if (!has_started_) table_.choose_form();
  return format("look-ups: %s, the fastest here in a full table", table_.form().name);
}

void L2Switch::take_state(Element& old_element) {
  auto& old = static_cast<L2Switch&>(old_element);
  old.hear_last();
  const bool same = file_.empty() && (predecessor == &old ? *this : old).same_arguments && outputs == old.outputs;
  if (!same && (!learn_ || timeout_us_ != old.timeout_us_)) return;
  started_ = old.started_, swept_ = old.swept_, tick_ = old.tick_.load(), next_swept_ = old.next_swept_;
  if (same) table_.swap_entries(old.table_);
  auto writer = Writer(table_);
  if (learn_) writer.set_owner(owner_of(port_count(), tick_, round_));
  if (same) return;
  old.table_.each([&](uint64_t word) {
    const uint64_t key = word & kKeyMask;
    const uint32_t hash = hash_of(table_.image(), key);
    if (tick_of(word) != 0 && port_of(word) < port_count() && table_.find(hash, key) == 0)
      writer.set(hash, key, value_of(port_of(word), tick_of(word)));
  });
}

void L2Switch::learn(Writer& writer, uint64_t address, uint32_t port, int thread) {
  const uint32_t hash = hash_of(table_.image(), address), now = tick_.load(std::memory_order_relaxed);
  const uint64_t word = table_.find(hash, address);
  if (!is_news(word, port, now)) return;  // others have told already
  if (!writer.set(hash, address, value_of(port, now)))
    not_learned_[thread].add(1, 0);
  else if (word == 0)
    learned_[thread].add(1, 0);
  else if (port_of(word) != port)
    moved_[thread].add(1, 0);
}

bool L2Switch::hear(Writer& writer, int thread, bool last) {
  bool heard = false;
  const uint64_t lost = news_.lost();
  const auto read = [this](size_t offset, std::span<std::byte> to) {
    return read_gpu_state(offsetof(News, ring) + offset, to);
  };
  news_.poll(
      read,
      [&](uint64_t news) {
        heard = true;
        learn(writer, address_in(news), port_in(news), thread);
      },
      last);
  events_lost_.fetch_add(news_.lost() - lost, std::memory_order_relaxed);
  return heard;
}

/** The GPU is going; another begins with no news. */
void L2Switch::hear_last() {
  if (!learn_ || !read_gpu_state) return;
  auto writer = Writer(table_);
  hear(writer, 0, true);
  news_ = {};
  read_gpu_state = nullptr;
}

std::string L2Switch::stop() {
  hear_last();
  return {};
}

void L2Switch::run_cpu(Batch& batch) {
  const uint32_t* paint = batch.column(Column::paint);
  uint16_t* next = batch.next();
  uint64_t keys[kGroup], words[kGroup];
  uint32_t hashes[kGroup];
  const auto look_up = [&](int n) {
    for (int i = 0; i < n; ++i) hashes[i] = hash_of(table_.image(), keys[i]);
    table_.lookup_bulk(hashes, keys, words, n);
  };
  for (int base = 0; base < batch.size(); base += kGroup) {
    const int n = std::min(kGroup, batch.size() - base);
    uint64_t too_short = 0, reserved = 0;
    for (int i = 0; i < n; ++i)
      if (batch.length(base + i) < kHeaderBytes)
        too_short |= uint64_t{1} << i;
      else if (is_reserved(key_of(batch.frame(base + i))))
        reserved |= uint64_t{1} << i;
    const auto is_short = [&](int i) { return (too_short >> i & 1) != 0; };
    const auto stays_here = [&](int i) { return (reserved >> i & 1) != 0; };
    if (learn_) {
      for (int i = 0; i < n; ++i) keys[i] = is_short(i) ? 0 : key_of(batch.frame(base + i) + 6);
      look_up(n);
      for (int i = 0; i < n; ++i)
        if (!is_short(i) && !stays_here(i) && !is_group(keys[i]) && paint[base + i] < port_count() &&
            is_news(words[i], paint[base + i], tick_.load(std::memory_order_relaxed)))
          if (auto writer = Writer::if_free(table_); writer)  // else the address's next packet will do
            learn(*writer, keys[i], paint[base + i], batch.thread);
    }
    for (int i = 0; i < n; ++i) keys[i] = is_short(i) ? 0 : key_of(batch.frame(base + i));
    look_up(n);
    for (int i = 0; i < n; ++i) {
      const uint32_t output = output_of(is_group(keys[i]) ? 0 : words[i], paint[base + i], port_count());
      next[base + i] = static_cast<uint16_t>(output);
      if (is_short(i))
        batch.drop(base + i, kShort);
      else if (stays_here(i))
        batch.drop(base + i, kReserved);
      else if (output == kStays)
        batch.drop(base + i, kSamePort);
    }
  }
}

/** The first thread moves the clock on, hears what the GPU tells, and lets it know both. */
void L2Switch::on_timer(int thread) {
  if (thread != 0) return;
  auto writer = Writer::if_free(table_);
  if (!writer) return;
  if (timeout_us_ != 0) age(*writer, Clock::now(), Ticks(static_cast<double>(timeout_us_) / 8));
  if (read_gpu_state && hear(*writer, thread, false)) round_ = round_ % kRounds + 1;
  writer->publish();
  const uint32_t owner = owner_of(port_count(), tick_.load(std::memory_order_relaxed), round_);
  if (owner != table_.owner()) writer->set_owner(owner);
}

/** As many buckets at a time as bring it round once a tick. */
void L2Switch::age(Writer& writer, Clock::time_point now, Ticks tick) {
  const auto ticks = static_cast<uint64_t>((now - started_) / tick);
  const auto current = static_cast<uint32_t>(1 + ticks % kTicks);
  tick_.store(current, std::memory_order_relaxed);
  const uint32_t buckets = table_.image().buckets;
  const double share = std::min(1.0, (now - swept_) / tick);
  swept_ = now;
  const auto is_old = [current](uint64_t word) {
    return tick_of(word) != 0 && (current + kTicks - tick_of(word)) % kTicks > 8;
  };
  for (uint32_t left = static_cast<uint32_t>(share * buckets) + 1; left > 0;) {
    const uint32_t last = std::min(buckets, next_swept_ + left);
    writer.remove_if(next_swept_, last, is_old);
    left -= last - next_swept_;
    next_swept_ = last == buckets ? 0 : last;
  }
}

std::string L2Switch::table_text() const {
  std::map<uint64_t, uint64_t> entries;
  table_.each([&](uint64_t word) { entries[word & kKeyMask] = word; });
  std::string text;
  for (const auto& [key, word] : entries)
    text += address_text(key) + " " + std::to_string(port_of(word)) + (tick_of(word) != 0 ? " learned\n" : "\n");
  return text;
}

void L2Switch::handlers(Handlers& list) {
  list.write("add",
             [this](const std::string& text) {
               if (const std::string problem = add(text); !problem.empty()) throw Error(problem);
             })
      .write("remove",
             [this](const std::string& text) {
               const uint64_t key = read_address(text);
               if (!Writer(table_).remove(hash_of(table_.image(), key), key))
                 throw Error("there is no entry for " + address_text(key));
             })
      .write("flush",
             [this](const std::string&) {
               Writer(table_).remove_if(0, table_.image().buckets, [](uint64_t word) { return tick_of(word) != 0; });
             })
      .read_with_argument("lookup",
                          [this](const std::string& text) {
                            const uint64_t key = read_address(text),
                                           word = table_.find(hash_of(table_.image(), key), key);
                            return word == 0 ? std::string("-1") : std::to_string(port_of(word));
                          })
      .read("table", [this] { return table_text(); })
      .read("form", [this] { return std::string(table_.form().name); })
      .read("count", [this] { return std::to_string(table_.size()); })
      .read("events_lost", [this] { return std::to_string(events_lost_.load()); });
}

std::vector<std::pair<std::string, uint64_t>> L2Switch::statistics() const {
  return {{"entries", table_.size()},
          {"learned", learned_.packets()},
          {"moved", moved_.packets()},
          {"not_learned", not_learned_.packets()},
          {"events_lost", events_lost_.load(std::memory_order_relaxed)}};
}

HEDDLE_ELEMENT(L2Switch);

}  // namespace heddle
