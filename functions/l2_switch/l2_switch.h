#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "core/chooses.h"
#include "core/clock.h"
#include "core/element.h"
#include "core/gpu_state.h"
#include "functions/cuckoo/table.h"
#include "functions/l2_switch/news.h"
#include "functions/l2_switch/rule.h"

namespace heddle {

/** L2Switch: an Ethernet switch that learns which addresses are behind which port.
 *
 *      L2Switch([ADDRESS1 PORT1, ADDRESS2 PORT2, ..., keywords FILE, CAPACITY, TIMEOUT, LEARN, DEVICE, BLOCKING])
 *
 *  One input, N + 1 outputs: 0 to N - 1 lead to the ports, N takes what is to be flooded. Packets come painted with the
 *  port by which they came in (annotation paint). A packet to a known address leaves by that address's port; if that is
 *  the one by which it came in, it is dropped ("same_port"). Packets to group addresses (multicast, broadcast) and to
 *  unknown ones leave by output N: put Tee behind it, and before each port a PaintSwitch that stops what came from
 *  there (see the example; Click's EtherSwitch has N inputs and does this itself). Dropped are packets of less than 14
 *  bytes ("short"), and those to 01:80:c2:00:00:00 ... 0f, which bridges keep to their ports ("reserved": spanning
 *  tree, pause, LACP, LLDP); nothing is learned from these. IEEE 802.1Q, 8.6.3.
 *
 *  Arguments: entries that stay; FILE has one "ADDRESS PORT" a line ("#" starts a comment). CAPACITY: most entries,
 *  default 65536, up to 100000000; 9 bytes each. TIMEOUT: how long an address that was learned and is not heard of is
 *  kept, default 300 s; up to an eighth longer; 0: for ever. LEARN: whether to learn source addresses, default true.
 *  DEVICE: cpu or gpu; default: what --device says. BLOCKING: on a GPU with all slots in flight, wait (true, default)
 *  or drop ("no_slot").
 *
 *  Source addresses are learned, moved to another port when they turn up there, and refreshed. Group addresses are not
 *  learned, entries that stay do not move, and when the table is full nobody is driven out: newcomers are flooded until
 *  entries have aged (statistic `not_learned`).
 *
 *  On a CPU this happens before the destinations of up to 64 packets are looked up. A GPU tells the host of source
 *  addresses that are unknown, have moved, or are to be refreshed (eight times in TIMEOUT, not with each packet), and
 *  the host changes the table and the GPU's copy of it, all 10 ms: up to 1,024 unknown addresses and 1,024 known ones
 *  at a time. What has not been heard is told again by the address's next packet. Addresses that nobody knows cannot
 *  crowd out what is told of known ones. Where CPU and GPU have the switch in turn (DEVICE auto), each hears of the
 *  other's so much later, and an address that has just moved may go back for as long.
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
 *      events_lost         (read) what the GPU has told and nobody heard before it was written over
 *      form                (read) how look-ups are made on the CPU: "by hand", "gopt", each perhaps with AVX-512; what
 *                          is the fastest when the program starts; `heddle plan` shows it, too
 *
 *  Hot reconfiguration: the table goes over to the switch of the same name if it has the same arguments, without FILE,
 *  and as many outputs. Else what has been learned goes over, as far as it has such ports and room; its own entries
 *  win, and that takes 2 µs an entry or so.
 *
 *  Errors: an address or port that is none (named with file and line), more entries than CAPACITY. Statistics:
 *  `entries`, `learned`, `moved`, `not_learned`, `events_lost`.
 *
 *  Example:
 *
 *      FromDump(in0.pcap) -> Paint(0) -> sw :: L2Switch; FromDump(in1.pcap) -> Paint(1) -> sw;
 *      out0 :: ToDump(out0.pcap); out1 :: ToDump(out1.pcap);
 *      sw[0] -> out0; sw[1] -> out1; sw[2] -> flood :: Tee(2);
 *      flood[0] -> not0 :: PaintSwitch; not0[0] -> Discard; not0[1] -> out0;
 *      flood[1] -> not1 :: PaintSwitch; not1[0] -> out1; not1[1] -> Discard;
 */
class L2Switch : public Element, public Chooses, public KeepsGpuState {
 public:
  L2Switch() { table = &table_; }
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/2-"; }
  const char* processing() const override { return "h/h"; }
  Access access(Processor processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void handlers(Handlers& list) override;
  void placed(bool on_gpu) override { placed_on_gpu_ = on_gpu; }
  /** How look-ups are made on a CPU. Before start() it finds that out by itself, and start() does it again. */
  std::string choice() const override;
  void start(const Environment&) override;
  void take_state(Element& old) override;
  void run_cpu(Batch& batch) override;
  int timer_us() const override { return learn_ && (timeout_us_ != 0 || on_gpu) ? 10'000 : 0; }
  void on_timer(int thread) override;
  std::string stop() override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

 private:
  static constexpr int kGroup = 64;
  using Clock = RouterClock;
  using Ticks = std::chrono::duration<double, std::micro>;

  using Writer = cuckoo::CuckooTable::Writer;

  /** Notes that `address` was seen at `port`. */
  void learn(Writer& writer, uint64_t address, uint32_t port, int thread);
  /** Learns what the GPU tells; whether it has told something. `last`: no kernel runs any more. */
  bool hear(Writer& writer, int thread, bool last);
  void hear_last();
  /** Removes what is old. */
  void age(Writer& writer, Clock::time_point now, Ticks tick);
  /** Takes a line "ADDRESS PORT"; returns what is wrong, or "". */
  std::string add(const std::string& text);
  void read_file(const std::string& path, click::Arguments& arguments);
  std::string table_text() const;

  uint32_t port_count() const { return static_cast<uint32_t>(std::max(outputs - 1, 0)); }

  mutable cuckoo::CuckooTable table_;  // choice() makes it choose its form
  bool has_started_ = false, placed_on_gpu_ = false;
  uint64_t timeout_us_ = 300'000'000;
  bool learn_ = true;
  std::string file_;
  std::atomic<uint32_t> tick_{1};  // 1 to kTicks: now
  Clock::time_point started_, swept_;
  uint32_t next_swept_ = 0;  // bucket
  uint32_t round_ = 1;       // of news, see rule.h
  gpu::EventReader<l2_switch::News::Ring> news_;
  std::atomic<uint64_t> events_lost_{0};
  PerThreadCounts learned_{counts}, moved_{counts}, not_learned_{counts};
};

}  // namespace heddle
