#include "click/arguments.h"
#include "core/error.h"
#include "functions/ipsec/ipsec.h"

namespace heddle {

namespace {
enum Reason : int { kHasCome, kNoAssociation };
}

void IPsecReplay::configure(click::Arguments& arguments) { arguments.required("DECAP", decap_name_); }

void IPsecReplay::link(const Directory& directory) {
  const std::vector<Element*> named = directory(decap_name_);
  auto* decap = named.size() == 1 ? dynamic_cast<IPsecDecap*>(named[0]) : nullptr;
  if (decap == nullptr) throw Error("DECAP: '" + decap_name_ + "' is not an IPsecDecap of this chain");
  if (!decap->leave_replays_to(this)) throw Error("DECAP: '" + decap_name_ + "' has another IPsecReplay");
  associations_ = &decap->associations();
}

Access IPsecReplay::access(Processor) const { return {.column_reads = columns(Column::sa, Column::esp_sequence)}; }

std::span<const char* const> IPsecReplay::drop_reasons() const {
  static constexpr const char* kReasons[] = {"replayed", "no_sa"};
  return kReasons;
}

void IPsecReplay::run_cpu(Batch& batch) {
  const uint32_t *sas = batch.column(Column::sa), *sequences = batch.column(Column::esp_sequence);
  for (int i = 0; i < batch.size(); ++i) {
    if (sas[i] >= associations_->count()) {
      batch.drop(i, kNoAssociation);
      continue;
    }
    ipsec::ReplayWindow& window = associations_->window(sas[i]);
    const bool extended = associations_->details(sas[i]).extended;
    if (!window.mark(extended ? window.nearest(sequences[i]) : sequences[i])) batch.drop(i, kHasCome);
  }
}

HEDDLE_ELEMENT(IPsecReplay);

}  // namespace heddle
