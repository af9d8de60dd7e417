#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/packet.h"
#include "functions/nids/signature.h"

namespace heddle::nids {

/** How many sequence numbers the sides of a TCP connection have used (RFC 9293, 3.4): one for a SYN, one for each byte
 *  up to the farthest, and one for a FIN that has been acknowledged. They go round. */
struct Sent {
  uint32_t client, server;
};

/** What rules see of a packet of IPv4 or IPv6. Host byte order. */
struct View {
  Protocol protocol;
  uint8_t number;  ///< of the protocol
  bool is_ip6;
  Wide source, destination;
  bool has_ports;
  uint16_t source_port, destination_port;
  std::span<const uint8_t> payload;
  uint8_t tcp_flags = 0;  ///< kFin, kSyn, ...; 0 with what follows, if it has no whole header of TCP
  uint32_t sequence = 0, acknowledgement = 0;
  uint8_t flow = 0;          ///< of FlowState
  std::optional<Sent> sent;  ///< with this packet; nothing: it is not known, or no rule asks
  /** Its headers, as they lie; null if they are not whole, as the transport header of a later fragment. */
  const uint8_t *network = nullptr, *transport = nullptr;
  const uint8_t* fragment = nullptr;  ///< IPv6's fragment header, if there is one

  /** What tables that have 64 bits for addresses know one by, or two: an IPv4 address, or two of them, or a hash of
   *  IPv6 addresses that nobody can make collide. */
  uint64_t name_of(Wide first, Wide second = 0) const;
};

class Dialogue;

/** A piece of one direction of a TCP connection, and what the packet's connection or datagram speaks. */
struct Window {
  std::span<const uint8_t> bytes;
  uint32_t fresh = 0;            ///< where in `bytes` those begin that were not in a window before
  uint64_t offset = 0;           ///< of `bytes` from the direction's first byte
  Application application{};     ///< what it speaks, as far as is known
  uint32_t fresh_to_it = 0;      ///< as `fresh`, for rules that are for the application: it may have become known now
  Dialogue* dialogue = nullptr;  ///< what it says, up to here; null: there is nothing new to be looked into
  Side side{};                   ///< of `dialogue`
  bool alone = false;            ///< it came in packets before, which have been judged
};

/** The view of the packet [frame, frame + bytes) whose headers begin at these offsets; false if there is no whole
 *  header of IPv4 or IPv6. What a later fragment, or a packet with a broken transport header, has behind the IP headers
 *  is payload. */
bool look_at(const uint8_t* frame, uint32_t bytes, uint32_t network, uint32_t transport, View& view);

/** Where the contents of a rule so far may have ended, ascending; and at which of these places something ended behind
 *  what a window had before. */
struct Ways {
  std::vector<uint32_t> ends, fresh_ends;
};

/** What is searched. */
struct Text {
  std::span<const uint8_t> bytes;
  uint64_t offset;  ///< of its first byte in what rules count from
  uint32_t fresh;   ///< some content must end behind this place; 0: anywhere
};

/** What a thread needs to match contents: memory for the places where they may end, and for regular expressions. */
struct Workspace {
  Workspace() {
    for (auto* list : {&ways[0].ends, &ways[0].fresh_ends, &others, &found}) list->reserve(kMaxPacketBytes + 1);
  }
  Ways ways[kMaxVariables + 1];  ///< [number of variables that have been read]
  std::vector<uint32_t> others, found;
  uint64_t values[kMaxVariables] = {};  ///< of variables
  RegexWorkspace regex;
  std::vector<uint8_t> decoded;        ///< from Base64,
  std::unique_ptr<Workspace> of_that;  ///< and what it takes to look into it; made for the first rule that does
  uint32_t searches = 0;  ///< that a rule may still do for a packet: of regular expressions, for each variable read,
                          ///< and for each KB of Base64
  uint64_t gave_up = 0;   ///< those that reached a limit
};

/** Whether `rule` matches. Contents are searched in order; a relative one behind any match of the one before that leads
 *  on, so all ways are tried. Time: contents times bytes of payload; regular expressions have limits, and what is
 *  beyond is no match, also of a negated one. Allocates nothing but what PCRE2 needs, and once, where a window is
 *  longer than any packet, or for rules with variables or Base64. */
bool matches(const Signature& rule, const View& view, Workspace& workspace);
/** Whether `rule`, which reads streams, matches with a content that ends in what is fresh of `window`; addresses and
 *  ports are `view`'s. `offset` and `depth` count from the direction's first byte. */
bool matches(const Signature& rule, const View& view, const Window& window, Workspace& workspace);

/** The parts of that. Whether the rule is for the packet: what it says of flow, headers, addresses and ports. */
bool is_for(const Signature& rule, const View& view);
/** Of that, only what it says of addresses and ports. */
bool goes_between(const Signature& rule, const View& view);
/** Allows 1000 searches, and `more`, to the calls of stand_in() for a rule and a packet, or a transaction. */
void allow_searches(Workspace& workspace, uint32_t more);
/** Whether `contents` stand in `bytes`, the first of which is `offset` behind that from which they count. */
bool stand_in(std::span<const Content> contents, std::span<const uint8_t> bytes, uint64_t offset, Workspace& workspace);
bool stand_in(std::span<const Content> contents, const Text& text, Workspace& workspace);

}  // namespace heddle::nids
