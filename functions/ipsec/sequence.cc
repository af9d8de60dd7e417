#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

#include "click/arguments.h"
#include "core/error.h"
#include "core/load.h"
#include "core/text_file.h"
#include "functions/ipsec/headers.h"
#include "functions/ipsec/ipsec.h"

namespace heddle {

using namespace ipsec;

void IPsecSequence::configure(click::Arguments& arguments) {
  arguments.required("ENCAP", encap_name_).keyword("SPI", spi_);
  uint32_t mtu = kNoMtu;
  arguments.keyword("MTU", mtu, kMinMtu, kNoMtu);
  mtu_ = mtu;
  arguments.choice("BY", by_, {{"selector", By::selector}, {"column", By::column}});
  if (spi_ != 0) by_ = By::spi;
  table = &table_;
}

void IPsecSequence::link(const Directory& directory) {
  const std::vector<Element*> named = directory(encap_name_);
  auto* encap = named.size() == 1 ? dynamic_cast<IPsecEncap*>(named[0]) : nullptr;
  if (encap == nullptr) throw Error("ENCAP: " + in_quotes(encap_name_) + " is not an IPsecEncap of this chain");
  associations_ = &encap->associations();
  if (associations_->count() > 0) check_offset(*this, associations_->image().link_bytes, encap_name_);
  check_counts_alone(directory);
  for (Element* other : directory("*"))  // that packets with these numbers may come to as well
    if (auto* also = dynamic_cast<IPsecEncap*>(other); also != nullptr && also != encap)
      also->associations().numbered_by(*associations_);
  if (by_ == By::selector) check_selectors();
  if (by_ == By::selector) associations_->chosen_by_selector();
  if (by_ != By::spi) return;
  only_ = associations_->find(htonl(spi_));
  if (only_ == Associations::kNone)
    throw Error(format("SPI: '%s' has no association with SPI 0x%08x", encap_name_.c_str(), spi_));
  if (associations_->has_several(htonl(spi_)))
    throw Error(
        format("SPI: '%s' has several associations with SPI 0x%08x; leave SPI out, and have `sel` lines or BY "
               "column choose",
               encap_name_.c_str(), spi_));
  associations_->chosen_by_spi(htonl(spi_));
}

void IPsecSequence::check_counts_alone(const Directory& directory) {
  for (Element* other : directory("*")) {
    auto* sequence = dynamic_cast<IPsecSequence*>(other);
    if (sequence == nullptr || sequence == this || sequence->associations_ == nullptr) continue;
    if (sequence->associations_ == associations_) {
      beside_.push_back(sequence), sequence->beside_.push_back(this);
      continue;
    }
    const uint32_t shared = associations_->shared_with(*sequence->associations_);
    if (shared == Associations::kNone) continue;
    throw Error(
        format("ENCAP: '%s' and '%s' have one association, 0x%08x, whose numbers '%s' takes already; take ENCAP "
               "'%s' here as well",
               encap_name_.c_str(), sequence->encap_name_.c_str(), ntohl((*associations_)[shared].spi),
               sequence->name.c_str(), sequence->encap_name_.c_str()));
  }
}

bool IPsecSequence::numbers(const Associations& others) const {
  if (&others == associations_) return true;
  const auto is_there = [&](uint32_t i) { return associations_->place_in(others, i) == i; };
  if (by_ == By::spi) return is_there(only_);
  for (uint32_t i = 0; i < associations_->count(); ++i)
    if (!is_there(i)) return false;
  return true;
}

void IPsecSequence::check_selectors() const {
  const auto [first, second] = associations_->with_one_selector();
  if (first == Associations::kNone) return;
  throw Error(
      format("ENCAP: '%s' has associations 0x%08x and 0x%08x with one selector, so the second would get no "
             "packet; give them different `sel` lines, or say SPI or BY column",
             encap_name_.c_str(), ntohl((*associations_)[first].spi), ntohl((*associations_)[second].spi)));
}

void IPsecSequence::placed(bool on_gpu) {
  if (!on_gpu) return;
  check_fits_gpu();
  associations_->stay_for("'" + name +
                          "' takes their numbers between GPU ports, where they cannot change without hotconfig");
  const auto load = [this] {
    table_.load(
        *associations_,
        {.count = 0, .link_bytes = 0, .by = by_, .only = only_, .mtu = mtu_.load(), .second_output = outputs > 1});
  };
  load();
  associations_->kept_by({[this] { fetch_numbers(); }, load});
}

void IPsecSequence::fetch_numbers() {
  if (!read_gpu_state) return;  // it has not come to run
  std::vector<Taken> taken(associations_->count());
  if (!read_gpu_state(0, std::as_writable_bytes(std::span(taken))))
    throw Error("'" + name + "': the GPU does not say which sequence numbers it has taken");
  for (uint32_t i = 0; i < associations_->count(); ++i) associations_->count_to(i, table_.first(i) + taken[i].numbers);
}

void IPsecSequence::check_fits_gpu() const {
  const char* const kRemedy = "take it out of ENCAP's FILE, or use FromDPDKDevice and ToDPDKDevice and no DEVICE gpu";
  if (const uint32_t beyond = associations_->beyond_gpu(); beyond != Associations::kNone)
    throw Error("a GPU enciphers with rfc3686(ctr(aes)) or rfc4106(gcm(aes)), and association " +
                associations_->describe(beyond) + " wants something else; " + kRemedy);
  if (const uint32_t limited = associations_->limited(); limited != Associations::kNone)
    throw Error("a GPU counts no lifetimes, and association " + associations_->describe(limited) + " has limits; " +
                kRemedy);
  for (const IPsecSequence* other : beside_)
    if (by_ != By::spi || other->by_ != By::spi || only_ == other->only_)
      throw Error(
          "a GPU keeps the numbers of its associations for itself, and '" + other->name +
          "' takes them as well; give each of the two another SPI, or another ENCAP with associations of its own");
}

size_t IPsecSequence::gpu_states() const { return associations_->count(); }

Access IPsecSequence::access(Processor) const {
  const int link = associations_ == nullptr ? 0 : static_cast<int>(associations_->image().link_bytes);
  Access access;
  // In transport mode all headers, as far as they go.
  const bool reads_all = associations_ != nullptr && associations_->has_transport();
  access.reads = {reads_all ? kWholePacket : Interval{Base::head, link, link + static_cast<int>(kIp6Bytes)}};
  if (by_ == By::column) access.column_reads = columns(Column::sa);
  access.column_writes = columns(Column::esp_sequence, Column::esp_iv);
  if (by_ != By::column) access.column_writes |= columns(Column::sa);
  return access;
}

std::span<const char* const> IPsecSequence::drop_reasons() const {
  static constexpr const char* kReasons[] = {"no_sa", "malformed", "fragment", "exhausted", "expired", "too_big"};
  return kReasons;
}

void IPsecSequence::run_cpu(Batch& batch) {
  const int n = batch.size();
  const Generation& all = associations_->chosen();
  const uint32_t link = all.image().link_bytes, mtu = mtu_.load(std::memory_order_relaxed);
  const uint32_t only = by_ == By::spi ? all.find(htonl(spi_)) : Associations::kNone;
  uint32_t *sas = batch.column(Column::sa), *sequences = batch.column(Column::esp_sequence);
  uint64_t* ivs = batch.wide_column(Column::esp_iv);
  const Lifetime::Time now = all.now();
  const auto available = [&](int i) { return batch.length(i) < link ? 0 : batch.length(i) - link; };
  const auto sa_of = [&](int i) {
    if (by_ == By::spi) return only;
    if (by_ == By::column) return sas[i];
    return all.select(ends_of(batch.frame(i) + link, available(i)));
  };
  // Each number is taken by an atomic addition, which waits for all loads before it: so what a packet needs is fetched
  // for many of them before.
  constexpr int kAhead = 64;
  uint32_t chosen[kAhead];
  for (int first = 0; first < n; first += kAhead) {
    const int end = std::min(n, first + kAhead);
    for (int i = first; i < end; ++i)
      if (const uint32_t sa = chosen[i - first] = sa_of(i); sa < all.count()) all.prefetch(sa);
    // A column that nobody reads is not there.
    for (int i = first; i < end; ++i) {
      const uint32_t sa = chosen[i - first];
      if (sa >= all.count() || !all.has(sa)) {
        batch.drop(i, kNoAssociation);
        continue;
      }
      const Form& form = all[sa];
      const uint8_t* const packet = batch.frame(i) + link;
      const Plain plain = plain_of(form, packet, available(i), [packet](uint32_t at) { return load_u32(packet + at); });
      if (plain.reason != kGood) {
        batch.drop(i, plain.reason);
        continue;
      }
      if (protected_bytes(form, plain) > mtu) {
        if (outputs > 1)
          batch.next()[i] = 1;
        else
          batch.drop(i, kTooBig);
        continue;
      }
      // What gets no number uses no lifetime, and what has no lifetime left takes no number, unless another thread
      // has had the last packet meanwhile.
      const bool over = all.is_over(sa, now);
      const uint64_t number = over ? 0 : all.take_numbers(sa, 1);
      if (number > form.last_number() - kFewNumbers) associations_->count_down(all, sa, number);
      if (number > form.last_number()) {
        batch.drop(i, kExhausted);
        continue;
      }
      if (over || !all.take_life(sa, available(i), now)) {
        batch.drop(i, kOver);
        continue;
      }
      if (sas != nullptr) sas[i] = sa;
      if (sequences != nullptr) sequences[i] = static_cast<uint32_t>(number);
      if (ivs != nullptr) ivs[i] = iv_of(form, number);
    }
  }
}

uint32_t IPsecSequence::inner_mtu() const {
  const uint32_t mtu = mtu_.load(std::memory_order_relaxed);
  uint32_t least = mtu;
  for (uint32_t i = 0; i < associations_->count(); ++i) {
    const Form& sa = (*associations_)[i];
    const uint32_t around = sa.front_bytes() + sa.suite.icv_bytes;
    const uint32_t text = mtu <= around ? 0 : (mtu - around) & ~(sa.suite.alignment() - 1);
    if (!sa.transport) least = std::min(least, text <= kTrailerBytes ? 0 : text - kTrailerBytes);
  }
  return least;
}

std::string IPsecSequence::numbers() const {
  std::vector<Taken> taken(associations_->count());
  if (read_gpu_state) read_gpu_state(0, std::as_writable_bytes(std::span(taken)));
  std::string text;
  for (uint32_t i = 0; i < associations_->count(); ++i) {
    if (!associations_->current().has(i)) continue;
    const uint64_t last = (on_gpu ? table_.first(i) + taken[i].numbers : associations_->next_number(i)) - 1;
    text += format("%u 0x%08x %llu\n", i, ntohl((*associations_)[i].spi),
                   static_cast<unsigned long long>(std::min(last, (*associations_)[i].last_number())));
  }
  return text;
}

void IPsecSequence::handlers(Handlers& list) {
  list.read("mtu", [this] { return std::to_string(mtu_.load()); });
  list.write("mtu", [this](const std::string& text) {
    uint32_t mtu = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mtu);
    if (error != std::errc() || end != text.data() + text.size() || mtu < kMinMtu || mtu > kNoMtu)
      throw Error(in_quotes(text) + format(" is no MTU from %u to %u", kMinMtu, kNoMtu));
    mtu_ = mtu;
    table_.set_mtu(mtu);
  });
  list.read("inner_mtu", [this] { return std::to_string(inner_mtu()); });
  list.read("numbers", [this] { return numbers(); });
}

int IPsecSequence::timer_us() const {
  return kAnnounceUs;  // limits may come with new associations
}

void IPsecSequence::on_timer(int) { associations_->announce(encap_name_); }

std::string IPsecSequence::stop() {
  if (associations_ != nullptr) associations_->announce(encap_name_);
  return {};
}

HEDDLE_ELEMENT(IPsecSequence);

}  // namespace heddle
