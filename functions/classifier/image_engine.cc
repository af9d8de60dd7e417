#include "functions/classifier/image_engine.h"

#include <algorithm>
#include <system_error>
#include <thread>
#include <utility>

#include "functions/classifier/listed.h"
#include "functions/classifier/rule_set.h"
#include "functions/classifier/split_tree.h"
#include "functions/classifier/table.h"

namespace heddle::classifier {

/** A thread that builds an image. */
struct ImageEngine::Rebuild {
  SetChanges changes;   // since it has begun
  Structure structure;  // without an image: it has failed
  std::atomic<bool> ended{false};
  std::jthread thread;  // first to go
};

ImageEngine::ImageEngine(EngineKind kind, const Limits& limits) : kind_(kind), limits_(limits) {
  limits_.most_bytes = SIZE_MAX;
  take(build({}, [] {}));
  limits_.most_bytes = limits.most_bytes;
}

ImageEngine::~ImageEngine() = default;

ImageEngine::Structure ImageEngine::build(std::vector<SetRule> rules, const CheckWanted& check_wanted) const {
  const auto shared = std::make_shared<const std::vector<SetRule>>(std::move(rules));
  Structure result;
  result.image =
      kind_ == EngineKind::hypersplit
          ? build_tree(*shared, limits_.no_match, limits_.most_bytes, limits_.layout, check_wanted)
          : build_vectors(*shared, limits_.no_match, limits_.most_bytes, limits_.layout, limits_.form, check_wanted);
  result.listing = std::make_unique<Listing>(result.image, shared, limits_.layout);
  return result;
}

void ImageEngine::take(Structure structure) {
  table_.take(std::move(structure.image));
  listing_ = std::move(structure.listing);
  changes_ = {};
  failed_ = false;
}

void ImageEngine::load(std::span<const SetRule> rules) {
  rebuild_ = nullptr;
  take(build(std::vector<SetRule>(rules.begin(), rules.end()), *limits_.check_wanted));
}

void ImageEngine::begin_rebuild() {
  auto job = std::make_unique<Rebuild>();
  const auto work = [this, job = job.get(), rules = listing_->rules(),
                     changes = changes_](const std::stop_token& stop) {
    try {
      job->structure = build(changes.made_to(*rules), [&] {
        if (stop.stop_requested()) throw Unwanted("the engine goes");
      });
    } catch (...) {  // what is wrong is said to the change that finds no room
    }
    job->ended.store(true, std::memory_order_release);
  };
  try {
    job->thread = std::jthread(work);
    rebuild_ = std::move(job);
  } catch (const std::system_error&) {  // no more threads
    failed_ = true;
  }
}

void ImageEngine::end_rebuild() {
  const auto job = std::move(rebuild_);
  job->thread.join();
  Structure& built = job->structure;
  std::vector<SetRule> added;
  for (const auto& [id, rule] : job->changes.added) added.push_back(rule);
  failed_ = built.listing == nullptr;
  if (failed_) return;
  const auto words = built.listing->change(added, job->changes.gone);
  if (!words) return;  // they uncover too many others
  built.image.change(*words, built.listing->moment());
  take(std::move(built));
  changes_ = std::move(job->changes);
}

void ImageEngine::change(std::span<const SetRule> added, std::span<const uint32_t> gone, const RuleSet& all) {
  if (rebuild_ != nullptr && rebuild_->ended.load(std::memory_order_acquire)) end_rebuild();
  auto words = listing_->change(added, gone);
  if (!words && rebuild_ != nullptr) {
    end_rebuild();
    words = listing_->change(added, gone);
  }
  if (!words) return load(all.sorted());
  table_.change(*words, listing_->moment());
  changes_.add(added, gone);
  if (rebuild_ != nullptr)
    rebuild_->changes.add(added, gone);
  else if (!failed_ && std::max(size_t{listed()}, changes_.gone.size()) >= kRebuiltAt)
    begin_rebuild();
}

void ImageEngine::classify(const uint32_t* const* keys, Outcome* outcomes, int n) const {
  const Image& image = table_.image();
  const Moment when = image.now();
  if (kind_ == EngineKind::hypersplit)
    classify_by_tree(image, when, keys, outcomes, n, limits_.simd);
  else
    classify_by_vectors(image, when, keys, outcomes, n, limits_.simd);
  if (when.listed != 0) search_listed(image, when, keys, outcomes, n, limits_.simd);
}

}  // namespace heddle::classifier
