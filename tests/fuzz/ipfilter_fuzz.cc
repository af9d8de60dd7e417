// The filter compiler and its programs on any bytes: a line of text is the pattern, what follows it a packet. Both
// programs of a pattern must agree wherever both apply, and neither may read outside the packet.

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "core/error.h"
#include "elements/ip/filter/parser.h"
#include "elements/ip/filter/program.h"

using namespace heddle::ip_filter;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t line = std::min(input.find('\n'), size);
  const std::string_view text = input.substr(0, line);
  Program checked, fast;
  try {
    std::vector<Rule> rules;
    rules.push_back({parse(split(text), 0, text.size()), 0});
    checked = Program(rules, 1, true);
    fast = Program(rules, 1, false);
  } catch (const Mistake& mistake) {
    if (mistake.at > text.size()) abort();
    return 0;
  } catch (const heddle::Error&) {
    return 0;
  }
  if (checked.text().empty()) abort();

  // Every packet that is long enough for an IPv4 header, in memory that ends with it; an Ethernet header before it or
  // not.
  const std::string_view rest = input.substr(std::min(line + 1, size));
  if (rest.size() < 20) return 0;
  const auto bytes = static_cast<uint32_t>(rest.size());
  const uint32_t before = rest.back() % 2 == 0 ? 0 : heddle::ip_filter::Test::kLinkBytes;
  const std::unique_ptr<uint8_t[]> memory(new uint8_t[before + bytes]);
  uint8_t* const packet = memory.get() + before;
  std::copy(rest.begin(), rest.begin() + before, memory.get());
  std::copy(rest.begin(), rest.end(), packet);
  const uint32_t transport = (packet[0] & 15u) * 4;
  const bool there = transport < bytes;
  const Headers headers{packet, bytes, there ? transport : 0, there ? bytes - transport : 0, before};
  const uint16_t verdict = checked.run_checked(headers);
  if (verdict > 1) abort();
  if (bytes < fast.network_bytes() || headers.transport_bytes < fast.transport_bytes() || before < fast.bytes_before())
    return 0;
  Headers together[Program::kTogether];
  uint16_t verdicts[Program::kTogether];
  std::fill(std::begin(together), std::end(together), headers);
  fast.run(together, verdicts, fast.start());
  for (const uint16_t found : verdicts)
    if (found != verdict) abort();
  return 0;
}
