#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "core/chooses.h"
#include "core/element.h"
#include "functions/ndn/table.h"

namespace heddle {

/** NDNLookup: routes NDN Interests by the longest prefix, in components, of their name.
 *
 *      NDNLookup(NAME1 OUT1, NAME2 OUT2, ... [, keywords FILE, CAPACITY, OFFSET, DATA, DEVICE, BLOCKING])
 *
 *  Each argument is a route: a name in its URI form (/org/example, /a%20b, /v/54=%01; "/" matches every name) of at
 *  most 31 components, and the output port. FILE: a text file with one such route a line ("#" starts a comment); of
 *  several with one name the last counts. CAPACITY: most routes, default 65536 or those of FILE if these are more; up
 *  to 100000000; with a CPU side the table's memory, 9 bytes each, is taken at the start. OFFSET: byte of the packet
 *  where the NDN packet begins, default 14, behind an Ethernet header. DATA: output of Data packets; if it is missing
 *  they are dropped ("data"): this element has no table of pending Interests that could say where they belong. DEVICE:
 *  cpu or gpu; default: what --device says. BLOCKING: on a GPU with all slots in flight, wait (true, default) or drop
 *  ("no_slot").
 *
 *  One input, one or more outputs. Packets are those of NDN packet format 0.3, bare or in an LpPacket (NDNLPv2) that is
 *  not one of several fragments ("fragment"). Dropped as well: Interests without a route ("no_route"), and what is no
 *  Interest or Data packet with a well-formed name of one component or more ("malformed": lengths that exceed what is
 *  around them, numbers that are not in their shortest form). What follows the name is not looked at, and the hop limit
 *  stays.
 *
 *  The table is a 2-8 cuckoo table of keyed hashes (SipHash-1-3), in which a name is searched with as many components
 *  as there are routes of, all these searches at once. A name that is not there is taken for one that is with a
 *  probability of 16 in 2^48 a search, and nobody who does not know the key can choose such a name.
 *
 *  Handlers, all of which work while packets flow, on CPU and GPU:
 *      add NAME OUT     (write) adds a route; fails if there is one for this name
 *      set NAME OUT     (write) adds or replaces a route
 *      remove NAME      (write) removes a route; fails if there is none
 *      flush            (write) removes all routes
 *      lookup NAME      (read) the output that NAME leads to, "-1" if it has no route
 *      table            (read) the routes, one a line, by name: NAME OUT
 *      form             (read) how the table is searched on the CPU: "by hand", "gopt", each perhaps with AVX-512; what
 *                       is the fastest when the program starts; `heddle plan` shows it, too
 *
 *  Errors: a route that is none (named with file and line), an output that is not connected, more routes than CAPACITY.
 *  Statistics: `routes`.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Classifier(12/8624) -> n :: NDNLookup(/org/example 0, / 1);
 *      n[0] -> ToDump(here.pcap); n[1] -> ToDump(elsewhere.pcap);
 */
class NDNLookup : public Element, public Chooses {
 public:
  NDNLookup() { table = &names_.hashes(); }
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1-"; }
  const char* processing() const override { return "h/h"; }
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void handlers(Handlers& list) override;
  void placed(bool on_gpu) override { placed_on_gpu_ = on_gpu; }
  /** How look-ups are made on a CPU. Before start() it finds that out by itself, and start() does it again. */
  std::string choice() const override;
  void start(const Environment&) override;
  void run_cpu(Batch& batch) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override { return {{"routes", count_.load()}}; }

 private:
  struct Route {
    std::string wire;
    int components = 0;
    uint16_t output = 0;
  };
  /** Reads "NAME OUT"; returns what is wrong, or "". */
  std::string parse(const std::string& text, Route& route) const;
  std::vector<Route> read_file(const std::string& path, std::vector<std::string>& errors) const;
  void set(const std::string& text, bool replaces);
  std::string lookup_text(const std::string& name) const;
  std::string table_text() const;

  mutable ndn::NameTable names_;  // choice() makes it choose its form
  bool has_started_ = false, placed_on_gpu_ = false;
  uint32_t offset_ = 14;
  uint16_t data_ = kDrop | ndn::kIsData;
  std::atomic<size_t> count_{0};
};

}  // namespace heddle
