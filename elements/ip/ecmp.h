#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "core/element.h"
#include "core/table.h"

namespace heddle {

/** ECMP: sends each flow of a route with several next hops by one of them.
 *
 *      ECMP([GROUP GATEWAY OUT [GATEWAY OUT ...], ...])
 *
 *  Stands behind a routing element, where routes lead whose gateway names a group of next hops: 0.0.0.GROUP (IPv4) or
 *  ::GROUP (IPv6) as an address, GROUP from 1 to 65535. Packets have their IPv4 or IPv6 header at annotation l3. Each
 *  leaves by the output OUT of a next hop of the group, with the annotation dst of its GATEWAY, or of its destination
 *  if that is "-". KernelRoutes makes groups here by itself.
 *
 *  The hop follows from a hash of addresses, protocol and, of TCP, UDP and SCTP, ports, so that no flow is reordered.
 *  Fragments, and IPv6 packets with extension headers, go by addresses and protocol alone, as all fragments of a packet
 *  must. A next hop that is given several times gets as many shares. When one goes from a group, flows of the others
 *  stay where they are; when one comes, only those that it gets move (rendezvous hashing, over 256 buckets: D. Thaler,
 *  C. Ravishankar, IEEE/ACM ToN 1998; RFC 2992).
 *
 *  One input, one or more outputs. Drops: "no_group", dst names none; "no_header". Hot reconfiguration: with the same
 *  arguments groups stay.
 *
 *  Handlers, all of which work while packets flow: `set` (w, GROUP GATEWAY OUT ...) makes or changes a group; `remove`
 *  (w, GROUP); `groups` (r): one a line, as `set` takes it. Statistics: `groups`. RFC 2991.
 *
 *  Example, two gateways for everything:
 *
 *      FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> rt :: DirectIPLookup(10.0.0.0/8 0, 0/0 0.0.0.1 1);
 *      rt[0] -> Discard; rt[1] -> e :: ECMP(1 10.0.0.7 0 10.1.0.7 1); e[0] -> Discard; e[1] -> Discard;
 */
class ECMP : public Element {
 public:
  static constexpr uint32_t kMaxGroups = 65535, kBuckets = 256;

  ECMP();
  ~ECMP() override;
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1-"; }
  const char* processing() const override { return "h/h"; }
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void take_state(Element& old) override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override { return {{"groups", count_.load()}}; }

 private:
  enum Reason : int { kNoGroup, kNoHeader };

  struct Hop {
    uint32_t gateway;  // as the annotation dst has it; 0: none
    uint16_t output;
  };
  struct Group {
    std::string text;  // its next hops
    std::vector<Hop> hops;
    std::array<uint16_t, kBuckets> of_bucket;
  };
  /** Groups that packets may still be reading. */
  struct Retired : Retiring {
    bool has_retired() const override { return !groups.empty(); }
    void reclaim() override { groups.clear(); }
    std::vector<std::unique_ptr<const Group>> groups;
  };

  /** Takes "GROUP GATEWAY OUT ..."; returns what is wrong, or "". */
  std::string set(const std::string& text);
  void put(uint32_t number, std::unique_ptr<const Group> group);

  std::unique_ptr<std::atomic<const Group*>[]> groups_;  // [kMaxGroups + 1]
  Retired retired_;
  std::atomic<uint64_t> count_{0};
};

}  // namespace heddle
