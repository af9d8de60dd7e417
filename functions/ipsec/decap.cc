#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "click/arguments.h"
#include "core/error.h"
#include "core/load.h"
#include "functions/ipsec/burst.h"
#include "functions/ipsec/ipsec.h"

namespace heddle {

using namespace ipsec;

namespace {

constexpr ColumnSet kColumnsOfReplay = columns(Column::sa, Column::esp_sequence);

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

void IPsecDecap::configure(click::Arguments& arguments) {
  configure_associations(arguments, associations_);
  table = &associations_;
}

Access IPsecDecap::access(Processor) const {
  return {.reads = {kWholePacket}, .writes = {kWholePacket}, .column_writes = kColumnsOfReplay};
}

std::span<const char* const> IPsecDecap::drop_reasons() const {
  static constexpr const char* kReasons[] = {"not_esp", "short",       "no_sa", "replayed",
                                             "bad_icv", "bad_padding", "not_ip"};
  return kReasons;
}

void IPsecDecap::start(const Environment& environment) {
  if (!judges_replays() && associations_.has_windows()) require_judge();
  bursts_ = make_bursts(environment.threads);
}

void IPsecDecap::require_judge() const {
  std::vector<const Element*> rest{this};
  std::unordered_set<const Element*> seen;
  while (!rest.empty()) {
    const Element* const here = rest.back();
    rest.pop_back();
    for (const Element* next : here->behind) {
      if (next == nullptr || next == judge_ || next->class_name == "Discard" || !seen.insert(next).second) continue;
      const bool overwrites = (next->access(Processor::cpu).column_writes & kColumnsOfReplay) != 0;
      if (overwrites || next->behind.empty())
        throw Error(format("packets get to '%s' without anti-replay check: let them pass an IPsecReplay(%s) before",
                           next->name.c_str(), name.c_str()));
      rest.push_back(next);
    }
  }
}

void IPsecDecap::run_cpu(Batch& batch) {
  const uint32_t link = associations_.image().link_bytes;
  Burst& burst = *bursts_[static_cast<size_t>(batch.thread)];
  Work work[Burst::kMost];
  const bool judges = judges_replays();
  const auto prepare = [&](int i, Work& to) -> int {
    Packet* packet = batch.packet(i);
    if (length(packet) < link + kIp4Bytes) return kNotEsp;
    uint8_t* header = data(packet) + link;
    const Outer outer = outer_of({load_u32(header), load_u32(header + 4), load_u32(header + 8)}, length(packet) - link);
    if (outer.reason != kGood) return outer.reason;
    to.packet = i;
    to.esp = header + outer.header;
    to.ciphertext = outer.ciphertext;
    to.sa = associations_.find(load_u32(to.esp));
    if (to.sa == Associations::kNone || associations_[to.sa].destination != load_u32(header + 16)) return kUnknown;
    to.sequence = swapped(load_u32(to.esp + 4));
    return !judges || associations_.window(to.sa).could_come(to.sequence) ? kGood : kReplayed;
  };
  for (int first = 0; first < batch.size(); first += Burst::kMost) {
    const int end = std::min(batch.size(), first + Burst::kMost);
    burst.begin(end - first);
    for (int i = first; i < end; ++i) {
      Work& to = work[burst.count()];
      if (const int reason = prepare(i, to); reason != kGood)
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
  const bool judges = judges_replays();
  const auto judge = [&](int k) -> int {
    const Work& it = work[k];
    uint8_t* inner = it.esp + kEspBytes + kIvBytes;
    if (!ok || !equal_icv(burst.icv(k), inner + it.ciphertext)) return kBadIcv;
    if (judges && !associations_.window(it.sa).mark(it.sequence)) return kReplayed;
    const Contents contents = contents_of(it.ciphertext, [&](uint32_t at) { return load_u32(inner + at); });
    if (contents.reason != kGood) return contents.reason;

    Packet* packet = batch.packet(it.packet);
    std::memmove(inner - link, data(packet), link);
    if (link >= 2) {
      const uint32_t type = ether_type_of(contents.inner);
      inner[-2] = static_cast<uint8_t>(type >> 8), inner[-1] = static_cast<uint8_t>(type);
    }
    move_head(packet, static_cast<int>(inner - link - data(packet)));
    move_tail(packet, static_cast<int>(link + contents.inner.bytes) - static_cast<int>(length(packet)));
    if (uint32_t* sas = batch.column(Column::sa)) sas[it.packet] = it.sa;
    if (uint32_t* sequences = batch.column(Column::esp_sequence)) sequences[it.packet] = it.sequence;
    return kGood;
  };
  for (int k = 0; k < burst.count(); ++k)
    if (const int reason = judge(k); reason != kGood) batch.drop(work[k].packet, reason);
}

void IPsecDecap::handlers(Handlers& list) {
  list.read("associations", [this] { return associations_.text(); });
}

std::vector<std::pair<std::string, uint64_t>> IPsecDecap::statistics() const {
  return {{"associations", associations_.count()}};
}

HEDDLE_ELEMENT(IPsecDecap);

}  // namespace heddle
