#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/load.h"
#include "elements/ip/filter/expression.h"

namespace heddle::ip_filter {

/** Where a packet's headers are. */
struct Headers {
  const uint8_t* network;    ///< at least 20 bytes
  uint32_t network_bytes;    ///< from there to the packet's end
  uint32_t transport;        ///< offset of the transport header from `network`
  uint32_t transport_bytes;  ///< from there to the packet's end; 0 if it lies behind that
  uint32_t before = 0;       ///< bytes that may be read before the network header
};

/** A rule: packets that match `pattern` and no rule before get `verdict`, a value of Batch::next(). */
struct Rule {
  Expression pattern;
  uint16_t verdict;
};

/** A decision program: a graph of tests without cycles, each with a step for yes and one for no. */
class Program {
 public:
  struct Step {
    uint32_t mask, low, span;  // yes if (word & mask) - low <= span, unsigned
    int32_t next[2];           // [0] no, [1] yes: a step, or from count() on an end
    int16_t offset;            // of the word; from the network header if it is one of the link's
    Test::Base base;
    uint32_t transport;  // all ones if `offset` counts from the transport header, else 0
  };

  Program() = default;
  /** Verdict of packets that match no rule: `otherwise`. Throws Error if the program would be too large.
   *  `with_lengths`: asks for lengths, too, so that it is right for packets of any length; without, only for packets
   *  with network_bytes(), transport_bytes() and bytes_before(). */
  Program(const std::vector<Rule>& rules, uint16_t otherwise, bool with_lengths);

  uint32_t network_bytes() const { return network_bytes_; }
  uint32_t transport_bytes() const { return transport_bytes_; }
  uint32_t bytes_before() const { return bytes_before_; }
  int count() const { return count_; }  ///< tests
  const Step& step(int i) const { return steps_[static_cast<size_t>(i)]; }

  /** Where packets begin: a step, or from count() on an end. */
  int32_t start() const { return start_; }
  uint16_t verdict(int32_t end) const { return verdicts_[static_cast<size_t>(end - count_)]; }

  static constexpr int kMaxAgreeing = 64;
  /** How far `n` packets, at most kMaxAgreeing, come with the same answers: the first step that they answer
   *  differently, or the end of all. They have at least the bytes that the program looks at; `word(i, step)`: the four
   *  that a step looks at in packet i, as they lie. */
  template <class Word>
  int32_t agreement(int n, const Word& word) const {
    uint32_t words[kMaxAgreeing];
    const Step* read = nullptr;  // for which they are
    int32_t at = start_;
    while (at < count_) {
      const Step& step = steps_[static_cast<size_t>(at)];
      if (read == nullptr || read->offset != step.offset || read->transport != step.transport)
        for (int i = 0; i < n; ++i) words[i] = __builtin_bswap32(word(i, step));
      read = &step;
      int yes = 0;
      for (int i = 0; i < n; ++i) yes += (words[i] & step.mask) - step.low <= step.span;
      if (yes != 0 && yes != n) break;
      at = step.next[yes != 0];
    }
    return at;
  }

  static constexpr int kTogether = 8;
  /** The verdicts for packets that have at least the bytes that the program looks at, and have come to step `start`. A
   *  packet's tests wait for each other, so eight packets go through the program side by side; those that have arrived
   *  stay at their end. */
  void run(const Headers (&packets)[kTogether], uint16_t (&verdicts)[kTogether], int32_t start) const {
    int32_t at[kTogether], least = start;
    for (int32_t& place : at) place = start;
    while (least < count_) {
      least = count_;
      for (int k = 0; k < kTogether; ++k) {
        const Step& step = steps_[static_cast<size_t>(at[k])];
        const uint8_t* word = packets[k].network + step.offset + (packets[k].transport & step.transport);
        at[k] = step.next[(__builtin_bswap32(load_u32(word)) & step.mask) - step.low <= step.span];
        least = at[k] < least ? at[k] : least;
      }
    }
    for (int k = 0; k < kTogether; ++k) verdicts[k] = verdict(at[k]);
  }
  /** The verdict for any packet: bytes behind its end are never read. Needs `with_lengths`. */
  uint16_t run_checked(const Headers& packet) const;

  /** In Click's format: a line a step, "[N]" an output, "[X]" a drop. `network`: what the first byte of the network
   *  header is called; that of the transport header is 512. */
  std::string text(int network = 256) const;

 private:
  std::vector<Step> steps_;         // the tests, then a step for each end that leads to itself
  std::vector<uint16_t> verdicts_;  // of the ends
  int32_t start_ = 0, count_ = 0;
  uint32_t network_bytes_ = 20, transport_bytes_ = 0, bytes_before_ = 0;
};

/** Takes packets of a batch through a program, Program::kTogether at a time, and the last few when it goes. */
class BatchRun {
 public:
  /** Verdicts go to `next`, by packet: Batch::next(). `start`: the step that all have come to. */
  BatchRun(const Program& program, uint16_t* next, int32_t start) : program_(program), next_(next), start_(start) {}
  BatchRun(const BatchRun&) = delete;
  BatchRun& operator=(const BatchRun&) = delete;
  ~BatchRun() {
    if (waiting_ > 0) run();
  }
  /** Packet i, which has at least the bytes that the program looks at. */
  void add(int i, const Headers& headers) {
    together_[waiting_] = headers;
    index_[waiting_] = i;
    if (++waiting_ == Program::kTogether) run();
  }

 private:
  void run() {
    uint16_t verdicts[Program::kTogether];
    for (int k = waiting_; k < Program::kTogether; ++k) together_[k] = together_[0];
    program_.run(together_, verdicts, start_);
    for (int k = 0; k < waiting_; ++k) next_[index_[k]] = verdicts[k];
    waiting_ = 0;
  }

  const Program& program_;
  uint16_t* const next_;
  const int32_t start_;
  Headers together_[Program::kTogether];
  int index_[Program::kTogether], waiting_ = 0;
};

}  // namespace heddle::ip_filter
