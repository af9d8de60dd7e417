#include "measure/campaign/router.h"

#include <rte_ethdev.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <thread>

#include "click/parser.h"
#include "core/cores.h"
#include "core/error.h"
#include "measure/campaign/campaign.h"
#include "measure/campaign/outcome.h"
#include "measure/campaign/watcher.h"
#include "measure/wire/generator.h"
#include "measure/wire/wire.h"

namespace heddle::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr unsigned kTailRoom = 128;  ///< bytes that chains may append to the longest frames at least

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double seconds_since(Clock::time_point then) { return std::chrono::duration<double>(Clock::now() - then).count(); }

click::Graph parse_chain(const Chain& chain, const Setup& setup, click::Diagnostics& diagnostics) {
  click::ParseOptions parse = language();
  parse.variables = setup.variables;
  parse.variables.insert(chain.variables.begin(), chain.variables.end());
  return click::parse(chain.text, chain.file, parse, diagnostics);
}

PlanOptions plan_options(const Setup& setup) {
  PlanOptions options;
  options.set_device(setup.device);
  options.launch = mode_named<LaunchMode>(setup.launch, kLaunchModes).value_or(LaunchMode::persistent);
  options.transport = mode_named<Transport>(setup.transport, kTransports);
  options.share = setup.share;
  options.isolate = setup.isolate;
  options.workers = setup.workers;
  return options;
}

void expect_ok(const click::Diagnostics& diagnostics) {
  if (diagnostics.ok()) return;
  const size_t n = diagnostics.errors().size();
  throw Error(diagnostics.text() + format("%zu mistake%s in the chain; nothing was started", n, n == 1 ? "" : "s"));
}

// Drops for want of room or by failures are losses; all others are what the chain is for.
bool is_loss(const std::string& reason) {
  static const std::vector<std::string> kLosses{"tx_full", "no_buffer", "no_slot",      "gpu_failed",
                                                "full",    "removed",   "write_failed", "chained"};
  return std::find(kLosses.begin(), kLosses.end(), reason) != kLosses.end();
}

/** What the router has used while packets flowed: between begin() and end(). What went to GPUs is counted from
 *  construction to settle(), warm-up included: no packet is under way then. */
class Usage {
 public:
  Usage(const Engine& engine, int generators, const Nvml* gpu)
      : engine_(engine),
        generators_(generators),
        gpu_(gpu),
        received_at_first_(engine.received()),
        traffic_(engine.traffic()) {}
  void begin() {
    then_ = Clock::now(), cpu_s_ = cpu_seconds();
    cycles_ = engine_.cycles();
    received_ = engine_.received();
    if (gpu_ != nullptr) meter_.emplace(*gpu_);
  }
  void end() {
    cycles_after_ = engine_.cycles();
    received_after_ = engine_.received();
    seconds_ = seconds_since(then_), cpu_s_ = cpu_seconds() - cpu_s_;
    if (meter_) reading_ = meter_->stop();
    meter_.reset();
  }
  void settle() {
    received_in_all_ = engine_.received() - received_at_first_;
    traffic_after_ = engine_.traffic();
  }
  uint64_t received() const { return received_after_ - received_; }
  void put_into(Outcome& outcome) const {
    uint64_t all = 0, busy = 0;
    const int threads = generators_ + static_cast<int>(cycles_.size());  // that never sleep
    for (size_t i = 0; i < std::min(cycles_.size(), cycles_after_.size()); ++i) {
      all += cycles_after_[i].all - cycles_[i].all;
      busy += cycles_after_[i].busy - cycles_[i].busy;
    }
    if (all > 0) outcome.cpu_utilisation = static_cast<double>(busy) / static_cast<double>(all);
    // Between GPU ports no packet thread runs, and nobody else's cycles are counted.
    if (all > 0 && received() > 0)
      outcome.cycles_per_packet = static_cast<double>(busy) / static_cast<double>(received());
    if (threads > 0 && seconds_ > 0) outcome.core_share = std::min(1.0, cpu_s_ / (threads * seconds_));
    if (received_in_all_ > 0 && engine_.plan().has_lanes()) {
      const auto packets = static_cast<double>(received_in_all_);
      const auto [to_before, from_before] = bytes_moved(traffic_);
      const auto [to, from] = bytes_moved(traffic_after_);
      outcome.bytes_to_gpu = (to - to_before) / packets, outcome.bytes_from_gpu = (from - from_before) / packets;
    }
    outcome.gpu_utilisation = reading_.utilisation;
    outcome.gpu_power_w = reading_.power_w;
  }

 private:
  /** To GPUs and from them. */
  static std::pair<double, double> bytes_moved(const std::vector<Report::Traffic>& segments) {
    double to = 0, from = 0;
    for (auto& segment : segments) {
      to += static_cast<double>(segment.to_gpu + segment.declared_to_gpu);
      from += static_cast<double>(segment.from_gpu + segment.declared_from_gpu);
    }
    return {to, from};
  }

  const Engine& engine_;
  int generators_;
  const Nvml* gpu_;
  uint64_t received_at_first_, received_in_all_ = 0;
  std::vector<Report::Traffic> traffic_, traffic_after_;
  Clock::time_point then_;
  double seconds_ = 0, cpu_s_ = 0;
  std::vector<Engine::Cycles> cycles_, cycles_after_;
  uint64_t received_ = 0, received_after_ = 0;
  std::optional<GpuMeter> meter_;
  GpuMeter::Reading reading_;
};

/** A chain that runs. */
class Router : public Target {
 public:
  Router(const Chain& chain, const Setup& setup, const Nvml* gpu, TrialWatch watch)
      : setup_(setup), gpu_(gpu), watch_(std::move(watch)) {
    click::Diagnostics diagnostics;
    const click::Graph graph = parse_chain(chain, setup, diagnostics);
    expect_ok(diagnostics);
    generators_ = generator_cores(setup, core_count());
    make_wire(graph);
    heddle::Router router = heddle::Router::build(wired_.graph, diagnostics);
    Plan plan;
    if (diagnostics.ok()) plan = make_plan(router, plan_options(setup), diagnostics);
    expect_ok(diagnostics);
    for (int i = 0; wire_ && i < wire_->options().ports; ++i)
      dpdk::request_port(wire_->router_port(i))->rx_queues = queues_;  // the generator may have more than the router

    RunOptions options;
    options.threads = setup.cores, options.batch_size = setup.batch, options.slots = setup.slots;
    options.packets = chain.packets, options.dpdk_args = chain.dpdk_args;
    options.pin = chain.pin && setup.cores + (wire_ ? generators_ : 0) <= core_count();
    engine_ = std::make_unique<Engine>(std::move(router), std::move(plan), options);
    if (wire_) make_traffic();
    for (auto& node : engine_->router().nodes) copies_ = copies_ || node.element->copies() > 1;
    engine_->start();
    if (wire_) start_generator(options.pin);
    warm_up();
  }

  ~Router() override { engine_->stop(); }

  Outcome run(const Trial& trial) override {
    Outcome outcome = wire_ ? run_on_wire(trial) : run_alone(trial);
    if (!engine_->running()) {
      engine_->wait();
      const Report report = engine_->report();
      if (!report.problems.empty()) throw Error(report.problems[0]);
      throw Error(report.received == 0 ? "the chain has ended without a packet: nothing in it makes any"
                                       : "the chain has ended by itself; a source with a LIMIT cannot be measured");
    }
    return outcome;
  }

  void rest() override { std::this_thread::sleep_for(std::chrono::duration<double>(setup_.rest_s)); }

 private:
  /** Packet threads that have queues. */
  int port_threads() const { return std::max(1, setup_.cores - (setup_.workers ? 1 : 0)); }

  void make_wire(const click::Graph& graph) {
    WireOptions options;
    wired_ = put_on_wire(graph, [&](int i) { return format("net_ring_%s%d", options.name.c_str(), i); });
    if (!wired_.fed()) return;
    receivers_ = receiving_cores(generators_, port_threads());
    queues_ = std::max({port_threads(), wired_.queues, generators_ - receivers_});
    if (const int served = wired_.soft_nic_queues; served > 0) {  // by threads of their own, and no other queues
      generators_ = generators_ >= 2 * served ? 2 * served : std::min(generators_, served);
      receivers_ = receiving_cores(generators_, served);
      queues_ = served;
    }
    options.ports = static_cast<int>(wired_.ports.size());
    options.queues = queues_;
    options.slots = static_cast<unsigned>(setup_.descriptors);
    wire_ = std::make_unique<Wire>(options);
  }

  /** The wire's ends that the router receives from. */
  std::vector<uint16_t> sending_ids() const {
    std::vector<uint16_t> ids;
    for (size_t i = 0; i < wired_.ports.size(); ++i)
      if (wired_.ports[i].receives) ids.push_back(wire_->port_ids()[i]);
    return ids;
  }

  void make_traffic() {
    TrafficOptions options;
    options.sizes = setup_.size, options.addresses = setup_.addresses, options.protocol = setup_.protocol;
    options.flows = setup_.flows, options.zipf = setup_.zipf, options.seed = setup_.seed;
    options.look = [this] {
      if (!watch_({})) throw Interrupted{};
    };
    traffic_ = std::make_unique<Traffic>(options, static_cast<int>(sending_ids().size()), queues_);
    unsigned& room = dpdk::settings().data_room;
    if (room == 0) room = std::max(dpdk::data_room(), RTE_PKTMBUF_HEADROOM + traffic_->longest_bytes() + kTailRoom);
  }

  void start_generator(bool pin) {
    const GeneratorOptions options{generators_, receivers_, pin ? setup_.cores : -1};
    generator_ =
        std::make_unique<Generator>(*traffic_, wire_->port_ids(), sending_ids(), *dpdk::packet_pool(), options);
  }

  void warm_up() {
    if (setup_.warmup_s <= 0) return;
    const uint64_t before = discarded();
    const Trial trial{setup_.rate_pps, setup_.warmup_s, false};
    if (wire_)
      load(trial, 0, nullptr);
    else
      wait(trial);
    discards_ = discarded() > before;
  }

  // A chain that discards packets by its own rules tells no packet of the warm-up from one of the trial, so the warm-up
  // must then be over before the trial begins.
  Outcome run_on_wire(const Trial& trial) {
    if (discards_ && setup_.warmup_s > 0) load({trial.rate_pps, setup_.warmup_s, false}, 0, nullptr);
    Usage usage(*engine_, generators_, gpu_);
    const uint64_t before = discarded();
    const auto [sent_before, waited_before] = sent_and_waited();
    Counts counts = load(trial, discards_ ? 0 : setup_.warmup_s, &usage);
    usage.settle();
    const uint64_t discards = discarded() - before;
    const auto [sent, waited] = sent_and_waited();
    if (discards > 0 && !discards_) {
      discards_ = true;
      return run_on_wire(trial);
    }
    counts.lost -= std::min(counts.lost, discards);
    Outcome outcome = outcome_of(std::move(counts));
    outcome.forwarded += discards;
    if (!copies_) outcome.kept = static_cast<uint64_t>(std::max<int64_t>(inside(), 0));
    outcome.forwarded_bits += 8 * static_cast<double>(discards) * traffic_->mean_bytes();
    if (sent > sent_before)
      outcome.held_up = static_cast<double>(waited - waited_before) / static_cast<double>(sent - sent_before);
    usage.put_into(outcome);
    return outcome;
  }

  // The chain makes its own packets: they have gone through it, or were dropped for want of room.
  Outcome run_alone(const Trial& trial) {
    Usage usage(*engine_, 0, gpu_);
    const uint64_t before = lost_inside(), bytes_before = engine_->report().received_bytes;
    usage.begin();
    const double seconds = wait(trial);
    usage.end(), usage.settle();
    const uint64_t bytes = engine_->report().received_bytes - bytes_before;
    Outcome outcome;
    outcome.seconds = seconds;
    const uint64_t lost = std::min(lost_inside() - before, usage.received());
    outcome.forwarded = usage.received() - lost;
    outcome.forwarded_bits = static_cast<double>(bytes + usage.received() * kFcsBytes) * 8;
    usage.put_into(outcome);
    return outcome;
  }

  Counts load(const Trial& trial, double warmup_s, Usage* usage) {
    Load load;
    load.rate_pps = trial.rate_pps, load.swing = trial.swing, load.seconds = trial.seconds, load.stamps = trial.stamps;
    load.warmup_s = warmup_s, load.quiet_s = setup_.drain_s;
    load.discarded = [this, before = discarded()] { return discarded() - before; };
    if (usage != nullptr) {
      load.on_begin = [usage] { usage->begin(); };
      load.on_end = [usage] { usage->end(); };
    }
    Counts counts;
    watched(trial, [&] { counts = generator_->run(load); });
    let_all_leave();
    return counts;
  }

  /** Returns the seconds that it really took. */
  double wait(const Trial& trial) {
    const auto start = Clock::now();
    watched(trial, [&] {
      while (!interrupted_ && engine_->running() && seconds_since(start) < trial.seconds)
        std::this_thread::sleep_for(std::chrono::duration<double>(std::min(0.02, trial.seconds)));
    });
    return seconds_since(start);
  }

  void watched(const Trial& trial, const std::function<void()>& run) {
    const auto start = Clock::now();
    uint64_t last = 0;
    auto then = start;
    {
      const Watcher watcher([&] {
        const uint64_t packets = generator_ ? generator_->progress().received : engine_->received();
        const double span = seconds_since(then);
        const TrialProgress progress{trial, seconds_since(start),
                                     packets > last ? static_cast<double>(packets - last) * 1e-6 / span : 0};
        last = packets, then = Clock::now();
        if (!watch_(progress) || !engine_->running()) {
          interrupted_ = interrupted_ || engine_->running();
          if (generator_) generator_->stop();
        }
      });
      run();
    }
    if (interrupted_) throw Interrupted{};
  }

  /** Waits until no packet is on its way to the router, nor to or from a GPU, as long as there are ever fewer: a
   *  machine that has other things to do may need longer than drain_s. Elements may keep some, MinBatch those that fill
   *  no batch: then each trial waits in vain. */
  void let_all_leave() const {
    if (copies_ || !engine_->plan().has_lanes()) return;
    // simt's threads, on busy cores, have needed 2.6 between two packets.
    const double patience_s = engine_->plan().uses_simt() ? 10 : 1;
    auto then = Clock::now();
    for (int64_t last = INT64_MAX; engine_->running() && seconds_since(then) < patience_s;) {
      const int64_t on_the_wire = wire_->to_router(), now = on_the_wire + inside();
      if (now <= 0) return;
      if (now < last) last = now, then = Clock::now();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  /** Packets that the chain has received and that are neither at an end nor dropped. Those that leave meanwhile count:
   *  what has been received is read last. */
  int64_t inside() const {
    int64_t gone = 0;
    for_each_element([&](const Node& node, const Report::Element& element) {
      if (node.targets.empty())
        gone += static_cast<int64_t>(element.packets);
      else
        for (auto& [reason, count] : element.drops) gone += static_cast<int64_t>(count);
    });
    return static_cast<int64_t>(engine_->received()) - gone;
  }

  uint64_t discarded() const {
    if (copies_) return 0;
    uint64_t packets = 0;
    for_each_element([&](const Node& node, const Report::Element& element) {
      uint64_t dropped = 0;
      for (auto& [reason, count] : element.drops) {
        dropped += count;
        if (!is_loss(reason)) packets += count;
      }
      const bool port = element.class_name == "ToDPDKDevice" || element.class_name == "ToGPUPort";
      if (node.targets.empty() && !port) packets += element.packets - std::min(element.packets, dropped);
    });
    return packets;
  }

  // Packets to the wire so far, and of these those that found no room at once.
  std::pair<uint64_t, uint64_t> sent_and_waited() const {
    uint64_t sent = 0, waited = 0;
    for_each_element([&](const Node&, const Report::Element& element) {
      if (element.class_name != "ToDPDKDevice") return;
      sent += element.packets;
      for (auto& [name, value] : element.statistics)
        if (name == "tx_waited") waited += value;
    });
    return {sent, waited};
  }

  uint64_t lost_inside() const {
    uint64_t packets = 0;
    for_each_element([&](const Node&, const Report::Element& element) {
      for (auto& [reason, count] : element.drops)
        if (is_loss(reason)) packets += count;
    });
    return packets;
  }

  template <class Visit>
  void for_each_element(Visit visit) const {
    for (size_t i = 0; i < engine_->router().nodes.size(); ++i)
      visit(engine_->router().nodes[i], engine_->element_report(static_cast<int>(i)));
  }

  Setup setup_;
  const Nvml* gpu_;
  TrialWatch watch_;
  WiredChain wired_;
  int generators_ = 1, receivers_ = 0, queues_ = 1;
  bool copies_ = false;    // the chain copies packets: one that is discarded may have a copy that comes out
  bool discards_ = false;  // the chain discards packets by its own rules
  std::atomic<bool> interrupted_{false};
  std::unique_ptr<Wire> wire_;  // outlives the engine, which closes its ports
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Traffic> traffic_;
  std::unique_ptr<Generator> generator_;
};

}  // namespace

WiredChain check_chain(const Chain& chain, const Setup& setup) {
  struct Forget {  // the ports that elements have asked for
    ~Forget() { dpdk::close_ports(); }
  } const forget;
  click::Diagnostics diagnostics;
  const click::Graph graph = parse_chain(chain, setup, diagnostics);
  expect_ok(diagnostics);
  {
    const heddle::Router written = heddle::Router::build(graph, diagnostics);
    if (diagnostics.ok()) make_plan(written, plan_options(setup), diagnostics);
    expect_ok(diagnostics);
  }
  dpdk::close_ports();
  WiredChain wired = put_on_wire(graph, [](int i) { return format("net_ring_check%d", i); });
  const heddle::Router router = heddle::Router::build(wired.graph, diagnostics);
  if (diagnostics.ok()) make_plan(router, plan_options(setup), diagnostics);
  expect_ok(diagnostics);
  wired.data_room = dpdk::settings().data_room;
  return wired;
}

std::unique_ptr<Target> start_router(const Chain& chain, const Setup& setup, const Nvml* gpu, TrialWatch watch) {
  return std::make_unique<Router>(chain, setup, gpu, std::move(watch));
}

}  // namespace heddle::bench
