#pragma once

#include <cstdint>

#include "core/macros.h"
#include "functions/ipsec/ghash.h"
#include "functions/ipsec/suite.h"

/** ESP (RFC 4303): what CPU and GPU have in common, which is all but AES-CBC: AES-CTR (RFC 3686) and HMAC-SHA1-96 or
 *  HMAC-SHA-256-128 (RFC 2404, RFC 4868), or AES-GCM (RFC 4106), in both modes and families. What the CPU wants beyond
 *  that is in details.h. */
namespace heddle::ipsec {

HEDDLE_HD inline uint32_t swapped(uint32_t x) { return x << 24 | (x & 0xff00) << 8 | (x >> 8 & 0xff00) | x >> 24; }
HEDDLE_HD inline uint32_t swapped16(uint32_t x) { return (x & 0xff) << 8 | (x >> 8 & 0xff); }
HEDDLE_HD inline uint64_t swapped64(uint64_t x) {
  return uint64_t{swapped(static_cast<uint32_t>(x))} << 32 | swapped(static_cast<uint32_t>(x >> 32));
}

/** What `ip xfrm` says of the outer header. */
enum Flag : uint32_t {
  kNoEcn = 1,         ///< flag noecn: ECN bits are copied neither to the outer header nor from it
  kNoPmtuDisc = 2,    ///< flag nopmtudisc: DF is clear; else that of the inner header, and set for IPv6
  kDontEncapDscp = 4  ///< extra-flag dont-encap-dscp: DSCP is 0; else that of the inner header
};

constexpr uint32_t kIp4Bytes = 20, kIp6Bytes = 40, kUdpBytes = 8;
constexpr uint32_t kEspBytes = 8, kIvBytes = 8, kTrailerBytes = 2, kMaxIcvBytes = 16;

/** What an association's packets look like from outside. */
struct Form {
  uint64_t iv_base;              ///< what an initialisation vector is its number's distance from; see iv_of()
  uint32_t source, destination;  ///< of IPv4, network byte order
  uint32_t flags;                ///< of Flag
  Suite suite;
  bool transport;                          ///< mode; else tunnel
  bool ip6;                                ///< outer addresses
  bool extended;                           ///< sequence numbers have 64 bits (RFC 4303, 2.2.1)
  uint16_t source_port, destination_port;  ///< of UDP around ESP (RFC 3948), network byte order; 0: none
  uint32_t source6[4], destination6[4];    ///< of IPv6, as they lie

  HEDDLE_HD bool in_udp() const { return destination_port != 0; }
  HEDDLE_HD uint32_t ip_bytes() const { return transport ? 0 : ip6 ? kIp6Bytes : kIp4Bytes; }
  /** What stands between the IP header and what is enciphered. */
  HEDDLE_HD uint32_t middle_bytes() const { return (in_udp() ? kUdpBytes : 0) + kEspBytes + suite.iv_bytes(); }
  /** By how much Encap moves the start of a packet. */
  HEDDLE_HD uint32_t front_bytes() const { return ip_bytes() + middle_bytes(); }
  /** Most that Encap puts behind a packet. */
  HEDDLE_HD uint32_t tail_bytes() const { return suite.alignment() - 1 + kTrailerBytes + suite.icv_bytes; }
  /** Bytes that are enciphered for `plain` bytes: these, padding, trailer (RFC 4303, 2.4). */
  HEDDLE_HD uint32_t ciphertext_bytes(uint32_t plain) const {
    return (plain + kTrailerBytes + suite.alignment() - 1) & ~(suite.alignment() - 1);
  }
  /** The last number that it has. */
  HEDDLE_HD uint64_t last_number() const { return extended ? uint64_t{INT64_MAX} : UINT32_MAX; }
  bool has_destination_of(const Form& other) const {
    bool same = ip6 == other.ip6 && destination == other.destination;
    for (int w = 0; w < 4; ++w) same = same && destination6[w] == other.destination6[w];
    return same;
  }
  /** Whether a GPU can do it. */
  bool fits_gpu() const { return suite.cipher != Cipher::aes_cbc; }
};
static_assert(sizeof(Form) == 64);

/** A security association, as packets need it. Host memory and GPU memory have the same bytes. */
struct alignas(64) Association : Form {
  static constexpr uint32_t kPowers = 8;

  uint32_t rounds;  ///< 10, 12 or 14: of keys of 128, 192 or 256 bits
  uint32_t nonce;   ///< RFC 3686, 4; the salt of RFC 4106, 4; as the bytes lie
  uint32_t spi;     ///< network byte order
  uint32_t inner[8],
      outer[8];  ///< the hash after the block key ^ ipad, and after key ^ opad (RFC 2104); numbers. Five of SHA-1
  alignas(16) uint32_t round_keys[60];  ///< AES, FIPS 197, 5.2; as the bytes lie, 4 * (rounds + 1) of them
  Polynomial powers[kPowers];           ///< of AES-GCM: [i]: H^(i + 1) / x, H being GHASH's key
};
static_assert(sizeof(Association) == 512);

/** The image of an element's table: this, then `count` associations, then the slots of a hash of SPIs, then, with
 *  has_extended, `count` numbers, then, with has_ports, a bit for each port. */
struct alignas(256) Image {
  struct Slot {
    uint32_t spi, index;  ///< of an empty one spi is 0
  };
  uint32_t count;
  uint32_t link_bytes;  ///< bytes before the IP header, which stay before it
  uint32_t slot_mask;   ///< number of slots - 1, a power of two, at least 2
  uint32_t slot_shift;  ///< 32 - bits of slot_mask
  bool has_extended;    ///< whether some association has extended sequence numbers
  bool has_ports;       ///< whether some association has its packets in UDP
  uint32_t te[256];  ///< AES: [b]: byte b by S-box and MixColumns, that is 2, 1, 1 and 3 times S(b); as the bytes lie
  HEDDLE_HD const Association* associations() const { return reinterpret_cast<const Association*>(this + 1); }
  HEDDLE_HD const Slot* slots() const { return reinterpret_cast<const Slot*>(associations() + count); }
  /** [count]: up to which number all have come before, so that a GPU need not have seen one. */
  HEDDLE_HD const uint64_t* seen() const { return reinterpret_cast<const uint64_t*>(slots() + slot_mask + 1); }
  /** [kPortWords] */
  HEDDLE_HD const uint32_t* ports() const {
    return reinterpret_cast<const uint32_t*>(seen() + (has_extended ? count : 0));
  }
  static constexpr uint32_t kPortWords = 65536 / 32;
  /** Whether some association takes ESP in UDP to this port, in network byte order. */
  HEDDLE_HD bool takes_port(uint16_t port) const { return has_ports && (ports()[port / 32] >> port % 32 & 1) != 0; }
  /** The first slot to look for an SPI, in network byte order, in. */
  HEDDLE_HD uint32_t slot_of(uint32_t spi) const { return swapped(spi) * 2654435761u >> slot_shift; }

  static constexpr uint32_t kNone = ~0u;
  /** Of the associations of an SPI, in network byte order, the first that `is_it` accepts, or kNone. */
  template <class IsIt>
  HEDDLE_HD uint32_t find(uint32_t spi, const IsIt& is_it) const {
    for (uint32_t at = slot_of(spi); slots()[at].spi != 0; at = (at + 1) & slot_mask)
      if (slots()[at].spi == spi && is_it(associations()[slots()[at].index])) return slots()[at].index;
    return kNone;
  }
  HEDDLE_HD uint32_t find(uint32_t spi) const {
    for (uint32_t at = slot_of(spi); slots()[at].spi != 0; at = (at + 1) & slot_mask)
      if (slots()[at].spi == spi) return slots()[at].index;
    return kNone;
  }
};

constexpr uint32_t kMaxPadding = 3;
constexpr uint32_t kFrontBytes = kIp4Bytes + kEspBytes + kIvBytes;  ///< what a tunnel over IPv4 puts before a packet
constexpr uint8_t kProtocolEsp = 50, kProtocolIp4 = 4, kProtocolIp6 = 41;

enum EncapReason : int { kNoSa, kMalformed, kFragment };
enum DecapReason : int {
  kNotEsp,
  kShort,
  kUnknown,
  kReplayed,
  kBadIcv,
  kBadPadding,
  kNotIp,
  kKeepalive,
  kExpired,
  kSelector,
  kEcn,
  kGood = -1
};

/** What Encap must know of the packet that it protects. */
struct Inner {
  uint32_t bytes;  ///< by its header; what a link has padded behind it is left out. 0: this is no packet
  uint32_t next_header, tos;
  bool df;
};

/** From the first eight bytes of the header, as they lie, of which `available` bytes and what follows are there. */
HEDDLE_HD inline Inner inner_of(uint32_t first, uint32_t second, uint32_t available) {
  Inner inner{};
  if ((first >> 4 & 15) == 4) {
    const uint32_t header = (first & 15) * 4;
    inner = {swapped16(first >> 16), kProtocolIp4, first >> 8 & 255, (second >> 16 & 0x40) != 0};
    if (header < kIp4Bytes || inner.bytes < header) inner.bytes = 0;
  } else if ((first >> 4 & 15) == 6) {
    inner = {kIp6Bytes + swapped16(second & 0xffff), kProtocolIp6, (first << 4 & 0xf0) | (first >> 12 & 15), true};
  }
  if (inner.bytes > available) inner.bytes = 0;
  return inner;
}

/** The initialisation vector of a packet with this number, as its bytes lie. */
HEDDLE_HD inline uint64_t iv_of(const Form& form, uint64_t number) { return swapped64(form.iv_base + number); }
/** The upper half of the number that an initialisation vector is of; 0 if the association's have none. */
HEDDLE_HD inline uint32_t upper_half(const Form& form, uint64_t iv) {
  return form.extended ? static_cast<uint32_t>((swapped64(iv) - form.iv_base) >> 32) : 0;
}

/** Bytes that are enciphered, of all but AES-CBC: inner packet, padding to a multiple of four, trailer (RFC 4303,
 *  2.4). */
HEDDLE_HD inline uint32_t ciphertext_bytes(uint32_t inner_bytes) {
  return (inner_bytes + kTrailerBytes + 3) & ~uint32_t{3};
}

/** DSCP and ECN of the outer header (RFC 4301, 5.1.2.1; RFC 6040). */
HEDDLE_HD inline uint32_t outer_tos(const Form& sa, const Inner& inner) {
  return inner.tos & ~(sa.flags & kDontEncapDscp ? 0xfcu : 0) & ~(sa.flags & kNoEcn ? 3u : 0);
}

/** The five words of an outer header, as they lie, of a packet of `total` bytes (RFC 4301, 5.1.2.1). The low half of
 *  the sequence number is its identification, which so is not used twice in a while (RFC 6864). */
HEDDLE_HD inline void outer_header(uint32_t (&words)[5], const Form& sa, const Inner& inner, uint32_t sequence,
                                   uint32_t total, uint32_t protocol = kProtocolEsp) {
  const uint32_t tos = outer_tos(sa, inner);
  const uint32_t df = inner.df && !(sa.flags & kNoPmtuDisc) ? 0x4000 : 0;
  const uint32_t id = sequence & 0xffff, source = swapped(sa.source), destination = swapped(sa.destination);
  constexpr uint32_t kTtl = 64;
  uint32_t sum = (0x4500 | tos) + total + id + df + (kTtl << 8 | protocol) + (source >> 16) + (source & 0xffff) +
                 (destination >> 16) + (destination & 0xffff);
  sum = (sum >> 16) + (sum & 0xffff);
  sum += sum >> 16;
  words[0] = swapped((0x4500 | tos) << 16 | total);
  words[1] = swapped(id << 16 | df);
  words[2] = swapped((kTtl << 8 | protocol) << 16 | (~sum & 0xffff));
  words[3] = sa.source;
  words[4] = sa.destination;
}

/** Byte `at` of the trailer behind an inner packet, whose padding has `padding` bytes: 1, 2, ..., its length, next
 * header. */
HEDDLE_HD inline uint32_t trailer_byte(uint32_t at, uint32_t padding, uint32_t next_header) {
  return at < padding ? at + 1 : at == padding ? padding : next_header;
}

/** What has been deciphered. */
struct Payload {
  int reason;          ///< of DecapReason, kGood if its padding is right
  uint32_t bytes = 0;  ///< without padding and trailer
  uint32_t next_header = 0;
};

/** From `bytes` bytes, at least 4 and a multiple of 4; `load(at)` gives four of them, as they lie (RFC 4303, 2.4). */
template <class Load>
HEDDLE_HD Payload payload_of(uint32_t bytes, const Load& load) {
  const uint32_t last = load(bytes - 4), padding = last >> 16 & 255;
  if (padding + kTrailerBytes > bytes) return {kBadPadding};
  const uint32_t end = bytes - kTrailerBytes - padding;
  for (uint32_t at = 0; at < padding; ++at)
    if ((load((end + at) & ~3u) >> (end + at) % 4 * 8 & 255) != at + 1) return {kBadPadding};
  return {kGood, end, last >> 24};
}

/** The packet in the payload of a tunnel; its bytes are 0 if there is none. */
template <class Load>
HEDDLE_HD Inner tunnelled(const Payload& payload, const Load& load) {
  if (payload.bytes < kIp4Bytes) return {};
  const Inner inner = inner_of(load(0), load(4), payload.bytes);
  return inner.next_header == payload.next_header ? inner : Inner{};
}

/** What an Ethernet header says of it. */
HEDDLE_HD inline uint32_t ether_type_of(const Inner& inner) {
  return inner.next_header == kProtocolIp4 ? 0x0800 : 0x86dd;
}

/** The ECN bits of a packet that leaves a tunnel (RFC 6040, 4.2), or -1: it must be dropped, for it has been marked on
 *  the way, and nobody behind would see that. */
HEDDLE_HD inline int ecn_behind_tunnel(uint32_t inner, uint32_t outer) {
  constexpr uint32_t kNone = 0, kEct1 = 1, kEct0 = 2, kCe = 3;
  if (outer == kCe) return inner == kNone ? -1 : static_cast<int>(kCe);
  return static_cast<int>(inner == kEct0 && outer == kEct1 ? kEct1 : inner);
}

/** Writes them into the header of an IP packet. */
HEDDLE_HD inline void set_ecn(uint8_t* header, uint32_t ecn) {
  if (header[0] >> 4 == 6) {
    header[1] = static_cast<uint8_t>((header[1] & 0xcf) | ecn << 4);
    return;
  }
  const uint32_t before = header[1];
  header[1] = static_cast<uint8_t>((before & 0xfc) | ecn);
  // RFC 1624, equation 3; the other byte of the word stays.
  uint32_t sum = (~(uint32_t{header[10]} << 8 | header[11]) & 0xffff) + (~before & 0xffff) + header[1];
  sum = (sum >> 16) + (sum & 0xffff);
  sum += sum >> 16;
  header[10] = static_cast<uint8_t>(~sum >> 8), header[11] = static_cast<uint8_t>(~sum);
}

}  // namespace heddle::ipsec
