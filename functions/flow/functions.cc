// FlowCounter, RateLimiter, LoadBalancer: each has a word of the flow.

#include <arpa/inet.h>

#include <algorithm>
#include <sstream>

#include "click/arguments.h"
#include "core/error.h"
#include "functions/flow/flow.h"
#include "functions/flow/rewrite.h"

namespace heddle {

namespace {

// FlowCounter: bytes in the low 36 bits, packets above.
constexpr int kByteBits = 36;
constexpr uint64_t kMostBytes = (uint64_t{1} << kByteBits) - 1, kMostPackets = (uint64_t{1} << (64 - kByteBits)) - 1;

// RateLimiter: low half: when the tokens were counted, in ms; upper half: thousandths of tokens, and 1 for a flow that has begun.
constexpr uint64_t kThousand = 1000;

flow::Key key_from(const std::string& text) {
  std::istringstream words(text);
  std::string source, destination, source_port, destination_port, protocol, more;
  if (!(words >> source >> destination >> source_port >> destination_port >> protocol) || words >> more)
    throw Error("expected SOURCE DESTINATION SOURCE_PORT DESTINATION_PORT PROTOCOL");
  return {click::value_of<click::Ipv4Address>(source).value, click::value_of<click::Ipv4Address>(destination).value,
          click::value_of<uint16_t>(source_port), click::value_of<uint16_t>(destination_port),
          click::value_of<uint32_t>(protocol, 0u, 255u)};
}

}  // namespace

const Element* FlowCounter::other_behind() const {
  std::vector<const Element*> found = {this};
  for (size_t at = 0; at < found.size(); ++at)
    for (const Element* next : found[at]->behind) {
      if (dynamic_cast<const FlowElement*>(next) != nullptr && dynamic_cast<const FlowCounter*>(next) == nullptr)
        return next;
      if (std::ranges::find(found, next) == found.end()) found.push_back(next);
    }
  return nullptr;
}

void FlowCounter::start(const Environment& environment) {
  if (!on_gpu) return;
  if (const Element* other = other_behind(); other != nullptr)
    throw Error("on a GPU it must stand behind '" + other->name +
                "', for flows may end while packets are there; give it DEVICE cpu, or move it");
  places_.value = table_->places(environment.threads);
}

FlowCounter::Counts FlowCounter::counts_of(uint64_t word) { return {word >> kByteBits, word & kMostBytes}; }

FlowCounter::Counts FlowCounter::sum(const flow::Entry& entry, const flow::PlaceCounts& on_gpu) const {
  const flow::Places& places = places_.value;
  const uint32_t generation = places.generation_in(places.column_of(0, entry.generation()));
  Counts counts = counts_of(entry.word(word_));
  if (flow::is_of(on_gpu.packets, generation))
    counts.packets = std::min(counts.packets + flow::count_in(on_gpu.packets), kMostPackets);
  if (flow::is_of(on_gpu.bytes, generation))
    counts.bytes = std::min(counts.bytes + flow::count_in(on_gpu.bytes), kMostBytes);
  return counts;
}

FlowCounter::Counts FlowCounter::counts_at(uint32_t place) const {
  flow::PlaceCounts on_gpu{};
  if (read_gpu_state) read_gpu_state(place * sizeof on_gpu, std::as_writable_bytes(std::span(&on_gpu, 1)));
  return sum(table_->entry(place), on_gpu);
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
    const uint64_t packets = std::min(before.packets + 1, kMostPackets);
    const uint64_t bytes = std::min(before.bytes + batch.length(i), kMostBytes);
    entry.set_word(word_, packets << kByteBits | bytes);
  }
}

void FlowCounter::handlers(Handlers& list) {
  list.read_with_argument("lookup", [this](const std::string& text) {
    const uint32_t place = table_->find(key_from(text));
    const Counts counts = place == flow::kNoFlow ? Counts{} : counts_at(place);
    return format("%llu %llu", static_cast<unsigned long long>(counts.packets),
                  static_cast<unsigned long long>(counts.bytes));
  });
}

void RateLimiter::configure(click::Arguments& arguments) {
  read_table(arguments);
  arguments.required("RATE", rate_, 1u, 1000000u).keyword("BURST", burst_, 1u, 65535u);
}

std::span<const char* const> RateLimiter::drop_reasons() const {
  static constexpr const char* kReasons[] = {"rate"};
  return kReasons;
}

void RateLimiter::run_cpu(Batch& batch) {
  const uint32_t* flows = batch.column(Column::flow);
  const uint64_t most = burst_ * kThousand;
  const uint32_t wall = FlowTable::now_ms();
  for (int i = 0; i < batch.size(); ++i) {
    flow::Entry& entry = flow_of(flows, i, batch.thread);
    const uint64_t word = entry.word(word_);
    uint32_t now = table_->time_of(batch.packet(i), wall);
    uint64_t tokens = most;
    if (word != 0) {
      // A millisecond brings as many thousandths as a second brings tokens. Captures may be a little out of order.
      const auto before = static_cast<uint32_t>(word);
      if (static_cast<int32_t>(now - before) < 0) now = before;
      tokens = std::min((word >> 33) + uint64_t{now - before} * rate_, most);
    }
    if (tokens >= kThousand) {
      tokens -= kThousand;
    } else if (outputs > 1) {
      batch.next()[i] = 1;
    } else {
      batch.drop(i, 0);
    }
    entry.set_word(word_, tokens << 33 | uint64_t{1} << 32 | now);
  }
}

void LoadBalancer::configure(click::Arguments& arguments) {
  read_table(arguments);
  for (const auto& argument : arguments.rest()) {
    click::Ipv4Address server;
    if (!arguments.read(argument.text, server)) arguments.error(argument, "an IPv4 address");
    servers_.push_back(htonl(server.value));
  }
  if (servers_.empty() || servers_.size() > 65535) arguments.error("expected 1 to 65535 servers");
}

Access LoadBalancer::access(Processor) const {
  using enum Base;
  return {.reads = {{l3, 0, 20}, {l4, 0, 20}},
          .writes = {{l3, 10, 12}, {l3, 16, 20}, {l4, 6, 8}, {l4, 16, 18}},
          .column_reads = columns(Column::flow, Column::l3, Column::l4),
          .column_writes = columns(Column::dst)};
}

void LoadBalancer::run_cpu(Batch& batch) {
  const uint32_t *flows = batch.column(Column::flow), *l3 = batch.column(Column::l3), *l4 = batch.column(Column::l4);
  uint32_t* dst = batch.column(Column::dst);
  uint32_t& next = turns_[static_cast<size_t>(batch.thread)].next;
  for (int i = 0; i < batch.size(); ++i) {
    flow::Entry& entry = flow_of(flows, i, batch.thread);
    uint64_t word = entry.word(word_);  // the server's number, from 1
    if (word == 0) {
      word = next + 1;
      next = next + 1 == servers_.size() ? 0 : next + 1;
      entry.set_word(word_, word);
    }
    const uint32_t server = servers_[(word - 1) % servers_.size()];
    const Packet* packet = batch.packet(i);
    flow::Headers headers;
    if (dst != nullptr) dst[i] = server;
    if (flow::headers_at(batch.frame(i), length(packet), l3[i] - packet->data_off, l4[i] - packet->data_off, headers))
      headers.set_address(16, server);
  }
}

HEDDLE_ELEMENT(FlowCounter);
HEDDLE_ELEMENT(RateLimiter);
HEDDLE_ELEMENT(LoadBalancer);

}  // namespace heddle
