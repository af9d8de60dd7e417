#include <algorithm>
#include <cstring>

#include "click/arguments.h"
#include "core/error.h"
#include "core/load.h"
#include "functions/ipsec/burst.h"
#include "functions/ipsec/ipsec.h"

namespace heddle {

using namespace ipsec;

IPsecEncap::IPsecEncap() = default;
IPsecEncap::~IPsecEncap() = default;

void IPsecEncap::configure(click::Arguments& arguments) {
  configure_associations(arguments, associations_);
  table = &associations_;
}

Access IPsecEncap::access(Processor) const {
  return {.reads = {kWholePacket},
          .writes = {kWholePacket},
          .column_reads = columns(Column::sa, Column::esp_sequence, Column::esp_iv)};
}

std::span<const char* const> IPsecEncap::drop_reasons() const {
  static constexpr const char* kReasons[] = {"no_sa", "malformed"};
  return kReasons;
}

void IPsecEncap::start(const Environment& environment) { bursts_ = make_bursts(environment.threads); }

void IPsecEncap::run_cpu(Batch& batch) {
  const uint32_t link = associations_.image().link_bytes;
  const uint32_t *sas = batch.column(Column::sa), *sequences = batch.column(Column::esp_sequence);
  const uint64_t* ivs = batch.wide_column(Column::esp_iv);
  Burst& burst = *bursts_[static_cast<size_t>(batch.thread)];
  uint8_t* icvs[Burst::kMost];
  int packets[Burst::kMost];
  const auto finish = [&] {
    const bool ok = burst.finish();
    for (int k = 0; k < burst.count(); ++k) {
      if (ok)
        std::memcpy(icvs[k], burst.icv(k), kIcvBytes);
      else
        batch.drop(packets[k], kMalformed);
    }
  };
  for (int first = 0; first < batch.size(); first += Burst::kMost) {
    const int end = std::min(batch.size(), first + Burst::kMost);
    burst.begin(end - first);
    for (int i = first; i < end; ++i) {
      if (sas[i] >= associations_.count()) {
        batch.drop(i, kNoSa);
        continue;
      }
      Packet* packet = batch.packet(i);
      uint8_t* plain = data(packet) + link;
      const uint32_t available = length(packet) - link;
      Inner inner{};
      if (length(packet) >= link + kIp4Bytes) inner = inner_of(load_u32(plain), load_u32(plain + 4), available);
      if (inner.bytes == 0) {
        batch.drop(i, kMalformed);
        continue;
      }
      const Association& sa = associations_[sas[i]];
      const uint32_t ciphertext = ciphertext_bytes(inner.bytes), padding = ciphertext - inner.bytes - kTrailerBytes;
      for (uint32_t at = 0; at < padding + kTrailerBytes; ++at)
        plain[inner.bytes + at] = static_cast<uint8_t>(trailer_byte(at, padding, inner.next_header));
      uint8_t *esp = plain - kEspBytes - kIvBytes, *outer = esp - kIp4Bytes;
      std::memmove(outer - link, plain - link, link);
      if (link >= 2) outer[-2] = 0x08, outer[-1] = 0x00;
      uint32_t words[5];
      outer_header(words, sa, inner, sequences[i]);
      std::memcpy(outer, words, sizeof words);
      store_u32(esp, sa.spi);
      store_u32(esp + 4, swapped(sequences[i]));
      std::memcpy(esp + kEspBytes, &ivs[i], kIvBytes);
      move_head(packet, -static_cast<int>(kFrontBytes));
      move_tail(packet, static_cast<int>(ciphertext + kIcvBytes) - static_cast<int>(available));
      icvs[burst.count()] = plain + ciphertext;
      packets[burst.count()] = i;
      burst.encipher(sa, esp, ciphertext);
    }
    finish();
  }
}

void IPsecEncap::handlers(Handlers& list) {
  list.read("associations", [this] { return associations_.text(); });
}

std::vector<std::pair<std::string, uint64_t>> IPsecEncap::statistics() const {
  return {{"associations", associations_.count()}};
}

HEDDLE_ELEMENT(IPsecEncap);

}  // namespace heddle
