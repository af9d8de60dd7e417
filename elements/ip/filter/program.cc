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
    case Test::kLink:
      return packet.before < Test::kLinkBytes ? 0 : word_within(packet.network + step.offset, 4);
    case Test::kBytesBefore:
      return packet.before;
  }
  return 0;
}

}  // namespace

Program::Program(const std::vector<Rule>& rules, uint16_t otherwise, bool with_lengths) {
  const Graph graph = in_order(without_known_answers(make_graph(rules, otherwise, with_lengths)));
  network_bytes_ = graph.network_bytes, transport_bytes_ = graph.transport_bytes;
  bytes_before_ = graph.bytes_before;
  count_ = static_cast<int32_t>(graph.nodes.size());
  const auto place = [&](int32_t target) {
    if (target >= 0) return target;
    const auto wanted = static_cast<uint16_t>(~target);
    const auto found = std::find(verdicts_.begin(), verdicts_.end(), wanted);
    const auto end = static_cast<int32_t>(found - verdicts_.begin());
    if (found == verdicts_.end()) verdicts_.push_back(wanted);
    return count_ + end;
  };
  start_ = place(graph.start);
  for (auto& node : graph.nodes) {
    const Test& test = graph.tests[static_cast<size_t>(node.test)];
    const bool transport = test.base == Test::kTransport, link = test.base == Test::kLink;
    steps_.push_back({test.mask,
                      test.low,
                      test.high - test.low,
                      {place(node.next[0]), place(node.next[1])},
                      static_cast<int16_t>(test.offset - (link ? Test::kLinkBytes : 0)),
                      test.base,
                      transport ? ~0u : 0});
    if (test.about_length() || link) continue;
    uint32_t& bytes = transport ? transport_bytes_ : network_bytes_;
    bytes = std::max(bytes, static_cast<uint32_t>(test.offset) + 4);
  }
  for (int32_t end = count_; end < count_ + static_cast<int32_t>(verdicts_.size()); ++end)
    steps_.push_back({0, 0, 0, {end, end}, 0, Test::kNetwork, 0});
}

uint16_t Program::run_checked(const Headers& packet) const {
  int32_t at = start_;
  while (at < count_) {
    const Step& step = steps_[static_cast<size_t>(at)];
    at = step.next[(checked_word(step, packet) & step.mask) - step.low <= step.span];
  }
  return verdict(at);
}

std::string Program::text(int network) const {
  const auto target = [&](int32_t place) {
    if (place < count_) return format("step %d", place);
    return verdict(place) >= kDrop ? "[X]" : format("[%d]", verdict(place));
  };
  if (start_ >= count_) return "all->" + target(start_) + "\nsafe length 0\nalignment offset 0\n";
  // Click counts the Ethernet header from 0, the IPv4 header from 256 and the transport header from 512.
  std::string text;
  int safe = 0;  // a packet of so many bytes has all that are asked about
  for (int i = 0; i < count_; ++i) {
    const Step& test = step(i);
    const int offset = test.offset + (test.base == Test::kTransport ? 512
                                      : test.base == Test::kLink    ? Test::kLinkBytes
                                                                    : network);
    if (test.mask != 0) safe = std::max(safe, offset + 4 - __builtin_ctz(test.mask) / 8);
    text += format("%2d %3d/%08x", i, offset, test.low);
    if (test.span != 0) text += format("-%08x", test.low + test.span);
    text += format("%%%08x  yes->", test.mask) + target(test.next[1]) + "  no->" + target(test.next[0]) + "\n";
  }
  return text + format("safe length %d\nalignment offset 0\n", safe);
}

}  // namespace heddle::ip_filter
