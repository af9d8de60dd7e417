#include "functions/classifier/hits.h"

#include <algorithm>

namespace heddle::classifier {

void HitCounter::start(int threads) {
  threads_.clear();
  for (int i = 0; i < threads; ++i) {
    threads_.push_back(std::make_unique<Thread>());
    threads_.back()->rule = std::make_unique<std::atomic<uint64_t>[]>(Hits::kMostRules);
  }
}

void HitCounter::add(int thread, uint32_t number) {
  Thread& mine = *threads_[static_cast<size_t>(thread)];
  std::atomic<uint64_t>& count = number < Hits::kMostRules ? mine.rule[number]
                                 : number == kNoRule       ? mine.none
                                                           : mine.rest;
  count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);  // one writer
}

HitCounter::Sum HitCounter::sum(const StateReader& gpu, size_t rules) const {
  Sum sum;
  sum.rule.resize(std::min<size_t>(rules, Hits::kMostRules));
  if (gpu.read_state) {
    constexpr size_t kFirst = offsetof(Hits, rule) / sizeof(uint64_t);
    std::vector<uint64_t> state(kFirst + sum.rule.size());
    gpu.read_state(0, std::as_writable_bytes(std::span(state)));
    sum.none = state[0], sum.rest = state[1];
    std::copy(state.begin() + kFirst, state.end(), sum.rule.begin());
  }
  for (const auto& thread : threads_) {
    sum.none += thread->none.load(std::memory_order_relaxed);
    sum.rest += thread->rest.load(std::memory_order_relaxed);
    for (size_t i = 0; i < sum.rule.size(); ++i) sum.rule[i] += thread->rule[i].load(std::memory_order_relaxed);
  }
  return sum;
}

}  // namespace heddle::classifier
