// What pulls from several sources: which of them, as schedulers say.
#include <algorithm>
#include <utility>

#include "engine/worker.h"

namespace heddle {

Worker::Pull Worker::pull_of(const PullPoint& point, bool limited) const {
  Pull pull{};
  limited = limited || !point.limits.empty();
  for (const auto [node, way] : point.limits)
    pull.limits.push_back({shared_.router->nodes[static_cast<size_t>(node)].element.get(), way});
  if (point.inputs.empty()) {
    pull.entry = entry_of(point.node, point.target);
    pull.entry.forks = point.forks, pull.entry.limited = limited;
    return pull;
  }
  pull.scheduler = dynamic_cast<PullScheduler*>(shared_.router->nodes[static_cast<size_t>(point.node)].element.get());
  pull.looks_ahead = dynamic_cast<LookAheadScheduler*>(pull.scheduler);
  for (const PullPoint& input : point.inputs) pull.inputs.push_back(pull_of(input, limited));
  return pull;
}

const Worker::Entry* Worker::take(Pull& from, int wanted, Batch& batch) {
  for (const auto [element, way] : from.limits) wanted = element->lets_through(thread_, way, wanted);
  if (wanted <= 0) return nullptr;
  if (from.scheduler == nullptr) {
    batch.resize(0);
    batch.set_room(wanted);
    from.entry.source->receive(batch);
    return batch.empty() ? nullptr : &from.entry;
  }
  if (from.looks_ahead != nullptr) return take_ahead(from, batch);
  for (int attempt = 0; attempt < static_cast<int>(from.inputs.size()); ++attempt) {
    const int input = from.scheduler->choose(attempt);
    const Entry* entry =
        take(from.inputs[static_cast<size_t>(input)], std::min(wanted, from.scheduler->quantum()), batch);
    if (entry == nullptr) continue;
    from.scheduler->taken(input, batch.size());
    return entry;
  }
  return nullptr;
}

void Worker::find_origins(const Pull& pull, std::vector<const Entry*>& origins) {
  if (pull.scheduler == nullptr) origins.push_back(&pull.entry);
  for (const Pull& input : pull.inputs) find_origins(input, origins);
}

const Worker::Entry* Worker::take_ahead(Pull& from, Batch& batch) {
  if (from.origins.empty()) find_origins(from, from.origins);
  LookAheadScheduler& scheduler = *from.looks_ahead;
  for (size_t input = 0; input < from.inputs.size(); ++input)
    while (scheduler.wants(static_cast<int>(input))) {
      const Entry* entry = take(from.inputs[input], 1, batch);
      if (entry == nullptr) break;
      const auto origin = std::find(from.origins.begin(), from.origins.end(), entry) - from.origins.begin();
      for (int i = 0; i < batch.size(); ++i)
        scheduler.hold(static_cast<int>(input), batch, i, entry->live, static_cast<int>(origin));
    }
  batch.resize(0);
  const int origin = scheduler.release(batch);
  return origin < 0 ? nullptr : from.origins[static_cast<size_t>(origin)];
}

int Worker::pull_scheduled(Job& job, int wanted) {
  auto few = spare_.borrow();
  Batch& batch = *job.batch;
  batch.resize(0);
  const Entry* gathering = nullptr;  // all in `batch` enter as packets of this one
  int taken = 0;
  for (wanted = std::min(wanted, batch.capacity()); taken < wanted;) {
    const Entry* entry = take(job.pull, wanted - taken, *few);
    if (entry == nullptr) break;
    taken += few->size();
    const bool alike = gathering == nullptr || gathering == entry ||
                       (gathering->forks.empty() && entry->forks.empty() &&
                        gathering->way.target == entry->way.target && gathering->way.join < 0 && entry->way.join < 0 &&
                        gathering->buffer && entry->buffer && gathering->numbered == entry->numbered);
    if (!alike) {
      enter(*gathering, batch);
      batch.resize(0);
    }
    gathering = entry;
    for (int i = 0; i < few->size(); ++i) batch.append(*few, i, entry->live);
    few->resize(0);
    if (!entry->limited) continue;
    // What limits counts what passes, and is asked again.
    enter(*std::exchange(gathering, nullptr), batch);
    batch.resize(0);
  }
  spare_.give_back(std::move(few));
  if (gathering != nullptr) enter(*gathering, batch);
  return taken;
}

bool Worker::all_exhausted(const Pull& pull) {
  if (pull.scheduler == nullptr) return pull.entry.source->exhausted();
  return (pull.looks_ahead == nullptr || !pull.looks_ahead->holds()) &&
         std::all_of(pull.inputs.begin(), pull.inputs.end(), all_exhausted);
}

}  // namespace heddle
