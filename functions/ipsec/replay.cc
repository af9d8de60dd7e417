#include <algorithm>

#include "click/arguments.h"
#include "core/error.h"
#include "core/text_file.h"
#include "functions/ipsec/ipsec.h"

namespace heddle {

using namespace ipsec;

void IPsecReplay::configure(click::Arguments& arguments) {
  arguments.required("DECAP", decap_name_);
  table = &table_;
}

void IPsecReplay::link(const Directory& directory) {
  const std::vector<Element*> named = directory(decap_name_);
  decap_ = named.size() == 1 ? dynamic_cast<IPsecDecap*>(named[0]) : nullptr;
  if (decap_ == nullptr) throw Error("DECAP: " + in_quotes(decap_name_) + " is not an IPsecDecap of this chain");
  if (before != std::vector<Element*>{decap_} || decap_->behind != std::vector<Element*>{this})
    throw Error("DECAP: packets of '" + decap_name_ + "' must come here, at once, and no others; write " + decap_name_ +
                " -> " + name);
  decap_->judged_behind();
}

void IPsecReplay::placed(bool on_gpu) {
  if (!on_gpu) return;
  Associations& associations = decap_->associations();
  if (const uint32_t limited = associations.limited(); limited != Associations::kNone)
    throw Error("a GPU counts no lifetimes, and association " + associations.describe(limited) +
                " has limits; take it out of DECAP's FILE, or use FromDPDKDevice and ToDPDKDevice and no DEVICE gpu");
  associations.stay_for("'" + name + "' judges them between GPU ports, where they cannot change without hotconfig");
  const auto load = [this, &associations] { table_.load(associations); };
  load();
  associations.kept_by({[this] { fetch_windows(); }, load});
}

size_t IPsecReplay::gpu_states() const { return std::max<size_t>(1, table_.words().size()); }

std::span<const std::byte> IPsecReplay::first_gpu_state() const { return std::as_bytes(table_.words()); }

void IPsecReplay::fetch_windows() {
  if (!read_gpu_state) return;  // it has not come to run
  std::vector<uint64_t> words(table_.words().size());
  if (!read_gpu_state(0, std::as_writable_bytes(std::span(words))))
    throw Error("'" + name + "': the GPU does not say which sequence numbers have come");
  const uint64_t* at = words.data();
  Associations& associations = decap_->associations();
  for (uint32_t i = 0; i < associations.count(); ++i) {
    ReplayWindow& window = associations.window(i);
    if (window.is_on()) window.set(at);
    at += window.words();
  }
}

Access IPsecReplay::access(Processor) const {
  const int link = decap_ == nullptr ? 0 : static_cast<int>(decap_->associations().image().link_bytes);
  const bool wide = decap_ != nullptr && decap_->associations().has_extended();
  return {.reads = {Interval{Base::head, link, link + static_cast<int>(kIp6Bytes)}},
          .column_reads = columns(Column::sa, wide ? Column::esp_iv : Column::esp_sequence)};
}

std::span<const char* const> IPsecReplay::drop_reasons() const {
  static constexpr const char* kReasons[] = {"replayed", "selector", "expired"};
  return kReasons;
}

void IPsecReplay::run_cpu(Batch& batch) {
  if (!decap_->leaves_judging()) return;
  const Generation& all = decap_->associations().current();
  const uint32_t link = all.image().link_bytes;
  const uint32_t *sas = batch.column(Column::sa), *sequences = batch.column(Column::esp_sequence);
  const uint64_t* numbers = all.image().has_extended ? batch.wide_column(Column::esp_iv) : nullptr;
  const Lifetime::Time now = all.now();
  for (int i = 0; i < batch.size(); ++i) {
    const uint32_t sa = sas[i], bytes = batch.length(i) - link;
    if (!all.window(sa).mark(numbers != nullptr ? numbers[i] : sequences[i]))
      batch.drop(i, kCameBefore);
    else if (!all.may_have(sa, batch.frame(i) + link, bytes))
      batch.drop(i, kOthers);
    else if (!all.take_life(sa, bytes, now))
      batch.drop(i, kLimitReached);
  }
}

HEDDLE_ELEMENT(IPsecReplay);

}  // namespace heddle
