#include <algorithm>
#include <cstring>

#include "click/arguments.h"
#include "core/load.h"
#include "functions/ipsec/burst.h"
#include "functions/ipsec/ipsec.h"

namespace heddle {

using namespace ipsec;

namespace {

enum Reason : int { kNotEsp, kShort, kUnknown, kReplayed, kBadIcv, kBadPadding, kNotIp };

/** Whether two ICVs are equal, in a time that does not depend on them. */
bool equal_icv(const uint8_t* one, const uint8_t* other) {
  const uint32_t difference = (load_u32(one) ^ load_u32(other)) | (load_u32(one + 4) ^ load_u32(other + 4)) |
                              (load_u32(one + 8) ^ load_u32(other + 8));
  return difference == 0;
}

}  // namespace

/** A packet of a burst. */
struct IPsecDecap::Work {
  int packet;
  uint32_t sa, sequence;
  uint8_t* esp;
  uint32_t ciphertext;
};

IPsecDecap::IPsecDecap() = default;
IPsecDecap::~IPsecDecap() = default;

void IPsecDecap::configure(click::Arguments& arguments) { configure_associations(arguments, associations_); }

Access IPsecDecap::access(Processor) const {
  return {.reads = {kWholePacket}, .writes = {kWholePacket}, .column_writes = columns(Column::sa)};
}

std::span<const char* const> IPsecDecap::drop_reasons() const {
  static constexpr const char* kReasons[] = {"not_esp", "short",       "no_sa", "replayed",
                                             "bad_icv", "bad_padding", "not_ip"};
  return kReasons;
}

void IPsecDecap::start(const Environment& environment) { bursts_ = make_bursts(environment.threads); }

void IPsecDecap::run_cpu(Batch& batch) {
  const uint32_t link = associations_.image().link_bytes;
  Burst& burst = *bursts_[static_cast<size_t>(batch.thread)];
  Work work[Burst::kMost];
  const auto prepare = [&](int i, Work& to) -> int {
    Packet* packet = batch.packet(i);
    if (length(packet) < link + kIp4Bytes) return kNotEsp;
    const uint8_t* outer = data(packet) + link;
    const uint32_t header = (outer[0] & 15u) * 4, total = swapped16(load_u16(outer + 2));
    if (outer[0] >> 4 != 4 || header < kIp4Bytes || outer[9] != kProtocolEsp || (load_u16(outer + 6) & 0xff3f) != 0)
      return kNotEsp;
    constexpr uint32_t kLeast = kEspBytes + kIvBytes + kIcvBytes;
    if (total > length(packet) - link || total < header + kLeast + kTrailerBytes || (total - header - kLeast) % 4 != 0)
      return kShort;
    to.packet = i;
    to.esp = const_cast<uint8_t*>(outer) + header;
    to.ciphertext = total - header - kLeast;
    to.sa = associations_.find(load_u32(to.esp));
    if (to.sa == Associations::kNone || associations_[to.sa].destination != load_u32(outer + 16)) return kUnknown;
    to.sequence = swapped(load_u32(to.esp + 4));
    return associations_.window(to.sa).could_come(to.sequence) ? -1 : kReplayed;
  };
  for (int first = 0; first < batch.size(); first += Burst::kMost) {
    const int end = std::min(batch.size(), first + Burst::kMost);
    burst.begin(end - first);
    for (int i = first; i < end; ++i) {
      Work& to = work[burst.count()];
      if (const int reason = prepare(i, to); reason >= 0)
        batch.drop(i, reason);
      else
        burst.decipher(associations_[to.sa], to.esp, to.ciphertext);
    }
    finish(batch, burst, work);
  }
}

void IPsecDecap::finish(Batch& batch, Burst& burst, const Work* work) {
  const uint32_t link = associations_.image().link_bytes;
  const bool ok = burst.finish();
  const auto judge = [&](int k) -> int {
    const Work& it = work[k];
    uint8_t* inner = it.esp + kEspBytes + kIvBytes;
    const uint8_t* trailer = inner + it.ciphertext - kTrailerBytes;
    if (!ok || !equal_icv(burst.icv(k), inner + it.ciphertext)) return kBadIcv;
    if (!associations_.window(it.sa).mark(it.sequence)) return kReplayed;
    const uint32_t padding = trailer[0], next_header = trailer[1];
    if (padding + kTrailerBytes > it.ciphertext) return kBadPadding;
    for (uint32_t at = 0; at < padding; ++at)
      if ((trailer - padding)[at] != at + 1) return kBadPadding;
    const uint32_t available = it.ciphertext - kTrailerBytes - padding;
    if (available < kIp4Bytes) return kNotIp;
    const Inner what = inner_of(load_u32(inner), load_u32(inner + 4), available);
    if (what.bytes == 0 || what.next_header != next_header) return kNotIp;

    Packet* packet = batch.packet(it.packet);
    std::memmove(inner - link, data(packet), link);
    if (link >= 2) {
      inner[-2] = next_header == kProtocolIp4 ? 0x08 : 0x86;
      inner[-1] = next_header == kProtocolIp4 ? 0x00 : 0xdd;
    }
    move_head(packet, static_cast<int>(inner - link - data(packet)));
    move_tail(packet, static_cast<int>(link + what.bytes) - static_cast<int>(length(packet)));
    if (uint32_t* sas = batch.column(Column::sa)) sas[it.packet] = it.sa;
    return -1;
  };
  for (int k = 0; k < burst.count(); ++k)
    if (const int reason = judge(k); reason >= 0) batch.drop(work[k].packet, reason);
}

void IPsecDecap::handlers(Handlers& list) {
  list.read("associations", [this] { return associations_.text(); });
}

std::vector<std::pair<std::string, uint64_t>> IPsecDecap::statistics() const {
  return {{"associations", associations_.count()}};
}

HEDDLE_ELEMENT(IPsecDecap);

}  // namespace heddle
