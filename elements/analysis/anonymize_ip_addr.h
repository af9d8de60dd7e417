#pragma once

#include <string>
#include <vector>

#include "core/element.h"

namespace heddle {

/** A secret one-to-one mapping of IPv4 addresses that keeps prefixes: two addresses whose first n bits are the same,
 *  and the next is not, become two such addresses (J. Xu et al., "Prefix-preserving IP address anonymization", ICNP
 *  2002, with SipHash in the place of AES). */
class AddressMapping {
 public:
  struct Kept {
    int leading_ones = 0;             ///< as many ones at an address's start stay, if there are that many
    std::vector<uint8_t> networks{};  ///< networks of 8 bits that stay
    bool special = true;              ///< 0.0.0.0 and 255.255.255.255 stay
  };
  AddressMapping(uint64_t key0, uint64_t key1, Kept kept);

  /** Host byte order. */
  uint32_t operator()(uint32_t address) const;

 private:
  /** Whether bit `depth` of addresses that begin with `prefix`, as many bits, becomes the other one. */
  bool flips(int depth, uint32_t prefix) const;
  bool keeps(int depth, uint32_t prefix) const;  // what Kept says
  uint64_t subtree(int top, uint32_t prefix) const;
  uint32_t map(uint32_t address) const;

  uint64_t key0_, key1_;
  Kept kept_;
  std::vector<uint16_t> upper_;  // [65536] what the upper halves of addresses become
};

/** AnonymizeIPAddr: gives IPv4 addresses others, the same for the same, and keeps prefixes.
 *
 *      AnonymizeIPAddr([keywords CLASS, PRESERVE_8, SPECIAL, SEED])
 *
 *  Packets have an IPv4 header at annotation l3. Source and destination change, in ICMP errors also those of the packet
 *  in them, and the checksums that cover them, TCP's and UDP's as well: each is right afterwards if it was before.
 *  (Click leaves those of TCP and UDP; they would give something away.) No two addresses become the same. Two addresses
 *  that have exactly their first n bits in common still have exactly n in common afterwards. Addresses in other places
 *  stay: options, tunnelled headers, payloads.
 *
 *  CLASS: how many leading ones stay, 0 (default) to 32 (or 99): 1: addresses are of class A if and only if they were;
 *  2: A or B, and so on. PRESERVE_8: first numbers of networks, such as "10 192", that stay what they are; networks
 *  beside them can then only change places with their like, since prefixes are kept. SPECIAL: whether 0.0.0.0 and
 *  255.255.255.255 stay, default true (the addresses that would have become these get others, whose prefixes then
 *  differ). SEED: true (default): a secret of 128 bits, new at each start; a number (false: 0): the addresses of that
 *  number, which are the same everywhere, so that who knows it can turn them back.
 *
 *  A mapping that keeps prefixes gives away which addresses are neighbours: whoever finds out some addresses of a
 *  network, by their traffic, knows part of the others there. Other than IPv4 packets leave by output 1 or, if that is
 *  not connected, are dropped ("no_header"). Hot reconfiguration: addresses stay the same if the arguments are.
 *
 *  Handlers: `map` (r, with an address): what it becomes.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> AnonymizeIPAddr(CLASS 4) -> Truncate(54) -> ToDump(out.pcap);
 */
class AnonymizeIPAddr : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1-2"; }
  const char* processing() const override { return "a/ah"; }
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void start(const Environment& environment) override;
  void take_state(Element& old) override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  AddressMapping::Kept kept_;
  bool random_ = true;
  uint64_t seed_ = 0;
  std::unique_ptr<AddressMapping> mapping_;
};

}  // namespace heddle
