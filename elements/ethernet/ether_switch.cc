#include "elements/ethernet/ether_switch.h"

#include <bit>
#include <cstring>

#include "click/arguments.h"

namespace heddle {
namespace {
constexpr uint64_t kAddress = 0xffffffffffff;

/** Whether a frame is to an address that bridges do not forward to (IEEE 802.1D, 7.12.6). */
bool is_reserved(const uint8_t* frame) {
  static constexpr uint8_t kGroup[5] = {0x01, 0x80, 0xc2, 0x00, 0x00};
  return std::memcmp(frame, kGroup, sizeof kGroup) == 0 && frame[5] < 16;
}

}  // namespace

void EtherSwitch::configure(click::Arguments& arguments) {
  click::Duration timeout{300'000'000};
  arguments.keyword("TIMEOUT", timeout).keyword("CAPACITY", capacity_, 1u, 1u << 24);
  timeout_s_ = static_cast<uint32_t>(std::min<uint64_t>((timeout.microseconds + 999'999) / 1'000'000, 1u << 30));
  if (inputs != outputs)
    arguments.error(format("has %d inputs and %d outputs; a port is one of each", inputs, outputs));
  if (outputs == 1) arguments.error("has one port; a switch has two or more");
}

Access EtherSwitch::access(Processor) const {
  return {.reads = {{Base::head, 0, 12}}, .column_reads = columns(Column::input)};
}

std::span<const char* const> EtherSwitch::drop_reasons() const {
  static constexpr const char* kReasons[] = {"same_port", "short", "bad_source", "reserved"};
  return kReasons;
}

void EtherSwitch::start(const Environment& environment) {
  mask_ = std::bit_ceil((capacity_ + kWays - 1) / kWays) - 1;
  entries_ = std::make_unique<Entry[]>(size_t{mask_ + 1} * kWays);
  threads_ = std::make_unique<Thread[]>(static_cast<size_t>(environment.threads));
  for (int thread = 0; thread < environment.threads; ++thread)
    threads_[static_cast<size_t>(thread)].ports = std::make_unique<int[]>(static_cast<size_t>(environment.batch_size));
}

uint64_t EtherSwitch::address_at(const uint8_t* at) {
  uint64_t address = 0;
  std::memcpy(&address, at, 6);
  return address;
}

EtherSwitch::Entry* EtherSwitch::ways(uint64_t address) const {
  const uint64_t hash = address * 0x9e3779b97f4a7c15u;
  return &entries_[size_t{static_cast<uint32_t>(hash >> 40) & mask_} * kWays];
}

// Threads may learn at once: an entry is one word, and what the other one wrote is learnt again from the next frame.
void EtherSwitch::learn(uint64_t address, uint32_t port, uint32_t now_s) {
  const uint64_t word = address | uint64_t{port} << 48 | uint64_t{1} << 56;
  Entry* group = ways(address);
  Entry* place = group;
  for (uint32_t way = 0; way < kWays; ++way) {
    const uint64_t there = group[way].word.load(std::memory_order_relaxed);
    if ((there & kAddress) == address && there != 0) {
      place = &group[way];
      break;
    }
    const auto since = [&](const Entry& entry) {
      return entry.word.load(std::memory_order_relaxed) == 0 ? UINT32_MAX
                                                             : now_s - entry.heard_s.load(std::memory_order_relaxed);
    };
    if (since(group[way]) > since(*place)) place = &group[way];
  }
  if (place->heard_s.load(std::memory_order_relaxed) != now_s) place->heard_s.store(now_s, std::memory_order_relaxed);
  if (place->word.load(std::memory_order_relaxed) != word) place->word.store(word, std::memory_order_relaxed);
}

void EtherSwitch::take_over(uint64_t word, uint32_t heard_s) {
  Entry* group = ways(word & kAddress);
  Entry* place = group;
  for (uint32_t way = 0; way < kWays; ++way) {
    if (group[way].word == 0 || ((group[way].word ^ word) & kAddress) == 0) {
      place = &group[way];
      break;
    }
    if (group[way].heard_s < place->heard_s) place = &group[way];
  }
  if (place->word != 0 && place->heard_s > heard_s) return;
  place->word = word, place->heard_s = heard_s;
}

void EtherSwitch::take_state(Element& old_element) {
  const auto& old = static_cast<const EtherSwitch&>(old_element);
  for (size_t i = 0; i < size_t{old.mask_ + 1} * kWays; ++i) {
    const uint64_t word = old.entries_[i].word;
    if (word != 0 && static_cast<int>(word >> 48 & 0xff) < outputs) take_over(word, old.entries_[i].heard_s);
  }
}

bool EtherSwitch::is_old(const Entry& entry, uint32_t now_s) const {
  const uint32_t timeout = timeout_s_.load(std::memory_order_relaxed);
  const uint32_t age = now_s - entry.heard_s.load(std::memory_order_relaxed);
  return timeout != 0 && age > timeout && age < 0x80000000;
}

int EtherSwitch::port_of(uint64_t address, uint32_t now_s) const {
  const Entry* group = ways(address);
  for (uint32_t way = 0; way < kWays; ++way) {
    const uint64_t word = group[way].word.load(std::memory_order_relaxed);
    if ((word & kAddress) != address || word == 0) continue;
    return is_old(group[way], now_s) ? -1 : static_cast<int>(word >> 48 & 0xff);
  }
  return -1;
}

void EtherSwitch::run_cpu(Batch& batch) {
  Thread& here = threads_[static_cast<size_t>(batch.thread)];
  const auto now_s = static_cast<uint32_t>(here.clock.now_ms() / 1000);
  const uint32_t* input = batch.column(Column::input);
  int kept = 0;  // of those that are not dropped, as copies_to() sees them
  for (int i = 0; i < batch.size(); ++i) {
    const uint8_t* frame = batch.frame(i);
    if (batch.length(i) < 14) {
      batch.drop(i, kShort);
      continue;
    }
    if ((frame[6] & 1) != 0) {
      batch.drop(i, kBadSource);
      continue;
    }
    if (is_reserved(frame)) {
      batch.drop(i, kReserved);
      continue;
    }
    learn(address_at(frame + 6), input[i], now_s);
    const int port = (frame[0] & 1) != 0 ? -1 : port_of(address_at(frame), now_s);
    if (port == static_cast<int>(input[i])) {
      batch.drop(i, kSamePort);
      continue;
    }
    here.ports[kept++] = port;
  }
}

int EtherSwitch::copies_to(Batch& batch, int output, uint16_t* which) {
  const auto& ports = threads_[static_cast<size_t>(batch.thread)].ports;
  const uint32_t* input = batch.column(Column::input);
  int count = 0;
  for (int i = 0; i < batch.size(); ++i) {
    const int port = ports[i];
    which[count] = static_cast<uint16_t>(i);
    count += (port < 0 ? output != static_cast<int>(input[i]) : output == port) ? 1 : 0;
  }
  return count;
}

void EtherSwitch::handlers(Handlers& list) {
  list.read("table",
            [this] {
              std::string text;
              const auto now_s = static_cast<uint32_t>(now_ms() / 1000);
              for (size_t i = 0; entries_ && i < size_t{mask_ + 1} * kWays; ++i) {
                const uint64_t word = entries_[i].word;
                if (word == 0 || is_old(entries_[i], now_s)) continue;
                click::EthernetAddress address;
                std::memcpy(address.bytes.data(), &word, 6);
                text += to_text(address) + format(" %d\n", static_cast<int>(word >> 48 & 0xff));
              }
              return text;
            })
      .read("timeout", [this] { return std::to_string(timeout_s_.load()); })
      .write("timeout",
             [this](const std::string& text) { timeout_s_ = click::value_of<uint32_t>(text, 0u, 1u << 30); });
}

HEDDLE_ELEMENT(EtherSwitch);

}  // namespace heddle
