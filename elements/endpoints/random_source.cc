#include "elements/endpoints/random_source.h"

#include <cstring>

#include "click/arguments.h"

namespace heddle {

void RandomSource::configure(click::Arguments& arguments) {
  uint32_t bytes = 0;
  int64_t limit = limit_;
  int burst = burst_;
  bool active = active_;
  arguments.required("LENGTH", bytes, 0u, kMaxPacketBytes).optional("LIMIT", limit);
  arguments.optional("BURST", burst, 1, kMaxAtOnce).optional("ACTIVE", active);
  configure_end(arguments);
  bytes_ = bytes, limit_ = limit, burst_ = burst, active_ = active;
}

void RandomSource::start(const Environment& environment) {
  Generator::start(environment);
  random_.seed(environment.seed_of(*this, 0));
}

void RandomSource::make(Batch& batch, int n) {
  const uint32_t bytes = bytes_.load(std::memory_order_relaxed);
  const int first = batch.size();
  n = append_packets(batch, n, bytes);
  for (int i = first; i < first + n; ++i) {
    uint8_t* const frame = batch.frame(i);
    for (uint32_t at = 0; at < bytes; at += sizeof(uint64_t)) {
      const uint64_t word = random_();
      std::memcpy(frame + at, &word, std::min<size_t>(sizeof word, bytes - at));
    }
  }
}

void RandomSource::handlers(Handlers& list) {
  Bursts::handlers(list);
  list.read("length", [this] { return std::to_string(bytes_.load()); })
      .write("length",
             [this](const std::string& value) { bytes_ = click::value_of<uint32_t>(value, 0u, kMaxPacketBytes); });
}

HEDDLE_ELEMENT(RandomSource);

}  // namespace heddle
