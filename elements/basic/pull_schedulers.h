#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/element.h"

namespace heddle {

/** PrioSched: pulls from the first input that has packets.
 *
 *      PrioSched
 *
 *  Pull inputs, one pull output: input 0 has the highest priority; the others get what it leaves. Also called
 *  SimplePrioSched.
 *
 *  Example:
 *
 *      FromDump(a.pcap) -> Queue -> [0]p :: PrioSched -> Unqueue -> Discard; FromDump(b.pcap) -> Queue -> [1]p;
 */
class PrioSched : public PullScheduler {
 public:
  int choose(int attempt) override { return attempt; }
};

/** RoundRobinSched: pulls from its inputs in turn.
 *
 *      RoundRobinSched
 *
 *  Pull inputs, one pull output: a packet from each input that has one. Also called RRSched.
 *
 *  Example:
 *
 *      FromDump(a.pcap) -> Queue -> [0]r :: RoundRobinSched -> Unqueue -> Discard; FromDump(b.pcap) -> Queue -> [1]r;
 */
class RoundRobinSched : public PullScheduler {
 public:
  int choose(int attempt) override { return (next_ + attempt) % inputs; }
  void taken(int input, int) override { next_ = (input + 1) % inputs; }

 private:
  int next_ = 0;
};

/** StaticPullSwitch: pulls from one input.
 *
 *      StaticPullSwitch(INPUT)
 *
 *  INPUT: number of the input; negative: pulls nothing. Packets of other inputs stay where they are. Pull inputs, one
 *  pull output. It is an error if there is no such input. Unlike that of PullSwitch, INPUT stays as it is while packets
 *  flow.
 *
 *  Example:
 *
 *      s :: StaticPullSwitch(1) -> Unqueue -> Discard;
 *      FromDump(a.pcap) -> Queue -> [0]s; FromDump(b.pcap) -> Queue -> [1]s;
 */
class StaticPullSwitch : public PullScheduler {
 public:
  void configure(click::Arguments& arguments) override;
  int choose(int attempt) override;
  int quantum() const override { return chosen_ < 0 ? 0 : 64; }  // behind choose()

 protected:
  void set_input(click::Arguments& arguments, int input);

  std::atomic<int> input_{0};

 private:
  int chosen_ = 0;  // of the pull under way
};

/** PullSwitch: pulls from one input, which can be changed while packets flow.
 *
 *      PullSwitch([INPUT])
 *
 *  INPUT: number of the input, default 0; negative: pulls nothing. Packets of other inputs stay where they are. Pull
 *  inputs, one pull output. It is an error if there is no such input. Also called SimplePullSwitch.
 *
 *  Handlers: `switch` (rw): INPUT; a number that is no input means -1, as in Click. `config` (rw): the same.
 *
 *  Example:
 *
 *      FromDump(a.pcap) -> Queue -> [0]s :: PullSwitch(1) -> Unqueue -> Discard; FromDump(b.pcap) -> Queue -> [1]s;
 */
class PullSwitch : public StaticPullSwitch {
 public:
  void configure(click::Arguments& arguments) override;
  bool can_live_reconfigure() const override { return true; }
  void handlers(Handlers& list) override;
};

/** StrideSched: pulls from its inputs by shares.
 *
 *      StrideSched(TICKETS1, TICKETS2, ...)
 *
 *  TICKETS: 0 to 2147483647, for each input; inputs that have packets share in proportion to them, packet by packet;
 *  those with 0 get nothing. Where two are due at once, the one that has been served last goes first, as in Click: (4,
 *  2, 1) is 0 0 1 0 0 1 2. Pull inputs, one pull output. (C. Waldspurger, W. Weihl, "Stride Scheduling",
 *  MIT/LCS/TM-528, 1995.)
 *
 *  Handlers: `tickets0` (rw), `tickets1` (rw) ...
 *
 *  Example:
 *
 *      FromDump(a.pcap) -> Queue -> [0]s :: StrideSched(3, 1) -> Unqueue -> Discard; FromDump(b.pcap) -> Queue -> [1]s;
 */
class StrideSched : public PullScheduler {
 public:
  void configure(click::Arguments& arguments) override;
  int choose(int attempt) override;
  int quantum() const override { return order_.empty() ? 0 : 1; }  // behind choose()
  void taken(int input, int packets) override;
  void handlers(Handlers& list) override;

 private:
  struct Share {
    std::atomic<uint32_t> tickets{0};
    uint64_t pass = 0, turn = 0;  // when it is due; when it was put there
  };
  static constexpr uint32_t kMaxTickets = INT32_MAX;
  static constexpr uint64_t kStride = uint64_t{1} << 32, kLatest = uint64_t{1} << 62;
  /** Passes count from now on. */
  void rebase();

  std::unique_ptr<Share[]> shares_;  // by input
  std::vector<int> order_;           // inputs with tickets, by pass, of the pull under way
  uint64_t now_ = 0;                 // pass of the last input that has been chosen
  uint64_t turns_ = 0;
};

}  // namespace heddle
