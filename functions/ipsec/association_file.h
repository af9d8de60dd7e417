#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "functions/ipsec/lifetime.h"
#include "functions/ipsec/rule.h"
#include "functions/ipsec/secret_memory.h"
#include "functions/ipsec/selectors.h"

namespace heddle::ipsec {

/** An association as a file has it. */
struct FileAssociation {
  Association sa{};
  Selector selector;
  uint32_t window = 0;          ///< of the anti-replay check; 0: none
  uint64_t sent = 0, seen = 0;  ///< sequence numbers that have been sent, and received
  Limits limits;
  uint64_t used_packets = 0, used_bytes = 0;  ///< of the limits
  int64_t added_s = 0, first_packet_s = 0;    ///< when it was added, and used first; seconds since 1970, 0: not said
  size_t line = 0;                            ///< where it begins; 0: in no file
};

using AssociationList = std::vector<FileAssociation, WipingAllocator<FileAssociation>>;

constexpr size_t kMaxAssociations = 100000, kLargestWindow = 4096;
constexpr uint32_t kMaxOfSpi = 1000;  ///< associations of one SPI: they are looked through one after the other

/** Reads what `ip xfrm state` and `ip -s xfrm state` print, for ESP:
 *
 *      src 198.51.100.1 dst 203.0.113.1
 *          proto esp spi 0x00001001 reqid 1 mode tunnel
 *          replay-window 64 flag noecn nopmtudisc
 *          auth-trunc hmac(sha1) 0x(40 digits) 96
 *          enc rfc3686(ctr(aes)) 0x(40, 56 or 72 digits: AES key and nonce)
 *          anti-replay context: seq 0x0, oseq 0x0, bitmap 0x00000000
 *          sel src 10.1.0.0/16 dst 10.2.0.0/16
 *      src 2001:db8::1 dst 2001:db8::2
 *          proto esp spi 0x00001002 reqid 1 mode transport
 *          replay-window 0 flag esn
 *          aead rfc4106(gcm(aes)) 0x(40, 56 or 72 digits: AES key and salt) 128
 *          anti-replay esn context:
 *           seq-hi 0x0, seq 0x0, oseq-hi 0x0, oseq 0x0
 *           replay_window 1024, bitmap-length 32
 *           00000000 ...
 *          lifetime config:
 *            limit: soft 900(bytes), hard (INF)(bytes)
 *            expire add: soft 2854(sec), hard 3600(sec)
 *          lifetime current:
 *            840(bytes), 10(packets)
 *            add 2026-01-01 10:00:00 use 2026-01-01 10:00:05
 *
 *  also `auth-trunc hmac(sha256) KEY 128`, `enc cbc(aes) KEY`, and
 *  `encap type espinudp sport 4500 dport 4500 addr 0.0.0.0`. `#` starts a comment. `errors` gets "PATH:LINE: WHY" for
 *  at most 100 mistakes; none of them quotes the file, which holds keys. */
AssociationList parse_associations(std::string_view text, const std::string& path, std::vector<std::string>& errors);

/** The same of a file. Throws Error when it cannot be read, or when others than this program's user and root may. */
AssociationList read_association_file(const std::string& path, std::vector<std::string>& errors);

}  // namespace heddle::ipsec
