#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "core/asked_early.h"
#include "core/chooses.h"
#include "core/element.h"
#include "functions/ip6_lookup/table.h"

namespace heddle {

/** LookupIP6Route: routes IPv6 packets by the longest prefix that matches their destination address.
 *
 *      LookupIP6Route(ADDR1/LEN1 [GW1] OUT1, ADDR2/LEN2 [GW2] OUT2, ... [, keywords FILE, ENGINE, MEMORY, DEVICE,
 *          BLOCKING])
 *
 *  Each argument is a route: prefix (2001:db8::/32, a single address, or "default"), optional gateway (:: or - for
 *  none), and the output port; bits of the address after the prefix's length are ignored. Before a gateway the prefix
 *  may also be an address and a mask (2001:db8:: ffff:ffff::), as in old configurations of Click. FILE: a text file
 *  with one such route a line ("#" starts a comment); routes of the file come first, and of several with one prefix the
 *  last counts. ENGINE: what finds routes, tree (default) or trie, see below; `heddle plan` says which one it is.
 *  MEMORY: most megabytes that it may take, default 4096. DEVICE: cpu or gpu; default: what --device says. BLOCKING: on
 *  a GPU with all slots in flight, wait (true, default) or drop ("no_slot").
 *
 *  One input, one or more outputs. The destination is that of the IPv6 header that CheckIP6Header or MarkIP6Header has
 *  marked (annotation l3). Packets without a route are dropped ("no_route"), packets without 40 bytes of header at l3,
 *  too ("no_header"). The annotation dst then says which gateway the packet goes to, as a number since an annotation
 *  has 64 bits at most, or 0: IP6NDSolicitor and ECMP know what it means. A program knows 65,535 gateways in its life.
 *
 *  ENGINE tree: prefixes are intervals of addresses, in a B+-tree of cache lines that is searched for many packets at
 *  once, with AVX-512 or AVX2 where the processor has them (PlanB, NSDI 2026): 6 lines for 200,000 routes. Routes
 *  longer than /64 cost a second, shorter search. Any number of routes; about 17 bytes each. A change builds the tree
 *  anew (20 ms for 200,000 routes), so make many at once with `ctrl`.
 *
 *  ENGINE trie: a table by the first 24 bits, then one by the next byte each, as DPDK's LPM6 has it: one access for a
 *  route of up to /24, and one more for each 8 bits. It takes 64 MB and 1 KB for each group of 256 entries, of which a
 *  new prefix needs at most 13 and most share those of their neighbours; there is room for a quarter more than the
 *  routes need at first. On the CPU its first entries can be asked for where l3 is set, if other elements run between;
 *  that is done if it is the fastest. At most 16,384 pairs of gateway and output. A change writes the entries that its
 *  route covers (0.1 ms among 200,000 routes; ::/0 covers all of them), and builds the trie anew only when groups run
 *  out: then there must be memory for both.
 *
 *  Handlers, all of which work while packets flow, on CPU and GPU: every packet gets the old answer or the new one.
 *      add ADDR/LEN [GW] OUT       (write) adds a route; fails if there is one for this prefix
 *      set ADDR/LEN [GW] OUT       (write) adds or replaces a route
 *      remove ADDR/LEN [GW OUT]    (write) removes a route; fails if there is none
 *      ctrl                        (write) lines of "add ...", "set ...", "remove ...": all of them or, when one fails,
 *                                  none
 *      flush                       (write) removes all routes
 *      lookup ADDR                 (read) "OUT" or "OUT GW" that ADDR leads to, "-1" if it has no route
 *      form                        (read) how look-ups are made on the CPU: "by hand", "gopt", each perhaps with
 *                                  AVX-512 or AVX2, "prefetched early"; what is the fastest with these routes is found
 *                                  out at the start and when there are twice as many, or half; `heddle plan` shows it,
 *                                  too
 *      table                       (read) the routes, one a line, by address: ADDR/LEN, GW or "-", OUT
 *      reload                      (write) reads FILE again; a FILE with errors changes nothing. SIGHUP does it for all
 *                                  elements that have this handler
 *
 *  Hot reconfiguration: with the same arguments, without FILE, and as many outputs routes stay as handlers have made
 *  them. Else they are those of the arguments and of FILE as it is then.
 *
 *  Errors: a route that is none, a route whose output is not connected (each is named with file and line), too many
 *  routes for MEMORY; a handler that fails so changes nothing. Statistics: `routes`.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIP6Header(OFFSET 14) -> rt :: LookupIP6Route(2001:db8::/32 0, ::/0 1);
 *      rt[0] -> ToDump(inside.pcap); rt[1] -> ToDump(outside.pcap);
 */
class LookupIP6Route : public Element, public Chooses, public AskedEarly {
 public:
  LookupIP6Route();
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1-"; }
  const char* processing() const override { return "h/h"; }
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void take_state(Element& old) override;
  void handlers(Handlers& list) override;
  void placed(bool on_gpu) override { placed_on_gpu_ = on_gpu; }
  /** How look-ups are made on a CPU. Before start() it finds that out by itself, and start() does it again. */
  std::string choice() const override;
  void start(const Environment& environment) override;
  void run_cpu(Batch& batch) override;
  /** Of a trie the first entry follows from the destination; of a tree the first lines are in the caches anyway. */
  ColumnSet looks_up() const override {
    return routes_.engine() == ip6_lookup::EngineKind::trie ? columns(Column::l3) : 0;
  }
  void prefetch(Batch& batch) const override;
  void asked_early(bool early) override { early_ = early; }
  std::vector<std::pair<std::string, uint64_t>> statistics() const override { return {{"routes", count_.load()}}; }

  enum Reason : int { kNoRoute, kNoHeader };
  static constexpr uint32_t kHeaderBytes = 40, kDestination = 24;  ///< RFC 8200, section 3

 private:
  /** The routes of FILE and of the arguments. Reports mistakes as text lines. */
  std::vector<ip6_lookup::Route> read_routes(std::vector<std::string>& errors) const;
  void change(const std::string& commands);
  void load(std::vector<ip6_lookup::Route> routes);
  void changed();
  void reload();
  std::string lookup_text(const std::string& address) const;
  std::string table_text() const;
  static const uint8_t* destination(Batch& batch, int i, uint32_t l3);

  mutable ip6_lookup::RouteTable routes_;  // choice() makes it choose its form
  std::string file_;
  std::vector<ip6_lookup::Route> own_routes_;  // those of the arguments
  bool started_ = false, placed_on_gpu_ = false, early_ = false;
  std::atomic<size_t> count_{0};  // routes in the table, for statistics(), which runs beside changes
};

}  // namespace heddle
