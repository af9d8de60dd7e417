#include "elements/nat/icmp_rewriter.h"

#include <sstream>

#include "click/arguments.h"
#include "elements/endpoints/checksums.h"
#include "elements/icmp/icmp_names.h"
#include "elements/nat/sequence.h"

namespace heddle {
namespace {

/** The ones' complement sum of `bytes` bytes, folded, in network byte order's words. */
uint16_t sum_of(const uint8_t* at, uint32_t bytes) {
  return static_cast<uint16_t>(~checksum_of(checksum_add(0, at, bytes)));
}

}  // namespace

void ICMPRewriter::configure(click::Arguments& arguments) {
  const auto given = arguments.rest();
  if (given.empty()) arguments.error("expected the names of rewriters");
  for (const auto& argument : given) names_ += argument.text + " ";
  ReplyAnnotation reply_annotation;
  arguments.keyword("DST_ANNO", set_dst_).keyword("REPLY_ANNO", reply_annotation);
  sets_paint_ = reply_annotation.given;
}

void ICMPRewriter::link(const Directory& directory) {
  std::istringstream stream(names_);
  for (std::string word; stream >> word;) {
    const size_t before = rewriters_.size();
    for (Element* element : directory(word))
      if (const auto* rewriter = dynamic_cast<const Rewriter*>(element)) rewriters_.push_back(rewriter);
    if (rewriters_.size() == before) throw Error("'" + word + "' is no IPRewriter or the like");
  }
}

Access ICMPRewriter::access(Processor) const {
  const ColumnSet paint = sets_paint_ ? columns(Column::paint) : 0;
  return {.reads = {{Base::l3, 0, kToEnd}},
          .writes = {{Base::l3, 10, kToEnd}},
          .column_reads = columns(Column::l3) | paint,
          .column_writes = paint};
}

std::span<const char* const> ICMPRewriter::drop_reasons() const {
  static constexpr const char* kReasons[] = {"not_icmp_error", "no_mapping", "no_header"};
  return kReasons;
}

bool ICMPRewriter::find(const Ip4Header& quoted, nat::FlowKey& before, nat::FlowKey& original, nat::Shifts& shifts,
                        bool& reply, uint8_t& annotation) const {
  const uint8_t protocol = quoted.at[9];
  const bool ports = quoted.first_fragment() && quoted.payload() >= 8;
  const uint8_t* behind = quoted.behind();
  before = {quoted.source(), quoted.destination(), 0, 0, nat::Kind::pair};
  nat::FlowKey exact = before;
  if (ports && (protocol == kTcp || protocol == kUdp)) {
    exact.kind = protocol == kTcp ? nat::Kind::tcp : nat::Kind::udp;
    exact.source_port = load_u16(behind), exact.destination_port = load_u16(behind + 2);
  } else if (ports && protocol == kIcmp && (behind[0] == kEcho || behind[0] == kEchoReply)) {
    exact.kind = nat::Kind::ping;
    (behind[0] == kEcho ? exact.source_port : exact.destination_port) = load_u16(behind + 4);
  }
  nat::Rewrite found;
  for (const Rewriter* rewriter : rewriters_) {
    for (const nat::FlowKey& key : {exact, before}) {
      if (!rewriter->find(key.reversed(), found)) continue;
      original = found.to.reversed();
      shifts = rewriter->mappings().shifts(found.mapping), reply = !found.reply, annotation = found.annotation;
      before = key;
      return true;
    }
    // Addresses alone: one that has left by the mapping comes from the mapped address, an answer goes to the host.
    if (rewriter->find({0, quoted.source(), 0, 0, nat::Kind::address}, found)) {
      original = before;
      original.source = found.to.destination, annotation = found.annotation;
      return true;
    }
    if (rewriter->find({quoted.destination(), 0, 0, 0, nat::Kind::address}, found)) {
      original = before;
      original.destination = found.to.source, reply = true;
      return true;
    }
  }
  return false;
}

int ICMPRewriter::rewrite(const Ip4Header& ip, uint32_t* paint) const {
  if (ip.at[9] != kIcmp || ip.fragment() || ip.payload() < 28 || !is_icmp_error(ip.behind()[0])) return kNotError;
  uint8_t* icmp = ip.behind();
  const uint32_t room = ip.payload() - 8, bytes = (icmp[8] & 15u) * 4;
  if (icmp[8] >> 4 != 4 || bytes < 20 || bytes > room) return kNotError;
  const Ip4Header quoted{icmp + 8, bytes, room};
  nat::FlowKey before, original;
  nat::Shifts shifts;
  bool reply = false;
  uint8_t annotation = 0;
  if (!find(quoted, before, original, shifts, reply, annotation)) return kNoMapping;
  if (sets_paint_ && !reply) *paint = annotation;

  const uint32_t changing = std::min(room, bytes + 20) & ~1u;  // header and the first bytes behind it
  const uint16_t sum_before = sum_of(quoted.at, changing);
  if (ip.source() == before.destination) rewrite_u32(ip.at + 12, original.destination, ip.at + 10);
  rewrite_u32(ip.at + 16, original.source, ip.at + 10);
  if (before.source != original.source) rewrite_address(quoted, quoted.at + 12, original.source);
  if (before.destination != original.destination) rewrite_address(quoted, quoted.at + 16, original.destination);
  if (before.kind == nat::Kind::ping) {
    uint8_t* identifier = quoted.behind() + 4;
    rewrite_u16(identifier, quoted.behind()[0] == kEcho ? original.source_port : original.destination_port,
                quoted.behind() + 2);
  } else if (before.kind == nat::Kind::tcp || before.kind == nat::Kind::udp) {
    rewrite_port(quoted, quoted.behind(), original.source_port);
    rewrite_port(quoted, quoted.behind() + 2, original.destination_port);
    if (shifts) nat::unshift(quoted, shifts, reply);
  }
  const uint16_t sum_after = sum_of(quoted.at, changing);
  store_u16(icmp + 2, htons(updated_checksum(ntohs(load_u16(icmp + 2)), sum_before, sum_after)));
  return -1;
}

void ICMPRewriter::run_cpu(Batch& batch) {
  const uint32_t* l3 = batch.column(Column::l3);
  for (int i = 0; i < batch.size(); ++i) {
    const Ip4Header ip = ip4_header(batch.packet(i), l3[i]);
    uint32_t* const paint = sets_paint_ ? batch.column(Column::paint) + i : nullptr;
    const int reason = ip ? rewrite(ip, paint) : static_cast<int>(kNoHeader);
    if (reason < 0) {
      if (set_dst_) batch.column(Column::dst)[i] = ip.destination();
    } else if (outputs > 1) {
      batch.next()[i] = 1;
    } else {
      batch.drop(i, reason);
    }
  }
}

HEDDLE_ELEMENT(ICMPRewriter);

}  // namespace heddle
