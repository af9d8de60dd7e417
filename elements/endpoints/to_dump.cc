#include "elements/endpoints/to_dump.h"

#include "click/arguments.h"
#include "click/quoting.h"
#include "core/clock.h"
#include "core/error.h"
#include "elements/endpoints/from_dump.h"
#include "elements/endpoints/link_types.h"

namespace heddle {
namespace {

struct Encap {
  uint32_t link_type = capture::kLinkTypeEthernet;
};
bool parse(std::string_view text, Encap& encap) {
  const auto found = link_type_of_name(std::string(text));
  if (found) encap.link_type = *found;
  return found.has_value();
}
std::string expectation(Encap) { return "one of " + link_type_names(); }

/** One or more words. */
struct Names {
  std::vector<std::string> list;
};
bool parse(std::string_view text, Names& names) {
  for (const std::string_view word : click::split_words(text)) names.list.push_back(click::unquote(word));
  return !names.list.empty();
}
std::string expectation(const Names&) { return "names of FromDump elements"; }

}  // namespace

void ToDump::configure(click::Arguments& arguments) {
  uint32_t snap_length = 0;
  arguments.required("FILENAME", file_).keyword("SNAPLEN", snap_length, 0u, 262144u);
  Encap encap;
  Names names;
  arguments.keyword("NANO", options_.nanoseconds).keyword("ENCAP", encap).keyword("USE_ENCAP_FROM", names);
  arguments.keyword("EXTRA_LENGTH", extra_length_).keyword("UNBUFFERED", unbuffered_);
  options_.link_type = encap.link_type;
  encap_from_names_ = names.list;
  options_.snap_length = snap_length;
  options_.format = file_.ends_with(".pcapng") ? capture::Format::pcapng : capture::Format::pcap;
  arguments.choice("FORMAT", options_.format, {{"pcap", capture::Format::pcap}, {"pcapng", capture::Format::pcapng}});
}

void ToDump::link(const Directory& directory) {
  for (const std::string& wanted : encap_from_names_) {
    const std::vector<Element*> named = directory(wanted);
    encap_from_.push_back(named.size() == 1 ? dynamic_cast<FromDump*>(named[0]) : nullptr);
    if (encap_from_.back() == nullptr) throw Error("USE_ENCAP_FROM: '" + wanted + "' is not a FromDump of this chain");
  }
}

std::span<const char* const> ToDump::drop_reasons() const {
  static constexpr const char* kReasons[] = {"write_failed"};
  return kReasons;
}

void ToDump::start(const Environment& environment) {
  shared_ = environment.threads > 1;
  for (FromDump* from : encap_from_) {
    const uint32_t link_type = from->link_type();
    if (from != encap_from_[0] && link_type != options_.link_type)
      throw Error("USE_ENCAP_FROM: the captures have different link types");
    options_.link_type = link_type;
  }
  options_.owner = "'" + name + "'";
  options_.stopping = environment.stopping;
  if (goes_on_from(predecessor)) return;  // take_state() brings the file
  writer_ = std::make_unique<capture::Writer>(file_, options_);
}

bool ToDump::goes_on_from(const Element* other) const {
  const auto* before = static_cast<const ToDump*>(other);
  return before != nullptr && before->file_ == file_ && before->options_.format == options_.format &&
         before->options_.link_type == options_.link_type && before->options_.snap_length == options_.snap_length &&
         before->options_.nanoseconds == options_.nanoseconds;
}

void ToDump::take_state(Element& old_element) {
  auto& old = static_cast<ToDump&>(old_element);
  if (!goes_on_from(&old)) return;
  std::swap(writer_, old.writer_);
  for (ToDump* one : {this, &old})
    if (one->writer_) one->writer_->set_stopping(one->options_.stopping);
  count_base_ = old.count_base_.exchange(count_base_);
}

void ToDump::run_cpu(Batch& batch) {
  // Taken once a batch, and only when several threads write one file: that cannot do without.
  std::unique_lock lock(writing_, std::defer_lock);
  if (shared_) lock.lock();
  if (writer_->failed()) {
    for (int i = 0; i < batch.size(); ++i) batch.drop(i, 0);
    return;
  }
  uint64_t now_ns = 0;
  for (int i = 0; i < batch.size(); ++i) {
    const Packet* packet = batch.packet(i);
    const uint32_t bytes = length(packet);
    CaptureInfo info{now_ns, 0};
    if (has_capture_info(packet)) {
      info = capture_info(packet);
    } else if (now_ns == 0) {
      now_ns = RouterClock::wall_ns();
      info.timestamp_ns = now_ns;
    }
    if (static_cast<int64_t>(info.timestamp_ns) < 0) info.timestamp_ns = 0;  // before 1970, which no file can say
    writer_->write(data(packet), bytes, bytes + (extra_length_ ? info.missing_bytes : 0), info.timestamp_ns);
  }
  if (unbuffered_) writer_->flush();
  unflushed_.store(true, std::memory_order_relaxed);
  batch.free_packets();
}

void ToDump::on_timer(int) {
  // A reader at the other end of a pipe sees packets when traffic pauses. While it takes nothing, other work goes on.
  if (!unflushed_.load(std::memory_order_relaxed)) return;
  const std::unique_lock lock(writing_, std::try_to_lock);
  if (lock) unflushed_.store(!writer_->flush(false), std::memory_order_relaxed);
}

std::string ToDump::stop() {
  if (!writer_) return {};
  writer_->close();
  if (!writer_->failed()) return {};
  const uint64_t lost = writer_->lost_packets();
  return writer_->failure() + (lost == 0 ? "" : format("; packets lost: %llu", static_cast<unsigned long long>(lost)));
}

std::vector<std::pair<std::string, uint64_t>> ToDump::statistics() const {
  if (!writer_) return {};
  std::vector<std::pair<std::string, uint64_t>> list{{"written", writer_->written_packets()}};
  if (writer_->lost_packets() != 0) list.emplace_back("lost", writer_->lost_packets());
  return list;
}

void ToDump::handlers(Handlers& list) {
  const auto count = [this] { return writer_ ? writer_->written_packets() : 0; };
  list.read("count", [this, count] { return std::to_string(count() - count_base_); })
      .write("reset_counts", [this, count](const std::string&) { count_base_ = count(); })
      .read("filename", [this] { return file_; });
}

HEDDLE_ELEMENT(ToDump);

}  // namespace heddle
