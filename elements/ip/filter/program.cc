#include "elements/ip/filter/program.h"

#include <algorithm>

#include "core/columns.h"
#include "core/error.h"
#include "elements/ip/filter/graph.h"

namespace heddle::ip_filter {
namespace {

/** The big-endian number in the four bytes at `at`; those from `bytes` on count as 0. */
uint32_t word_within(const uint8_t* at, uint32_t bytes) {
  uint32_t word = 0;
  for (uint32_t i = 0; i < 4; ++i) word = word << 8 | (i < bytes ? at[i] : 0);
  return word;
}

uint32_t checked_word(const Program::Step& step, const Headers& packet) {
  const auto offset = static_cast<uint32_t>(step.offset);
  switch (step.base) {
    case Test::kNetworkBytes:
      return packet.network_bytes;
    case Test::kTransportBytes:
      return packet.transport_bytes;
    case Test::kNetwork:
      if (offset >= packet.network_bytes) return 0;
      return word_within(packet.network + offset, packet.network_bytes - offset);
    case Test::kTransport:
      if (offset >= packet.transport_bytes) return 0;
      return word_within(packet.network + packet.transport + offset, packet.transport_bytes - offset);
  }
  return 0;
}

std::string target(int32_t next) {
  if (next >= 0) return format("step %d", next);
  return ~next >= kDrop ? "[X]" : format("[%d]", ~next);
}

}  // namespace

Program::Program(const std::vector<Rule>& rules, uint16_t otherwise, bool with_lengths) {
  const Graph graph = in_order(without_known_answers(make_graph(rules, otherwise, with_lengths)));
  start_ = graph.start;
  network_bytes_ = graph.network_bytes, transport_bytes_ = graph.transport_bytes;
  for (auto& node : graph.nodes) {
    const Test& test = graph.tests[static_cast<size_t>(node.test)];
    const bool transport = test.base == Test::kTransport;
    steps_.push_back({test.mask,
                      test.low,
                      test.high - test.low,
                      {node.next[0], node.next[1]},
                      static_cast<int16_t>(test.offset),
                      test.base,
                      transport ? ~0u : 0});
    if (test.about_length()) continue;
    uint32_t& bytes = transport ? transport_bytes_ : network_bytes_;
    bytes = std::max(bytes, static_cast<uint32_t>(test.offset) + 4);
  }
}

uint16_t Program::run_checked(const Headers& packet) const {
  int32_t at = start_;
  while (at >= 0) {
    const Step& step = steps_[static_cast<size_t>(at)];
    at = step.next[(checked_word(step, packet) & step.mask) - step.low <= step.span];
  }
  return static_cast<uint16_t>(~at);
}

std::string Program::text() const {
  // Click counts the IPv4 header from 256 and the transport header from 512.
  if (start_ < 0)
    return (~start_ >= kDrop ? "all->[X]\n" : "all->" + target(start_) + "\n") + "safe length 0\nalignment offset 0\n";
  std::string text;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    const int offset = step.offset + (step.base == Test::kTransport ? 512 : 256);
    text += format("%2zu %3d/%08x", i, offset, step.low);
    if (step.span != 0) text += format("-%08x", step.low + step.span);
    text += format("%%%08x  yes->", step.mask) + target(step.next[1]) + "  no->" + target(step.next[0]) + "\n";
  }
  const uint32_t safe = transport_bytes_ > 0 ? 512 + transport_bytes_ : 256 + network_bytes_;
  return text + format("safe length %u\nalignment offset 0\n", safe);
}

}  // namespace heddle::ip_filter
