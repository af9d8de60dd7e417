#include "elements/endpoints/to_ip_summary_dump.h"

#include <unistd.h>

#include <cstring>
#include <ctime>

#include "click/arguments.h"
#include "core/clock.h"
#include "core/error.h"

namespace heddle {
namespace {

constexpr size_t kTextBytes = 256 << 10;         // written when there is more
constexpr size_t kLongestLineBytes = 4 * 65536;  // a payload that is all octal escapes

}  // namespace

void ToIPSummaryDump::configure(click::Arguments& arguments) {
  summary::parse("timestamp ip_src", fields_);
  arguments.required("FILENAME", file_).keyword("FIELDS", fields_).keyword("CONTENTS", fields_);
  arguments.keyword("DATA", fields_).keyword("HEADER", header_).keyword("VERBOSE", verbose_);
  arguments.keyword("BANNER", banner_).keyword("BAD_PACKETS", bad_packets_).keyword("CAREFUL_TRUNC", careful_);
  arguments.keyword("UNBUFFERED", unbuffered_);
  for (const summary::Field* field : fields_.list) {
    needs_ip_ = needs_ip_ || field->needs_ip();
    for (const char* name : {"link", "direction", "paint"})
      needs_paint_ = needs_paint_ || std::strcmp(field->name, name) == 0;
    needs_aggregate_ = needs_aggregate_ || std::strcmp(field->name, "aggregate") == 0;
  }
}

Access ToIPSummaryDump::access(Processor) const {
  return {.reads = {kWholePacket},
          .column_reads = static_cast<ColumnSet>((needs_ip_ ? columns(Column::l3) : 0) |
                                                 (needs_paint_ ? columns(Column::paint) : 0) |
                                                 (needs_aggregate_ ? columns(Column::aggregate) : 0))};
}

std::span<const char* const> ToIPSummaryDump::drop_reasons() const {
  static constexpr const char* kReasons[] = {"write_failed"};
  return kReasons;
}

void ToIPSummaryDump::start(const Environment& environment) {
  shared_ = environment.threads > 1;
  stopping_ = environment.stopping;
  if (predecessor != nullptr && same_arguments) return;  // take_state() brings the file
  output_ = std::make_unique<capture::Output>(file_, "'" + name + "'", stopping_);
  text_.reserve(kTextBytes + kLongestLineBytes);
  if (header_) write_header();
}

void ToIPSummaryDump::take_state(Element& old_element) {
  auto& old = static_cast<ToIPSummaryDump&>(old_element);
  if (!(predecessor == &old ? this : &old)->same_arguments) return;
  std::swap(output_, old.output_), std::swap(text_, old.text_), std::swap(in_text_, old.in_text_);
  std::swap(failure_, old.failure_);
  for (ToIPSummaryDump* one : {this, &old})
    if (one->output_) one->output_->set_stopping(one->stopping_);
  count_ = old.count_.exchange(count_), lost_ = old.lost_.exchange(lost_);
  failed_ = old.failed_.exchange(failed_), unflushed_ = old.unflushed_.exchange(unflushed_);
}

void ToIPSummaryDump::write_header() {
  text_ += "!IPSummaryDump 1.3\n";
  if (!banner_.empty()) text_ += "!creator \"" + banner_ + "\"\n";
  if (verbose_) {
    char host[256] = "";
    if (gethostname(host, sizeof host - 1) == 0) text_ += format("!host %s\n", host);
    const time_t now = time(nullptr);
    char when[64] = "";
    if (ctime_r(&now, when) != nullptr) when[std::strcspn(when, "\n")] = '\0';
    text_ += format("!runtime %lld (%s)\n", static_cast<long long>(now), when);
  }
  text_ += "!data";
  for (const summary::Field* field : fields_.list) text_ += std::string(" ") + field->name;
  text_ += '\n';
}

void ToIPSummaryDump::add_line(const summary::View& view) {
  if (bad_packets_ && view.problem != nullptr) text_ += std::string("!bad ") + view.problem + '\n';
  if (careful_ && view.ip != nullptr) {
    const uint32_t whole = static_cast<uint32_t>(view.ip[2] << 8 | view.ip[3]);
    const uint64_t there = uint64_t{view.ip_bytes} + view.info.missing_bytes;
    if (there < whole) text_ += "!bad truncated IP missing " + std::to_string(whole - there) + '\n';
  }
  bool first = true;
  for (const summary::Field* field : fields_.list) {
    if (!first) text_ += ' ';
    first = false;
    if (!field->print_to(view, text_)) text_ += '-';
  }
  text_ += '\n';
}

void ToIPSummaryDump::flush(bool waits) {
  unflushed_ = false;
  if (!failed_) {
    const size_t written = output_->write(text_, waits);
    failure_ = output_->failure();
    failed_ = !failure_.empty();
    if (!failed_ && written < text_.size()) {
      text_.erase(0, written);
      unflushed_ = true;
      return;
    }
  }
  if (failed_) {  // some lines may have been written
    lost_ += in_text_;
    count_ -= std::min(count_.load(), in_text_);
  }
  text_.clear();
  in_text_ = 0;
}

void ToIPSummaryDump::run_cpu(Batch& batch) {
  // Taken once a batch, and only when several threads write one file: that cannot do without.
  std::unique_lock lock(writing_, std::defer_lock);
  if (shared_) lock.lock();
  if (failed_) {
    for (int i = 0; outputs == 0 && i < batch.size(); ++i) batch.drop(i, 0);
    return;
  }
  count_ += static_cast<uint64_t>(batch.size());
  const uint32_t* const l3 = batch.column(Column::l3);
  const uint32_t* const paint = batch.column(Column::paint);
  const uint32_t* const aggregate = batch.column(Column::aggregate);
  for (int i = 0; i < batch.size(); ++i) {
    const Packet* packet = batch.packet(i);
    const bool has_ip = needs_ip_ && l3[i] >= packet->data_off && l3[i] < packet->data_off + length(packet);
    summary::View view = summary::view(packet, has_ip ? static_cast<int>(l3[i] - packet->data_off) : -1);
    if (!has_capture_info(packet)) view.info.timestamp_ns = RouterClock::wall_ns();
    if (needs_paint_) view.paint = paint[i];
    if (needs_aggregate_) view.aggregate = aggregate[i];
    add_line(view);
    ++in_text_;
    if (text_.size() > kTextBytes) flush();
  }
  if (unbuffered_) flush();
  unflushed_.store(true, std::memory_order_relaxed);
  if (outputs == 0) batch.free_packets();
}

void ToIPSummaryDump::on_timer(int) {
  // While a pipe's reader takes nothing, other work goes on.
  if (!unflushed_.load(std::memory_order_relaxed)) return;
  if (const std::unique_lock lock(writing_, std::try_to_lock); lock) flush(false);
}

std::string ToIPSummaryDump::stop() {
  if (!output_) return {};
  flush();
  if (const int error = output_->close(); error != 0 && !failed_) failure_ = std::strerror(error), failed_ = true;
  output_.reset();
  if (!failed_) return {};
  return format("cannot write '%s': %s", file_ == "-" ? "standard output" : file_.c_str(), failure_.c_str());
}

std::vector<std::pair<std::string, uint64_t>> ToIPSummaryDump::statistics() const {
  std::vector<std::pair<std::string, uint64_t>> list{{"written", count_}};
  if (lost_ != 0) list.emplace_back("lost", lost_);
  return list;
}

void ToIPSummaryDump::handlers(Handlers& list) {
  list.read("count", [this] { return std::to_string(count_.load()); })
      .write("reset_counts", [this](const std::string&) { count_ = 0; })
      .read("filename", [this] { return file_; });
}

HEDDLE_ELEMENT(ToIPSummaryDump);

}  // namespace heddle
