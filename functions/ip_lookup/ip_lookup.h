#pragma once

#include "functions/ip_lookup/ip_route_table.h"

namespace heddle {

/** DirectIPLookup: routes packets by the longest prefix that matches their destination address annotation.
 *
 *      DirectIPLookup(ADDR1/MASK1 [GW1] OUT1, ADDR2/MASK2 [GW2] OUT2, ... [, keywords FILE, DEVICE, BLOCKING])
 *
 *  Each argument is a route: prefix (10.0.0.0/8, 10/8, 10.0.0.0/255.0.0.0, a single address, or "default"), optional
 *  gateway, and the output port. Prefix and gateway may be names that AddressInfo gives; bits of the address after the
 *  prefix's length are ignored. FILE: a text file with one such route a line ("#" starts a comment); routes of the
 *  file come first, and of several with one prefix the last counts. DEVICE: cpu or gpu; default: what --device says.
 *  BLOCKING: on a GPU with all slots in flight, wait (true, default) or drop ("no_slot").
 *
 *  One input, one or more outputs. Needs the annotation dst: put CheckIPHeader or GetIPAddress before it. If the route
 *  has a gateway, dst becomes the gateway. Packets without a route are dropped ("no_route"). A table without routes
 *  drops all of them until a handler adds some.
 *
 *  The table is DIR-24-8-BASIC (Gupta, Lin, McKeown, INFOCOM 1998): one or two memory accesses a packet. It holds any
 *  number of routes with at most 48,895 different gateways, and at most 16,384 blocks of 256 addresses that contain
 *  routes longer than /24; it uses up to 65 MB. On the CPU, look-ups wait for memory together: by gathers of AVX-512 or
 *  AVX2, by prefetching, or in turns (gopt), whichever is the fastest on addresses in routes when the program starts,
 *  and again whenever the number of routes has doubled or halved. Where other elements run between this one and that
 *  which sets dst, entries can be asked for there, so that their work hides the memory's latency; that is done if it is
 *  the fastest.
 *
 *  Handlers, all of which work while packets flow, on CPU and GPU: every packet gets the old answer or the new one.
 *      add ADDR/MASK [GW] OUT      (write) adds a route; fails if there is one for this prefix
 *      set ADDR/MASK [GW] OUT      (write) adds or replaces a route
 *      remove ADDR/MASK [GW OUT]   (write) removes a route; fails if there is none, or none with this GW and OUT
 *      ctrl                        (write) lines of "add ...", "set ...", "remove ...": all of them or, when one fails,
 *                                  none
 *      flush                       (write) removes all routes
 *      lookup ADDR                 (read) "OUT" or "OUT GW" that ADDR leads to, "-1" if it has no route
 *      table                       (read) the routes, one a line, by address: ADDR/LEN, GW or "-", OUT
 *      form                        (read) how look-ups are made on the CPU: "gathers, AVX-512", "gathers, AVX2",
 *                                  "gopt", "by hand", "prefetched early"; `heddle plan` shows it, too
 *      reload                      (write) reads FILE again and patches the differences into the table in the same way;
 *                                  a FILE with errors changes nothing. SIGHUP does it for all elements that have this
 *                                  handler
 *
 *  Hot reconfiguration: with the same arguments and as many outputs routes stay as handlers have made them; a FILE that
 *  has changed takes effect by `reload`.
 *
 *  Errors: a route that is none, a route whose output is not connected (each is named with file and line), too many
 *  routes. Statistics: `routes`.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> rt :: DirectIPLookup(10.0.0.0/8 0, 0.0.0.0/0 1);
 *      rt[0] -> ToDump(inside.pcap); rt[1] -> ToDump(outside.pcap);
 */
class DirectIPLookup : public IPRouteTable {
 public:
  DirectIPLookup();
  ColumnSet looks_up() const override { return columns(Column::dst); }
  void prefetch(Batch& batch) const override;
};

/** RadixIPLookup: routes packets by the longest prefix that matches their destination address, with a compact table.
 *
 *      RadixIPLookup(ADDR1/MASK1 [GW1] OUT1, ADDR2/MASK2 [GW2] OUT2, ... [, keywords FILE, DEVICE, BLOCKING])
 *
 *  Arguments, ports, annotations, drop reasons, handlers and errors are those of DirectIPLookup.
 *
 *  The table is a trie with a root of 65,536 entries and nodes of 16, into which prefixes are expanded (Srinivasan,
 *  Varghese, ACM TOCS 17(1), 1999): one to five memory accesses a packet, three for most of a BGP table. It takes 256
 *  KB and 64 bytes a node, of which a new prefix longer than /16 needs at most four and most share those of their
 *  neighbours; at most 1,048,576 nodes, enough for a million routes of a BGP table, and 48,895 different gateways. A
 *  million routes fit into about 45 MB; a few thousand stay in a processor's second-level cache, where DirectIPLookup
 *  does not. Also called RangeIPLookup (on the CPU only).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> rt :: RadixIPLookup(10.0.0.0/8 0, 0.0.0.0/0 192.0.2.1 1);
 *      rt[0] -> ToDump(inside.pcap); rt[1] -> ToDump(outside.pcap);
 */
class RadixIPLookup : public IPRouteTable {
 public:
  RadixIPLookup();
};

/** LinearIPLookup: routes packets by the longest prefix that matches their destination address, by trying all.
 *
 *      LinearIPLookup(ADDR1/MASK1 [GW1] OUT1, ADDR2/MASK2 [GW2] OUT2, ... [, keywords FILE, DEVICE, BLOCKING])
 *
 *  Arguments, ports, annotations, drop reasons, handlers and errors are those of DirectIPLookup.
 *
 *  The table is an array of routes, longer prefixes first, that is searched from its start for every packet until one
 *  matches: good for some dozens of routes, and a baseline for the others. A search during which the table changes
 *  begins again, so a large table must not change often. At most 1,048,576 routes, 8 bytes each, and 48,895 different
 *  gateways. Handler `table` lists the routes of the arguments first, in their order. Also called StaticIPLookup and,
 *  in old configurations of Click, SortedIPLookup, LookupIPRoute and LookupIPRouteMP (on the CPU only).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14)
 *        -> rt :: LinearIPLookup(18.26.4.24/32 0, 18.26.4.0/24 1, default 18.26.4.1 1);
 *      rt[0] -> ToDump(to_me.pcap); rt[1] -> ToDump(to_others.pcap);
 */
class LinearIPLookup : public IPRouteTable {
 public:
  LinearIPLookup();

 protected:
  bool lists_as_given() const override { return true; }
};

}  // namespace heddle
