#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/table.h"
#include "functions/nids/automata.h"
#include "functions/nids/buffer_rules.h"
#include "functions/nids/flows.h"
#include "functions/nids/match.h"
#include "functions/nids/scanner.h"
#include "functions/nids/thresholds.h"

namespace heddle::nids {

/** Alerts of a rule, by any number of threads. */
using Count = std::atomic<uint64_t>;

/** A set of rules, ready for packets. */
struct Generation {
  /** `stream`: all packets of TCP are candidates. `tells`: see Image. */
  Generation(RuleSet set, bool stream, bool tells);
  /** Gives the bits of rules their numbers, as `number` says them. */
  void number_bits(const std::function<uint32_t(const BitOption& option, const std::string& name)>& number);
  /** For packet threads 0..`threads` - 1, which search for patterns themselves (`scans`), or only confirm. */
  void prepare(int threads, bool scans);

  const bool stream;
  std::vector<Signature> rules;
  std::vector<LeftOut> unsupported;
  bool has_thresholds = false;      // some rule
  bool asks_flow = false;           // some rule
  bool asks_sent = false;           // some rule: what the sides of TCP connections have sent
  bool has_flow_bits = false;       // some rule
  bool has_bits = false;            // some rule, of flows or addresses
  bool asks_applications = false;   // some rule
  std::vector<uint32_t> rank;       // [rule], if some has bits: when it is its turn with them
  bool all_of[kProtocols] = {};     // [Protocol]: all its packets are candidates, for STREAM or what rules ask of flows
  std::vector<Count*> counts;       // [rule]
  std::vector<std::string> alerts;  // [rule], the object "alert" of an EVE line, for packets that go on
  std::vector<std::string> blocked;  // [rule], the same for those that do not
  BufferRules buffers;
  Automata automata;
  std::unique_ptr<Scanner> scanner;  // null: the automata search

  /** What a thread needs to confirm. */
  struct Confirming {
    Workspace workspace;
    BufferRules::Scratch buffers;
    std::vector<uint32_t> tried;                // [rule], the packet for which it was tried last
    std::vector<uint32_t> hits, stream_hits;    // rules that may match
    std::vector<uint32_t> with_bits;            // of those that do, by rank
    std::vector<Thresholds::Verdict> verdicts;  // on those that do
    uint32_t packet = 0;
  };
  mutable std::vector<Confirming> confirming;  // by thread, each its own

  /** Searches for regular expressions that have reached a limit since the last call. */
  uint64_t take_gave_up(int thread) const {
    return std::exchange(confirming[static_cast<size_t>(thread)].workspace.gave_up, 0);
  }
  /** The rules that match the packet, but for bits, or, with a content that ends in what is fresh, the window, which
   *  may be empty, or transactions of its dialogue, which then forgets what it need not keep; a rule for each of these.
   *  Ascending, valid until the thread's next call. Allocates what matches() does, and of HTTP what has come. */
  const std::vector<uint32_t>& confirm(const View& view, const Window& window, int thread) const;
};

/** The rules of NIDS. A set is replaced as a whole; packet threads keep the one before until they are done with it. Its
 *  image on a GPU is that of the automata. */
class RuleTable : public Table {
 public:
  /** Makes `set` the rules; `stream`: all packets of TCP are candidates. `tells`: see Image. */
  void load(RuleSet set, bool stream = false, bool tells = false);
  /** Before packets come: the threads that will use it, and whether they search for patterns, which a GPU does
   *  otherwise. */
  void prepare(int threads, bool scans);

  std::span<const std::byte> bytes() const override { return current_->automata.bytes(); }
  bool has_retired() const override { return !retired_.empty(); }
  void reclaim() override { retired_.clear(); }

  /** For packet threads, who fetch it anew for each batch, and readers within an Epochs::Reader. */
  const Generation& now() const { return *now_.load(std::memory_order_acquire); }
  /** What rules with a threshold have matched of late, by gid and sid: it outlives generations. */
  Thresholds& thresholds() { return thresholds_; }

  /** What packets have told of flows, and their bits, if the rules of now() ask. It outlives generations. */
  Flows& flows() { return *flows_; }
  /** Bits of addresses, if rules of now() have some. It outlives generations. */
  Thresholds& address_bits() { return *address_bits_; }
  /** What thresholds and address_bits() have forgotten before its time. */
  uint64_t forgotten() const;
  /** Both tables' flows change places, if both have any; no packets come. */
  void swap_flows(RuleTable& other);

  /** Alerts by rule, of all rules that there have been. */
  std::string counts_text() const;

 private:
  void number_bits(Generation& rules);

  int threads_ = 0;
  bool scans_ = false;
  Thresholds thresholds_;
  std::unique_ptr<Flows> flows_;  // from the first rules on that ask
  std::unique_ptr<Thresholds> address_bits_;
  std::map<std::pair<bool, std::string>, uint32_t> address_bit_names_;  // numbers from 1, by whether it is of pairs
  std::map<std::pair<uint32_t, uint32_t>, Count> counts_;               // by gid and sid; handlers only, one at a time
  std::unique_ptr<Generation> current_;
  std::atomic<const Generation*> now_{nullptr};
  std::vector<std::unique_ptr<Generation>> retired_;
};

}  // namespace heddle::nids
