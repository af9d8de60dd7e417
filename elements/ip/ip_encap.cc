#include "elements/ip/ip_encap.h"

#include "click/arguments.h"
#include "core/error.h"
#include "elements/endpoints/checksums.h"
#include "elements/icmp/icmp_names.h"
#include "elements/ip/encap.h"
#include "elements/ip/transport.h"

namespace heddle {
namespace {

/** Explicit congestion notification: which of the two codes for "capable transport". */
struct CapableTransport {
  uint32_t ecn = 0;
};
bool parse(std::string_view text, CapableTransport& value) {
  bool capable = false;
  if (click::parse(text, value.ecn, 0u, 2u)) return true;
  if (!click::parse(text, capable)) return false;
  value.ecn = capable ? 1 : 0;
  return true;
}
std::string expectation(CapableTransport) { return "a truth value (true or false) or 2"; }

/** Argument DST: an address, or that of the annotation. */
bool read_destination(click::Arguments& arguments, std::atomic<uint32_t>& destination) {
  std::string text;
  arguments.required("DST", text);
  click::Ipv4Address address;
  if (text == "DST_ANNO") return true;
  if (!arguments.read(text, address) && !text.empty()) arguments.error("DST", "an IPv4 address or DST_ANNO");
  destination = htonl(address.value);
  return false;
}

struct IcmpHeader {
  uint8_t type, code;
  uint16_t identifier, sequence;  // host byte order, as is the identification of IP
};
void prepend_icmp(Batch& batch, int i, uint32_t source, uint32_t destination, uint16_t identification,
                  const IcmpHeader& icmp) {
  uint8_t* header = prepend(batch, i, 28);
  if (header == nullptr) return;
  const uint32_t bytes = batch.length(i);
  std::memset(header, 0, 28);
  header[0] = 0x45, header[8] = 255, header[9] = kIcmp;
  store_u16(header + 2, htons(static_cast<uint16_t>(bytes)));
  store_u16(header + 4, htons(identification));
  store_u32(header + 12, source);
  store_u32(header + 16, destination);
  set_ip4_header_checksum(header, 20);
  header[20] = icmp.type, header[21] = icmp.code;
  store_u16(header + 24, htons(icmp.identifier));
  store_u16(header + 26, htons(icmp.sequence));
  store_u16(header + 22, htons(static_cast<uint16_t>(checksum_of(checksum_add(0, header + 20, bytes - 20)))));
  batch.column(Column::dst)[i] = destination;
  batch.column(Column::l3)[i] = batch.packet(i)->data_off;
  batch.column(Column::l4)[i] = batch.packet(i)->data_off + 20u;
}

void add_address(Handlers& list, const char* name, std::atomic<uint32_t>& address) {
  list.read(name, [&address] { return to_text(click::Ipv4Address{ntohl(address)}); })
      .write(name,
             [&address](const std::string& text) { address = htonl(click::value_of<click::Ipv4Address>(text).value); });
}

void add_destination(Handlers& list, std::atomic<uint32_t>& address, bool from_annotation) {
  if (!from_annotation) return add_address(list, "dst", address);
  list.read("dst", [] { return "DST_ANNO"; }).write("dst", [](const std::string&) {
    throw Error("DST is DST_ANNO: the annotation says where packets go");
  });
}

}  // namespace

bool parse(std::string_view text, IpProtocol& value) {
  static constexpr std::pair<const char*, int> kWords[] = {{"ip", 4},   {"ipip", 4}, {"icmp", 1},  {"tcp", 6},
                                                           {"udp", 17}, {"ip6", 41}, {"icmp6", 58}};
  for (const auto& [word, number] : kWords)
    if (text == word) {
      value.value = number;
      return true;
    }
  return click::parse(text, value.value, 0, 255);
}
std::string expectation(IpProtocol) { return "an integer from 0 to 255, ip, ipip, icmp, tcp, udp, ip6 or icmp6"; }

void add_port(Handlers& list, const char* name, std::atomic<uint16_t>& port) {
  list.read(name, [&port] { return std::to_string(ntohs(port)); }).write(name, [&port](const std::string& text) {
    port = htons(click::value_of<uint16_t>(text));
  });
}

void IPEncap::configure(click::Arguments& arguments) {
  IpProtocol protocol;
  click::Ipv4Address source;
  constexpr uint32_t kNotGiven = 256;
  uint32_t ttl = 250, tos = kNotGiven, dscp = kNotGiven, ecn = kNotGiven, id = 0;
  CapableTransport capable;
  bool df = false, congestion = false;
  arguments.required("PROTO", protocol).required("SRC", source);
  from_annotation_ = read_destination(arguments, destination_);
  arguments.keyword("TTL", ttl, 0u, 255u).keyword("TOS", tos, 0u, 255u).keyword("DSCP", dscp, 0u, 63u);
  arguments.keyword("ECN", ecn, 0u, 3u).keyword("ID", id, 0u, 65535u).keyword("DF", df);
  arguments.keyword("ECT", capable).keyword("CE", congestion);
  const int ways = (ecn != kNotGiven) + (capable.ecn != 0) + congestion;
  if (tos != kNotGiven && (dscp != kNotGiven || ways > 0))
    arguments.error("TOS is DSCP and ECN (or ECT, CE) together; give it or them");
  if (ways > 1) arguments.error("ECN, ECT and CE set the same two bits; give one of them");
  if (ecn == kNotGiven) ecn = congestion ? 3 : capable.ecn;
  if (tos == kNotGiven) tos = (dscp == kNotGiven ? 0 : dscp << 2) | ecn;
  source_ = htonl(source.value), identification_ = id;
  header_[0] = 0x45;
  header_[1] = static_cast<uint8_t>(tos);
  header_[6] = df ? 0x40 : 0;
  header_[8] = static_cast<uint8_t>(ttl), header_[9] = static_cast<uint8_t>(protocol.value);
}

Access IPEncap::access(Processor) const {
  return {.writes = {{Base::head, -20, 0}},
          .column_reads = from_annotation_ ? columns(Column::dst) : 0,
          .column_writes = columns(Column::dst, Column::l3, Column::l4)};
}

std::span<const char* const> IPEncap::drop_reasons() const { return kEncapReasons; }

void IPEncap::run_cpu(Batch& batch) {
  uint32_t* dst = batch.column(Column::dst);
  const auto n = static_cast<uint32_t>(batch.size());
  uint32_t id = identification_.fetch_add(n, std::memory_order_relaxed);
  const uint32_t source = source_.load(std::memory_order_relaxed), own = destination_.load(std::memory_order_relaxed);
  for (int i = 0; i < batch.size(); ++i, ++id) {
    uint8_t* header = prepend(batch, i, 20);
    if (header == nullptr) continue;
    if (!from_annotation_) dst[i] = own;
    std::memcpy(header, header_.data(), 20);
    store_u16(header + 2, htons(static_cast<uint16_t>(batch.length(i))));
    store_u16(header + 4, htons(static_cast<uint16_t>(id)));
    store_u32(header + 12, source);
    store_u32(header + 16, dst[i]);
    set_ip4_header_checksum(header, 20);
    batch.column(Column::l3)[i] = batch.packet(i)->data_off;
    batch.column(Column::l4)[i] = batch.packet(i)->data_off + 20u;
  }
}

void IPEncap::handlers(Handlers& list) {
  add_address(list, "src", source_);
  add_destination(list, destination_, from_annotation_);
}

void UDPIPEncap::configure(click::Arguments& arguments) {
  click::Ipv4Address source;
  click::Port sport{.protocol = click::Port::kUdp}, dport = sport;
  arguments.required("SRC", source).required("SPORT", sport);
  from_annotation_ = read_destination(arguments, destination_);
  arguments.required("DPORT", dport).optional("CHECKSUM", checksum_);
  configure_more(arguments);
  source_ = htonl(source.value), source_port_ = htons(sport.number), destination_port_ = htons(dport.number);
}

Access UDPIPEncap::access(Processor) const {
  return {.reads = {kWholePacket},
          .writes = {{Base::head, -28, 0}},
          .column_reads = from_annotation_ ? columns(Column::dst) : 0,
          .column_writes = columns(Column::dst, Column::l3, Column::l4)};
}

std::span<const char* const> UDPIPEncap::drop_reasons() const { return kEncapReasons; }

void UDPIPEncap::run_cpu(Batch& batch) {
  uint32_t* dst = batch.column(Column::dst);
  const auto n = static_cast<uint32_t>(batch.size());
  uint64_t id = identification_.fetch_add(n, std::memory_order_relaxed);
  const uint32_t source = source_.load(std::memory_order_relaxed), own = destination_.load(std::memory_order_relaxed);
  const uint16_t sport = ntohs(source_port_.load(std::memory_order_relaxed)),
                 dport = ntohs(destination_port_.load(std::memory_order_relaxed));
  for (int i = 0; i < batch.size(); ++i, ++id) {
    const uint64_t step = interval_ == 0 ? 0 : id / interval_;
    uint8_t* header = prepend(batch, i, 28);
    if (header == nullptr) continue;
    if (!from_annotation_) dst[i] = own;
    const uint32_t bytes = batch.length(i);
    std::memset(header, 0, 28);
    header[0] = 0x45, header[8] = 250, header[9] = kUdp;
    store_u16(header + 2, htons(static_cast<uint16_t>(bytes)));
    store_u16(header + 4, htons(static_cast<uint16_t>(id)));
    store_u32(header + 12, source);
    store_u32(header + 16, dst[i]);
    set_ip4_header_checksum(header, 20);
    store_u16(header + 20, htons(static_cast<uint16_t>(sport + step)));
    store_u16(header + 22, htons(static_cast<uint16_t>(dport + step)));
    store_u16(header + 24, htons(static_cast<uint16_t>(bytes - 20)));
    if (checksum_)
      store_u16(header + 26,
                htons(static_cast<uint16_t>(transport_checksum(header, header + 20, bytes - 20, bytes - 20))));
    batch.column(Column::l3)[i] = batch.packet(i)->data_off;
    batch.column(Column::l4)[i] = batch.packet(i)->data_off + 20u;
  }
}

void UDPIPEncap::handlers(Handlers& list) {
  add_address(list, "src", source_);
  add_destination(list, destination_, from_annotation_);
  add_port(list, "sport", source_port_);
  add_port(list, "dport", destination_port_);
}

void DynamicUDPIPEncap::configure_more(click::Arguments& arguments) { arguments.optional("INTERVAL", interval_); }

void ICMPPingEncap::configure(click::Arguments& arguments) {
  click::Ipv4Address source, destination;
  arguments.required("SRC", source).required("DST", destination).keyword("IDENTIFIER", identifier_);
  source_ = htonl(source.value), destination_ = htonl(destination.value);
}

Access ICMPPingEncap::access(Processor) const {
  return {.reads = {kWholePacket},
          .writes = {{Base::head, -28, 0}},
          .column_writes = columns(Column::dst, Column::l3, Column::l4)};
}

std::span<const char* const> ICMPPingEncap::drop_reasons() const { return kEncapReasons; }

void ICMPPingEncap::run_cpu(Batch& batch) {
  uint64_t count = count_.fetch_add(static_cast<uint64_t>(batch.size()), std::memory_order_relaxed);
  const uint32_t source = source_.load(std::memory_order_relaxed),
                 destination = destination_.load(std::memory_order_relaxed);
  for (int i = 0; i < batch.size(); ++i, ++count) {
    const auto number = static_cast<uint16_t>(count % 65535 + 1);  // never 0, as in Click
    prepend_icmp(batch, i, source, destination, number, {kEcho, 0, identifier_, number});
  }
}

void ICMPPingEncap::handlers(Handlers& list) {
  add_address(list, "src", source_);
  add_address(list, "dst", destination_);
}

void ICMPIPEncap::configure(click::Arguments& arguments) {
  click::Ipv4Address source, destination;
  arguments.required("SRC", source).required("DST", destination).optional("TYPE", type_).optional("CODE", code_);
  arguments.keyword("IDENTIFIER", identifier_).keyword("SEQUENCE", sequence_);
  source_ = htonl(source.value), destination_ = htonl(destination.value);
}

Access ICMPIPEncap::access(Processor) const {
  return {.reads = {kWholePacket},
          .writes = {{Base::head, -28, 0}},
          .column_writes = columns(Column::dst, Column::l3, Column::l4)};
}

std::span<const char* const> ICMPIPEncap::drop_reasons() const { return kEncapReasons; }

void ICMPIPEncap::run_cpu(Batch& batch) {
  uint32_t id = identification_.fetch_add(static_cast<uint32_t>(batch.size()), std::memory_order_relaxed);
  const uint32_t source = source_.load(std::memory_order_relaxed),
                 destination = destination_.load(std::memory_order_relaxed);
  for (int i = 0; i < batch.size(); ++i, ++id)
    prepend_icmp(batch, i, source, destination, static_cast<uint16_t>(id), {type_, code_, identifier_, sequence_});
}

void ICMPIPEncap::handlers(Handlers& list) {
  add_address(list, "src", source_);
  add_address(list, "dst", destination_);
}

HEDDLE_ELEMENT(DynamicUDPIPEncap);
HEDDLE_ELEMENT(IPEncap);
HEDDLE_ELEMENT(UDPIPEncap);
HEDDLE_ELEMENT(ICMPPingEncap);
HEDDLE_ELEMENT(ICMPIPEncap);

}  // namespace heddle
