#include "engine/engine.h"

#include <time.h>

#include <algorithm>
#include <chrono>

#include "core/error.h"
#include "io/dpdk/dpdk.h"

namespace heddle {
namespace {

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

Engine::Engine(Router router, Plan plan, RunOptions options)
    : router_(std::move(router)),
      plan_(std::move(plan)),
      options_(std::move(options)),
      scheduler_({options_.pin, [this] { return kept_running(); }, [this] { return release(); }, &epochs_}) {
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
  scheduler_.clear();
  for (auto& node : router_.nodes) node.element.reset();
  dpdk::close_ports();
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
  resources_.acquire(router_, plan_,
                     {options_.threads, options_.batch_size, options_.slots, options_.packets, options_.dpdk_args});
  started_ = true;

  Environment environment;
  environment.threads = options_.threads;
  environment.batch_size = options_.batch_size;
  environment.packets = &resources_.packets();
  environment.large_packets = &resources_.large_packets();
  environment.interactive = options_.interactive;
  environment.control = broker_.get();
  environment.epochs = &epochs_;
  environment.stopping = [this] { return scheduler_.stopping(); };
  for (auto& node : router_.nodes) {
    const auto i = static_cast<size_t>(&node - router_.nodes.data());
    const NodePlan& here = plan_.nodes[i];
    node.element->on_gpu = here.processor.is_gpu();
    node.element->on_cpu = !here.processor.is_gpu() || here.has_both();
    node.element->carries = here.live_behind;
    if (auto* neutral = dynamic_cast<NeutralElement*>(node.element.get());
        neutral != nullptr && here.processor.is_gpu())
      neutral->engine_counts = [this, i] { return node_counts(static_cast<int>(i)); };
    if (node.element->keeps_running())
      keepers_.push_back(&node);
    else
      start_element(node, environment);
  }

  if (gpus() != nullptr) gpus()->make_segments();
  scheduler_.own(make_workers());
  if (gpus() != nullptr) gpus()->start();
  // Elements that call the handlers of others, when these are ready, and while a failure still keeps packets from
  // flowing. They have threads of their own, whose calls wait until all have started, and the packet threads as well.
  broker_->exclusively([&] {
    for (const Node* node : keepers_) start_element(*node, environment);
    started_s_ = seconds(CLOCK_MONOTONIC);
    cpu_started_s_ = seconds(CLOCK_PROCESS_CPUTIME_ID);
    scheduler_.start();
  });
}

std::vector<std::unique_ptr<Worker>> Engine::make_workers() {
  std::vector<std::unique_ptr<Worker>> workers;
  const int of_a_batch = (options_.batch_size + gpu::kSlotPackets - 1) / gpu::kSlotPackets;
  const auto slots_of = [&](const Segment& segment) {
    const int waiting = segment.limits.capacity * std::max(1, segment.limits.lists);  // batches
    const int batch =
        segment.limits.batch > 0 ? (segment.limits.batch + gpu::kSlotPackets - 1) / gpu::kSlotPackets : of_a_batch;
    if (segment.launch == LaunchMode::sync) return batch;
    if (waiting > 0) return waiting * batch;
    if (segment.launch == LaunchMode::persistent) return std::max(1, resources_.slots() / options_.threads);
    return batch * segment.streams();
  };
  for (int thread = 0; thread < options_.threads; ++thread) {
    std::vector<std::unique_ptr<Lane>> lanes(plan_.segments.size());
    for (size_t s = 0; s < lanes.size(); ++s)
      if (plan_.segments[s].processor.is_gpu() && !plan_.segments[s].has_rings())
        lanes[s] = gpus()->make_lane(s, slots_of(plan_.segments[s]));
    workers.push_back(
        std::make_unique<Worker>(Worker::Shared{&router_, &plan_, &resources_.packets(), &resources_.large_packets(),
                                                &epochs_, options_.batch_size, options_.batches_a_side},
                                 thread, std::move(lanes)));
  }
  return workers;
}

void Engine::wait() {
  while (running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  scheduler_.join();
  if (!started_) return;
  started_ = false;
  // First those that call the handlers of others.
  const auto stop_element = [this](Element& element) {
    if (std::string problem = element.stop(); !problem.empty()) problems_.push_back(element.name + ": " + problem);
  };
  for (const Node* node : keepers_) stop_element(*node->element);
  wall_s_ = seconds(CLOCK_MONOTONIC) - started_s_;
  cpu_s_ = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_started_s_;
  if (gpus() != nullptr) {
    for (std::string& failure : gpus()->failures()) problems_.push_back(std::move(failure));
    const std::lock_guard no_patch(updating_);
    gpus()->stop();
  }
  for (auto& node : router_.nodes)
    if (std::find(keepers_.begin(), keepers_.end(), &node) == keepers_.end()) stop_element(*node.element);
  for (auto& worker : workers())
    if (!worker->failure().empty() &&
        std::find(problems_.begin(), problems_.end(), worker->failure()) == problems_.end())
      problems_.push_back(worker->failure());
}

bool Engine::release() {
  bool any = false;
  for (auto& node : router_.nodes) {
    // Packets on a cycle may be gathered again and again: they do not keep an engine that stops.
    if (node.is_buffer() && static_cast<Source&>(*node.element).release())
      any = any || !(node.on_cycle && scheduler_.stopping());
    // It gives what it holds when its timer calls it the next time.
    if (const auto* emitter = dynamic_cast<const Emitter*>(node.element.get())) any = any || emitter->holds();
  }
  return any;
}

bool Engine::kept_running() const {
  return std::any_of(keepers_.begin(), keepers_.end(), [](auto* node) { return node->element->keeps_running(); });
}

bool Engine::running() const {
  if (scheduler_.live_threads() > 0) return true;
  return started_ && !scheduler_.stopping() && kept_running();
}

void Engine::update(Element& element, const std::function<void()>& change) {
  const std::lock_guard one_at_a_time(updating_);
  change();
  auto& retiring = element.retiring;
  if (std::none_of(retiring.begin(), retiring.end(), [](auto* one) { return one->has_retired(); })) return;
  // No packet thread reads before they start: a handler may be called then, by a Script's `init`.
  epochs_.wait_for_readers(static_cast<int>(workers().size()), [this] { return scheduler_.live_threads() == 0; });
  if (gpus() != nullptr) gpus()->renew_rings();
  for (Retiring* one : retiring) one->reclaim();
}

}  // namespace heddle
