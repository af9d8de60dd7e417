#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/element.h"
#include "functions/cuckoo/table.h"
#include "functions/l2_switch/rule.h"

namespace heddle {

/** L2Switch: an Ethernet switch that learns which addresses are behind which port.
 *
 *      L2Switch([ADDRESS1 PORT1, ADDRESS2 PORT2, ..., keywords FILE, CAPACITY, TIMEOUT, LEARN, DEVICE, BLOCKING])
 *
 *  One input, N + 1 outputs: 0 to N - 1 lead to the ports, N takes what is to be flooded. Packets come painted with the port
 *  by which they came in (annotation paint). A packet to a known address leaves by that address's port; if that is the one by
 *  which it came in, it is dropped ("same_port"). Packets to group addresses (multicast, broadcast) and to unknown ones leave
 *  by output N: put Tee behind it, and before each port a PaintSwitch that stops what came from there (see the example; Click's
 *  EtherSwitch has N inputs and does this itself). Packets of less than 14 bytes are dropped ("short").
 *
 *  Arguments: entries that stay; FILE has one "ADDRESS PORT" a line ("#" starts a comment). CAPACITY: most entries,
 *  default 65536, up to 100000000; 9 bytes each. TIMEOUT: how long an address that was learned and is not heard of is
 *  kept, default 300 s; up to an eighth longer; 0: for ever. LEARN: whether to learn source addresses, default true. DEVICE: cpu
 *  or gpu; default: what --device says. BLOCKING: on a GPU with all slots in flight, wait (true, default) or drop ("no_slot").
 *
 *  On a CPU, source addresses are learned, moved to another port when they turn up there, and refreshed, before the
 *  destinations of up to 64 packets are looked up. Group addresses are not learned, entries that stay do not move, and when the
 *  table is full nobody is driven out: newcomers are flooded until entries have aged (statistic `not_learned`). **On a GPU nothing
 *  is learned**: packets are switched by entries that stay, which handlers change there as well.
 *
 *  The table is a 2-8 cuckoo table: one or two cache lines a look-up.
 *
 *  Handlers, all of which work while packets flow:
 *      add ADDRESS PORT    (write) adds an entry that stays, in place of any other of this address
 *      remove ADDRESS      (write) removes an entry; fails if there is none
 *      flush               (write) removes what was learned
 *      lookup ADDRESS      (read) the port, "-1" if there is none
 *      table               (read) the entries, one a line, by address: ADDRESS PORT, and "learned" if it was
 *      count               (read) number of entries
 *      form                (read) how look-ups are made on the CPU: "by hand", "gopt", each perhaps with AVX-512; what is the
 *                          fastest when the program starts
 *
 *  Hot reconfiguration: what has been learned goes over to the switch of the same name, as far as it has such ports and room; its own
 *  entries win.
 *
 *  Errors: an address or port that is none (named with file and line), more entries than CAPACITY. Statistics: `entries`,
 *  `learned`, `moved`, `not_learned`.
 *
 *  Example:
 *
 *      FromDump(in0.pcap) -> Paint(0) -> sw :: L2Switch; FromDump(in1.pcap) -> Paint(1) -> sw;
 *      out0 :: ToDump(out0.pcap); out1 :: ToDump(out1.pcap);
 *      sw[0] -> out0; sw[1] -> out1; sw[2] -> flood :: Tee(2);
 *      flood[0] -> not0 :: PaintSwitch; not0[0] -> Discard; not0[1] -> out0;
 *      flood[1] -> not1 :: PaintSwitch; not1[0] -> out1; not1[1] -> Discard;
 */
class L2Switch : public Element {
 public:
  L2Switch() { table = &table_; }
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/2-"; }
  const char* processing() const override { return "h/h"; }
  Access access(Processor processor) const override;
  std::string needs_one_processor() const override {
    return learn_ ? "it learns on the CPU only, unless LEARN is false" : "";
  }
  std::span<const char* const> drop_reasons() const override;
  void handlers(Handlers& list) override;
  void start(const Environment&) override;
  void take_state(Element& old) override;
  void run_cpu(Batch& batch) override;
  int timer_us() const override { return timeout_us_ != 0 ? 10'000 : 0; }
  void on_timer(int thread) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

 private:
  static constexpr int kGroup = 64;
  using Clock = RouterClock;

  /** Notes that `address` was seen at `port`; `word`: its entry, or 0. */
  void learn(uint64_t address, uint32_t port, uint64_t word, int thread);
  /** Takes a line "ADDRESS PORT"; returns what is wrong, or "". */
  std::string add(const std::string& text);
  void read_file(const std::string& path, click::Arguments& arguments);
  std::string table_text() const;

  uint32_t port_count() const { return static_cast<uint32_t>(outputs - 1); }

  cuckoo::CuckooTable table_;
  uint64_t timeout_us_ = 300'000'000;
  bool learn_ = true;
  std::atomic<uint32_t> tick_{1};  // 1 to kTicks: now
  Clock::time_point started_, swept_;
  uint32_t next_swept_ = 0;  // bucket
  PerThreadCounts learned_{counts}, moved_{counts}, not_learned_{counts};
};

}  // namespace heddle
