#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "functions/nids/buffers.h"
#include "functions/nids/ranges.h"
#include "functions/nids/regex.h"
#include "functions/nids/rule.h"

namespace heddle::nids {

/** What a rule does with packets that it matches. */
enum class Action : uint8_t { alert, pass, drop, reject };

constexpr size_t kMaxVariables = 8;     ///< of a rule
constexpr uint32_t kUsualPriority = 3;  ///< of rules that say none: Suricata's

/** A number that a rule says, or one that a `byte_extract` of it has read. */
struct Operand {
  int64_t number = 0;
  int variable = -1;  ///< its number, below kMaxVariables; -1: `number` is it
};

/** What looks at bytes in a place, which counts from the payload's start or from where the content before ends:
 *  `isdataat`, `byte_test`, `byte_jump`, `byte_extract`. */
struct Probe {
  enum class Kind : uint8_t { data_at, test, jump, extract };
  enum class Compare : uint8_t { equal, less, greater, at_most, at_least, shares, differs };
  enum class From : uint8_t { here, beginning, end };
  static constexpr int kMaxDigits = 23;

  Kind kind = Kind::data_at;
  bool negated = false;     ///< of data_at: there is no such byte; of a test: it fails
  bool text = false;        ///< the number is written in digits
  bool little = false;      ///< its lowest byte comes first
  int base = 0;             ///< of `text`: 8, 10, 16, or 0: as its beginning says
  Operand bytes, offset;    ///< how many the number has (0 of digits in a test: those that are there), and where
  Compare compare{};        ///< test: the number, of which only `mask` counts if that is not 0, with `value`
  Operand value;            ///< without sign
  uint64_t mask = 0;        ///< what counts is shifted down by the zeros at its end
  uint32_t multiplier = 1;  ///< jump, extract: what the number is multiplied by,
  uint32_t align = 1;       ///< and what it is then rounded up to a multiple of
  From from = From::here;   ///< jump: by that far from behind the number, or from an end of the payload,
  int post_offset = 0;      ///< and this
  int variable = -1;        ///< extract: the number of what it reads
};

struct Base64;

/** Bytes that a payload must have, or, if `negated`, must not have; or a regular expression that stands for such bytes,
 *  or what looks at bytes in a place, or decodes what stands there. */
struct Content {
  std::string bytes;                     ///< 1..255; none with a `regex`, `probe` or `base64`
  std::shared_ptr<const Regex> regex;    ///< `pcre`, which has only `negated` and `relative`: searched in what follows
  std::shared_ptr<const Probe> probe;    ///< has only `relative`
  std::shared_ptr<const Base64> base64;  ///< has only `relative`; the last of its list
  bool nocase = false, negated = false;
  bool at_end = false;            ///< only where the payload ends with it
  bool relative = false;          ///< searched behind the match of the content before: `distance`, `within`
  int offset = 0, depth = -1;     ///< of the payload; depth counts from offset, -1: to the end
  int distance = 0, within = -1;  ///< from the end of the match before; within counts from distance, -1: to the end
  /** Variables that stand for these instead; -1: none. */
  int offset_variable = -1, depth_variable = -1, distance_variable = -1, within_variable = -1;
  bool fast = false;                     ///< `fast_pattern`
  int chop_offset = 0, chop_length = 0;  ///< the part of `bytes` that is the fast pattern; length 0: all

  bool searches_bytes() const { return !regex && !probe && !base64; }
};

/** Base64 (RFC 4648, 4) from a place on: `base64_decode`, and what `base64_data` looks for in what it stands for. */
struct Base64 {
  static constexpr uint32_t kMaxBytes = 65535;
  uint32_t bytes = kMaxBytes;  ///< characters, at most kMaxBytes
  uint32_t offset = 0;         ///< of the first, from the payload's start or from where the content before ends
  std::vector<Content> contents;
};

/** How often a rule must match before it counts, or how often it may: `threshold` and `detection_filter`. */
struct Threshold {
  enum class Type : uint8_t { none, limit, threshold, both, filter };
  enum class Track : uint8_t { source, destination, both, rule };
  Type type = Type::none;
  Track track = Track::source;
  uint32_t count = 0, seconds = 0;
};

/** What `flow` asks of a packet (Suricata 7.0, flow keywords); none of it is true of a packet whose flow is not
 *  known. */
enum FlowState : uint8_t { kToServer = 1, kToClient = 2, kEstablished = 4 };

/** How many sequence numbers a side of the packet's TCP connection has used, which rules ask for: `stream_size`. */
struct SentTest {
  enum class Of : uint8_t { client, server, both, either };
  Of of;
  Ranges counts;

  bool holds(uint32_t by_client, uint32_t by_server) const;
};

/** A bit of a packet's flow (`flowbits`) or of its addresses (`xbits`) that a rule asks for, or that it changes when
 *  all that it asks for is there. */
struct BitOption {
  enum class Kind : uint8_t { is_set, is_not_set, set, unset, toggle };
  enum class Of : uint8_t { flow, source, destination, pair };
  static constexpr uint32_t kUsualSeconds = 30;
  Kind kind = Kind::is_set;
  Of of = Of::flow;
  uint32_t seconds = kUsualSeconds;  ///< that an address or pair has it
  std::vector<std::string> names;    ///< one, or, of a question, those of which one will do
  std::vector<uint32_t> numbers;     ///< of the names, by which RuleTable knows them

  bool asks() const { return kind == Kind::is_set || kind == Kind::is_not_set; }
};

/** A field of a packet's headers that a rule asks for, as a number. */
enum class Field : uint8_t {
  version,          ///< of IP: 4 or 6
  ttl,              ///< or IPv6's hop limit
  tos,              ///< of IPv4
  id,               ///< of IPv4
  ip_protocol,      ///< what follows the IP header, and IPv6's extension headers
  fragment_bits,    ///< of IPv4; 4: the reserved one, 2: DF, 1: MF
  fragment_offset,  ///< in units of eight bytes; IPv6 has one in a fragment header
  same_addresses,   ///< 1: source and destination are one
  sequence,
  acknowledgement,
  window,
  tcp_flags,
  icmp_type,
  icmp_code,
  icmp_id,  ///< this and the next: of messages that have them
  icmp_sequence
};
struct FieldTest {
  Field field;
  Ranges values;  ///< one of which it must have; packets without the field do not match
};

/** What a rule looks for in a buffer of a transaction. */
struct BufferPart {
  Buffer buffer{};
  std::vector<Transform> transforms;
  std::vector<Content> contents;
  std::vector<Ranges> sizes;  ///< `bsize`, `urilen`: the buffer's bytes are in each of them
  uint32_t number = 0;        ///< of the buffer with these transforms, by which BufferRules know it

  /** Whether it can only be judged where a body ends, or else where enough of it is there: for what is not there. */
  bool asks_for_end() const;
  bool asks_for_absence() const;
};
constexpr size_t kMaxParts = 31;  ///< of a rule

/** A rule of a Snort or Suricata file. */
struct Signature {
  Action action = Action::alert;
  Protocol protocol = Protocol::ip;
  Addresses sources, destinations;
  Ranges source_ports, destination_ports;  ///< all of 0..65535: packets without ports match, too
  bool both_ways = false;                  ///< <>
  bool tags = false;                       ///< `tag`: further packets are to be logged, which nothing here does
  bool silent = false;                     ///< `noalert`: it does what it does, without an alert
  std::vector<FieldTest> fields;           ///< all of which must hold
  std::vector<Content> contents;           ///< of the payload
  Application application{};               ///< it is for what speaks this; none: for anything
  std::vector<BufferPart> parts;           ///< none: it looks into payload only
  Ranges sizes{0, UINT32_MAX};             ///< `dsize`: bytes of payload
  uint8_t flow_has = 0, flow_lacks = 0;    ///< of FlowState
  std::vector<SentTest> sent;              ///< all of which must hold
  enum class Streams : uint8_t { too, only, never };
  Streams streams = Streams::too;  ///< whether it is for TCP connections, packets, or both: `only_stream`, `no_stream`
  Threshold threshold;
  std::vector<BitOption> bits;
  uint32_t sid = 0, revision = 0, generator = 1;  ///< generator: `gid`, without which a sid says nothing
  std::optional<uint32_t> priority;               ///< the lowest is the most urgent
  std::string message, classtype;
  std::string category;  ///< of alerts: what its classtype means, if that is known, or the classtype
  size_t line = 0;       ///< in its file, from 1

  /** For people: "sid 7", or "gid 5, sid 7"; "" without a sid. */
  std::string name() const;
  /** The content that the pattern stage looks for, or nothing if all are negated or there is none, or BufferRules look
   *  for the rule. */
  const Content* fast_content() const;
  /** Its part that is looked for. */
  std::string_view fast_pattern() const;
  /** Whether it asks for bytes that may be anywhere in a TCP connection, however it is cut into segments. */
  bool reads_streams() const;
  /** How many bytes a payload must have so that its contents can be there; where a variable, a pcre or a byte_jump says
   *  a place, as if that were the first possible. */
  int64_t least_payload() const;
  /** Whether it has bits of flows. */
  bool has_flow_bits() const;
  /** Whether `flow`, `flowbits` or `stream_size` ask for what is only known if other packets of the flow have been
   *  seen. */
  bool asks_flow() const { return (flow_has | flow_lacks) != 0 || has_flow_bits() || !sent.empty(); }
  /** Whether these must be all packets of `of`, which it is for. Of TCP, SYNs are enough unless it asks for a direction
   *  where there may be no connection, or for what has been sent. */
  bool asks_all(Protocol of) const;
};

/** A rule that is left out, for it asks for something that is not supported. */
struct LeftOut {
  size_t line;          ///< in its file, from 1
  std::string name;     ///< of the rule
  std::string feature;  ///< what it asks for, in words that are the same for all rules that do
  std::string text;     ///< "FILE:LINE: NAME: WHY"
};

/** The rules of a file, in its order. */
struct RuleSet {
  std::vector<Signature> rules;
  std::vector<LeftOut> unsupported;
  std::vector<Signature>
      outdated;  ///< they are in the file, and so is one with the same gid and sid and a higher revision
};

}  // namespace heddle::nids
