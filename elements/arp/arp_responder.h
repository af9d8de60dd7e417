#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "click/address_book.h"
#include "core/element.h"
#include "core/table.h"

namespace heddle {

/** ARPResponder: answers ARP requests.
 *
 *      ARPResponder([IP/MASK ... ETH, ...])
 *
 *  Each argument has one or more IPv4 addresses or networks (10.0.0.0/8) and the Ethernet address that is theirs; a
 *  name of AddressInfo may stand for both. The longest prefix that covers the address asked for counts, of two
 *  arguments for one prefix the last; there is a warning then. Without arguments it has no addresses, until handlers
 *  give it some. Packets are Ethernet frames.
 *
 *  Output 0: replies; the request becomes the reply in place, 60 bytes or as long as it was. Output 1, if connected:
 *  all other packets, unchanged; if not, they are dropped: "not_arp_request", or "not_mine" if it asks for another
 *  address. RFC 826.
 *
 *  Handlers, also while packets flow: `table` (r): IP/MASK and Ethernet address, a line each; `lookup` (r, an address):
 *  its Ethernet address; `add` (w, IP/MASK ... ETH), for others of the same networks; `remove` (w, IP/MASK ...);
 *  `config` (w, arguments), for all there are (with `heddle run -R` it reconfigures the chain, as of other elements).
 *  All know the names of AddressInfo. Hot reconfiguration: with the same arguments they stay as handlers have made
 *  them.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Classifier(12/0806 20/0001) -> ARPResponder(10.0.0.1 2:0:0:0:0:1) -> ToDump(out.pcap);
 */
class ARPResponder : public Element {
 public:
  ARPResponder() { retiring.push_back(&retired_); }
  void configure(click::Arguments& arguments) override;
  bool can_live_reconfigure() const override { return true; }
  const char* ports() const override { return "1/1-2"; }
  const char* processing() const override { return "a/ah"; }
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  bool changes_length() const override { return true; }
  int appends() const override { return 18; }
  void run_cpu(Batch& batch) override;
  void take_state(Element& old) override;
  void handlers(Handlers& list) override;

 private:
  enum Reason : int { kNotRequest, kNotMine };

  struct Owned {
    click::Ipv4Prefix prefix;
    click::EthernetAddress ethernet;
  };
  using Table = std::vector<Owned>;  // longer prefixes first
  /** Tables that packets may still be looked up in. */
  struct Retired : Retiring {
    bool has_retired() const override { return !tables.empty(); }
    void reclaim() override { tables.clear(); }
    std::vector<std::unique_ptr<const Table>> tables;
  };

  const click::EthernetAddress* find(uint32_t address) const;
  /** Those of the same prefixes go; they are appended to `gone`. */
  static void set(Table& table, const std::vector<click::Ipv4Prefix>& prefixes, const click::EthernetAddress& ethernet,
                  std::vector<click::Ipv4Prefix>& gone);
  void warn_of(const std::vector<click::Ipv4Prefix>& twice) const;
  void replace(Table table);
  void replace_all(const std::string& arguments);
  void add(const std::string& text);
  void remove(const std::string& text);

  click::AddressNames names_;
  std::atomic<const Table*> table_{nullptr};
  std::unique_ptr<const Table> owner_;  // of *table_
  Retired retired_;
};

}  // namespace heddle
