#include "engine/worker.h"

#include <rte_cycles.h>

#include <algorithm>
#include <functional>

#include "core/error.h"
#include "core/packet_pool.h"

namespace heddle {
namespace {

// One writer, any reader: no locked instruction needed.
void add(std::atomic<uint64_t>& counter, uint64_t more) {
  counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

constexpr uint64_t kSpinsBetweenDeviceChecks = 1 << 20;
constexpr uint64_t kTicksBetweenPublishing = 1 << 21;  // a millisecond or less

}  // namespace

Worker::Worker(const Shared& shared, int thread, std::vector<std::unique_ptr<GpuLane>> lanes)
    : shared_(shared), thread_(thread), counts_(shared.router->nodes.size()), published_(counts_.size()) {
  for (size_t i = 0; i < shared.router->nodes.size(); ++i) {
    const Node& node = shared.router->nodes[i];
    const NodePlan& here = shared.plan->nodes[i];
    Element* element = node.element.get();
    const int outputs = node.is_buffer() ? 0 : static_cast<int>(node.targets.size());  // packets stay in a buffer
    const Element* prefetch_for =
        here.prefetch_for < 0 ? nullptr : shared.router->nodes[static_cast<size_t>(here.prefetch_for)].element.get();
    const bool splits =
        std::adjacent_find(node.targets.begin(), node.targets.end(), std::not_equal_to<>()) != node.targets.end();
    steps_.push_back({element,
                      here.processor == Processor::gpu ? lanes[static_cast<size_t>(here.segment)].get() : nullptr,
                      node.targets.data(), outputs, here.live, here.live_behind, prefetch_for, splits,
                      element->changes_length() || element->moves_head() != 0, here.copy_first, element->copies() > 1,
                      here.counts_bytes});
  }
  for (const Task& task : shared.router->tasks) {
    const Node& node = shared.router->nodes[static_cast<size_t>(task.source)];
    const NodePlan& here = shared.plan->nodes[static_cast<size_t>(task.source)];
    auto* source = dynamic_cast<Source*>(node.element.get());
    Element* driver = task.driver < 0 ? nullptr : shared.router->nodes[static_cast<size_t>(task.driver)].element.get();
    const int home = driver != nullptr ? driver->home : source->home;
    const bool everywhere = driver == nullptr && home < 0 && source->every_thread();
    if (!everywhere && thread != std::max(home, 0)) continue;
    const ColumnSet open = here.live_behind & static_cast<ColumnSet>(~source->access(Processor::cpu).column_writes);
    tasks_.push_back({source, task.source, task.target, driver, node.is_buffer(),
                      !node.is_buffer() && (open & columns(Column::paint)) != 0, node.on_cycle, borrow()});
  }
  for (auto& lane : lanes)
    if (lane) lanes_.push_back(std::move(lane));
  submitted_at_epoch_.resize(lanes_.size(), 0);
  // A batch a level of recursion: at most one a node and output, and one while a lane is collected.
  size_t outputs = 0;
  for (const Step& step : steps_) outputs += static_cast<size_t>(step.outputs);
  parts_.reserve(outputs);
  for (size_t i = 0; i < 2 * shared.router->nodes.size() + outputs + 2; ++i)
    spare_.push_back(std::make_unique<Batch>(shared.batch_size));
}

std::unique_ptr<Batch> Worker::borrow() {
  if (spare_.empty()) spare_.push_back(std::make_unique<Batch>(shared_.batch_size));
  auto batch = std::move(spare_.back());
  spare_.pop_back();
  batch->resize(0);
  batch->thread = thread_;
  return batch;
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
  if (failure_.empty()) {
    for (Job& job : tasks_) {
      if (job.ended(stopping)) continue;
      Batch& batch = *job.batch;
      batch.resize(0);
      if (job.driver != nullptr) {
        const int wanted = job.driver->demand(thread_);
        if (wanted <= 0) continue;
        batch.set_room(wanted);
      }
      job.source->receive(batch);
      if (batch.empty()) continue;
      busy = true;
      if (stopping) job.after_stop -= std::min(job.after_stop, static_cast<uint64_t>(batch.size()));
      if (!job.buffer) count(job.source_node, batch);
      if (job.clear_paint)
        std::memset(batch.column(Column::paint), 0, sizeof(uint32_t) * static_cast<size_t>(batch.size()));
      run(job.target, batch);
    }
  }
  if (!lanes_.empty()) busy = collect_all() || busy;
  report_epoch();
  unpublished_ = unpublished_ || busy;
  if (busy) {
    idle_rounds_ = 0;
  } else if (idle_rounds_ % kSpinsBetweenDeviceChecks == kSpinsBetweenDeviceChecks - 1) {
    ++idle_rounds_;
    for (auto& lane : lanes_)
      if (lane->in_flight() > 0) check_device(*lane);
  } else if (++idle_rounds_ % 64 == 1) {
    for (auto& node : shared_.router->nodes) node.element->idle(thread_);
  }
  return busy;
}

bool Worker::exhausted(bool stopping) const {
  const auto done = [&](const Job& job) {
    return job.ended(stopping) || job.source->exhausted() || (job.driver != nullptr && job.driver->demand(thread_) < 0);
  };
  return std::all_of(tasks_.begin(), tasks_.end(), done) &&
         std::all_of(lanes_.begin(), lanes_.end(), [](auto& lane) { return lane->in_flight() == 0; });
}

void Worker::count(int node, Batch& batch) {
  NodeCounts& counts = counts_[static_cast<size_t>(node)];
  add(counts.packets, static_cast<uint64_t>(batch.size()));
  if (!steps_[static_cast<size_t>(node)].counts_bytes) return;
  add(counts.bytes, batch.bytes());
}

void Worker::drain() {
  for (uint64_t spins = 1;; ++spins) {
    bool waiting = false;
    for (auto& lane : lanes_) waiting = waiting || lane->in_flight() > 0;
    if (!waiting) break;
    if (!collect_all() && spins % kSpinsBetweenDeviceChecks == 0)
      for (auto& lane : lanes_) check_device(*lane);
  }
  report_epoch();
  publish_counts();
}

void Worker::publish_if_due(bool busy, uint64_t now) {
  if (!unpublished_ || (busy && now - published_at_ < kTicksBetweenPublishing)) return;
  publish_counts();
  published_at_ = now;
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
    publish(from.no_slot, to.no_slot);
    publish(from.gpu_failed, to.gpu_failed);
  }
  for (const Node& node : shared_.router->nodes)
    for (PerThreadCounts* counts : node.element->counts) counts->publish(thread_);
  unpublished_ = false;
}

void Worker::run(int i, Batch& batch) {
  while (!batch.empty()) {
    const Step& step = steps_[static_cast<size_t>(i)];
    if (step.copy_first) make_private(i, batch);
    if (step.lane != nullptr) return submit(*step.lane, i, batch);
    count(i, batch);
    const int arrived = batch.size();
    step.element->run_cpu(batch);
    if (step.changes_lengths) batch.forget_bytes();
    if (step.prefetch_for != nullptr) step.prefetch_for->prefetch(batch);
    int port = 0;
    if (batch.marked()) {
      const bool together = batch.empty() || take_out_drops(i, batch, port);
      if (!together && step.outputs > 0) {
        split(i, batch, arrived);
        return;
      }
      batch.clear_marks(arrived);
    }
    if (step.outputs == 0) return;  // what a sink left has been dropped
    if (step.copies) return copy_out(i, batch);
    i = step.targets[port];
  }
}

bool Worker::take_out_drops(int node, Batch& batch, int& port) {
  const uint16_t* next = batch.next();
  const int n = batch.size();
  uint16_t differs = 0, any = next[0], largest = 0;
  for (int i = 0; i < n; ++i) {
    differs |= next[i] ^ any;
    largest = std::max(largest, next[i]);
  }
  const bool splits = steps_[static_cast<size_t>(node)].splits;
  if (largest < kDrop) {
    port = any;
    return differs == 0 || !splits;
  }
  NodeCounts& counts = counts_[static_cast<size_t>(node)];
  const ColumnSet live = steps_[static_cast<size_t>(node)].live_behind;
  auto dropped = borrow();
  batch.resize(0);  // rebuilt in place: entry i is read before anything at or behind it is written
  differs = 0;
  for (int i = 0; i < n; ++i) {
    if (next[i] >= kDrop) {
      add(counts.drops[next[i] & 0xff], 1);
      add(counts.dropped_bytes, batch.length(i));
      dropped->append(batch, i, 0);
    } else {
      batch.next()[batch.size()] = next[i];
      if (batch.empty()) any = next[i];
      differs |= next[i] ^ any;
      batch.append(batch, i, live);
    }
  }
  dropped->free_packets();
  give_back(std::move(dropped));
  port = batch.empty() ? 0 : any;
  return differs == 0 || !splits;
}

void Worker::split(int node, Batch& batch, int arrived) {
  const Step& step = steps_[static_cast<size_t>(node)];
  const size_t first = parts_.size();  // those below belong to the splits that led here
  parts_.resize(first + static_cast<size_t>(step.outputs));
  const uint16_t* next = batch.next();
  for (int i = 0; i < batch.size(); ++i) {
    std::unique_ptr<Batch>& part = parts_[first + next[i]];
    if (!part) [[unlikely]]
      part = borrow();
    part->append(batch, i, step.live_behind);
  }
  batch.resize(0);
  batch.clear_marks(arrived);
  for (int port = 0; port < step.outputs; ++port) {
    std::unique_ptr<Batch> part = std::move(parts_[first + static_cast<size_t>(port)]);
    if (!part) continue;
    run(step.targets[port], *part);
    give_back(std::move(part));
  }
  parts_.resize(first);
}

void Worker::copy_out(int node, Batch& batch) {
  const Step& step = steps_[static_cast<size_t>(node)];
  for (int port = 1; port < step.outputs; ++port) {
    auto copies = borrow();
    const ColumnSet live = steps_[static_cast<size_t>(step.targets[port])].live;
    for (int i = 0; i < batch.size(); ++i) {
      // A clone shares the bytes; who writes them copies them first.
      Packet* clone = rte_pktmbuf_clone(batch.packet(i), shared_.packets->mempool());
      if (clone == nullptr) {
        add(counts_[static_cast<size_t>(node)].no_buffer, 1);
        continue;
      }
      copies->append(batch, i, live);
      copies->packets()[copies->size() - 1] = clone;
      clone->data_off = batch.packet(i)->data_off;
    }
    run(step.targets[port], *copies);
    give_back(std::move(copies));
  }
  run(step.targets[0], batch);
}

void Worker::make_private(int node, Batch& batch) {
  const ColumnSet live = steps_[static_cast<size_t>(node)].live;
  const int n = batch.size();
  batch.resize(0);
  for (int i = 0; i < n; ++i) {
    Packet* packet = batch.packet(i);
    if (is_shared(packet)) {
      // The same place in the buffer, so that header offsets stay right.
      const bool fits = packet->data_off + length(packet) <= shared_.packets->data_bytes() + RTE_PKTMBUF_HEADROOM;
      Packet* copy = rte_pktmbuf_alloc((fits ? shared_.packets : shared_.large_packets)->mempool());
      if (copy == nullptr) {
        add(counts_[static_cast<size_t>(node)].no_buffer, 1);
        rte_pktmbuf_free(packet);
        continue;
      }
      copy->data_off = packet->data_off;
      copy->data_len = packet->data_len;
      copy->pkt_len = packet->pkt_len;
      copy->port = packet->port;
      if (has_capture_info(packet)) set_capture_info(copy, capture_info(packet));
      // With the bytes that Strip removed: Unstrip may take them back.
      const uint32_t first = std::min<uint32_t>(packet->data_off, RTE_PKTMBUF_HEADROOM);
      std::memcpy(static_cast<uint8_t*>(copy->buf_addr) + first, static_cast<const uint8_t*>(packet->buf_addr) + first,
                  packet->data_off - first + length(packet));
      rte_pktmbuf_free(packet);
      batch.packets()[i] = copy;
    }
    batch.append(batch, i, live);
  }
}

void Worker::submit(GpuLane& lane, int node, Batch& batch) {
  const GpuSegment& segment = lane.segment();
  NodeCounts& counts = counts_[static_cast<size_t>(node)];
  int first = 0;
  for (uint64_t spins = 1; first < batch.size(); ++spins) {
    if (!failure_.empty()) {
      add(counts.gpu_failed, static_cast<uint64_t>(batch.size() - first));
    } else if (!lane.full()) {
      const int taken = lane.submit(batch, first);
      add(counts.packets, static_cast<uint64_t>(taken));
      uint64_t bytes = 0;
      for (int i = first; i < first + taken; ++i) bytes += batch.length(i);
      add(counts.bytes, bytes);
      first += taken;
      continue;
    } else if (segment.launch == LaunchMode::sync) {
      launch(lane);
      continue;
    } else if (shared_.router->nodes[static_cast<size_t>(node)].blocking) {
      if (lane.ready())
        collect(lane);
      else if (spins % kSpinsBetweenDeviceChecks == 0)
        check_device(lane);
      continue;
    } else {
      add(counts.no_slot, static_cast<uint64_t>(batch.size() - first));
    }
    rte_pktmbuf_free_bulk(batch.packets() + first, static_cast<unsigned>(batch.size() - first));
    break;
  }
  batch.resize(0);
  if (segment.launch == LaunchMode::sync) launch(lane);
}

void Worker::launch(GpuLane& lane) {
  try {
    lane.launch();
  } catch (const Error& error) {
    abandon(lane, error.what());
  }
  while (lane.in_flight() > 0) collect(lane);
}

void Worker::collect(GpuLane& lane) {
  auto batch = borrow();
  lane.collect(*batch);
  const int collected = batch->size();
  const auto& exits = lane.segment().exits;
  // Packets that leave by the same exit go on together, in order. Neighbours usually do.
  while (!batch->empty()) {
    const uint16_t exit_index = batch->next()[0];
    const GpuExit& exit = exits[exit_index];
    auto part = borrow();
    const int n = batch->size();
    const ColumnSet all = lane.segment().columns_kept | lane.segment().columns_out;
    batch->resize(0);
    for (int i = 0; i < n; ++i) {
      if (batch->next()[i] == exit_index) {
        part->append(*batch, i, all);
      } else {
        batch->next()[batch->size()] = batch->next()[i];
        batch->append(*batch, i, all);
      }
    }
    if (exit.target < 0) {
      add(counts_[static_cast<size_t>(exit.node)].drops[static_cast<size_t>(exit.reason)],
          static_cast<uint64_t>(part->size()));
      part->free_packets();
    } else {
      run(exit.target, *part);
    }
    give_back(std::move(part));
  }
  batch->clear_marks(collected);
  give_back(std::move(batch));
}

bool Worker::collect_all() {
  bool busy = false;
  for (auto& lane : lanes_) {
    if (!lane->ready()) continue;
    busy = true;
    collect(*lane);
  }
  return busy;
}

void Worker::check_device(GpuLane& lane) {
  const std::string failure = lane.segment().device->failure();
  if (!failure.empty()) abandon(lane, failure);
}

void Worker::abandon(GpuLane& lane, const std::string& failure) {
  failure_ = failure;
  while (lane.in_flight() > 0) {
    auto lost = borrow();
    lane.abandon(*lost);
    add(counts_[static_cast<size_t>(lane.segment().nodes[0])].gpu_failed, static_cast<uint64_t>(lost->size()));
    lost->free_packets();
    give_back(std::move(lost));
  }
}

void Worker::report_epoch() {
  const uint64_t now = shared_.epochs->current();
  if (now == epoch_) return;
  if (waiting_epoch_ == epoch_) {
    waiting_epoch_ = now;
    for (size_t s = 0; s < lanes_.size(); ++s) submitted_at_epoch_[s] = lanes_[s]->submitted();
  }
  for (size_t s = 0; s < lanes_.size(); ++s)
    if (lanes_[s]->collected() < submitted_at_epoch_[s]) return;
  epoch_ = waiting_epoch_;
  shared_.epochs->report(thread_, epoch_);
}

}  // namespace heddle
