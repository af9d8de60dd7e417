#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "functions/ipsec/rule.h"

namespace heddle::ipsec {

/** Of which inner packets an association is: addresses in host byte order, bits after the lengths 0. */
struct Selector {
  uint32_t source = 0, destination = 0;
  uint8_t source_length = 0, destination_length = 0;
};

/** An association as a file has it. */
struct FileAssociation {
  Association sa{};
  Selector selector;
  uint32_t window = 0;          ///< of the anti-replay check; 0: none
  uint32_t sent = 0, seen = 0;  ///< sequence numbers that have been sent, and received
};

constexpr size_t kMostAssociations = 100000, kLargestWindow = 64;

/** Reads what `ip xfrm state` prints, for ESP in tunnel mode over IPv4:
 *
 *      src 198.51.100.1 dst 203.0.113.1
 *          proto esp spi 0x00001001 reqid 1 mode tunnel
 *          replay-window 64 flag noecn nopmtudisc
 *          auth-trunc hmac(sha1) 0x(40 digits) 96
 *          enc rfc3686(ctr(aes)) 0x(40, 56 or 72 digits: AES key and nonce)
 *          anti-replay context: seq 0x0, oseq 0x0, bitmap 0x00000000
 *          sel src 10.1.0.0/16 dst 10.2.0.0/16
 *
 *  in which `#` starts a comment. `errors` gets "PATH:LINE: WHY" for at most 100 mistakes; none of them quotes the
 *  file, which holds keys. */
std::vector<FileAssociation> parse_associations(std::string_view text, const std::string& path,
                                                std::vector<std::string>& errors);

/** The same of a file. Throws Error when it cannot be read, or when others than its owner may. */
std::vector<FileAssociation> read_association_file(const std::string& path, std::vector<std::string>& errors);

}  // namespace heddle::ipsec
