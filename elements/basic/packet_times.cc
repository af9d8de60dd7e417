#include "elements/basic/packet_times.h"

#include <algorithm>
#include <cmath>

#include "click/arguments.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/load.h"

namespace heddle {
namespace {

constexpr uint64_t kMaxTimes = uint64_t{1} << 28;

uint64_t now_ns() { return static_cast<uint64_t>(RouterClock::now().time_since_epoch().count()); }

/** The smallest of sorted values that `percent` of them do not exceed. */
double percentile(const std::vector<double>& sorted, double percent) {
  const auto rank = static_cast<size_t>(std::ceil(percent / 100 * static_cast<double>(sorted.size())));
  return sorted[std::min(std::max(rank, size_t{1}), sorted.size()) - 1];
}

double average(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double deviation(const std::vector<double>& values) {
  const double mean = average(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

}  // namespace

void PacketNumber::configure(click::Arguments& arguments) {
  arguments.keyword("OFFSET", offset, 0, 16384).keyword("NET_ORDER", net_order);
}

uint64_t PacketNumber::read(const Packet* packet) const {
  const uint64_t stored = load_u64(data(packet) + offset);
  return net_order ? __builtin_bswap64(stored) : stored;
}

void PacketNumber::write(Packet* packet, uint64_t number) const {
  const uint64_t stored = net_order ? __builtin_bswap64(number) : number;
  std::memcpy(data(packet) + offset, &stored, sizeof stored);
}

void NumberPacket::configure(click::Arguments& arguments) {
  arguments.optional("OFFSET", place_.offset, 0, 16384);
  place_.configure(arguments);
}

// Those that are too short stay as they are.
Access NumberPacket::access(Processor) const { return {.reads = {place_.bytes()}, .writes = {place_.bytes()}}; }

std::span<const char* const> NumberPacket::drop_reasons() const {
  static constexpr const char* kReasons[] = {"short"};
  return kReasons;
}

void NumberPacket::run_cpu(Batch& batch) {
  uint64_t number = next_.fetch_add(static_cast<uint64_t>(batch.size()), std::memory_order_relaxed);
  uint64_t numbered = 0;
  for (int i = 0; i < batch.size(); ++i) {
    if (!place_.fits(batch.packet(i))) {
      batch.drop(i, 0);
      continue;
    }
    place_.write(batch.packet(i), number++);
    ++numbered;
  }
  // Numbers that nobody got are gaps, unless no other thread has taken some since.
  uint64_t expected = number + static_cast<uint64_t>(batch.size()) - numbered;
  next_.compare_exchange_strong(expected, number, std::memory_order_relaxed);
}

void NumberPacket::handlers(Handlers& list) {
  list.read("count", [this] { return std::to_string(next_.load()); }).write("reset", [this](const std::string&) {
    next_ = 0;
  });
}

void RecordTimestamp::configure(click::Arguments& arguments) {
  arguments.optional("N", size_, uint64_t{1}, kMaxTimes);
  place_.configure(arguments);
}

void RecordTimestamp::start(const Environment&) { times_ = std::make_unique<std::atomic<uint64_t>[]>(size_); }

void RecordTimestamp::run_cpu(Batch& batch) {
  const uint64_t now = now_ns();
  uint64_t recorded = 0;
  for (int i = 0; i < batch.size(); ++i) {
    const uint64_t number = place_.fits(batch.packet(i)) ? place_.read(batch.packet(i)) : UINT64_MAX;
    if (number >= size_) continue;
    times_[number].store(now, std::memory_order_release);
    ++recorded;
  }
  recorded_[batch.thread].add(recorded, 0);
  if (const uint64_t beyond = static_cast<uint64_t>(batch.size()) - recorded; beyond != 0) beyond_.fetch_add(beyond);
}

void RecordTimestamp::handlers(Handlers& list) {
  list.read("count", [this] { return std::to_string(recorded_.packets()); });
}

std::vector<std::pair<std::string, uint64_t>> RecordTimestamp::statistics() const {
  return {{"count", recorded_.packets()}, {"beyond", beyond_}};
}

void TimestampDiff::configure(click::Arguments& arguments) {
  arguments.required("RECORDER", recorder_name_).keyword("N", size_, uint64_t{1}, kMaxTimes);
  place_.configure(arguments);
}

void TimestampDiff::link(const Directory& directory) {
  const std::vector<Element*> named = directory(recorder_name_);
  recorder_ = named.size() == 1 ? dynamic_cast<const RecordTimestamp*>(named[0]) : nullptr;
  if (recorder_ == nullptr) throw Error("RECORDER: '" + recorder_name_ + "' is not a RecordTimestamp");
  if (size_ == 0) size_ = recorder_->size();
}

void TimestampDiff::start(const Environment&) { ns_ = std::make_unique<std::atomic<uint64_t>[]>(size_); }

void TimestampDiff::run_cpu(Batch& batch) {
  const uint64_t now = now_ns();
  uint64_t unknown = 0;
  for (int i = 0; i < batch.size(); ++i) {
    const uint64_t number = place_.fits(batch.packet(i)) ? place_.read(batch.packet(i)) : UINT64_MAX;
    const uint64_t then = recorder_->passed_ns(number);
    if (then == 0) {
      ++unknown;
      continue;
    }
    const uint64_t place = count_.fetch_add(1, std::memory_order_relaxed);
    if (place < size_) ns_[place].store(std::max(now, then) - then + 1, std::memory_order_release);
  }
  if (unknown != 0) unknown_.fetch_add(unknown, std::memory_order_relaxed);
}

std::vector<double> TimestampDiff::measured_us() const {
  std::vector<double> values;
  const uint64_t n = std::min(count_.load(), size_);
  for (uint64_t i = 0; i < n; ++i)
    if (const uint64_t ns = ns_[i].load(std::memory_order_acquire); ns != 0)
      values.push_back(static_cast<double>(ns - 1) / 1000);
  return values;
}

void TimestampDiff::handlers(Handlers& list) {
  const auto of_sorted = [this](auto value) {
    return [this, value]() -> std::string {
      std::vector<double> values = measured_us();
      std::sort(values.begin(), values.end());
      return values.empty() ? "0" : format("%.3f", value(values));
    };
  };
  list.read("average", of_sorted([](auto& values) { return average(values); }))
      .read("stddev", of_sorted([](auto& values) { return deviation(values); }))
      .read("min", of_sorted([](auto& values) { return values.front(); }))
      .read("max", of_sorted([](auto& values) { return values.back(); }))
      .read("median", of_sorted([](auto& values) { return percentile(values, 50); }))
      .read_with_argument("perc",
                          [=](const std::string& text) {
                            const auto percent = click::value_of<double>(text, 0.0, 100.0);
                            return of_sorted([percent](auto& values) { return percentile(values, percent); })();
                          })
      .read("count", [this] { return std::to_string(std::min(count_.load(), size_)); })
      .read("dump",
            [this] {
              std::string text;
              for (const double us : measured_us()) text += format("%.3f\n", us);
              return text;
            })
      .write("reset", [this](const std::string&) {
        for (uint64_t i = 0; i < size_; ++i) ns_[i].store(0, std::memory_order_relaxed);
        count_ = 0;
      });
}

std::vector<std::pair<std::string, uint64_t>> TimestampDiff::statistics() const {
  return {{"count", std::min(count_.load(), size_)}, {"unknown", unknown_}};
}

HEDDLE_ELEMENT(NumberPacket);
HEDDLE_ELEMENT(RecordTimestamp);
HEDDLE_ELEMENT(TimestampDiff);

}  // namespace heddle
