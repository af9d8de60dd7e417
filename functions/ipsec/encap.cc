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

/** A packet whose headers are as they are to be. */
struct IPsecEncap::Work {
  uint8_t* esp;
  uint32_t ciphertext;
};

IPsecEncap::IPsecEncap() = default;
IPsecEncap::~IPsecEncap() = default;

void IPsecEncap::configure(click::Arguments& arguments) {
  file_ = configure_associations(arguments, associations_);
  table = &associations_;
  retiring.push_back(&changes_);
}

bool IPsecEncap::has_waiting_before() const {
  std::vector<const Element*> reached{this};
  for (size_t k = 0; k < reached.size(); ++k)
    for (const Element* element : reached[k]->before) {
      if (dynamic_cast<const IPsecSequence*>(element) != nullptr ||
          std::ranges::find(reached, element) != reached.end())
        continue;
      const auto* const source = dynamic_cast<const Source*>(element);
      if ((source != nullptr && source->is_buffer()) || dynamic_cast<const Emitter*>(element) != nullptr) return true;
      reached.push_back(element);
    }
  return false;
}

void IPsecEncap::link(const Directory& directory) {
  bool waits = has_waiting_before();
  for (Element* other : directory("*")) {
    auto* const encap = dynamic_cast<IPsecEncap*>(other);
    if (encap == nullptr || encap == this) continue;
    if (encap->file_ == file_) {
      changes_.include(encap->changes_);
      waits = waits || encap->has_waiting_before();
    } else {
      changes_.exclude(encap->associations_, encap->name);
    }
  }
  // What has waited long may have a place that has been left since then.
  if (waits) associations_.reuse_if([](uint32_t, const FileAssociation&) { return false; });
}

std::string IPsecEncap::problem_with(const FileAssociation& from) const {
  const Association& sa = from.sa;
  if (on_gpu && !sa.fits_gpu()) return "a GPU enciphers with rfc3686(ctr(aes)) or rfc4106(gcm(aes))";
  if (sa.transport && !associations_.has_transport()) return "none had mode transport when the chain was planned";
  const uint32_t front = sa.front_bytes();
  const bool fits =
      associations_.front_varies() ? front <= associations_.front_bytes() : front == associations_.front_bytes();
  if (!fits)
    return format("it puts %u bytes before packets, and the chain was planned for %s%u", front,
                  associations_.front_varies() ? "up to " : "", associations_.front_bytes());
  if (sa.tail_bytes() > associations_.tail_bytes())
    return format("it puts up to %u bytes behind packets, and the chain was planned for %u", sa.tail_bytes(),
                  associations_.tail_bytes());
  return "";
}

void IPsecEncap::placed(bool on_gpu) {
  if (const uint32_t beyond = associations_.beyond_gpu(); on_gpu && beyond != Associations::kNone)
    throw Error("a GPU enciphers with rfc3686(ctr(aes)) or rfc4106(gcm(aes)), and association " +
                associations_.describe(beyond) + " wants something else; give it DEVICE cpu");
}

std::string IPsecEncap::choice() const {
  const uint32_t beyond = associations_.beyond_gpu();
  return beyond == Associations::kNone ? "" : "CPU only: association " + associations_.describe(beyond);
}

std::string IPsecEncap::wrong_setter(Column column, const Element& setter) const {
  if (column != Column::esp_sequence) return "";
  const std::string remedy = "put an IPsecSequence(" + name + ") between the two";
  if (dynamic_cast<const IPsecDecap*>(&setter) != nullptr)
    return ", to the number that they came with, which would be used again; " + remedy;
  const auto* sequence = dynamic_cast<const IPsecSequence*>(&setter);
  if (sequence == nullptr || sequence->numbers(associations_)) return "";
  return ", to numbers for '" + sequence->encap_name() + "', which has other associations; name '" + name +
         "' there, or " + remedy;
}

Access IPsecEncap::access(Processor) const {
  return {.reads = {kWholePacket},
          .writes = {kWholePacket},
          .column_reads = columns(Column::sa, Column::esp_sequence, Column::esp_iv)};
}

std::span<const char* const> IPsecEncap::drop_reasons() const {
  static constexpr const char* kReasons[] = {"no_sa", "malformed", "fragment"};
  return kReasons;
}

void IPsecEncap::start(const Environment& environment) { bursts_ = make_bursts(environment.threads); }

namespace {

/** Writes words of a header. */
auto store_at(uint8_t* header) {
  return [header](uint32_t at, uint32_t word) { store_u32(header + at, word); };
}

}  // namespace

int IPsecEncap::prepare(Packet* packet, const Association& sa, uint32_t sequence, uint64_t iv, Work& to) const {
  const uint32_t link = associations_.image().link_bytes;
  if (length(packet) < link) return kMalformed;
  uint8_t* const frame = data(packet);
  const uint32_t available = length(packet) - link;
  const Plain plain = plain_of(sa, frame + link, available, [&](uint32_t at) { return load_u32(frame + link + at); });
  if (plain.reason != kGood) return plain.reason;
  const uint32_t bytes = plain.inner.bytes - plain.kept, ciphertext = sa.ciphertext_bytes(bytes);
  const uint32_t front = sa.front_bytes(), middle = sa.middle_bytes();

  uint8_t* const text = frame + link + plain.kept;
  const uint32_t padding = ciphertext - bytes - kTrailerBytes;
  for (uint32_t at = 0; at < padding + kTrailerBytes; ++at)
    text[bytes + at] = static_cast<uint8_t>(trailer_byte(at, padding, plain.inner.next_header));
  std::memmove(frame - front, frame, link + plain.kept);
  uint8_t *const esp = text - kEspBytes - sa.suite.iv_bytes(), *const header = frame + link - front;
  const uint32_t behind = middle + ciphertext + sa.suite.icv_bytes;
  if (sa.transport) {
    change_header(header, plain.kept, plain.next_at, kProtocolEsp, behind);
  } else {
    if (link >= 2) header[-2] = sa.ip6 ? 0x86 : 0x08, header[-1] = sa.ip6 ? 0xdd : 0x00;
    write_outer(store_at(header), sa, plain.inner, sequence, behind);
  }
  if (sa.in_udp()) write_udp(store_at(esp - kUdpBytes), sa, behind - kUdpBytes);
  store_u32(esp, sa.spi);
  store_u32(esp + 4, swapped(sequence));
  std::memcpy(esp + kEspBytes, &iv, sizeof iv);
  if (sa.suite.iv_bytes() > sizeof iv) std::memset(esp + kEspBytes + sizeof iv, 0, sa.suite.iv_bytes() - sizeof iv);
  move_head(packet, -static_cast<int>(front));
  move_tail(packet, static_cast<int>(plain.kept + ciphertext + sa.suite.icv_bytes) - static_cast<int>(available));
  to.esp = esp, to.ciphertext = ciphertext;
  return kGood;
}

void IPsecEncap::run_cpu(Batch& batch) {
  const uint32_t *sas = batch.column(Column::sa), *sequences = batch.column(Column::esp_sequence);
  const uint64_t* ivs = batch.wide_column(Column::esp_iv);
  const Generation& all = associations_.current();
  Burst& burst = *bursts_[static_cast<size_t>(batch.thread)];
  int packets[Burst::kMax];
  for (int first = 0; first < batch.size(); first += Burst::kMax) {
    const int end = std::min(batch.size(), first + Burst::kMax);
    burst.begin(end - first);
    for (int i = first; i < end; ++i) {
      Work work;
      const int reason =
          sas[i] >= all.count() ? kNoSa : prepare(batch.packet(i), all[sas[i]], sequences[i], ivs[i], work);
      if (reason != kGood) {
        batch.drop(i, reason);
        continue;
      }
      packets[burst.count()] = i;
      burst.encipher(all.details(sas[i]), work.esp, work.ciphertext, upper_half(all[sas[i]], ivs[i]));
    }
    if (burst.finish()) continue;
    for (int k = 0; k < burst.count(); ++k) batch.drop(packets[k], kMalformed);
  }
}

void IPsecEncap::handlers(Handlers& list) {
  list.read("associations", [this] { return associations_.text(); });
  list.read("lifetimes", [this] { return associations_.lifetimes(); });
  changes_.handlers(list, file_);
}

std::vector<std::pair<std::string, uint64_t>> IPsecEncap::statistics() const { return associations_.statistics(); }

HEDDLE_ELEMENT(IPsecEncap);

}  // namespace heddle
