#pragma once

#include <memory>
#include <mutex>
#include <random>
#include <vector>

#include "core/clock.h"
#include "core/element.h"

namespace heddle {

/** IPRateMonitor: measures how much traffic comes from and goes to networks, in more detail where there is much.
 *
 *      IPRateMonitor(TYPE, RATIO, THRESH [, MEMORY, ANNO])
 *
 *  Packets have an IPv4 header at annotation l3. Those of input 0 are counted for their source address ("forward"),
 *  those of input 1 for their destination ("reverse"), and leave unchanged by the output of the same number. Rates are
 *  kept for each of the 256 networks a.0.0.0/8; where one of the two rates of a network is over THRESH, from then on
 *  also for its 256 parts, down to single addresses.
 *
 *  TYPE: PACKETS or BYTES (of IP). RATIO: share of packets that are counted, at random, each for so many more, above 0,
 *  up to 1. THRESH: packets or bytes a second, whatever RATIO. MEMORY: kilobytes that the parts may take, at least 100;
 *  0 (default): 16 MB. When it is used up, parts that have seen nothing for longest, and nothing for 10 s at least,
 *  make room for new ones; if there are none, there is no more detail (statistic `refused`). ANNO: accepted, and has no
 *  effect: no element reads rates from packets.
 *
 *  Rates are exponentially weighted averages, renewed ten times a second, in which a second ago counts a third. One or
 *  two inputs, as many outputs. Packets without an IP header pass uncounted. (T. Gil, M. Poletto, "MULTOPS", USENIX
 *  Security 2001.)
 *
 *  Handlers: `look` (r): a line with the hundredths of a second since the last reset, then for each network with
 *  traffic its name, "18", "18.26" ... "18.26.4.9", a tab, its forward rate, a tab, and its reverse rate, parts behind
 *  their network. `thresh` (r), `reset` (w). `anno_level` (w, "ADDRESS LEVEL SECONDS"): for so long there is no more
 *  detail than LEVEL numbers beyond the first (0 to 3) for networks that contain ADDRESS.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> m :: IPRateMonitor(PACKETS, 0.5, 256, 600) -> Discard;
 */
class IPRateMonitor : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1-2/1-2"; }
  bool tells_inputs() const override { return true; }
  bool leads(int input, int output) const override { return input == output; }
  Access access(Processor) const override;
  void start(const Environment& environment) override;
  void take_state(Element& old) override;
  void run_cpu(Batch& batch) override;
  int timer_us() const override { return 10'000; }
  void on_timer(int thread) override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

 private:
  static constexpr int kForward = 0, kReverse = 1;
  struct Part;
  /** A network, or an address at the lowest level. */
  struct Entry {
    std::atomic<uint32_t> seen[2]{};  // since the last renewal, in units of 1/RATIO
    std::atomic<float> rate[2]{};     // a second
    std::atomic<Part*> parts{nullptr};
  };
  /** The parts of a network. */
  struct Part {
    std::array<Entry, 256> entries;
    Entry* of = nullptr;  // the network
    int level = 0;        // of the entries: 0 ... 3
    RouterClock::time_point used{};
  };
  /** No more detail than `level` for networks that contain `address`, until then. */
  struct Limit {
    uint32_t address;  // host byte order
    int level;
    RouterClock::time_point until;
  };

  void count(uint32_t address, int direction, uint32_t amount);
  /** Averages what has come since, and adds detail. `network`: the numbers before those of the part's entries. */
  void renew_all(RouterClock::time_point now);
  void renew(Part& part, uint32_t network, double seconds, RouterClock::time_point now);
  void split(Entry& entry, int level, RouterClock::time_point now);
  bool may_split(int level, uint32_t network, RouterClock::time_point now) const;
  Part* free_part(RouterClock::time_point now);
  void clear(Part& part);
  void print(const Part& part, const std::string& network, std::string& text) const;
  void limit(const std::string& text);
  void expect_start() const;  // throws Error

  bool bytes_ = false, anno_ = true;
  double ratio_ = 1;
  uint32_t threshold_ = 0, memory_kb_ = 0;
  std::unique_ptr<Part> top_;
  std::unique_ptr<Part[]> parts_;  // [most_parts_]
  size_t most_parts_ = 0, made_ = 0;
  std::vector<std::minstd_rand> random_;  // by thread
  std::vector<Limit> limits_;
  mutable std::mutex changing_;  // what follows, and which parts there are; not of packets
  RouterClock::time_point renewed_{}, reset_{};
  std::atomic<uint64_t> refused_{0};
};

}  // namespace heddle
