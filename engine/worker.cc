#include "engine/worker.h"

#include <rte_cycles.h>

#include <algorithm>
#include <thread>

#include "core/acts_beside.h"
#include "core/clock.h"
#include "core/column_pack.h"
#include "core/packet_pool.h"
#include "core/parses.h"

namespace heddle {
namespace {

constexpr uint64_t kTicksBetweenPublishing = 1 << 21;  // a millisecond or less

}  // namespace

Worker::Worker(const Shared& shared, int thread, std::vector<std::unique_ptr<Lane>> lanes)
    : shared_(shared),
      thread_(thread),
      counts_(shared.router->nodes.size()),
      spare_(shared.batch_size, thread),
      copied_(static_cast<size_t>(shared.batch_size)),
      published_(counts_.size()) {
  const std::vector<bool>& numbered = shared.plan->joins.numbered;
  const auto any_numbered = [&](const std::vector<Way>& ways) {
    return std::any_of(ways.begin(), ways.end(),
                       [&](auto& way) { return way.target >= 0 && numbered[static_cast<size_t>(way.target)]; });
  };
  const auto lead_apart = [](const std::vector<Way>& ways) {
    return std::adjacent_find(ways.begin(), ways.end(), [](auto& a, auto& b) { return a.target != b.target; }) !=
           ways.end();
  };
  size_t ways_in_all = 0;
  std::vector<Path*> paths(lanes.size(), nullptr);  // by segment
  for (size_t s = 0; s < lanes.size(); ++s) {
    if (!lanes[s]) continue;
    auto path = std::make_unique<Path>();
    path->node = shared.plan->segments[s].nodes[0];
    const Segment& segment = shared.plan->segments[s];
    path->by_load = segment.by_load, path->cpu_after_failure = segment.cpu_after_failure;
    for (const LaneExit& exit : lanes[s]->exits())
      path->ways.push_back(
          exit.target < 0 ? Way{-1, exit.node, exit.reason}
                          : way_to(segment.has_both() ? exit.node : path->node, Join::Way::kAnyOutput, exit.target));
    path->splits = lead_apart(path->ways);
    path->lane = std::move(lanes[s]);
    path->segment = static_cast<int>(s);
    if (segment.latency_us > 0) {
      const int most = segment.limits.batch > 0 ? std::min(segment.limits.batch, shared.batch_size) : shared.batch_size;
      const int enough = segment.launch == LaunchMode::persistent ? std::min(most, gpu::kSlotPackets) : most;
      path->wait = BatchWait(static_cast<uint64_t>(static_cast<double>(segment.latency_us) * tsc_hz() / 1e6), enough);
      path->gathered = std::make_unique<Batch>(most);
      path->gathered->thread = thread;
      gathers_ = true;
    }
    if (any_numbered(path->ways)) path->numbers = std::make_unique<NumbersInFlight>(path->lane->capacity());
    ways_in_all += path->ways.size();
    paths[s] = path.get();
    paths_.push_back(std::move(path));
  }
  ways_.resize(shared.router->nodes.size());
  for (size_t i = 0; i < shared.router->nodes.size(); ++i) {
    const Node& node = shared.router->nodes[i];
    const NodePlan& here = shared.plan->nodes[i];
    Element* element = node.element.get();
    if (!node.is_buffer())  // packets stay in a buffer
      for (size_t port = 0; port < node.targets.size() - node.more_pull.size(); ++port)
        ways_[i].push_back(way_to(static_cast<int>(i),
                                  element->copies() > 1 ? static_cast<int>(port) : Join::Way::kAnyOutput,
                                  node.targets[port]));
    ways_in_all += ways_[i].size();
    const auto path_of = [&](const NodePlan& of) {
      return of.processor.is_gpu() ? paths[static_cast<size_t>(of.segment)] : nullptr;
    };
    const Element* prefetch_for = nullptr;
    const Path* prefetch_path = nullptr;
    if (const auto later = static_cast<size_t>(here.prefetch_for); here.prefetch_for >= 0)
      prefetch_for = shared.router->nodes[later].element.get(), prefetch_path = path_of(shared.plan->nodes[later]);
    Path* path = path_of(here);
    if (path != nullptr && path->node != static_cast<int>(i)) path = nullptr;  // packets are in the lane by then
    Parses* parser = nullptr;
    if (const auto earlier = static_cast<size_t>(here.parser); here.parser >= 0)
      parser = dynamic_cast<Parses*>(shared.router->nodes[earlier].element.get());
    steps_.push_back({element,
                      path,
                      ways_[i],
                      here.live,
                      here.live_behind,
                      prefetch_for,
                      prefetch_path,
                      lead_apart(ways_[i]) || !node.more_pull.empty(),
                      element->changes_length() || element->moves_head() != 0,
                      here.copy_first,
                      element->copies() > 1,
                      element->copies_some(),
                      here.counts_bytes,
                      dynamic_cast<const Emitter*>(element),
                      shared.batch_size == 1 ? dynamic_cast<ActsBeside*>(element) : nullptr,
                      node.blocking,
                      any_numbered(ways_[i]),
                      static_cast<uint32_t>(here.prepends),
                      static_cast<uint32_t>(here.appends),
                      parser,
                      here.parsed});
  }
  for (const Task& task : shared.router->tasks) {
    const auto* source = dynamic_cast<Source*>(shared.router->nodes[static_cast<size_t>(task.source)].element.get());
    Element* driver = task.driver < 0 ? nullptr : shared.router->nodes[static_cast<size_t>(task.driver)].element.get();
    const int home = driver != nullptr ? driver->home : source->home;
    const bool everywhere = driver == nullptr && home < 0 && source->every_thread();
    if (!everywhere && thread != std::max(home, 0)) continue;
    tasks_.push_back(
        {entry_of(task.source, task.target), driver, driver == nullptr ? Pull{} : pull_of(task.pull), spare_.borrow(),
         shared.router->nodes[static_cast<size_t>(task.driver < 0 ? task.source : task.driver)].share.get()});
  }
  // A batch a level of recursion: at most one a node and way, and one for what is dropped or comes from a lane.
  parts_.reserve(ways_in_all);
  part_of_.resize(steps_.size(), -1);
  spare_.add(2 * steps_.size() + ways_in_all + 2);
  make_joins();
  make_timers();
  watches_rings_ = thread == 0 && std::any_of(timers_.begin(), timers_.end(), [&](const Timer& timer) {
                     const NodePlan& node = shared.plan->nodes[static_cast<size_t>(timer.node)];
                     return shared.plan->segments[static_cast<size_t>(node.segment)].has_rings();
                   });
  for (auto& path : paths_) {
    two_sided_ = two_sided_ || path->by_load || path->cpu_after_failure;
    path->on_cpu = path->by_load;
  }
  for (Job& job : tasks_) {
    if (job.driver == nullptr) job.pull.entry = job;
    job.forks = job.pull.entry.forks;
    if (leads_to_choice(job.pull)) job.choice.emplace(tsc_hz());
  }
}

bool Worker::leads_to_choice(const Pull& pull) const {
  if (!pull.inputs.empty())
    return std::any_of(pull.inputs.begin(), pull.inputs.end(), [&](auto& input) { return leads_to_choice(input); });
  std::vector<bool> seen(steps_.size());
  const auto leads = [&](const auto& self, int node) -> bool {
    if (node < 0 || seen[static_cast<size_t>(node)]) return false;
    seen[static_cast<size_t>(node)] = true;
    const Step& step = steps_[static_cast<size_t>(node)];
    return (step.path != nullptr && step.path->by_load) ||
           std::any_of(step.ways.begin(), step.ways.end(), [&](const Way& way) { return self(self, way.target); });
  };
  return leads(leads, pull.entry.way.target);
}

Worker::Entry Worker::entry_of(int source, int target) const {
  const Node& node = shared_.router->nodes[static_cast<size_t>(source)];
  const NodePlan& here = shared_.plan->nodes[static_cast<size_t>(source)];
  const ColumnSet open = here.live_behind & ~node.element->access(Processor::cpu).column_writes;
  return {dynamic_cast<Source*>(node.element.get()),
          source,
          way_to(source, Join::Way::kAnyOutput, target),
          node.is_buffer(),
          node.is_buffer() ? 0 : open & kClearedColumns,
          node.on_cycle,
          shared_.plan->joins.numbered[static_cast<size_t>(target)],
          here.live_behind};
}

void Worker::enter(const Entry& entry, Batch& batch) {
  if (!entry.buffer) count(entry.source_node, batch);
  if (!entry.buffer && shared_.tracer->active()) [[unlikely]]
    shared_.tracer->come(*shared_.router, *shared_.plan, entry.source_node, batch);
  if (entry.clear != 0) clear_missing(batch, entry.clear);
  if (entry.numbered) number(batch);
  for (const auto [node, port, target, way] : entry.forks)
    ways_[static_cast<size_t>(node)][static_cast<size_t>(port)] =
        way_to(node, steps_[static_cast<size_t>(node)].copies ? way : Join::Way::kAnyOutput, target);
  whole_ = nothing_in_flight();
  go(entry.way, batch);
  whole_ = false;
  if (!joins_.empty()) pass_joins();
  if (due_) emit_due();
}

void Worker::begin_stop() {
  stop_begun_ = true;
  uint64_t in_use = 0;
  for (const PacketPool* pool : {shared_.packets, shared_.large_packets})
    in_use += pool->capacity() - pool->available();
  for (Job& job : tasks_) job.after_stop = in_use;
}

bool Worker::round(bool stopping) {
  bool busy = false;
  if (stopping && !stop_begun_) begin_stop();
  if (failure_.empty() && waiting_ <= most_waiting_ && (!two_sided_ || sides_settled())) {
    for (Job& job : tasks_) {
      if (job.ended(stopping)) continue;
      if (job.choice && job.choice->wants_gpu()) choose_sides(job, 0);  // also if it gives nothing any more
      // Simulated time goes on when nobody has anything to do, so then everybody is asked.
      const bool asked = idle_rounds_ > 0 && RouterClock::simulated() && job.share->rounds != 0;
      if (!stopping && !job.takes_turn() && !asked) continue;
      Batch& batch = *job.batch;
      batch.resize(0);
      batch.set_room(batch.capacity());
      if (job.driver != nullptr) {
        int wanted = job.driver->demand(thread_);
        if (job.pull.scheduler != nullptr) {
          if (wanted <= 0) continue;
          const int taken = pull_scheduled(job, wanted);
          job.dry = taken == 0;
          busy = busy || taken > 0;
          if (job.choice) choose_sides(job, taken);
          continue;
        }
        for (const auto [element, way] : job.pull.limits)
          wanted = std::min(wanted, element->lets_through(thread_, way, wanted));
        if (wanted <= 0) continue;
        batch.set_room(wanted);
      }
      job.source->receive(batch);
      if (job.choice) choose_sides(job, batch.size());
      if (batch.empty()) continue;
      busy = true;
      if (stopping) job.after_stop -= std::min(job.after_stop, static_cast<uint64_t>(batch.size()));
      enter(job, batch);
    }
  }
  if (!paths_.empty()) busy = collect_all() || busy;
  if (gathers_) end_waits();
  if (!joins_.empty()) pass_joins();
  if (due_) emit_due();
  report_epoch();
  unpublished_ = unpublished_ || busy;
  idle_rounds_ = busy ? 0 : idle_rounds_ + 1;
  if (!busy && failure_checks_.due(idle_rounds_))
    for (auto& path : paths_) check_failure(*path);
  return busy;
}

bool Worker::exhausted(bool stopping) const {
  const auto done = [&](const Job& job) {
    return job.ended(stopping) || (!stopping && job.share->rounds.load(std::memory_order_relaxed) == 0) ||
           (job.pull.scheduler == nullptr ? job.source->exhausted()
                                          : all_exhausted(job.pull) || (stopping && job.dry)) ||
           (job.driver != nullptr && job.driver->demand(thread_) < 0);
  };
  return std::all_of(tasks_.begin(), tasks_.end(), done) && nothing_in_flight();
}

bool Worker::nothing_in_flight() const {
  return waiting_ == 0 && std::all_of(paths_.begin(), paths_.end(), [](auto& path) {
           return path->lane->in_flight() == 0 && (!path->gathered || path->gathered->empty());
         });
}

void Worker::count(int node, Batch& batch) {
  NodeCounts& counts = counts_[static_cast<size_t>(node)];
  add(counts.packets, static_cast<uint64_t>(batch.size()));
  if (!steps_[static_cast<size_t>(node)].counts_bytes) return;
  add(counts.bytes, batch.bytes());
}

void Worker::drain(bool ending) {
  for (uint64_t spins = 1;; ++spins) {
    if (!joins_.empty()) pass_joins();
    bool waiting = false;
    for (auto& path : paths_)
      if (path->gathered) feed_gathered(*path);
    for (auto& path : paths_) waiting = waiting || (path->lane->in_flight() > 0 && !path->given_up);
    if (!waiting && !(ending && run_timers(0, true))) break;
    if (collect_all()) continue;
    if (shared_.gives_way) std::this_thread::yield();
    if (failure_checks_.due(spins))
      for (auto& path : paths_) check_failure(*path);
  }
  report_epoch();
  publish_counts();
}

void Worker::publish_if_due(bool busy, uint64_t now) {
  if (!unpublished_) return note_published();
  if (busy && now - published_at_ < kTicksBetweenPublishing) return;
  publish_counts();
  note_published();
  published_at_ = now;
  constexpr uint64_t kRenewalsBetweenChecks = 64;
  if (++renewals_ % kRenewalsBetweenChecks != 0) return;
  for (auto& path : paths_)
    if (!path->lost) check_failure(*path);
}

void Worker::publish_counts() {
  for (size_t i = 0; i < counts_.size(); ++i) {
    const NodeCounts& from = counts_[i];
    NodeCounts& to = published_[i];
    publish(from.packets, to.packets);
    publish(from.bytes, to.bytes);
    publish(from.dropped_bytes, to.dropped_bytes);
    for (size_t reason = 0; reason < from.drops.size(); ++reason) publish(from.drops[reason], to.drops[reason]);
    publish(from.no_buffer, to.no_buffer);
    publish(from.no_room, to.no_room);
    publish(from.moved_for_room, to.moved_for_room);
    publish(from.no_slot, to.no_slot);
    publish(from.max_batch, to.max_batch);
    publish(from.gpu_failed, to.gpu_failed);
    publish(from.waited, to.waited);
  }
  for (const Node& node : shared_.router->nodes)
    for (PerThreadCounts* counts : node.element->counts) counts->publish(thread_);
  unpublished_ = false;
}

void Worker::run(int i, Batch& batch) {
  while (!batch.empty()) {
    const Step& step = steps_[static_cast<size_t>(i)];
    if (step.parser != nullptr) step.parser->parse_again(batch, step.parsed);
    if (step.copy_first) make_private(i, batch);
    if (step.prepends + step.appends > 0) make_room(i, batch);
    if (step.path != nullptr) {
      if (!step.path->on_cpu) return step.path->gathered ? gather(*step.path, batch) : feed(*step.path, i, batch);
      add(step.path->cpu_packets, static_cast<uint64_t>(batch.size()));
      add(step.path->cpu_bytes, batch.bytes());
    }
    count(i, batch);
    if (shared_.tracer->active()) [[unlikely]]
      shared_.tracer->arrive(*shared_.router, *shared_.plan, i, batch);
    const int arrived = batch.size();
    step.element->run_cpu(batch);
    if (step.acts != nullptr) [[unlikely]] {
      wait_for(*step.acts);
      step.acts->acted(batch);
    }
    if (step.emitter != nullptr) due_ = due_ || step.emitter->due(thread_);
    if (step.changes_lengths) batch.forget_bytes();
    if (step.prefetch_for != nullptr && (step.prefetch_path == nullptr || step.prefetch_path->on_cpu))
      step.prefetch_for->prefetch(batch);
    int way = 0;
    if (step.copies && batch.marked()) drop_marked(i, batch, arrived);
    if (batch.marked()) {
      if (!together(batch, step.ways, step.splits, way))
        return divide(i, step.ways, step.live_behind, step.numbered_behind, batch, arrived);
      batch.clear_marks(arrived);
    }
    if (step.ways.empty()) return;  // a sink has kept what it got
    if (step.copies) return copy_out(i, batch);
    const Way& onward = step.ways[static_cast<size_t>(way)];
    if (waits(onward)) return go(onward, batch);
    i = onward.target;
  }
}

void Worker::wait_for(const ActsBeside& element) {
  if (!element.acts()) return;
  publish_counts();  // it may read them
  // What it does may change a table, which waits for a report of this thread, or the configuration.
  while (element.acts() && shared_.epochs->current() == epoch_ && !awaited_.load(std::memory_order_relaxed)) {
    note_published();
    std::this_thread::yield();
  }
}

bool Worker::together(Batch& batch, std::span<const Way> ways, bool splits, int& way) {
  const int n = batch.size();
  if (n == 0) return true;
  const uint16_t* next = batch.next();
  uint16_t differs = 0, dropped = 0;
  for (int i = 0; i < n; ++i) {
    differs |= next[i] ^ next[0];
    dropped |= (next[i] & kDrop) == kDrop;
  }
  if (dropped != 0 || (differs != 0 && splits)) return false;
  way = next[0];
  return ways.empty() || ways[next[0]].target >= 0;
}

void Worker::trace_drop(int node, int reason, const Packet* packet) {
  if (!shared_.tracer->active()) [[likely]]
    return;
  const auto reasons = shared_.router->nodes[static_cast<size_t>(node)].element->drop_reasons();
  shared_.tracer->drop(*shared_.router, node, reasons[static_cast<size_t>(reason)], packet);
}

void Worker::divide(int node, std::span<const Way> ways, ColumnSet columns, bool numbered, Batch& batch, int marked) {
  const size_t first = parts_.size();  // those below belong to the divisions that led here
  const uint16_t* next = batch.next();
  std::unique_ptr<Batch> dropped;
  const auto drop = [&](int i, int where, int reason) {
    NodeCounts& counts = counts_[static_cast<size_t>(where)];
    add(counts.drops[static_cast<size_t>(reason)], 1);
    add(counts.dropped_bytes, batch.length(i));
    trace_drop(where, reason, batch.packet(i));
    if (!dropped) dropped = spare_.borrow();
    dropped->append(batch, i, 0);
  };
  for (int i = 0; i < batch.size(); ++i) {
    if (next[i] >= kDrop) {
      if (next[i] != kKept) drop(i, node, next[i] & 0xff);
      continue;
    }
    const Way& way = ways[next[i]];
    if (way.target < 0) {
      drop(i, way.node, way.reason);
      continue;
    }
    int& part = part_of_[static_cast<size_t>(way.target)];
    if (part < 0) [[unlikely]] {
      part = static_cast<int>(parts_.size());
      parts_.push_back({spare_.borrow(), &way});
    }
    Batch& to = *parts_[static_cast<size_t>(part)].batch;
    to.append(batch, i, columns);
    if (numbered) to.numbers()[to.size() - 1] = batch.numbers()[i];
  }
  batch.resize(0);
  batch.clear_marks(marked);
  if (dropped) {
    dropped->free_packets();
    spare_.give_back(std::move(dropped));
  }
  const size_t end = parts_.size();
  if (end - first > 1) whole_ = false;
  for (size_t k = first; k < end; ++k) part_of_[static_cast<size_t>(parts_[k].way->target)] = -1;
  for (size_t k = first; k < end; ++k) {
    std::unique_ptr<Batch> part = std::move(parts_[k].batch);
    go(*parts_[k].way, *part);
    spare_.give_back(std::move(part));
  }
  parts_.resize(first);
}

void Worker::report_epoch() {
  const uint64_t now = shared_.epochs->current();
  if (now == epoch_) return;
  if (waiting_epoch_ == epoch_) {
    waiting_epoch_ = now;
    for (auto& path : paths_) path->fed_at_epoch.reset();
  }
  // In topological order: what comes back from one path may go on to another. Packets that wait for others count as
  // fed, so that they wait as they would without a change; if they are lost instead, the path is empty at the latest.
  for (auto& path : paths_) {
    const size_t gathered = path->gathered ? static_cast<size_t>(path->gathered->size()) : 0;
    if (!path->fed_at_epoch) path->fed_at_epoch = path->lane->fed() + gathered;
    if (path->lane->returned() < *path->fed_at_epoch && (path->lane->in_flight() > 0 || gathered > 0)) return;
  }
  epoch_ = waiting_epoch_;
  shared_.epochs->report(thread_, epoch_);
}

}  // namespace heddle
