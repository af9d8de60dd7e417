// FlowCounter and RateLimiter: each has a word of the flow.

#include <algorithm>
#include <atomic>
#include <sstream>

#include "click/arguments.h"
#include "core/error.h"
#include "elements/ip6/addresses.h"
#include "functions/flow/flow.h"

namespace heddle {

namespace {

// FlowCounter's word: bytes in the low 36 bits, packets above. RateLimiter's: bucket.h.
constexpr int kByteBits = 36;
constexpr uint64_t kMaxBytes = (uint64_t{1} << kByteBits) - 1, kMaxPackets = (uint64_t{1} << (64 - kByteBits)) - 1;

constexpr uint32_t kMaxRate = 1000000;  // packets a second

flow::Key key_from(const std::string& text) {
  std::istringstream words(text);
  std::string source, destination, source_port, destination_port, protocol, more;
  if (!(words >> source >> destination >> source_port >> destination_port >> protocol) || words >> more)
    throw Error("expected SOURCE DESTINATION SOURCE_PORT DESTINATION_PORT PROTOCOL");
  const auto from = click::value_of<uint16_t>(source_port), to = click::value_of<uint16_t>(destination_port);
  const auto number = click::value_of<uint32_t>(protocol, 0u, 255u);
  if (source.find(':') == source.npos)
    return {click::value_of<click::Ipv4Address>(source).value, click::value_of<click::Ipv4Address>(destination).value,
            from, to, number};
  const Ip6 ends[] = {click::value_of<Ip6Argument>(source).address, click::value_of<Ip6Argument>(destination).address};
  return flow::Key::of_ip6(ends[0].data(), from, to, static_cast<uint8_t>(number));
}

}  // namespace

void FlowCounter::start(const Environment& environment) {
  check_place();
  if (on_gpu) places_.value = table_->places(environment.threads);
}

FlowCounter::Counts FlowCounter::counts_of(uint64_t word) { return {word >> kByteBits, word & kMaxBytes}; }

FlowCounter::Counts FlowCounter::sum(const flow::Entry& entry, const flow::PlaceCounts& on_gpu) const {
  const flow::Places& places = places_.value;
  const uint32_t generation = places.generation_in(places.column_of(0, entry.generation()));
  Counts counts = counts_of(entry.word(word_));
  if (flow::is_of(on_gpu.packets, generation))
    counts.packets = std::min(counts.packets + flow::count_in(on_gpu.packets), kMaxPackets);
  if (flow::is_of(on_gpu.bytes, generation))
    counts.bytes = std::min(counts.bytes + flow::count_in(on_gpu.bytes), kMaxBytes);
  return counts;
}

FlowCounter::Counts FlowCounter::counts_at(uint32_t place) const {
  flow::PlaceCounts on_gpu{};
  if (read_gpu_state) read_gpu_state(place * sizeof on_gpu, std::as_writable_bytes(std::span(&on_gpu, 1)));
  return sum(table_->entry(place), on_gpu);
}

FlowCounter::Counts FlowCounter::counts_of(const flow::Key& key) const {
  for (uint32_t place = table_->find(key); place != flow::kNoFlow;) {
    // Packet threads go on: if another flow gets the place meanwhile, the counts may be that one's.
    const uint32_t generation = table_->entry(place).generation();
    std::atomic_thread_fence(std::memory_order_acquire);
    const Counts counts = counts_at(place);
    std::atomic_thread_fence(std::memory_order_acquire);
    const uint32_t again = table_->find(key);
    if (again == place && table_->entry(place).generation() == generation) return counts;
    place = again;
  }
  return {};
}

void FlowCounter::bring_home(FlowTable& table) {
  std::vector<flow::PlaceCounts> on_gpu(places_.value.count);
  if (!read_gpu_state(0, std::as_writable_bytes(std::span(on_gpu)))) return;
  for (uint32_t place = 0; place < on_gpu.size(); ++place) {
    flow::Entry& entry = table.entry(place);
    const Counts all = sum(entry, on_gpu[place]);
    entry.set_word(word_, all.packets << kByteBits | all.bytes);
  }
}

void FlowCounter::take_state(Element& old_element) {
  auto& old = static_cast<FlowCounter&>(old_element);
  if (!shares_flows_with(old) || !old.read_gpu_state) return;
  // The flows are still in one table, or already in the other.
  for (FlowTable* table : {table_, old.table_}) old.bring_home(*table);
  old.read_gpu_state = nullptr;
}

void FlowCounter::run_cpu(Batch& batch) {
  const uint32_t* flows = batch.column(Column::flow);
  for (int i = 0; i < batch.size(); ++i) {
    flow::Entry& entry = flow_of(flows, i, batch.thread);
    const Counts before = counts_of(entry.word(word_));
    const uint64_t packets = std::min(before.packets + 1, kMaxPackets);
    const uint64_t bytes = std::min(before.bytes + batch.length(i), kMaxBytes);
    entry.set_word(word_, packets << kByteBits | bytes);
  }
}

void FlowCounter::handlers(Handlers& list) {
  list.read_with_argument("lookup", [this](const std::string& text) {
    const Counts counts = counts_of(key_from(text));
    return format("%llu %llu", static_cast<unsigned long long>(counts.packets),
                  static_cast<unsigned long long>(counts.bytes));
  });
}

void RateLimiter::configure(click::Arguments& arguments) {
  read_table(arguments);
  uint32_t rate = 1, burst = 32;
  arguments.required("RATE", rate, 1u, kMaxRate).keyword("BURST", burst, 1u, 65535u);
  limits_.value = {{}, rate, burst * flow::Bucket::kToken, 0};
}

std::span<const char* const> RateLimiter::drop_reasons() const {
  static constexpr const char* kReasons[] = {"rate"};
  return kReasons;
}

void RateLimiter::start(const Environment& environment) {
  check_place();
  limits_.value.places = table_->places(environment.threads);
  limits_.value.has_other_output = outputs > 1 ? 1 : 0;
}

void RateLimiter::take_state(Element& old_element) {
  auto& old = static_cast<RateLimiter&>(old_element);
  if (!(predecessor == &old ? *this : old).same_arguments) return;
  const uint32_t rate = limits_.rate();  // which `rate` may have changed
  limits_.set_rate(old.limits_.rate());
  old.limits_.set_rate(rate);
}

void RateLimiter::handlers(Handlers& list) {
  list.read("rate", [this] { return std::to_string(limits_.rate()); }).write("rate", [this](const std::string& text) {
    limits_.set_rate(click::value_of<uint32_t>(text, 1u, kMaxRate));
  });
}

void RateLimiter::run_cpu(Batch& batch) {
  const uint32_t *flows = batch.column(Column::flow), *ms = batch.column(Column::flow_ms);
  const flow::Limits limits{{}, limits_.rate(), limits_.value.most, 0};
  for (int i = 0; i < batch.size(); ++i) {
    flow::Entry& entry = flow_of(flows, i, batch.thread);
    flow::Bucket bucket = flow::Bucket::of(entry.word(word_), ms[i]);
    bucket.missing = std::min(bucket.missing, limits.most);  // it was larger in the configuration before
    if (!bucket.take(limits, ms[i])) {
      if (outputs > 1)
        batch.next()[i] = 1;
      else
        batch.drop(i, 0);
    }
    entry.set_word(word_, bucket.word());
  }
}

HEDDLE_ELEMENT(FlowCounter);
HEDDLE_ELEMENT(RateLimiter);

}  // namespace heddle
