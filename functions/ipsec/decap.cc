#include <algorithm>
#include <cstring>

#include "click/arguments.h"
#include "core/error.h"
#include "core/load.h"
#include "functions/ipsec/burst.h"
#include "functions/ipsec/headers.h"
#include "functions/ipsec/ipsec.h"

namespace heddle {

using namespace ipsec;

/** A packet of a burst. */
struct IPsecDecap::Work {
  int packet;
  uint32_t sa;
  uint64_t sequence;
  Arrived arrived;
  uint8_t* esp;
  uint32_t ciphertext;
};

IPsecDecap::IPsecDecap() = default;
IPsecDecap::~IPsecDecap() = default;

void IPsecDecap::configure(click::Arguments& arguments) {
  configure_associations(arguments, associations_);
  table = &associations_;
}

bool IPsecDecap::fits_gpu() const {
  return associations_.beyond_gpu() == Associations::kNone &&
         (judged_behind_ || associations_.judged() == Associations::kNone);
}

std::string IPsecDecap::why_on_cpu() const {
  if (const uint32_t beyond = associations_.beyond_gpu(); beyond != Associations::kNone)
    return "association " + associations_.describe(beyond);
  return "association " + associations_.describe(associations_.judged()) +
         " has a replay window, selector or limits, and there is no IPsecReplay(" + name + ") right behind";
}

void IPsecDecap::placed(bool on_gpu) {
  if (!on_gpu || fits_gpu()) return;
  if (associations_.beyond_gpu() != Associations::kNone)
    throw Error("a GPU deciphers tunnels over IPv4 with rfc3686(ctr(aes)) or rfc4106(gcm(aes)), and " + why_on_cpu() +
                " wants something else; give it DEVICE cpu");
  throw Error("a GPU judges no sequence numbers: " + why_on_cpu() + "; put that there, or give it DEVICE cpu");
}

std::string IPsecDecap::choice() const { return fits_gpu() ? "" : "CPU only: " + why_on_cpu(); }

Access IPsecDecap::access(Processor) const {
  return {
      .reads = {kWholePacket}, .writes = {kWholePacket}, .column_writes = columns(Column::sa, Column::esp_sequence)};
}

std::span<const char* const> IPsecDecap::drop_reasons() const {
  static constexpr const char* kReasons[] = {"not_esp", "short",     "no_sa",   "replayed", "bad_icv", "bad_padding",
                                             "not_ip",  "keepalive", "expired", "selector", "ecn"};
  return kReasons;
}

void IPsecDecap::start(const Environment& environment) { bursts_ = make_bursts(environment.threads); }

int IPsecDecap::prepare(Packet* packet, Work& to) {
  const uint32_t link = associations_.image().link_bytes;
  if (length(packet) < link + kIp4Bytes) return kNotEsp;
  uint8_t* const header = data(packet) + link;
  to.arrived = arrived_of(header, length(packet) - link, [&](uint16_t port) { return associations_.takes_port(port); });
  if (to.arrived.reason != kGood) return to.arrived.reason;
  to.esp = header + to.arrived.esp;
  to.sa = associations_.find(load_u32(to.esp));
  if (to.sa == Associations::kNone || !is_for(to.sa, header, to.arrived)) return kUnknown;
  const Details& sa = associations_.details(to.sa);
  const uint32_t around = kEspBytes + sa.suite.iv_bytes() + sa.suite.icv_bytes;
  const uint32_t bytes = to.arrived.end - to.arrived.esp;
  if (bytes < around + kTrailerBytes || (bytes - around) % sa.suite.alignment() != 0) return kShort;
  to.ciphertext = bytes - around;
  const uint32_t low = swapped(load_u32(to.esp + 4));
  to.sequence = sa.extended ? associations_.window(to.sa).extended(low) : low;
  if (leaves_judging()) return kGood;
  return associations_.window(to.sa).could_come(to.sequence) ? kGood : kReplayed;
}

bool IPsecDecap::is_for(uint32_t index, const uint8_t* header, const Arrived& arrived) const {
  const Details& sa = associations_.details(index);
  if (arrived.ip6 != sa.ip6 || arrived.port != sa.destination_port) return false;
  return sa.ip6 ? std::memcmp(header + 24, sa.destination6, 16) == 0
                : load_u32(header + 16) == associations_[index].destination;
}

void IPsecDecap::run_cpu(Batch& batch) {
  Burst& burst = *bursts_[static_cast<size_t>(batch.thread)];
  Work work[Burst::kMost];
  for (int first = 0; first < batch.size(); first += Burst::kMost) {
    const int end = std::min(batch.size(), first + Burst::kMost);
    burst.begin(end - first);
    for (int i = first; i < end; ++i) {
      Work& to = work[burst.count()];
      to.packet = i;
      if (const int reason = prepare(batch.packet(i), to); reason != kGood)
        batch.drop(i, reason);
      else
        burst.decipher(associations_.details(to.sa), to.esp, to.ciphertext, static_cast<uint32_t>(to.sequence >> 32));
    }
    finish(batch, burst, work);
  }
}

int IPsecDecap::open(Packet* packet, const Work& it) {
  const uint32_t link = associations_.image().link_bytes;
  const Details& sa = associations_.details(it.sa);
  uint8_t* const text = it.esp + kEspBytes + sa.suite.iv_bytes();
  const auto load = [&](uint32_t at) { return load_u32(text + at); };
  const Payload payload = payload_of(it.ciphertext, load);
  if (payload.reason != kGood) return payload.reason;
  uint8_t* start;  // of the IP packet
  uint32_t bytes;
  if (sa.transport) {
    if (payload.next_header == kProtocolNone) return kNotIp;
    start = text - it.arrived.ip_bytes;
    bytes = it.arrived.ip_bytes + payload.bytes;
    std::memmove(start - link, data(packet), link + it.arrived.ip_bytes);
    change_header(start, it.arrived.ip_bytes, it.arrived.next_at, payload.next_header, payload.bytes);
  } else {
    const Inner inner = tunnelled(payload, load);
    if (inner.bytes == 0) return kNotIp;
    const int ecn = associations_[it.sa].flags & kNoEcn ? static_cast<int>(inner.tos & 3)
                                                        : ecn_behind_tunnel(inner.tos & 3, it.arrived.ecn);
    if (ecn < 0) return kEcn;
    start = text;
    bytes = inner.bytes;
    if (static_cast<uint32_t>(ecn) != (inner.tos & 3)) set_ecn(start, static_cast<uint32_t>(ecn));
    std::memmove(start - link, data(packet), link);
    const uint32_t type = ether_type_of(inner);
    if (link >= 2) text[-2] = static_cast<uint8_t>(type >> 8), text[-1] = static_cast<uint8_t>(type);
  }
  if (!leaves_judging() && !associations_.has(it.sa, start, bytes)) return kSelector;
  move_head(packet, static_cast<int>(start - link - data(packet)));
  move_tail(packet, static_cast<int>(link + bytes) - static_cast<int>(length(packet)));
  return leaves_judging() || associations_.take_life(it.sa, sa.transport ? payload.bytes : bytes) ? kGood : kExpired;
}

void IPsecDecap::finish(Batch& batch, Burst& burst, const Work* work) {
  const bool ok = burst.finish();
  uint32_t *sas = batch.column(Column::sa), *sequences = batch.column(Column::esp_sequence);
  for (int k = 0; k < burst.count(); ++k) {
    const Work& it = work[k];
    int reason = kGood;
    if (!ok || !burst.authentic(k))
      reason = kBadIcv;
    else if (!leaves_judging() && !associations_.window(it.sa).mark(it.sequence))
      reason = kReplayed;
    else
      reason = open(batch.packet(it.packet), it);
    if (reason != kGood) {
      batch.drop(it.packet, reason);
      continue;
    }
    // A column that nobody reads is not there.
    if (sas != nullptr) sas[it.packet] = it.sa;
    if (sequences != nullptr) sequences[it.packet] = static_cast<uint32_t>(it.sequence);
  }
}

std::string IPsecDecap::stop() {
  associations_.announce(name);
  return {};
}

void IPsecDecap::handlers(Handlers& list) {
  list.read("associations", [this] { return associations_.text(); });
  list.read("lifetimes", [this] { return associations_.lifetimes(); });
}

std::vector<std::pair<std::string, uint64_t>> IPsecDecap::statistics() const { return associations_.statistics(); }

HEDDLE_ELEMENT(IPsecDecap);

}  // namespace heddle
