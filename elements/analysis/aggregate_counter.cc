#include "elements/analysis/aggregate_counter.h"

#include <bit>

#include "click/arguments.h"
#include "core/output_file.h"
#include "elements/analysis/packet_size.h"

namespace heddle {
namespace {

void append_word(std::string& text, uint64_t value) {
  const auto word = static_cast<uint32_t>(std::min<uint64_t>(value, UINT32_MAX));
  text.append(reinterpret_cast<const char*>(&word), sizeof word);
}

}  // namespace

void AggregateCounter::configure(click::Arguments& arguments) {
  arguments.keyword("BYTES", bytes_).keyword("IP_BYTES", ip_bytes_).keyword("MULTIPACKET", multipacket_);
  arguments.keyword("EXTRA_LENGTH", extra_length_).keyword("BANNER", banner_);
  arguments.keyword("CAPACITY", capacity_, 1u, AggregateTable::kMax);
  configure(arguments, "AGGREGATE", aggregate_);
  configure(arguments, "COUNT", count_);
}

void AggregateCounter::configure(click::Arguments& arguments, const std::string& name, Limit& limit) {
  const std::string freeze = name + "_FREEZE", stop = name + "_STOP", call = name + "_CALL";
  arguments.keyword(freeze.c_str(), limit.freeze).keyword(stop.c_str(), limit.stop);
  limit.call.configure(arguments, call.c_str());
  if ((limit.freeze != UINT64_MAX) + (limit.stop != UINT64_MAX) + limit.call.given() > 1)
    arguments.error("give one of " + freeze + ", " + stop + " and " + call);
}

Access AggregateCounter::access(Processor) const {
  return {.column_reads = columns(Column::aggregate, Column::input) | (bytes_ && ip_bytes_ ? columns(Column::l3) : 0)};
}

void AggregateCounter::start(const Environment& environment) {
  table_.make(capacity_);
  aggregate_.call.start(environment.control, name);
  count_.call.start(environment.control, name);
  control_ = environment.control;
  const bool stops = aggregate_.stop != UINT64_MAX || count_.stop != UINT64_MAX;
  if (!stops || control_ == nullptr) return;
  stop_call_.after_counting();  // scripts read counts when the program has been stopped
  stop_call_.start(control_, name, [control = control_] { control->stop(); });
}

std::string AggregateCounter::stop() {
  std::string problem;
  for (const std::string& other : {aggregate_.call.finish(), count_.call.finish(), stop_call_.finish()})
    if (problem.empty()) problem = other;
  return problem;
}

bool AggregateCounter::acts() const {
  return aggregate_.call.under_way() || count_.call.under_way() || stop_call_.under_way();
}

void AggregateCounter::take_state(Element& old_element) {
  auto& old = static_cast<AggregateCounter&>(old_element);
  if (capacity_ != old.capacity_ || bytes_ != old.bytes_ || (bytes_ && ip_bytes_ != old.ip_bytes_)) return;
  table_.swap(old.table_);
  sum_ = old.sum_.exchange(sum_), full_ = old.full_.exchange(full_);
  if (!(predecessor == &old ? this : &old)->same_arguments) return;
  frozen_ = old.frozen_.exchange(frozen_), active_ = old.active_.exchange(active_);
  std::swap(banner_, old.banner_);
  std::swap(aggregate_.freeze, old.aggregate_.freeze), std::swap(aggregate_.stop, old.aggregate_.stop);
  std::swap(count_.freeze, old.count_.freeze), std::swap(count_.stop, old.count_.stop);
  aggregate_.call.go_on(old.aggregate_.call), count_.call.go_on(old.count_.call);
}

void AggregateCounter::reached(Limit& limit, uint64_t number) {
  if (number >= limit.freeze) {
    limit.freeze = UINT64_MAX;
    frozen_.store(true, std::memory_order_relaxed);
  }
  if (number >= limit.stop) {
    limit.stop = UINT64_MAX;
    active_.store(false, std::memory_order_relaxed);
    stop_call_.ask();
  }
  limit.call.look_at(number);
}

bool AggregateCounter::count(uint32_t aggregate, uint64_t amount, bool frozen) {
  if (!active_.load(std::memory_order_relaxed)) return false;
  uint64_t* number = table_.find(aggregate);
  if (number == nullptr) {
    if (frozen || frozen_.load(std::memory_order_relaxed)) return false;
    if (amount == 0) return true;
    reached(aggregate_, table_.size());
    if (frozen_.load(std::memory_order_relaxed) || !active_.load(std::memory_order_relaxed)) return false;
    number = table_.add(aggregate);
    if (number == nullptr) {
      full_.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
  }
  AggregateTable::set(*number, *number + amount);
  const uint64_t sum = sum_.load(std::memory_order_relaxed) + amount;
  sum_.store(sum, std::memory_order_relaxed);
  reached(count_, sum);
  return true;
}

uint64_t AggregateCounter::amount_of(const Packet* packet, uint32_t l3) const {
  if (!bytes_) return multipacket_ ? packets_in(packet) : 1;
  uint64_t bytes = length(packet);
  if (ip_bytes_)
    if (const uint32_t from_header = bytes_from(packet, l3); from_header > 0) bytes = from_header;
  return bytes + (extra_length_ ? missing_bytes(packet) : 0);
}

void AggregateCounter::run_cpu(Batch& batch) {
  const uint32_t* aggregate = batch.column(Column::aggregate);
  const uint32_t* l3 = bytes_ && ip_bytes_ ? batch.column(Column::l3) : nullptr;
  const uint32_t* input = batch.column(Column::input);
  const AggregateTable::Lock lock(table_);
  for (int i = 0; i < batch.size(); ++i) {
    const uint64_t amount = amount_of(batch.packet(i), l3 != nullptr ? l3[i] : 0);
    const bool counted = count(aggregate[i], amount, input[i] != 0);
    if (!counted && outputs > 1) batch.next()[i] = 1;
  }
}

void AggregateCounter::clear() {
  const AggregateTable::Lock lock(table_);
  table_.clear();
  sum_ = 0;
}

void AggregateCounter::reaggregate() {
  const AggregateTable::Lock lock(table_);
  const auto before = table_.entries();
  table_.clear();
  for (const auto& [aggregate, count] : before) {
    const auto as_aggregate = static_cast<uint32_t>(std::min<uint64_t>(count, UINT32_MAX));
    uint64_t* number = table_.find(as_aggregate);
    if (number == nullptr) number = table_.add(as_aggregate);  // there are no more than before
    AggregateTable::set(*number, *number + 1);
  }
  sum_ = before.size();
}

std::string AggregateCounter::file(Format form) const {
  const auto entries = table_.entries();
  double sum = 0;
  for (const auto& [aggregate, count] : entries) sum += static_cast<double>(count);
  std::string text = "!IPAggregate 1.0\n" + banner_;
  if (!banner_.empty() && !banner_.ends_with('\n')) text += '\n';
  text += format("!num_nonzero %zu\n", entries.size());
  if (form == Format::packed) text += std::endian::native == std::endian::little ? "!packed_le\n" : "!packed_be\n";
  if (form == Format::addresses) text += "!ip\n";
  for (const auto& [aggregate, count] : entries) {
    if (form == Format::packed) {
      append_word(text, aggregate), append_word(text, count);
      continue;
    }
    text += form == Format::addresses ? click::to_text(click::Ipv4Address{aggregate}) : std::to_string(aggregate);
    text += form == Format::shares ? format(" %.12g\n", static_cast<double>(count) / sum)
                                   : " " + std::to_string(count) + "\n";
  }
  return text;
}

void AggregateCounter::handlers(Handlers& list) {
  const auto writes = [this](Format form) {
    return [this, form](const std::string& value) {
      const std::string path = click::unquote(click::trim(value));
      if (path.empty()) throw Error("expected the name of a file, or - for standard output");
      write_output(path, file(form));
    };
  };
  const auto truth = [](const std::atomic<bool>& variable) {
    return [&variable] { return std::string(variable ? "true" : "false"); };
  };
  const auto set = [](std::atomic<bool>& variable) {
    return [&variable](const std::string& value) { variable = click::value_of<bool>(value); };
  };
  const auto call = [](CountCall& call) {
    return [&call](const std::string& value) { call.set(click::trim(value).empty() ? "0" : value); };
  };
  const auto reaggregate = [this](const std::string&) { this->reaggregate(); };
  list.write("write_text_file", writes(Format::text))
      .write("write_ascii_file", writes(Format::text))
      .write("write_ip_file", writes(Format::addresses))
      .write("write_pdf_file", writes(Format::shares))
      .write("write_file", writes(Format::packed))
      .read("freeze", truth(frozen_))
      .write("freeze", set(frozen_))
      .read("active", truth(active_))
      .write("active", set(active_))
      .write("stop",
             [this](const std::string&) {
               active_ = false;
               if (control_ != nullptr) control_->stop();
             })
      .write("clear", [this](const std::string&) { clear(); })
      .write("reaggregate_counts", reaggregate)
      .write("counts_pdf", reaggregate)
      .read("banner", [this] { return banner_; })
      .write("banner", [this](const std::string& value) { banner_ = value == "\n" ? "" : value; })
      .read("aggregate_call", [this] { return aggregate_.call.text(); })
      .write("aggregate_call", call(aggregate_.call))
      .read("count_call", [this] { return count_.call.text(); })
      .write("count_call", call(count_.call))
      .read("count", [this] { return std::to_string(sum_); })
      .read("nagg", [this] { return std::to_string(table_.size()); });
}

std::vector<std::pair<std::string, uint64_t>> AggregateCounter::statistics() const {
  return {{"aggregates", table_.size()}, {"count", sum_}, {"full", full_}};
}

HEDDLE_ELEMENT(AggregateCounter);

}  // namespace heddle
