#include "elements/basic/random_bit_errors.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "click/arguments.h"
#include "core/error.h"
#include "core/generators.h"

namespace heddle {
namespace {

constexpr std::array kKinds = {"flip", "set", "clear"};  // by Kind

/** How many bits stay before one that is changed: at the k-th of them with probability (1 - share)^k * share. */
uint64_t gap(double share, std::mt19937& random) {
  if (share >= 1) return 0;
  const double uniform = (static_cast<double>(random()) + 1) * 0x1p-32;  // (0, 1]
  return static_cast<uint64_t>(std::min(std::log(uniform) / std::log1p(-share), 1e9));
}

}  // namespace

RandomBitErrors::Kind RandomBitErrors::kind_of(const std::string& word) {
  const auto found = std::find(kKinds.begin(), kKinds.end(), word);
  if (found == kKinds.end()) throw Error("'" + word.substr(0, 80) + "' is not flip, set or clear");
  return static_cast<Kind>(found - kKinds.begin());
}

void RandomBitErrors::configure(click::Arguments& arguments) {
  double share = 0;
  std::string kind = "flip";
  bool active = true;
  arguments.required("P", share, 0.0, 1.0).optional("KIND", kind).optional("ACTIVE", active);
  share_ = share, active_ = active;
  if (std::find(kKinds.begin(), kKinds.end(), kind) == kKinds.end())
    arguments.error("KIND", "flip, set or clear");
  else
    kind_ = kind_of(kind);
}

void RandomBitErrors::start(const Environment& environment) { random_ = generators_of(*this, environment); }

void RandomBitErrors::run_cpu(Batch& batch) {
  std::mt19937& random = random_[static_cast<size_t>(batch.thread)];
  const double share = share_.load(std::memory_order_relaxed);
  const Kind kind = kind_.load(std::memory_order_relaxed);
  if (!active_.load(std::memory_order_relaxed) || share <= 0) return;
  for (int i = 0; i < batch.size(); ++i) {
    uint8_t* const frame = batch.frame(i);
    const uint64_t bits = uint64_t{batch.length(i)} * 8;
    for (uint64_t at = gap(share, random); at < bits; at += 1 + gap(share, random)) {
      const auto bit = static_cast<uint8_t>(0x80 >> (at & 7));
      uint8_t& byte = frame[at >> 3];
      byte = static_cast<uint8_t>(kind == Kind::flip ? byte ^ bit : kind == Kind::set ? byte | bit : byte & ~bit);
    }
  }
}

void RandomBitErrors::handlers(Handlers& list) {
  list.read("p_bit_error", [this] { return format("%g", share_.load()); })
      .write("p_bit_error", [this](const std::string& text) { share_ = click::value_of<double>(text, 0.0, 1.0); })
      .read("error_kind", [this] { return std::string(kKinds[static_cast<size_t>(kind_.load())]); })
      .write("error_kind", [this](const std::string& text) { kind_ = kind_of(std::string(click::trim(text))); })
      .read("active", [this] { return std::string(active_ ? "true" : "false"); })
      .write("active", [this](const std::string& text) { active_ = click::value_of<bool>(text); });
}

HEDDLE_ELEMENT(RandomBitErrors);

}  // namespace heddle
