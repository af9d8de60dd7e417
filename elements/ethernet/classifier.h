#pragma once

#include <vector>

#include "core/argument_handlers.h"
#include "core/element.h"
#include "elements/ip/filter/program.h"

namespace heddle {

/** Classifier: sends packets to outputs by their bytes.
 *
 *      Classifier(PATTERN_0, PATTERN_1, ...)
 *
 *  A packet leaves by the output of the first pattern that it matches. A pattern is a list of clauses that must all
 *  match, "OFFSET/VALUE" or "OFFSET/VALUE%MASK": from byte OFFSET on the packet has the bytes VALUE (hexadecimal
 *  digits, "?" matches any), where MASK has ones. "!" before a clause reverses it. "-" matches every packet. Clauses
 *  that lie behind the end of a packet do not match (nor do reversed ones). Packets that match no pattern are dropped
 *  ("no_match"). One output a pattern, at most 256.
 *
 *  Handlers: `program` (r): the tests into which the patterns were compiled, a line each, in Click's format: offset,
 *  value, mask, and where the packet goes on: a step, [output] or [X], a drop. `pattern0`, `pattern1`, ... (rw): the
 *  patterns; writing one reconfigures the chain, as writing `config` does.
 *
 *  Example, IPv4, ARP, and the rest:
 *
 *      FromDump(in.pcap) -> c :: Classifier(12/0800, 12/0806 20/0001, -);
 *      c[0] -> ToDump(ip.pcap); c[1] -> ToDump(arp_requests.pcap); c[2] -> Discard;
 */
class Classifier : public Element, public HasArgumentHandlers {
 public:
  void configure(click::Arguments& arguments) override;
  bool can_live_reconfigure() const override { return true; }
  const char* ports() const override { return ports_.c_str(); }
  const char* processing() const override { return "h/h"; }
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;
  const char* argument_handlers() const override { return "pattern"; }

 private:
  struct Clause {
    int offset;
    std::vector<uint8_t> value, mask;
    bool reversed;
    bool matches(const uint8_t* frame, uint32_t length) const;
  };
  using Pattern = std::vector<Clause>;
  static bool parse_clause(std::string_view text, Clause& clause);
  void compile();
  uint16_t compare(const uint8_t* frame, uint32_t length) const;
  /** Classifies packets [first, end), at most Program::kMaxAgreeing. */
  void classify(Batch& batch, int first, int end);

  std::vector<Pattern> patterns_;
  ip_filter::Program program_;  // of frames that are as long as all patterns together
  uint32_t bytes_ = 0;          // how long that is
  std::string ports_ = "1/1-";
};

}  // namespace heddle
