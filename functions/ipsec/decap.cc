#include <algorithm>
#include <cstring>

#include "click/arguments.h"
#include "core/error.h"
#include "core/load.h"
#include "functions/ipsec/burst.h"
#include "functions/ipsec/headers.h"
#include "functions/ipsec/ipsec.h"
#include "functions/ipsec/replay_rule.h"

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
  file_ = configure_associations(arguments, associations_);
  table = &associations_;
  retiring.push_back(&changes_);
  associations_.reuse_if([this](uint32_t place, const FileAssociation& from) { return may_reuse(place, from); });
}

bool IPsecDecap::may_reuse(uint32_t place, const FileAssociation& from) const {
  if (!read_gpu_state || !from.sa.extended) return true;
  Highest highest;
  // Below kMaxBehind it changes nothing: see number_near().
  return read_gpu_state(place * sizeof highest, std::as_writable_bytes(std::span(&highest, 1))) &&
         highest.number < kMaxBehind;
}

std::string IPsecDecap::problem_with(const FileAssociation& from) const {
  if (from.sa.extended && !associations_.has_extended()) return "none had flag esn when the chain was planned";
  if (leaves_judging() && Associations::counts_content_of(from))
    return "an IPsecReplay cannot count limits of mode transport";
  if (!on_gpu) return "";
  if (!from.sa.fits_gpu()) return "a GPU deciphers with rfc3686(ctr(aes)) or rfc4106(gcm(aes))";
  if (!leaves_judging() && Associations::is_judged(from))
    return "a GPU judges no replay window, selector or limits, and there is no IPsecReplay(" + name + ") right behind";
  return "";
}

void IPsecDecap::link(const Directory&) {
  if (associations_.count() > 0) check_offset(*this, associations_.image().link_bytes, name);
}

bool IPsecDecap::fits_gpu() const {
  return leaves_judging() ||
         (associations_.beyond_gpu() == Associations::kNone && associations_.judged() == Associations::kNone);
}

std::string IPsecDecap::why_on_cpu() const {
  if (const uint32_t beyond = associations_.beyond_gpu(); beyond != Associations::kNone)
    return "association " + associations_.describe(beyond);
  if (const uint32_t one = associations_.counts_content(); one != Associations::kNone)
    return "association " + associations_.describe(one) + " has limits of what is behind a packet's headers";
  return "association " + associations_.describe(associations_.judged()) +
         " has a replay window, selector or limits, and there is no IPsecReplay(" + name + ") right behind";
}

void IPsecDecap::placed(bool on_gpu) {
  if (!on_gpu || fits_gpu()) return;
  if (associations_.beyond_gpu() != Associations::kNone)
    throw Error("a GPU deciphers with rfc3686(ctr(aes)) or rfc4106(gcm(aes)), and " + why_on_cpu() +
                " wants something else; give it DEVICE cpu");
  if (associations_.counts_content() != Associations::kNone)
    throw Error("a GPU counts no lifetimes: " + why_on_cpu() + "; give it DEVICE cpu");
  throw Error("a GPU judges no sequence numbers: " + why_on_cpu() + "; put that there, or give it DEVICE cpu");
}

std::string IPsecDecap::choice() const { return fits_gpu() ? "" : "CPU only: " + why_on_cpu(); }

std::string IPsecDecap::hidden_from_cpu() const {
  return associations_.has_extended() ? "the highest extended sequence numbers" : "";
}

Access IPsecDecap::access(Processor) const {
  ColumnSet sets = columns(Column::sa, Column::esp_sequence);
  if (associations_.has_extended()) sets |= columns(Column::esp_iv);
  return {.reads = {kWholePacket}, .writes = {kWholePacket}, .column_writes = sets};
}

std::span<const char* const> IPsecDecap::drop_reasons() const {
  static constexpr const char* kReasons[] = {"not_esp", "short",     "no_sa",   "replayed", "bad_icv", "bad_padding",
                                             "not_ip",  "keepalive", "expired", "selector", "ecn"};
  return kReasons;
}

void IPsecDecap::start(const Environment& environment) { bursts_ = make_bursts(environment.threads); }

int IPsecDecap::prepare(const Generation& all, Packet* packet, Work& to) const {
  const uint32_t link = all.image().link_bytes;
  if (length(packet) < link + kIp4Bytes) return kNotEsp;
  uint8_t* const header = data(packet) + link;
  to.arrived = arrived_of(header, length(packet) - link, [&](uint16_t port) { return all.image().takes_port(port); });
  if (to.arrived.reason != kGood) return to.arrived.reason;
  to.esp = header + to.arrived.esp;
  to.sa = all.find(load_u32(to.esp), [header](const Form& one) {
    return goes_to(one, [header](uint32_t at) { return load_u32(header + at); });
  });
  if (to.sa == Associations::kNone) return kUnknown;
  const Form& sa = all[to.sa];
  if (to.arrived.port != sa.destination_port) return kUnknown;
  const uint32_t around = kEspBytes + sa.suite.iv_bytes() + sa.suite.icv_bytes;
  const uint32_t bytes = to.arrived.end - to.arrived.esp;
  if (bytes < around + kTrailerBytes || (bytes - around) % sa.suite.alignment() != 0) return kShort;
  to.ciphertext = bytes - around;
  const uint32_t low = swapped(load_u32(to.esp + 4));
  const ReplayWindow& window = all.window(to.sa);
  to.sequence = low;
  if (sa.extended) to.sequence = leaves_judging() ? number_near(window.top(), low) : window.extended(low);
  return leaves_judging() || window.could_come(to.sequence) ? kGood : kReplayed;
}

void IPsecDecap::run_cpu(Batch& batch) {
  const Generation& all = associations_.current();
  Burst& burst = *bursts_[static_cast<size_t>(batch.thread)];
  Work work[Burst::kMax];
  for (int first = 0; first < batch.size(); first += Burst::kMax) {
    const int end = std::min(batch.size(), first + Burst::kMax);
    burst.begin(end - first);
    for (int i = first; i < end; ++i) {
      Work& to = work[burst.count()];
      to.packet = i;
      if (const int reason = prepare(all, batch.packet(i), to); reason != kGood)
        batch.drop(i, reason);
      else
        burst.decipher(all.details(to.sa), to.esp, to.ciphertext, static_cast<uint32_t>(to.sequence >> 32));
    }
    finish(all, batch, burst, work);
  }
}

int IPsecDecap::open(const Generation& all, Packet* packet, const Work& it, Lifetime::Time now) const {
  const uint32_t link = all.image().link_bytes;
  const Association& sa = all[it.sa];
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
    const int ecn =
        sa.flags & kNoEcn ? static_cast<int>(inner.tos & 3) : ecn_behind_tunnel(inner.tos & 3, it.arrived.ecn);
    if (ecn < 0) return kEcn;
    start = text;
    bytes = inner.bytes;
    if (static_cast<uint32_t>(ecn) != (inner.tos & 3)) set_ecn(start, static_cast<uint32_t>(ecn));
    std::memmove(start - link, data(packet), link);
    const uint32_t type = ether_type_of(inner);
    if (link >= 2) text[-2] = static_cast<uint8_t>(type >> 8), text[-1] = static_cast<uint8_t>(type);
  }
  if (!leaves_judging() && !all.may_have(it.sa, start, bytes)) return kSelector;
  move_head(packet, static_cast<int>(start - link - data(packet)));
  move_tail(packet, static_cast<int>(link + bytes) - static_cast<int>(length(packet)));
  return leaves_judging() || all.take_life(it.sa, sa.transport ? payload.bytes : bytes, now) ? kGood : kExpired;
}

void IPsecDecap::finish(const Generation& all, Batch& batch, Burst& burst, const Work* work) const {
  const bool ok = burst.finish();
  const Lifetime::Time now = all.now();
  uint32_t *sas = batch.column(Column::sa), *sequences = batch.column(Column::esp_sequence);
  uint64_t* numbers = associations_.has_extended() ? batch.wide_column(Column::esp_iv) : nullptr;
  for (int k = 0; k < burst.count(); ++k) {
    const Work& it = work[k];
    int reason = kGood;
    if (!ok || !burst.authentic(k))
      reason = kBadIcv;
    else if (!leaves_judging() && !all.window(it.sa).mark(it.sequence))
      reason = kReplayed;
    else
      reason = open(all, batch.packet(it.packet), it, now);
    if (reason != kGood) {
      batch.drop(it.packet, reason);
      continue;
    }
    // A column that nobody reads is not there.
    if (sas != nullptr) sas[it.packet] = it.sa;
    if (sequences != nullptr) sequences[it.packet] = static_cast<uint32_t>(it.sequence);
    if (numbers != nullptr) numbers[it.packet] = it.sequence;
  }
}

std::string IPsecDecap::stop() {
  associations_.announce(name);
  return {};
}

void IPsecDecap::handlers(Handlers& list) {
  list.read("associations", [this] { return associations_.text(); });
  list.read("lifetimes", [this] { return associations_.lifetimes(); });
  changes_.handlers(list, file_);
}

std::vector<std::pair<std::string, uint64_t>> IPsecDecap::statistics() const { return associations_.statistics(); }

HEDDLE_ELEMENT(IPsecDecap);

}  // namespace heddle
