#include "engine/engine.h"

#include <rte_cycles.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <system_error>

#include "core/cores.h"
#include "core/error.h"
#include "gpu/functions.h"
#include "io/dpdk/dpdk.h"

namespace heddle {
namespace {

constexpr unsigned kLargeDataRoom = 65535;
constexpr unsigned kLargePackets = 256;

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

constexpr uint64_t kGone = ~uint64_t{0};  // rounds of a thread that does not run
constexpr std::chrono::microseconds kNap{50};

size_t round_up(size_t value, size_t to) { return (value + to - 1) / to * to; }

}  // namespace

Engine::Engine(Router router, Plan plan, RunOptions options)
    : router_(std::move(router)), plan_(std::move(plan)), options_(std::move(options)) {
  if (options_.threads < 1 || options_.threads > kMaxThreads)
    throw Error(format("threads: %d is not from 1 to %d", options_.threads, kMaxThreads));
  for (auto& node : router_.nodes) {
    if (node.element->drop_reasons().size() > NodeCounts::kReasons)
      throw Error(node.element->class_name + " has too many drop reasons");
    if (node.element->home >= options_.threads)
      throw Error(format("'%s' is to run on thread %d, but there are %d threads; give -j %d",
                         node.element->name.c_str(), node.element->home, options_.threads, node.element->home + 1));
  }
  make_handlers();
}

Engine::~Engine() {
  stop();
  if (started_) wait();
  // Packets that queues and rings of ports hold go back before their pool does.
  workers_.clear();
  for (auto& node : router_.nodes) node.element.reset();
  dpdk::close_ports();
}

unsigned Engine::packets_needed() const {
  if (options_.packets != 0) return options_.packets;
  if (dpdk::settings().packets != 0) return dpdk::settings().packets;
  const auto threads = static_cast<unsigned>(options_.threads);
  unsigned needed =
      4096 + threads * static_cast<unsigned>(options_.batch_size) * 2 + dpdk::packets_needed(options_.threads);
  if (device_) needed += static_cast<unsigned>(options_.slots * gpu::kTile) * 2;
  return needed;
}

void Engine::make_packet_memory() {
  const unsigned count = packets_needed(), data_room = dpdk::data_room();
  const bool dpdk_pool = dpdk::wanted();
  const size_t normal =
      round_up(dpdk_pool ? dpdk::pool_bytes(count, data_room) : PacketPool::bytes_for(count, data_room), 4096);
  const size_t large = PacketPool::bytes_for(kLargePackets, kLargeDataRoom);
  if (device_) {
    memory_ = device_->packet_memory(normal + large);
  } else {
    host_memory_ = map_huge_pages(normal + large);
    memory_ = {host_memory_.get(), normal + large};
  }
  if (dpdk_pool) {
    packets_ = dpdk::make_pool("packets", count, data_room, {memory_.base, normal});
  } else {
    packets_ = std::make_unique<PacketPool>("packets", count, data_room, memory_.base);
  }
  large_packets_ = std::make_unique<PacketPool>("large", kLargePackets, kLargeDataRoom, memory_.base + normal);
}

void Engine::make_gpu_segments() {
  gpu_segments_.resize(plan_.segments.size());
  for (size_t s = 0; s < plan_.segments.size(); ++s) {
    if (plan_.segments[s].processor != Processor::gpu) continue;
    gpu_segments_[s] = GpuSegment::make(router_, plan_, static_cast<int>(s), *device_, memory_.base);
    for (size_t k = 0; k < gpu_segments_[s].nodes.size(); ++k) {
      Element& element = *router_.nodes[static_cast<size_t>(gpu_segments_[s].nodes[k])].element;
      const int program = gpu_segments_[s].program, node = static_cast<int>(k);
      if (!element.table().empty())
        element.on_patch([this, program, node](size_t offset, std::span<const std::byte> bytes) {
          if (!device_stopped_) device_->patch(program, node, offset, bytes);
        });
    }
  }
}

/** Calls Element::start(); what it throws says which element, and where the chain has it. */
void start_element(const Node& node, const Environment& environment) {
  try {
    node.element->start(environment);
  } catch (const Error& error) {
    const std::string place = node.where.line > 0 ? node.where.text() + ": " : "";
    throw Error(place + node.element->class_name + " '" + node.element->name + "': " + error.what());
  }
}

void Engine::start() {
  if (dpdk::wanted()) dpdk::start_eal(options_.dpdk_args, options_.threads);
  if (plan_.uses_gpu()) device_ = gpu::open_device(plan_.options.device == "cpu" ? "gpu" : plan_.options.device);
  if (options_.slots == 0) {
    const bool simt = plan_.options.device == "simt";  // which has an OS thread a slot, 64 in all
    const auto segments = std::count_if(plan_.segments.begin(), plan_.segments.end(),
                                        [](auto& segment) { return segment.processor == Processor::gpu; });
    options_.slots = std::min(simt ? 16 : 256, (simt ? 64 : 1024) / std::max(1, static_cast<int>(segments)));
  }
  make_packet_memory();
  if (dpdk::wanted()) dpdk::start_ports(*packets_, options_.threads);
  started_ = true;

  Environment environment;
  environment.threads = options_.threads;
  environment.batch_size = options_.batch_size;
  environment.packets = packets_.get();
  environment.large_packets = large_packets_.get();
  environment.interactive = options_.interactive;
  environment.control = broker_.get();
  for (auto& node : router_.nodes) {
    node.element->on_gpu = plan_.nodes[static_cast<size_t>(&node - router_.nodes.data())].processor == Processor::gpu;
    if (node.element->keeps_running())
      keepers_.push_back(&node);
    else
      start_element(node, environment);
  }

  if (device_) make_gpu_segments();
  const bool persistent = plan_.options.launch == LaunchMode::persistent;
  for (int thread = 0; thread < options_.threads; ++thread) {
    std::vector<std::unique_ptr<GpuLane>> lanes(plan_.segments.size());
    for (size_t s = 0; s < lanes.size(); ++s) {
      if (plan_.segments[s].processor != Processor::gpu) continue;
      const int slots = persistent ? std::max(1, options_.slots / options_.threads)
                                   : (options_.batch_size + gpu::kTile - 1) / gpu::kTile;
      lanes[s] = std::make_unique<GpuLane>(gpu_segments_[s], device_->add_slots(gpu_segments_[s].program, slots));
    }
    workers_.push_back(std::make_unique<Worker>(Worker::Shared{&router_, &plan_, &gpu_segments_, packets_.get(),
                                                               large_packets_.get(), &epochs_, options_.batch_size},
                                                thread, std::move(lanes)));
  }
  if (device_) device_->start(persistent);
  progress_ = std::make_unique<Progress[]>(workers_.size());
  int working = 0;
  for (int thread = 0; thread < options_.threads; ++thread) {
    if (workers_[static_cast<size_t>(thread)]->has_tasks()) {
      ++working;
    } else {
      progress_[static_cast<size_t>(thread)].idle = progress_[static_cast<size_t>(thread)].quiet = true;
      progress_[static_cast<size_t>(thread)].rounds = kGone;
      epochs_.report(thread, ~uint64_t{0});
    }
  }
  // Elements that call the handlers of others, when these are ready, and while a failure still keeps packets from
  // flowing. They have threads of their own, whose calls wait until all have started, and the packet threads as well.
  broker_->exclusively([&] {
    for (const Node* node : keepers_) start_element(*node, environment);
    started_s_ = seconds(CLOCK_MONOTONIC);
    cpu_started_s_ = seconds(CLOCK_PROCESS_CPUTIME_ID);
    start_threads(working);
  });
}

void Engine::start_threads(int working) {
  live_threads_ = working;
  for (int thread = 0; thread < options_.threads; ++thread) {
    if (!workers_[static_cast<size_t>(thread)]->has_tasks()) continue;
    try {
      threads_.emplace_back([this, thread] { thread_main(thread); });
    } catch (const std::system_error& error) {
      const auto made = static_cast<int>(threads_.size());
      finished_ = true;  // those that run would wait for the others
      live_threads_.fetch_sub(working - made);
      throw Error(
          format("packet thread %d of %d cannot be started (%s); give fewer with -j, or raise the limit of "
                 "processes",
                 made + 1, working, error.code().message().c_str()));
    }
  }
}

/** Finds out that no packet is left. Packets may wait in a buffer that another thread empties, so no thread can tell
 * alone. Nothing is left if all threads were quiet, then made two more rounds each, and none of these found a packet:
 * what a round under way at the first look pushed would have been found, or that round counted, by the second. */
class Engine::Silence {
 public:
  Silence(size_t threads, std::atomic<bool> Progress::*quiet) : seen_(threads), quiet_(quiet) {}

  /** All threads were quiet at the last look. */
  bool begun() const { return begun_; }

  /** Called after every quiet round of the thread that owns it. */
  bool lasts(const Progress* progress) {
    bool again = begun_, all_advanced = true;
    for (size_t i = 0; i < seen_.size(); ++i) {
      if (!(progress[i].*quiet_).load()) return begun_ = false;
      const uint64_t rounds = progress[i].rounds.load(), busy = progress[i].busy_rounds.load();
      if (begun_ && busy != seen_[i].busy) again = false;
      if (begun_ && rounds != kGone && rounds < seen_[i].rounds + 2) all_advanced = false;
    }
    if (!again) {
      for (size_t i = 0; i < seen_.size(); ++i) seen_[i] = {progress[i].rounds.load(), progress[i].busy_rounds.load()};
      begun_ = true;
      return false;
    }
    return all_advanced;
  }

 private:
  struct Seen {
    uint64_t rounds = 0, busy = 0;
  };
  std::vector<Seen> seen_;
  std::atomic<bool> Progress::*quiet_;
  bool begun_ = false;
};

bool Engine::exhausted() const {
  Silence silence(workers_.size(), &Progress::idle);
  for (int i = 0; i < 50 && running(); ++i) {
    if (silence.lasts(progress_.get())) return true;
    if (!silence.begun()) return false;
    std::this_thread::sleep_for(kNap);
  }
  return false;
}

void Engine::thread_main(int thread) {
  if (options_.pin) pin_to_core(thread % core_count());
  const dpdk::ThreadGuard registered;
  Worker& worker = *workers_[static_cast<size_t>(thread)];
  Progress& progress = progress_[static_cast<size_t>(thread)];
  Silence silence(workers_.size(), &Progress::quiet);
  uint64_t then = rte_rdtsc();
  while (!finished_.load(std::memory_order_acquire)) {
    // Flags are looked at now and then: a round is some tens of nanoseconds when nothing arrives.
    const bool stopping = stopping_.load(std::memory_order_relaxed);
    bool busy = false;
    for (int i = 0; i < 16; ++i) busy = worker.round(stopping) || busy;
    if (!worker.failure().empty()) {
      stop();
      break;
    }
    const bool idle = !busy && worker.exhausted(stopping);
    const bool quiet = idle && (stopping || !kept_running());
    if (busy) progress.busy_rounds.store(progress.busy_rounds.load(std::memory_order_relaxed) + 1);
    const uint64_t now = rte_rdtsc();
    worker.publish_if_due(busy, now);
    constexpr auto kRelaxed = std::memory_order_relaxed;  // for whoever asks for the load
    if (busy) progress.busy_cycles.store(progress.busy_cycles.load(kRelaxed) + now - then, kRelaxed);
    progress.cycles.store(progress.cycles.load(kRelaxed) + now - then, kRelaxed);
    then = now;
    progress.idle.store(idle);
    progress.quiet.store(quiet);
    progress.rounds.store(progress.rounds.load(std::memory_order_relaxed) + 1);
    if (quiet && silence.lasts(progress_.get()) && !release_buffers()) finished_.store(true, std::memory_order_release);
    if (idle) std::this_thread::sleep_for(kNap);
  }
  worker.drain();
  progress.idle = progress.quiet = true;
  progress.rounds = kGone;
  epochs_.report(thread, ~uint64_t{0});  // it holds nothing any more, whatever changes
  live_threads_.fetch_sub(1, std::memory_order_release);
}

void Engine::wait() {
  while (running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  for (auto& thread : threads_) thread.join();
  threads_.clear();
  if (!started_) return;
  started_ = false;
  // First those that call the handlers of others.
  const auto stop_element = [this](Element& element) {
    if (std::string problem = element.stop(); !problem.empty()) problems_.push_back(element.name + ": " + problem);
  };
  for (const Node* node : keepers_) stop_element(*node->element);
  wall_s_ = seconds(CLOCK_MONOTONIC) - started_s_;
  cpu_s_ = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_started_s_;
  if (device_) {
    if (const std::string failure = device_->failure(); !failure.empty()) problems_.push_back(failure);
    for (size_t s = 0; s < gpu_segments_.size(); ++s) {
      if (gpu_segments_[s].device == nullptr) continue;
      for (size_t k = 0; k < gpu_segments_[s].nodes.size(); ++k) {
        auto* neutral =
            dynamic_cast<NeutralElement*>(router_.nodes[static_cast<size_t>(gpu_segments_[s].nodes[k])].element.get());
        if (neutral == nullptr || neutral->neutral()->kind != NeutralOp::kCount || !problems_.empty()) continue;
        const auto [packets, bytes] = device_->counts(gpu_segments_[s].program, static_cast<int>(k));
        neutral->set_gpu_counts(packets, bytes);
      }
    }
    const std::lock_guard no_patch(updating_);
    device_stopped_ = true;
    device_->stop();
  }
  for (auto& node : router_.nodes)
    if (std::find(keepers_.begin(), keepers_.end(), &node) == keepers_.end()) stop_element(*node.element);
  for (auto& worker : workers_)
    if (!worker->failure().empty() &&
        std::find(problems_.begin(), problems_.end(), worker->failure()) == problems_.end())
      problems_.push_back(worker->failure());
}

bool Engine::release_buffers() {
  bool any = false;
  for (auto& node : router_.nodes)
    if (node.is_buffer()) any = static_cast<Source&>(*node.element).release() || any;
  return any;
}

bool Engine::kept_running() const {
  return std::any_of(keepers_.begin(), keepers_.end(), [](auto* node) { return node->element->keeps_running(); });
}

bool Engine::running() const {
  if (live_threads_.load(std::memory_order_acquire) > 0) return true;
  return started_ && !stopping_.load(std::memory_order_relaxed) && kept_running();
}

void Engine::update(Element& element, const std::function<void()>& change) {
  const std::lock_guard one_at_a_time(updating_);
  change();
  if (!element.has_retired()) return;
  // Only packet threads read, and none does before they start: a handler may be called then, by a Script's `init`.
  epochs_.wait_for_readers(static_cast<int>(workers_.size()),
                           [this] { return live_threads_.load(std::memory_order_acquire) == 0; });
  element.reclaim();
}

}  // namespace heddle
