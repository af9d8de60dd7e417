#include "engine/engine.h"

#include <time.h>

#include <algorithm>
#include <chrono>

#include "core/error.h"
#include "elements/basic/random_seed.h"
#include "elements/script/script.h"
#include "engine/lane_driver.h"
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
    : options_(std::move(options)), has_master_(plan.options.workers) {
  if (options_.threads < 1 || options_.threads > kMaxThreads)
    throw Error(format("threads: %d is not from 1 to %d", options_.threads, kMaxThreads));
  if (worker_threads() < 1)
    throw Error(
        "--workers: one packet thread drives the GPU for the others, and there are no others; give -j 2 or more");
  broker_ = std::make_unique<Broker>(
      Broker::Engine{[this](Element& element, const std::function<void()>& change) { update(element, change); },
                     [this] { stop(); }, [this] { return exhausted(); }, [this] { await_counts(); }});
  make_global_handlers();
  now_ = make_generation({std::move(router), std::move(plan)});
  broker_->replace(now_->members);
}

Engine::~Engine() {
  stop();
  if (started_) wait();
  bury_retired();
  // Packets that queues and rings of ports hold go back before their pool does.
  now_->scheduler.clear();
  for (auto& node : now_->router.nodes) node.element.reset();
  dpdk::close_ports();
}

std::unique_ptr<Engine::Generation> Engine::make_generation(Configuration configuration) {
  for (auto& node : configuration.router.nodes) {
    if (node.element->drop_reasons().size() > NodeCounts::kReasons)
      throw Error(node.element->class_name + " has too many drop reasons");
    if (has_master_ && node.element->home == worker_threads())
      throw Error(
          format("'%s' is to run on thread %d, which with --workers drives the GPU and runs no element; give -j "
                 "%d, or another thread",
                 node.element->name.c_str(), node.element->home, options_.threads + 1));
    if (node.element->home >= options_.threads)
      throw Error(format("'%s' is to run on thread %d, but there are %d threads; give -j %d",
                         node.element->name.c_str(), node.element->home, options_.threads, node.element->home + 1));
  }
  auto made = std::make_unique<Generation>(std::move(configuration));
  Generation* generation = made.get();
  const Plan& plan = generation->plan;
  generation->scheduler.set({options_.pin, plan.uses_simt(), [=] { return kept_running(*generation); },
                             [=, this] { return release(*generation); }, &generation->epochs, &stopping_});
  generation->slots = options_.slots != 0 ? options_.slots : plan.default_slots();
  for (const Segment& segment : plan.segments)
    if (const std::string problem = capacity_problem(generation->router, segment, options_.batch_size);
        !problem.empty())
      throw Error(problem);
  generation->members = make_members(*generation);
  share_out(*generation);
  return made;
}

/** Calls Element::start(); what it throws says which element, and where the chain has it. */
void start_element(const Node& node, const Environment& environment) {
  const auto fails = [&](const char* why) {
    const std::string place = node.where.line > 0 ? node.where.text() + ": " : "";
    throw Error(place + node.element->class_name + " '" + node.element->name + "': " + why);
  };
  try {
    node.element->start(environment);
  } catch (const Error& error) {
    fails(error.what());
  } catch (const std::bad_alloc&) {
    fails("out of memory");
  } catch (const std::system_error& error) {  // no more threads
    fails(error.what());
  }
}

Environment Engine::environment_of(Generation& generation) {
  Environment environment;
  environment.threads = worker_threads();
  environment.batch_size = options_.batch_size;
  environment.packets = &resources_.packets();
  environment.large_packets = &resources_.large_packets();
  environment.interactive = options_.interactive;
  environment.control = broker_.get();
  environment.epochs = &generation.epochs;
  const Router& router = generation.router;
  for (auto& declaration : router.graph.elements) {
    const auto& element = router.nodes[static_cast<size_t>(router.find(declaration.name))].element;
    if (const auto* random = dynamic_cast<const RandomSeed*>(element.get())) environment.random_seed = random->seed();
  }
  environment.stopping = [this, &generation] { return stopping_ || generation.given_up; };
  environment.goes_on_in = [this](const Packet* part, Packet* whole) { tracer_.join(part, whole); };
  return environment;
}

void Engine::start_elements(Generation& generation) {
  const Environment environment = environment_of(generation);
  generation.started = true;
  // All know where they are before the first one starts.
  for (size_t i = 0; i < generation.router.nodes.size(); ++i) {
    Element& element = *generation.router.nodes[i].element;
    const NodePlan& here = generation.plan.nodes[i];
    element.on_gpu = here.processor.is_gpu();
    element.on_cpu = !here.processor.is_gpu() || here.has_both();
    element.carries = here.live_behind;
  }
  for (size_t i = 0; i < generation.router.nodes.size(); ++i) {
    Node& node = generation.router.nodes[i];
    const NodePlan& here = generation.plan.nodes[i];
    if (auto* neutral = dynamic_cast<NeutralElement*>(node.element.get());
        neutral != nullptr && here.processor.is_gpu())
      neutral->engine_counts = [&generation, i] { return counts_of(generation, static_cast<int>(i)); };
    if (node.element->keeps_running())
      generation.keepers.push_back(&node);
    else
      start_element(node, environment);
  }
  // Scripts begin at once, so when nothing can fail any more.
  std::stable_partition(generation.keepers.begin(), generation.keepers.end(),
                        [](const Node* node) { return dynamic_cast<const Script*>(node->element.get()) == nullptr; });
}

void Engine::start_keepers(Generation& generation) {
  const Environment environment = environment_of(generation);
  for (const Node* node : generation.keepers) start_element(*node, environment);
}

void Engine::make_workers(Generation& generation) {
  if (generation.gpus != nullptr) generation.gpus->make_segments();
  auto drivers = drivers_of(generation);
  auto workers = workers_of(generation, drivers);
  std::erase(drivers, nullptr);
  generation.scheduler.own(std::move(workers), std::move(drivers));
  if (generation.gpus != nullptr) generation.gpus->start();
}

void Engine::start() {
  unsigned handed_over = 0;
  for (const Segment& segment : now_->plan.segments)
    handed_over += static_cast<unsigned>(worker_threads() * room_to_hand_over(segment, now_->slots));
  now_->gpus = resources_.acquire(now_->router, now_->plan,
                                  {worker_threads(), options_.batch_size, lanes_a_segment(), now_->slots, handed_over,
                                   options_.packets, options_.dpdk_args});
  started_ = true;
  start_elements(*now_);
  make_workers(*now_);
  if (now_->gpus != nullptr) now_->gpus->take_over_ports();
  // Elements that call the handlers of others, when these are ready, and while a failure still keeps packets from
  // flowing. They have threads of their own, whose calls wait until all have started, and the packet threads as well.
  broker_->exclusively([&] {
    start_keepers(*now_);
    now_->scheduler.prepare();
    started_s_ = seconds(CLOCK_MONOTONIC);
    cpu_started_s_ = seconds(CLOCK_PROCESS_CPUTIME_ID);
    now_->scheduler.start();
  });
}

int Engine::slots_of(const Segment& segment, int all) const {
  return segment.slots(options_.batch_size, std::max(1, all / lanes_a_segment()));
}

int Engine::room_to_hand_over(const Segment& segment, int slots) const {
  if (!has_master_ || !segment.processor.is_gpu() || segment.has_rings()) return 0;
  return LaneDriver::room(slots_of(segment, slots) * gpu::kSlotPackets, worker_threads(), options_.batch_size);
}

std::vector<std::shared_ptr<LaneDriver>> Engine::drivers_of(Generation& generation) const {
  std::vector<std::shared_ptr<LaneDriver>> drivers;
  for (const Segment& segment : generation.plan.segments) {
    const size_t s = drivers.size();
    drivers.emplace_back();
    const int room = room_to_hand_over(segment, generation.slots);
    if (room == 0) continue;
    LaneDriver::Options options{worker_threads(), options_.batch_size, segment.columns_in | segment.columns_kept, room};
    if (segment.limits.batch > 0) options.batch = std::min(options.batch, segment.limits.batch);
    if (segment.word_column) options.wanted |= columns(*segment.word_column);
    drivers.back() =
        std::make_shared<LaneDriver>(generation.gpus->make_lane(s, slots_of(segment, generation.slots)), options);
  }
  return drivers;
}

std::vector<std::unique_ptr<Worker>> Engine::workers_of(Generation& generation,
                                                        const std::vector<std::shared_ptr<LaneDriver>>& drivers) {
  const Plan& plan = generation.plan;
  std::vector<std::unique_ptr<Worker>> workers;
  for (int thread = 0; thread < worker_threads(); ++thread) {
    std::vector<std::unique_ptr<Lane>> lanes(plan.segments.size());
    for (size_t s = 0; s < lanes.size(); ++s)
      if (drivers[s])
        lanes[s] = drivers[s]->lane_of(thread);
      else if (plan.segments[s].processor.is_gpu() && !plan.segments[s].has_rings())
        lanes[s] = generation.gpus->make_lane(s, slots_of(plan.segments[s], generation.slots));
    workers.push_back(std::make_unique<Worker>(
        Worker::Shared{&generation.router, &plan, &resources_.packets(), &resources_.large_packets(),
                       &generation.epochs, &tracer_, options_.batch_size, options_.batches_a_side, plan.uses_simt(),
                       &stopping_},
        thread, std::move(lanes)));
  }
  return workers;
}

void Engine::wait() {
  for (bool over = false; !over;) {
    while (running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::lock_guard lock(reconfiguring_);
    if (is_running()) continue;  // with another configuration
    over = true;
    now_->scheduler.join();
    if (!started_) return;
    started_ = false;
  }
  wall_s_ = seconds(CLOCK_MONOTONIC) - started_s_;
  cpu_s_ = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_started_s_;
  stop_elements(*now_);
  bury_retired();
  for (auto& worker : workers())
    if (!worker->failure().empty() &&
        std::find(problems_.begin(), problems_.end(), worker->failure()) == problems_.end())
      problems_.push_back(worker->failure());
}

void Engine::stop_elements(Generation& generation) {
  const auto note = [this](std::string problem) {
    const std::lock_guard lock(changing_);
    problems_.push_back(std::move(problem));
  };
  const auto stop_element = [&](Element& element) {
    if (std::string problem = element.stop(); !problem.empty()) note(element.name + ": " + problem);
  };
  // First those that call the handlers of others.
  for (const Node* node : generation.keepers) stop_element(*node->element);
  if (generation.gpus != nullptr) {
    for (std::string& failure : generation.gpus->failures()) note(std::move(failure));
    const std::lock_guard no_patch(updating_);
    generation.gpus->stop();
  }
  for (auto& node : generation.router.nodes)
    if (std::find(generation.keepers.begin(), generation.keepers.end(), &node) == generation.keepers.end())
      stop_element(*node.element);
}

bool Engine::release(Generation& generation) {
  bool any = false;
  for (auto& node : generation.router.nodes) {
    // Packets on a cycle may be gathered again and again: they do not keep an engine that stops.
    if (node.is_buffer() && static_cast<Source&>(*node.element).release()) any = any || !(node.on_cycle && stopping_);
    // It gives what it holds when its timer calls it the next time.
    if (const auto* emitter = dynamic_cast<const Emitter*>(node.element.get())) any = any || emitter->holds();
  }
  return any;
}

bool Engine::kept_running(const Generation& generation) {
  return std::any_of(generation.keepers.begin(), generation.keepers.end(),
                     [](auto* node) { return node->element->keeps_running(); });
}

bool Engine::running() {
  bury_retired();
  return is_running();
}

bool Engine::is_running() const {
  const std::lock_guard lock(changing_);
  if (now_->scheduler.live_threads() > 0) return true;
  return started_ && !stopping_ && kept_running(*now_);
}

std::optional<bool> Engine::exhausted() const {
  const std::lock_guard lock(changing_);
  return now_->scheduler.exhausted();
}

void Engine::await_counts() const {
  std::unique_lock lock(changing_);
  const Generation* const generation = now_.get();
  const std::vector<uint64_t> before = generation->scheduler.publications();
  // Those of a generation that has been replaced have drained.
  while (now_.get() == generation && !generation->scheduler.published_since(before)) {
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    lock.lock();
  }
}

void Engine::update(Element& element, const std::function<void()>& change) {
  const std::lock_guard one_at_a_time(updating_);
  change();
  std::vector<Retiring*> retiring = element.retiring;
  if (element.table != nullptr) element.table->list_owners(retiring);
  if (std::none_of(retiring.begin(), retiring.end(), [](auto* one) { return one->has_retired(); })) return;
  // No packet thread reads before they start: a handler may be called then, by a Script's `init`.
  now_->epochs.wait_for_readers(static_cast<int>(workers().size()),
                                [this] { return now_->scheduler.live_threads() == 0; });
  if (gpus() != nullptr) gpus()->renew_rings();
  for (Retiring* one : retiring) one->reclaim();
}

}  // namespace heddle
