#include <arpa/inet.h>

#include "click/arguments.h"
#include "core/error.h"
#include "core/load.h"
#include "functions/ipsec/ipsec.h"

namespace heddle {

using namespace ipsec;

namespace {
enum Reason : int { kNoAssociation, kExhausted };
}

void IPsecSequence::configure(click::Arguments& arguments) {
  arguments.required("ENCAP", encap_name_).keyword("SPI", spi_);
  arguments.choice("BY", by_, {{"selector", By::selector}, {"column", By::column}});
  if (spi_ != 0) by_ = By::spi;
}

void IPsecSequence::link(const Directory& directory) {
  const std::vector<Element*> named = directory(encap_name_);
  auto* encap = named.size() == 1 ? dynamic_cast<IPsecEncap*>(named[0]) : nullptr;
  if (encap == nullptr) throw Error("ENCAP: '" + encap_name_ + "' is not an IPsecEncap of this chain");
  associations_ = &encap->associations();
  if (by_ != By::spi) return;
  only_ = associations_->find(htonl(spi_));
  if (only_ == Associations::kNone)
    throw Error(format("SPI: '%s' has no association with SPI 0x%08x", encap_name_.c_str(), spi_));
}

Access IPsecSequence::access(Processor) const {
  const int link = associations_ == nullptr ? 0 : static_cast<int>(associations_->image().link_bytes);
  Access access;
  if (by_ == By::selector) access.reads = {{Base::head, link, link + static_cast<int>(kIp4Bytes)}};
  if (by_ == By::column) access.column_reads = columns(Column::sa);
  access.column_writes = columns(Column::esp_sequence, Column::esp_iv);
  if (by_ != By::column) access.column_writes |= columns(Column::sa);
  return access;
}

std::span<const char* const> IPsecSequence::drop_reasons() const {
  static constexpr const char* kReasons[] = {"no_sa", "exhausted"};
  return kReasons;
}

void IPsecSequence::run_cpu(Batch& batch) {
  const int n = batch.size();
  const uint32_t link = associations_->image().link_bytes;
  uint32_t *sas = batch.column(Column::sa), *sequences = batch.column(Column::esp_sequence);
  uint64_t* ivs = batch.wide_column(Column::esp_iv);
  const auto sa_of = [&](int i) {
    if (by_ == By::spi) return only_;
    if (by_ == By::column) return sas[i];
    if (batch.length(i) < link + kIp4Bytes || batch.frame(i)[link] >> 4 != 4) return Associations::kNone;
    const uint8_t* header = batch.frame(i) + link;
    return associations_->select(ntohl(load_u32(header + 12)), ntohl(load_u32(header + 16)));
  };
  // A column that nobody reads is not there.
  for (int i = 0; i < n; ++i) {
    const uint32_t sa = sa_of(i);
    if (sa >= associations_->count()) {
      batch.drop(i, kNoAssociation);
      continue;
    }
    const uint64_t number = associations_->take_numbers(sa, 1);
    if (number > UINT32_MAX) {
      batch.drop(i, kExhausted);
      continue;
    }
    if (sas != nullptr) sas[i] = sa;
    if (sequences != nullptr) sequences[i] = static_cast<uint32_t>(number);
    if (ivs != nullptr) ivs[i] = __builtin_bswap64(associations_->iv_base(sa) + number);
  }
}

HEDDLE_ELEMENT(IPsecSequence);

}  // namespace heddle
