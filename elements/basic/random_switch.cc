#include "elements/basic/random_switch.h"

#include "click/arguments.h"
#include "core/generators.h"

namespace heddle {

void RandomSwitch::start(const Environment& environment) { random_ = generators_of(*this, environment); }

void RandomSwitch::run_cpu(Batch& batch) {
  std::mt19937& random = random_[static_cast<size_t>(batch.thread)];
  const auto n = static_cast<uint64_t>(outputs);
  for (int i = 0; i < batch.size(); ++i) batch.next()[i] = static_cast<uint16_t>(random() * n >> 32);
}

void RandomSample::configure(click::Arguments& arguments) {
  double share = -1, dropped = -1;
  bool active = true;
  arguments.optional("P", share, 0.0, 1.0).keyword("SAMPLE", share, 0.0, 1.0).keyword("DROP", dropped, 0.0, 1.0);
  arguments.keyword("ACTIVE", active);
  if ((share < 0) == (dropped < 0)) arguments.error("expected P or DROP, a probability from 0 to 1");
  share_ = share >= 0 ? share : 1 - dropped;
  active_ = active;
}

std::span<const char* const> RandomSample::drop_reasons() const {
  static constexpr const char* kReasons[] = {"sampled_out"};
  return kReasons;
}

void RandomSample::start(const Environment& environment) { random_ = generators_of(*this, environment); }

void RandomSample::run_cpu(Batch& batch) {
  if (!active_.load(std::memory_order_relaxed)) return;
  std::mt19937& random = random_[static_cast<size_t>(batch.thread)];
  const auto below = static_cast<uint64_t>(share_.load(std::memory_order_relaxed) * 4294967296.0);
  uint64_t dropped = 0;
  for (int i = 0; i < batch.size(); ++i) {
    if (random() < below) continue;
    batch.next()[i] = outputs > 1 ? 1 : kDrop;
    ++dropped;
  }
  if (dropped != 0) dropped_[batch.thread].add(dropped, 0);
}

void RandomSample::handlers(Handlers& list) {
  const auto text = [](double value) { return format("%g", value); };
  const auto probability = [](const std::string& value) { return click::value_of<double>(value, 0.0, 1.0); };
  list.read("sampling_prob", [=, this] { return text(share_); })
      .write("sampling_prob", [=, this](const std::string& value) { share_ = probability(value); })
      .read("drop_prob", [=, this] { return text(1 - share_); })
      .write("drop_prob", [=, this](const std::string& value) { share_ = 1 - probability(value); })
      .read("drops", [this] { return std::to_string(dropped_.packets()); })
      .read("active", [this] { return std::string(active_ ? "true" : "false"); })
      .write("active", [this](const std::string& value) { active_ = click::value_of<bool>(value); });
}

HEDDLE_ELEMENT(RandomSwitch);
HEDDLE_ELEMENT(RandomSample);

}  // namespace heddle
