#pragma once

#include <string>

#include "core/element.h"
#include "functions/ip_lookup/table.h"

namespace heddle {

/** DirectIPLookup: routes packets by the longest prefix that matches their destination address annotation.
 *
 *      DirectIPLookup(ADDR1/MASK1 [GW1] OUT1, ADDR2/MASK2 [GW2] OUT2, ... [, keywords FILE, DEVICE, BLOCKING])
 *
 *  Each argument is a route: prefix (10.0.0.0/8, 10.0.0.0/255.0.0.0, a single address, or "default"), optional
 *  gateway, and the output port. FILE: a text file with one such route a line ("#" starts a comment); routes of the
 *  file come first. At most about 1,000,000 routes, with at most 48,895 different gateways, and at most 16,384 blocks
 *  of 256 addresses that contain routes longer than /24. DEVICE: cpu or gpu; default: what --device says. BLOCKING: on
 *  a GPU with all slots in flight, wait (true, default) or drop ("no_slot").
 *
 *  Needs the annotation dst: put CheckIPHeader or GetIPAddress before it. If the route has a gateway, dst becomes the
 *  gateway. Packets without a route are dropped ("no_route").
 *
 *  The table is DIR-24-8-BASIC (Gupta, Lin, McKeown, INFOCOM 1998): one or two memory accesses a packet. When the
 *  program gets SIGHUP, FILE is read again, and the differences are patched into the table, on CPU and GPU, while
 *  packets flow; a FILE with errors changes nothing.
 *
 *  Errors: a route that is none, a route whose output is not connected (each is named with file and line), too many
 *  routes. Statistics: `routes`.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> rt :: DirectIPLookup(10.0.0.0/8 0, 0.0.0.0/0 1);
 *      rt[0] -> ToDump(inside.pcap); rt[1] -> ToDump(outside.pcap);
 */
class DirectIPLookup : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1-"; }
  const char* processing() const override { return "h/h"; }
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  std::span<const std::byte> table() const override { return std::as_bytes(std::span(&table_.image(), 1)); }
  void on_patch(TablePatch patch) override;
  void reclaim() override { table_.reclaim(retired_before_); }
  bool reload(std::string& problem) override;
  void run_cpu(Batch& batch) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override { return {{"routes", table_.size()}}; }

  /** The table, for changes while packets flow: add() and remove(), within Engine::update(). */
  ip_lookup::RouteTable& routes() { return table_; }
  /** To be called after changes, before readers are waited for (Engine::update does the rest). */
  void note_retired() { retired_before_ = table_.retired(); }

 private:
  /** The routes of FILE and of the arguments. Reports mistakes as text lines. */
  std::vector<ip_lookup::Route> read_routes(std::vector<std::string>& errors) const;

  ip_lookup::RouteTable table_;
  std::string file_;
  std::vector<ip_lookup::Route> own_routes_;  // those of the arguments
  uint64_t retired_before_ = 0;
  std::vector<TablePatch> patches_;
};

}  // namespace heddle
