// Packets on their way through GPUs: feeding, collecting, failures, and the choice between GPU and CPU.
#include <rte_cycles.h>

#include <algorithm>
#include <cstdio>
#include <thread>

#include "core/error.h"
#include "engine/worker.h"

namespace heddle {

LaneBytes Worker::lane_bytes(int segment) const {
  for (const auto& path : paths_)
    if (path->segment == segment) return path->lane->bytes();
  return {};
}

void Worker::lose(int node, std::atomic<uint64_t> NodeCounts::*count, const char* why, Packet** packets, int n) {
  add(counts_[static_cast<size_t>(node)].*count, static_cast<uint64_t>(n));
  if (shared_.tracer->active()) [[unlikely]]
    for (int i = 0; i < n; ++i) shared_.tracer->drop(*shared_.router, node, why, packets[i]);
  rte_pktmbuf_free_bulk(packets, static_cast<unsigned>(n));
}

void Worker::feed(Path& path, int node, Batch& batch) {
  NodeCounts& counts = counts_[static_cast<size_t>(node)];
  Lane& lane = *path.lane;
  whole_ = false;
  if (const int most = shared_.plan->segments[static_cast<size_t>(path.segment)].limits.batch;
      most > 0 && batch.size() > most) {
    const int over = batch.size() - most;
    lose(node, &NodeCounts::max_batch, "max_batch", batch.packets() + most, over);
    batch.resize(most);
  }
  if (shared_.tracer->active()) [[unlikely]]
    shared_.tracer->arrive(*shared_.router, *shared_.plan, node, batch);
  int first = 0;
  const auto bytes_left = [&] {
    uint64_t bytes = 0;
    for (int i = first; i < batch.size(); ++i) bytes += batch.length(i);
    return bytes;
  };
  uint64_t bytes = bytes_left();  // what has been fed may be another thread's by now, and longer or shorter
  for (uint64_t spins = 1; first < batch.size(); ++spins) {
    const int left = batch.size() - first;
    if (path.lost && failure_.empty()) [[unlikely]] {
      if (lane.in_flight() == 0) {
        set_side(path, true);
        return run_rest(node, batch, first);
      }
      if (!collect(path) && failure_checks_.due(spins)) check_failure(path);
      continue;
    }
    if (!failure_.empty()) {
      lose(node, &NodeCounts::gpu_failed, "gpu_failed", batch.packets() + first, left);
    } else if (const int taken = lane.feed(batch, first); taken > 0) {
      add(counts.packets, static_cast<uint64_t>(taken));
      if (path.numbers) path.numbers->push(batch.numbers() + first, taken);
      first += taken;
      const uint64_t rest = bytes_left();
      add(counts.bytes, bytes - rest);
      bytes = rest;
      continue;
    } else {
      lane.flush();
      if (collect(path)) continue;
      if (shared_.gives_way) std::this_thread::yield();
      if (steps_[static_cast<size_t>(node)].blocking) {
        if (failure_checks_.due(spins)) check_failure(path, true);
        continue;
      }
      lose(node, &NodeCounts::no_slot, "no_slot", batch.packets() + first, left);
    }
    break;
  }
  batch.resize(0);
  lane.flush();
}

void Worker::gather(Path& path, Batch& batch) {
  Batch& gathered = *path.gathered;
  whole_ = false;
  const uint64_t now = rte_rdtsc();
  if (gathered.empty()) {
    path.wait.begin(now);
    if (batch.size() <= gathered.capacity() && path.wait.is_over(batch.size(), path.lane->in_flight(), now)) {
      feed(path, path.node, batch);
      return path.wait.went(path.lane->fed(), now);
    }
  }
  const ColumnSet live = steps_[static_cast<size_t>(path.node)].live;
  for (int i = 0; i < batch.size(); ++i) {
    if (gathered.size() == gathered.capacity()) feed_gathered(path);
    if (gathered.empty()) path.wait.begin(now);
    gathered.append(batch, i, live);
    if (path.numbers) gathered.numbers()[gathered.size() - 1] = batch.numbers()[i];
  }
  batch.resize(0);
  if (path.wait.is_over(gathered.size(), path.lane->in_flight(), now)) feed_gathered(path);
}

void Worker::feed_gathered(Path& path) {
  if (path.gathered->empty()) return;
  const uint64_t now = rte_rdtsc();
  feed(path, path.node, *path.gathered);
  path.wait.went(path.lane->fed(), now);
}

void Worker::end_waits() {
  for (auto& path : paths_)
    if (path->gathered && path->wait.is_over(path->gathered->size(), path->lane->in_flight(), rte_rdtsc()))
      feed_gathered(*path);
}

bool Worker::collect(Path& path) {
  auto batch = spare_.borrow();
  const bool any = path.lane->poll(*batch);
  if (any) {
    if (path.gathered) path.wait.back(path.lane->returned(), rte_rdtsc());
    const int marked = batch->size();
    if (path.numbers) path.numbers->pop(batch->numbers(), marked);
    int way = 0;
    if (together(*batch, path.ways, path.splits, way)) {
      batch->clear_marks(marked);
      go(path.ways[static_cast<size_t>(way)], *batch);
    } else {
      divide(path.node, path.ways, path.lane->columns_behind(), path.numbers != nullptr, *batch, marked);
    }
  }
  spare_.give_back(std::move(batch));
  return any;
}

bool Worker::collect_all() {
  bool busy = false;
  for (auto& path : paths_)
    if (path->lane->in_flight() > 0 && !path->given_up) busy = collect(*path) || busy;
  return busy;
}

void Worker::check_failure(Path& path, bool feeds) {
  if (path.given_up) return;
  if (std::string failure = path.lane->failure(); !failure.empty()) {
    if (path.cpu_after_failure && !path.lost)
      std::fprintf(stderr, "heddle: %s\nheddle: thread %d: the CPU goes on from '%s' (ON_GPU_ERROR cpu)\n",
                   failure.c_str(), thread_, steps_[static_cast<size_t>(path.node)].element->name.c_str());
    path.lost = path.cpu_after_failure;
    if (!path.cpu_after_failure) failure_ = std::move(failure);
    // Else they come back: until then kernels may write to them.
    if (path.lane->is_dead()) abandon(path);
  }
  const bool waits = shared_.stopping->load(std::memory_order_relaxed) && (feeds || path.lane->in_flight() > 0);
  if (path.patience.is_over(waits, path.lane->fed() + path.lane->returned())) give_up(path);
}

void Worker::abandon(Path& path) {
  while (path.lane->in_flight() > 0) {
    auto lost = spare_.borrow();
    path.lane->abandon(*lost);
    if (path.numbers) path.numbers->pop(lost->numbers(), lost->size());
    lose(path.node, &NodeCounts::gpu_failed, "gpu_failed", lost->packets(), lost->size());
    lost->resize(0);
    spare_.give_back(std::move(lost));
  }
}

void Worker::give_up(Path& path) {
  const int left = path.lane->in_flight();
  path.given_up = true;
  add(counts_[static_cast<size_t>(path.node)].gpu_failed, static_cast<uint64_t>(left));
  if (!failure_.empty()) return;
  failure_ = format(
      "thread %d: the GPU has neither taken nor given back a packet at '%s' for %d s, and the program is "
      "to end; %d packets on it are lost. Run again with --device cpu, and report the chain",
      thread_, steps_[static_cast<size_t>(path.node)].element->name.c_str(), Patience::kSeconds, left);
}

void Worker::run_rest(int i, Batch& batch, int first) {
  auto rest = spare_.borrow();
  const Step& step = steps_[static_cast<size_t>(i)];
  for (int k = first; k < batch.size(); ++k) {
    rest->append(batch, k, step.live);
    if (step.path->numbers) rest->numbers()[rest->size() - 1] = batch.numbers()[k];
  }
  batch.resize(0);
  run(i, *rest);
  spare_.give_back(std::move(rest));
}

Worker::Sides Worker::sides(int segment) const {
  for (const auto& path : paths_)
    if (path->segment == segment)
      return {path->cpu_packets.load(std::memory_order_relaxed), path->cpu_bytes.load(std::memory_order_relaxed),
              path->switches.load(std::memory_order_relaxed)};
  return {};
}

void Worker::set_side(Path& path, bool cpu) {
  if (path.on_cpu == cpu || (path.lost && !cpu)) return;
  path.on_cpu = cpu;
  add(path.switches, 1);
}

void Worker::choose_sides(Job& job, int packets) {
  if (const int most = shared_.batches_a_side; most > 0) {
    batches_here_ += packets > 0;
    if (batches_here_ <= most) return;
    batches_here_ = 1;
    wants_cpu_ = !wants_cpu_;
  } else {
    const bool wanted_gpu = job.choice->wants_gpu();
    const bool late =
        std::any_of(paths_.begin(), paths_.end(), [](auto& path) { return path->by_load && path->wait.is_late(); });
    job.choice->received(packets, rte_rdtsc(), late);
    want_gpu_ += job.choice->wants_gpu() - wanted_gpu;
    wants_cpu_ = want_gpu_ == 0;
  }
  // What the CPU has taken is done by now; what is on the GPU comes back first, and this batch still goes there.
  if (!wants_cpu_)
    for (auto& path : paths_)
      if (path->by_load) set_side(*path, false);
}

bool Worker::sides_settled() {
  bool settled = true;
  for (auto& path : paths_)
    if (((path->by_load && wants_cpu_) || path->lost) && !path->on_cpu) {
      if (path->gathered) feed_gathered(*path);
      if (path->lane->in_flight() == 0)
        set_side(*path, true);
      else
        settled = false;
    }
  return settled;
}

}  // namespace heddle
