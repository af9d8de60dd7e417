#include "elements/io/to_dump.h"

#include <ctime>

#include "click/arguments.h"

namespace heddle {

void ToDump::configure(click::Arguments& arguments) {
  uint32_t snap_length = 0;
  arguments.required("FILENAME", file_).keyword("SNAPLEN", snap_length, 0u, 262144u);
  arguments.keyword("NANO", options_.nanoseconds);
  options_.snap_length = snap_length;
  options_.format = file_.ends_with(".pcapng") ? capture::Format::pcapng : capture::Format::pcap;
  arguments.choice("FORMAT", options_.format, {{"pcap", capture::Format::pcap}, {"pcapng", capture::Format::pcapng}});
}

std::span<const char* const> ToDump::drop_reasons() const {
  static constexpr const char* kReasons[] = {"write_failed"};
  return kReasons;
}

void ToDump::start(const Environment& environment) {
  shared_ = environment.threads > 1;
  writer_ = std::make_unique<capture::Writer>(file_, options_);
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
      timespec now{};
      clock_gettime(CLOCK_REALTIME, &now);
      now_ns = static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
      info.timestamp_ns = now_ns;
    }
    writer_->write(data(packet), bytes, bytes + info.missing_bytes, info.timestamp_ns);
  }
  unflushed_.store(true, std::memory_order_relaxed);
  batch.free_packets();
}

void ToDump::idle(int) {
  // A reader at the other end of a pipe sees packets when traffic pauses.
  if (!unflushed_.exchange(false, std::memory_order_relaxed)) return;
  const std::lock_guard lock(writing_);
  writer_->flush();
}

std::string ToDump::stop() {
  if (!writer_) return {};
  writer_->close();
  return writer_->failed() ? writer_->failure() : std::string();
}

std::vector<std::pair<std::string, uint64_t>> ToDump::statistics() const {
  if (!writer_) return {};
  std::vector<std::pair<std::string, uint64_t>> list{{"written", writer_->written_packets()}};
  if (writer_->lost_packets() != 0) list.emplace_back("lost", writer_->lost_packets());
  return list;
}

HEDDLE_ELEMENT(ToDump);

}  // namespace heddle
