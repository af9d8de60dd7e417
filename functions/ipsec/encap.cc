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
  configure_associations(arguments, associations_);
  table = &associations_;
}

void IPsecEncap::placed(bool on_gpu) {
  if (const uint32_t beyond = associations_.beyond_gpu(); on_gpu && beyond != Associations::kNone)
    throw Error("a GPU enciphers tunnels over IPv4 with rfc3686(ctr(aes)) or rfc4106(gcm(aes)), and association " +
                associations_.describe(beyond) + " wants something else; give it DEVICE cpu");
}

std::string IPsecEncap::choice() const {
  const uint32_t beyond = associations_.beyond_gpu();
  return beyond == Associations::kNone ? "" : "CPU only: association " + associations_.describe(beyond);
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

int IPsecEncap::prepare(Packet* packet, uint32_t index, uint32_t sequence, uint64_t iv, Work& to) const {
  const uint32_t link = associations_.image().link_bytes;
  if (length(packet) < link) return kMalformed;
  const Association& keys = associations_[index];
  const Details& sa = associations_.details(index);
  uint8_t* const frame = data(packet);
  const uint32_t available = length(packet) - link;
  const Plain plain = plain_of(keys, sa, frame + link, available);
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
    write_outer(header, keys, sa, plain.inner, sequence, behind);
  }
  if (sa.in_udp()) write_udp(esp - 8, sa, behind - 8);
  store_u32(esp, keys.spi);
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
  Burst& burst = *bursts_[static_cast<size_t>(batch.thread)];
  int packets[Burst::kMost];
  for (int first = 0; first < batch.size(); first += Burst::kMost) {
    const int end = std::min(batch.size(), first + Burst::kMost);
    burst.begin(end - first);
    for (int i = first; i < end; ++i) {
      Work work;
      const int reason =
          sas[i] >= associations_.count() ? kNoSa : prepare(batch.packet(i), sas[i], sequences[i], ivs[i], work);
      if (reason != kGood) {
        batch.drop(i, reason);
        continue;
      }
      packets[burst.count()] = i;
      burst.encipher(associations_.details(sas[i]), work.esp, work.ciphertext,
                     associations_.upper_half(sas[i], sequences[i]));
    }
    if (burst.finish()) continue;
    for (int k = 0; k < burst.count(); ++k) batch.drop(packets[k], kMalformed);
  }
}

void IPsecEncap::handlers(Handlers& list) {
  list.read("associations", [this] { return associations_.text(); });
  list.read("lifetimes", [this] { return associations_.lifetimes(); });
}

std::vector<std::pair<std::string, uint64_t>> IPsecEncap::statistics() const { return associations_.statistics(); }

HEDDLE_ELEMENT(IPsecEncap);

}  // namespace heddle
