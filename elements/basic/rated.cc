#include "elements/basic/rated.h"

#include <algorithm>

#include "click/arguments.h"

namespace heddle {
namespace {

constexpr double kMaxPackets = 1e9;
constexpr uint32_t kUsualBytes = 1500;
constexpr double kOne = 1 - 1e-6;  // a token, but for rounding

}  // namespace

void Allowance::configure(click::Arguments& arguments, bool of_bytes) {
  of_bytes_ = of_bytes;
  if (of_bytes) {
    click::Bandwidth bandwidth;
    arguments.required("RATE", bandwidth);
    rate_ = static_cast<double>(bandwidth.bytes_per_second);
  } else {
    double rate = 0;
    arguments.required("RATE", rate, 0.0, kMaxPackets);
    rate_ = rate;
  }
  click::Duration burst;
  uint32_t size = 0;
  arguments.keyword("BURST_SIZE", size, 1u, UINT32_MAX).keyword("BURST_DURATION", burst);
  if (of_bytes) arguments.keyword("BURST_BYTES", size, 1u, UINT32_MAX);
  burst_ = size, burst_s_ = static_cast<double>(burst.microseconds) / 1e6;
  if (burst_ > 0 && burst_s_ > 0) arguments.error("give BURST_SIZE or BURST_DURATION, not both");
  tokens_ = at_start();
}

double Allowance::at_start() const {
  const double rate = this->rate();
  return rate <= 0 ? 0 : burst_ > 0 || burst_s_ > 0 ? most(rate) : 1;
}

double Allowance::most(double rate) const {
  if (burst_ > 0) return burst_;
  if (burst_s_ > 0) return std::max(1.0, rate * burst_s_);
  return std::max(of_bytes_ ? 2.0 * kUsualBytes : 2.0, rate / 100);
}

void Allowance::handlers(Handlers& list) {
  list.read("rate", [this] { return format("%.15g", rate()); }).write("rate", [this](const std::string& text) {
    rate_ = of_bytes_ ? static_cast<double>(click::value_of<click::Bandwidth>(text).bytes_per_second)
                      : click::value_of<double>(text, 0.0, kMaxPackets);
  });
}

void Allowance::fill() {
  const auto now = RouterClock::now();
  const double rate = this->rate();
  if (reset_.load(std::memory_order_relaxed) && reset_.exchange(false)) tokens_ = at_start(), filled_at_ = now;
  tokens_ += std::chrono::duration<double>(now - filled_at_).count() * rate;
  tokens_ = std::min(tokens_, most(rate));
  filled_at_ = now;
}

bool Allowance::open() {
  if (tokens_ < kOne) fill();
  return tokens_ >= kOne;
}

int Allowance::packets(int wanted) {
  if (stopping_()) return wanted;
  fill();
  if (tokens_ < kOne) {
    if (rate() > 0) RouterClock::wait_for(filled_at_ + RouterClock::seconds((1 - tokens_) / rate()));
    return 0;
  }
  return std::min(wanted,
                  of_bytes_ ? static_cast<int>(tokens_ / kUsualBytes) + 1 : static_cast<int>(tokens_ + 1 - kOne));
}

int RatedUnqueue::demand(int) { return allowance_.packets(64); }

void RatedUnqueue::run_cpu(Batch& batch) {
  const auto packets = static_cast<uint64_t>(batch.size());
  allowance_.take(packets, allowance_.of_bytes() ? batch.bytes() : 0);
  counts_[batch.thread].add(packets, 0);
}

void RatedUnqueue::handlers(Handlers& list) {
  allowance_.handlers(list);
  list.read("count", [this] { return std::to_string(counts_.packets()); });
}

int Shaper::lets_through(int, int output, int wanted) {
  output_ = output;
  const int open = allowance_.packets(wanted);
  return output == 0 ? open : open > 0 ? 0 : wanted;
}

void Shaper::handlers(Handlers& list) {
  allowance_.handlers(list);
  list.write("reset", [this](const std::string&) { allowance_.reset(); });
}

void Shaper::run_cpu(Batch& batch) {
  if (output_ != 0) return;
  allowance_.take(static_cast<uint64_t>(batch.size()), allowance_.of_bytes() ? batch.bytes() : 0);
}

std::span<const char* const> RatedSplitter::drop_reasons() const {
  static constexpr const char* kReasons[] = {"beyond"};
  return kReasons;
}

void RatedSplitter::run_cpu(Batch& batch) {
  while (taken_.test_and_set(std::memory_order_acquire)) __builtin_ia32_pause();
  for (int i = 0; i < batch.size(); ++i) {
    if (allowance_.open())
      allowance_.take(1, batch.length(i));
    else
      batch.next()[i] = outputs > 1 ? 1 : kDrop;
  }
  taken_.clear(std::memory_order_release);
}

void Meter::read_rates(click::Arguments& arguments, bool of_bytes) {
  of_bytes_ = of_bytes;
  for (const auto& argument : arguments.rest()) {
    double rate = 0;
    click::Bandwidth bandwidth;
    if (of_bytes ? click::parse(argument.text, bandwidth) : click::parse(argument.text, rate, 0.0, kMaxPackets))
      rates_.push_back(of_bytes ? static_cast<double>(bandwidth.bytes_per_second) : rate);
    else
      arguments.error(argument, of_bytes ? click::expectation(bandwidth) : click::expectation(rate, 0.0, kMaxPackets));
  }
  if (rates_.empty()) arguments.error("expected a rate");
  if (!std::is_sorted(rates_.begin(), rates_.end())) arguments.error("rates do not rise");
  if (!rates_.empty() && outputs != static_cast<int>(rates_.size()) + 1)
    arguments.error(format("expected %zu outputs, one more than rates", rates_.size() + 1));
}

void Meter::start(const Environment& environment) {
  threads_ = environment.threads;
  gauges_ = std::make_unique<Gauge[]>(static_cast<size_t>(threads_));
}

void Meter::run_cpu(Batch& batch) {
  Gauge& gauge = gauges_[static_cast<size_t>(batch.thread)];
  const uint64_t now = gauge.clock.now_ms();
  gauge.rate.add(of_bytes_ ? batch.bytes() : static_cast<uint64_t>(batch.size()), now);
  const double rate = gauge.rate.per_second(now);
  const auto output = static_cast<uint16_t>(std::upper_bound(rates_.begin(), rates_.end(), rate) - rates_.begin());
  if (output != 0) std::fill_n(batch.next(), batch.size(), output);
}

void Meter::handlers(Handlers& list) {
  list.read("rate", [this] {
    double most = 0;
    for (int thread = 0; thread < threads_; ++thread)
      most = std::max(most, gauges_[static_cast<size_t>(thread)].rate.per_second(now_ms()));
    return std::to_string(static_cast<uint64_t>(most));
  });
}

HEDDLE_ELEMENT(RatedUnqueue);
HEDDLE_ELEMENT(BandwidthRatedUnqueue);
HEDDLE_ELEMENT(Shaper);
HEDDLE_ELEMENT(BandwidthShaper);
HEDDLE_ELEMENT(RatedSplitter);
HEDDLE_ELEMENT(BandwidthRatedSplitter);
HEDDLE_ELEMENT(Meter);
HEDDLE_ELEMENT(BandwidthMeter);

}  // namespace heddle
