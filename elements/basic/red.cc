#include "elements/basic/red.h"

#include <algorithm>
#include <cmath>

#include "click/arguments.h"
#include "click/quoting.h"
#include "core/error.h"
#include "elements/basic/queue.h"

namespace heddle {
namespace {

constexpr unsigned kLongest = 1u << 20;
constexpr auto kAdaptation = std::chrono::milliseconds(500);
constexpr double kIdlePacketS = 0.01;  // an empty queue's average falls by a packet in this time

}  // namespace

void RED::configure(click::Arguments& arguments) {
  unsigned low = 0, high = 0;
  arguments.required("MIN_THRESH", low, 0u, kLongest).required("MAX_THRESH", high, 0u, kLongest);
  configure_others(arguments);
  if (low > high) arguments.error("MIN_THRESH is greater than MAX_THRESH");
  min_ = low, max_ = high;
}

void RED::configure_others(click::Arguments& arguments) {
  unsigned stability = 4;
  double max_p = 0;
  arguments.required("MAX_P", max_p, 0.0, 1.0).keyword("STABILITY", stability, 0u, 16u).keyword("QUEUES", names_);
  max_p_ = max_p;
  weight_ = 1.0 / static_cast<double>(1u << stability);
}

void RED::link(const Directory& directory) {
  if (names_.empty()) {
    queues_ = nearest_storages(*this, true);
    place_ = queues_.empty() ? Place::pulled : Place::pushed;
    if (queues_.empty()) queues_ = nearest_storages(*this, false);
    if (queues_.empty()) throw Error("no queue behind or before it; name some: QUEUES q1 q2");
    return;
  }
  place_ = Place::named;
  for (const std::string_view word : click::split_words(names_)) {
    const auto found = directory(word);
    if (found.empty()) throw Error("QUEUES: no element is called '" + std::string(word) + "'");
    for (const Element* element : found) {
      const auto* storage = dynamic_cast<const Storage*>(element);
      if (storage == nullptr) throw Error("QUEUES: '" + element->name + "' is no queue");
      queues_.push_back(storage);
    }
  }
}

std::span<const char* const> RED::drop_reasons() const {
  static constexpr const char* kReasons[] = {"early"};
  return kReasons;
}

unsigned RED::length() const {
  unsigned sum = 0;
  for (const Storage* queue : queues_) sum += queue->stored();
  return sum;
}

void RED::follow(unsigned length) {
  double average = average_.load(std::memory_order_relaxed);
  if (length == 0) {
    const auto now = RouterClock::now();
    const double idle_s = std::chrono::duration<double>(now - last_).count();
    average *= std::pow(1 - weight_, std::min(idle_s / kIdlePacketS, 1e6));
    last_ = now;
  } else {
    average += (length - average) * weight_;
  }
  average_.store(average, std::memory_order_relaxed);
}

bool RED::marks() {
  const double average = average_.load(std::memory_order_relaxed), low = min_, high = max_, most = max_p_;
  if (average <= low) {
    since_drop_ = 0;
    return false;
  }
  double probability = 1;
  if (average <= high && high > low)
    probability = most * (average - low) / (high - low);
  else if (average < 2 * high)
    probability = most + (1 - most) * (average - high) / high;
  // The gaps between drops are uniformly distributed (method 2 of the paper).
  const double spaced = probability / std::max(1 - static_cast<double>(since_drop_) * probability, 1e-9);
  const bool drop = probability >= 1 || std::uniform_real_distribution(0.0, 1.0)(random_) < spaced;
  since_drop_ = drop ? 0 : since_drop_ + 1;
  return drop;
}

void RED::run_cpu(Batch& batch) {
  while (held_.test_and_set(std::memory_order_acquire)) __builtin_ia32_pause();
  // Queues as each packet finds them: those of a batch enter or have left one after the other.
  unsigned length = this->length() + (place_ == Place::pulled ? static_cast<unsigned>(batch.size()) : 0);
  uint64_t dropped = 0;
  for (int i = 0; i < batch.size(); ++i) {
    length -= place_ == Place::pulled;
    follow(length);
    if (marks()) {
      batch.next()[i] = outputs > 1 ? 1 : kDrop;
      ++dropped;
    } else {
      length += place_ == Place::pushed;
    }
  }
  last_ = RouterClock::now();
  held_.clear(std::memory_order_release);
  if (dropped != 0) dropped_[batch.thread].add(dropped, 0);
}

void RED::handlers(Handlers& list) {
  list.read("min_thresh", [this] { return std::to_string(min_.load()); })
      .write("min_thresh", [this](const std::string& text) { min_ = click::value_of<unsigned>(text, 0u, max_.load()); })
      .read("max_thresh", [this] { return std::to_string(max_.load()); })
      .write("max_thresh",
             [this](const std::string& text) { max_ = click::value_of<unsigned>(text, min_.load(), kLongest); });
  const auto average = [this] { return format("%.3f", average_.load()); };
  const auto drops = [this] { return std::to_string(dropped_.packets()); };
  list.read("max_p", [this] { return format("%g", max_p_.load()); })
      .write("max_p", [this](const std::string& text) { max_p_ = click::value_of<double>(text, 0.0, 1.0); })
      .read("avg_queue_size", average)
      .read("drops", drops)
      .read("queues",
            [this] {
              std::string text;
              for (const Storage* queue : queues_) text += queue->name + "\n";
              return text;
            })
      .read("stats", [=, this] {
        return std::to_string(length()) + " current queue\n" + average() + " avg queue\n" + drops() + " drops\n";
      });
}

void AdaptiveRED::configure(click::Arguments& arguments) {
  unsigned target = 2;
  arguments.required("TARGET_Q", target, 2u, 500'000u);
  configure_others(arguments);
  min_ = target / 2, max_ = target + target / 2;
}

void AdaptiveRED::adapt() {
  const auto now = RouterClock::now();
  if (next_ == RouterClock::time_point{}) next_ = now + kAdaptation;
  if (now < next_) return;
  // The average changes when packets come alone, so each of these half seconds finds the same.
  const auto times = std::min<int64_t>((now - next_) / kAdaptation + 1, 1000);
  next_ += ((now - next_) / kAdaptation + 1) * kAdaptation;
  const double average = average_.load(std::memory_order_relaxed), target = (min_ + max_) / 2.0;
  double most = max_p_.load(std::memory_order_relaxed);
  for (int64_t i = 0; i < times; ++i) {
    if (average < target && most > 0.01)
      most = std::max(most * 0.9, 0.01);
    else if (average > target && most < 0.5)
      most = std::min(most + std::min(0.01, most / 4), 0.5);
  }
  max_p_.store(most, std::memory_order_relaxed);
}

void AdaptiveRED::run_cpu(Batch& batch) {
  on_timer(batch.thread);
  RED::run_cpu(batch);
}

void AdaptiveRED::on_timer(int) {
  if (held_.test_and_set(std::memory_order_acquire)) return;  // another thread does it, or decides, and then looks
  adapt();
  held_.clear(std::memory_order_release);
}

HEDDLE_ELEMENT(AdaptiveRED);
HEDDLE_ELEMENT(RED);

}  // namespace heddle
