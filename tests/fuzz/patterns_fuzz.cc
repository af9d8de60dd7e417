// AhoCorasick's files of any bytes: what is accepted keeps its bounds, is read again as it is, and a payload that is a
// pattern has a match in the automaton that packets of its protocol and port are searched by.

#include <cstdlib>
#include <string_view>

#include "functions/aho_corasick/table.h"

using namespace heddle::aho_corasick;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<std::string> errors;
  std::vector<PatternLine> lines = parse_patterns("patterns", {reinterpret_cast<const char*>(data), size}, errors);
  if (errors.size() > 101) abort();
  if (lines.size() > 64) lines.resize(64);
  std::string text;
  errors.clear();
  for (const PatternLine& line : lines) {
    if (line.bytes.empty() || line.bytes.size() > 255 || line.port < kAnyPort || line.port > 65535) abort();
    if (line.port != kAnyPort && line.protocol != Protocol::tcp && line.protocol != Protocol::udp) abort();
    text += line.text + "\n";
  }
  const std::vector<PatternLine> again = parse_patterns("again", text, errors);
  if (!errors.empty() || again.size() != lines.size()) abort();
  const Generation made(lines, 0, 1);
  const Image& image = made.automata.image();
  Automata::Batch batch;
  for (size_t i = 0; i < lines.size(); ++i) {
    const PatternLine& line = lines[i];
    if (again[i].protocol != line.protocol || again[i].port != line.port || again[i].bytes != line.bytes) abort();
    const bool has_port = line.port != kAnyPort;
    const Protocol protocol = line.protocol == Protocol::ip ? Protocol::icmp : line.protocol;
    const auto port = static_cast<uint32_t>(has_port ? line.port : 0);
    const Text payload{reinterpret_cast<const uint8_t*>(line.bytes.data()), static_cast<uint32_t>(line.bytes.size()),
                       image.automaton_of(protocol, has_port, port, port)};
    Match first{};
    made.automata.find_first({&payload, 1}, &first, batch);
    if (first.pattern >= lines.size() || first.end > line.bytes.size()) abort();
    if (line.bytes.find(lines[first.pattern].bytes) == std::string::npos) abort();
  }
  return 0;
}
