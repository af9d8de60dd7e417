#pragma once

#include <memory>

#include "functions/flow/flow.h"

namespace heddle {

/** NAT: lets many hosts share one public IPv4 address, by source ports (network address and port translation, RFC
 *  3022).
 *
 *      NAT(TABLE, ADDRESS [, keyword PORTS])
 *
 *  TABLE: the name of the FlowTable before it, which must be for this NAT alone. ADDRESS: the public address. PORTS:
 *  LOW-HIGH of the public ports, default 1024-65535; with several packet threads each has a part of them of its own, so
 *  the way back must lead to the thread of the way there.
 *
 *  TCP and UDP packets with another destination than ADDRESS go out: their source becomes ADDRESS and a public port,
 *  which is the flow's until it ends in the table. Packets to ADDRESS and a port in use come back: if they are from the
 *  host and port that the flow went to, their destination becomes the inner host and port. The port of a flow that has
 *  ended is given out again as late as possible. Checksums are changed accordingly (RFC 1624); what comes back does not
 *  keep the flow alive, but makes it an established one, which FlowTable has longer; of TCP, if a SYN has gone out, not
 *  before an ACK of that comes. If all ports are in use, the one is taken, and given out at once, whose flow FlowTable
 *  would give up first, of the next 64: not established, or over. What then comes late for the flow that had the port
 *  goes to the new one's host if both went to the same host and port, but answers, closes or resets no connection that
 *  nobody has answered yet. Needs the annotations l3 and l4; sets dst. It is on the CPU only: FlowTable, which is
 *  there, tells it of flows that end, whose ports it then gives out again.
 *
 *  Output 0: packets that go out. Output 1: packets that come back. Drops: "no_port" (all of the thread's ports are in
 *  use, those of 64 of them by flows that stay), "no_flow" (to ADDRESS, and of no flow), "not_translated" (neither TCP
 *  nor UDP, a later fragment, or a header that is cut).
 *
 *  Handlers: `ports` (r): public ports in use. Statistics: `ports`; `evicted`: flows that have lost their port to
 *  others.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> flows :: FlowTable -> nat :: NAT(flows, 192.0.2.1);
 *      nat[0] -> ToDump(out.pcap); nat[1] -> ToDump(back.pcap);
 */
class NAT : public FlowElement, private flow::Watcher {
 public:
  void configure(click::Arguments& arguments) override;
  void link(const Directory& directory) override;
  const char* ports() const override { return "1/2"; }
  const char* processing() const override { return "a/ah"; }
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void start(const Environment& environment) override;
  void take_state(Element& old) override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

 private:
  enum Reason : int { kNoPort, kNoFlowThere, kNotTranslated };

  /** Public ports of a thread, for TCP and UDP apart. */
  struct Ports {
    /** What a port stands for; inner 0: it is free. Host byte order. */
    struct Use {
      uint32_t inner, outer;
      uint16_t inner_port, outer_port;
      uint32_t place;  ///< of its flow, in the thread's table
    };
    std::vector<Use> uses;       // [port - first]
    std::vector<uint16_t> free;  // a ring of ports that are free, [size of uses]
    size_t head = 0, count = 0;  // of `free`
    size_t looked_at = 0;        // place in `uses` that take_port() goes on from
    uint16_t first = 0;
  };
  struct alignas(kCacheLine) PerThread {
    Ports tcp, udp;
    std::atomic<uint64_t> used{0}, evicted{0};
  };
  flow::Watcher* watcher() override { return this; }
  void flow_ends(const flow::Entry& entry, int thread) override;
  Ports& ports_of(uint32_t protocol, int thread);
  /** All ports are in use: ends a flow that may end, so that one is free. */
  void take_port(Ports& ports, uint32_t now_ms, int thread);
  uint64_t used() const;

  uint32_t address_ = 0;  // host byte order
  uint16_t low_ = 1024, high_ = 65535;
  std::vector<std::unique_ptr<PerThread>> threads_;
};

}  // namespace heddle
