#include "elements/ip/ip_filter.h"

#include "click/arguments.h"
#include "click/quoting.h"
#include "core/error.h"
#include "elements/ip/filter/parser.h"

namespace heddle {
namespace {

using ip_filter::Mistake;
using ip_filter::Word;

/** Reports a mistake at its place: that of the argument, moved on by the text before it. */
void report(click::Arguments& arguments, const click::Argument& argument, size_t number, const Mistake& mistake) {
  click::Argument wrong{mistake.word, argument.where};
  if (click::unquote(argument.text) == argument.text)
    for (const char c : argument.text.substr(0, mistake.at)) {
      ++wrong.where.column;
      if (c == '\n') ++wrong.where.line, wrong.where.column = 1;
    }
  arguments.error(wrong, mistake.expected + format(" (pattern %zu, character %zu)", number, mistake.at + 1));
}

/** The output or drop that an action means. */
uint16_t verdict_of(const Word& action, int outputs, uint16_t denied) {
  int port = 0;
  if (action.text == "deny" || action.text == "drop") return denied;
  const bool named = action.text == "allow" || action.text == "pass";
  if (!named && !click::parse(action.text, port, 0, 65535))
    throw Mistake{action.at, std::string(action.text),
                  "an action; expected allow, pass, deny, drop or the number of an output" +
                      click::suggestion(action.text, {"allow", "pass", "deny", "drop"})};
  if (port >= outputs)
    throw Mistake{action.at, std::string(action.text),
                  format("possible here: output %d is not connected; expected one of %d outputs", port, outputs)};
  return static_cast<uint16_t>(port);
}

}  // namespace

void IPFilter::configure(click::Arguments& arguments) { compile(arguments, arguments.rest(), true); }

void IPFilter::compile(click::Arguments& arguments, const std::vector<click::Argument>& texts, bool with_actions) {
  const click::AddressNames names = arguments.names();
  std::vector<ip_filter::Rule> rules;
  size_t number = 0;
  bool good = true;
  for (auto& argument : texts) {
    const std::string text = click::unquote(argument.text);
    const std::vector<Word> words = ip_filter::split(text);
    try {
      if (words.empty())
        throw Mistake{0, "", with_actions ? "a rule such as 'allow tcp'" : "a pattern such as 'tcp' or '-'"};
      const uint16_t verdict =
          with_actions ? verdict_of(words[0], outputs, kDrop | kDenied) : static_cast<uint16_t>(number);
      rules.push_back({ip_filter::parse(words, with_actions ? 1 : 0, text.size(), names), verdict});
    } catch (const Mistake& mistake) {
      report(arguments, argument, number, mistake);
      good = false;
    }
    ++number;
  }
  if (number == 0 && !with_actions) {
    arguments.error("missing patterns; expected one an output, such as 'tcp port 80'");
    good = false;
  }
  if (!good) return;
  try {
    any_length_ = ip_filter::Program(rules, kDrop | kNoMatch, true);
    program_ = ip_filter::Program(rules, kDrop | kNoMatch, false);
  } catch (const Error& error) {
    arguments.error(error.what());
  }
}

Access IPFilter::access(Processor) const {
  Access access{.column_reads = columns(Column::l3, Column::l4)};
  for (int i = 0; i < any_length_.count(); ++i) {
    const auto& step = any_length_.step(i);
    if (step.base >= ip_filter::Test::kNetworkBytes) continue;
    const Base base = step.base == ip_filter::Test::kTransport ? Base::l4 : Base::l3;
    for (int byte = 0; byte < 4; ++byte)
      if (step.mask >> (24 - 8 * byte) & 0xff)
        access.reads.push_back({base, step.offset + byte, step.offset + byte + 1});
  }
  return access;
}

std::span<const char* const> IPFilter::drop_reasons() const {
  static constexpr const char* kReasons[] = {"no_match", "short", "denied"};
  return kReasons;
}

void IPFilter::handlers(Handlers& list) {
  list.read("program", [this] { return program_.text(); });
}

void IPFilter::run_cpu(Batch& batch) {
  const uint32_t* l3 = batch.column(Column::l3);
  const uint32_t* l4 = batch.column(Column::l4);
  ip_filter::BatchRun run(program_, batch.next(), program_.start());
  for (int i = 0; i < batch.size(); ++i) {
    const Packet* packet = batch.packet(i);
    const uint32_t end = packet->data_off + length(packet);
    if (l3[i] == 0 || l3[i] + 20 > end) {
      batch.drop(i, kShort);
      continue;
    }
    const bool has_transport = l4[i] >= l3[i] && l4[i] < end;
    const ip_filter::Headers headers{static_cast<const uint8_t*>(packet->buf_addr) + l3[i], end - l3[i],
                                     has_transport ? l4[i] - l3[i] : 0, has_transport ? end - l4[i] : 0, l3[i]};
    if (headers.network_bytes < program_.network_bytes() || headers.transport_bytes < program_.transport_bytes() ||
        headers.before < program_.bytes_before()) {
      batch.next()[i] = any_length_.run_checked(headers);
      continue;
    }
    run.add(i, headers);
  }
}

HEDDLE_ELEMENT(IPFilter);

}  // namespace heddle
