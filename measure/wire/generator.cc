#include "measure/wire/generator.h"

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include <algorithm>
#include <thread>

#include "core/cores.h"
#include "core/error.h"
#include "io/dpdk/dpdk.h"
#include "measure/wire/generator_thread.h"

namespace heddle::bench {
namespace {

constexpr double kStart_s = 0.002;     ///< threads are there by then
constexpr double kAllThere_s = 0.005;  ///< to wait for further copies when every packet is back
constexpr double kLongestRest_s = 10;

void add(Counts& sum, const Counts& more) {
  sum.intended += more.intended, sum.offered += more.offered, sum.sent += more.sent, sum.received += more.received;
  sum.reordered += more.reordered, sum.duplicated += more.duplicated, sum.foreign += more.foreign;
  sum.arrived += more.arrived, sum.arrived_bytes += more.arrived_bytes;
  sum.sending_s = std::max(sum.sending_s, more.sending_s);
  sum.behind = std::max(sum.behind, more.behind);
  sum.latency_ns.merge(more.latency_ns);
}

int receiving_threads(const GeneratorOptions& options) {
  return options.receivers > 0 ? options.receivers : options.threads;
}

}  // namespace

Generator::Generator(const Traffic& traffic, const std::vector<uint16_t>& receiving,
                     const std::vector<uint16_t>& sending, PacketPool& pool, const GeneratorOptions& options)
    : sequences_(traffic.flows(), receiving_threads(options) > 1), options_(options) {
  const int receivers = receiving_threads(options), senders = options.threads - options.receivers;
  if (senders < 1 || std::max(senders, receivers) > traffic.queues())
    throw Error(format("generator: %d threads to send and %d to receive, but the ports have %d queues", senders,
                       receivers, traffic.queues()));
  const int cores = core_count();
  if (options.first_core >= 0 && options.first_core + options.threads > cores)
    throw Error(format("generator: %d threads from core %d on, but the process may use %d cores", options.threads,
                       options.first_core, cores));
  for (const uint16_t port : receiving) {
    rte_eth_dev_info info{};
    if (rte_eth_dev_info_get(port, &info) != 0 || info.nb_rx_queues < traffic.queues())
      throw Error(format("generator: port %d is not there or has %d queues, but the traffic is for %d", port,
                         info.nb_rx_queues, traffic.queues()));
  }
  if (sending.size() != static_cast<size_t>(traffic.ports()))
    throw Error(format("generator: traffic for %d ports, but %zu to send to", traffic.ports(), sending.size()));
  if (traffic.longest_bytes() > pool.data_bytes())
    throw Error(
        format("generator: frames of %u bytes, but packets have room for %u; DPDKInfo(MBUF_SIZE n) gives them more",
               traffic.longest_bytes() + kFcsBytes, pool.data_bytes() + kFcsBytes));
  for (int i = 0; i < options.threads; ++i)
    threads_.push_back(std::make_unique<GeneratorThread>(traffic, sequences_, pool));
  for (int queue = 0; queue < traffic.queues(); ++queue) {
    GeneratorThread& sender = *threads_[static_cast<size_t>(queue % senders)];
    GeneratorThread& receiver = *threads_[static_cast<size_t>(options.threads - receivers + queue % receivers)];
    for (size_t port = 0; port < sending.size(); ++port)
      sender.add_sender(sending[port], static_cast<uint16_t>(queue), traffic.stream(static_cast<int>(port), queue));
    for (const uint16_t port : receiving) receiver.add_receiver(port, static_cast<uint16_t>(queue));
  }
}

Generator::~Generator() = default;

Generator::Progress Generator::progress() const {
  Progress sum;
  for (auto& thread : threads_) {
    sum.sent += thread->sent(), sum.received += thread->received();
    sum.duplicated = sum.duplicated || thread->duplicated();
  }
  return sum;
}

/** False when stop() has been called before. */
bool Generator::sleep_until(uint64_t tsc) {
  for (uint64_t now; (now = rte_rdtsc()) < tsc && !stopping_.load(std::memory_order_relaxed);) {
    const double left = static_cast<double>(tsc - now) / static_cast<double>(rte_get_tsc_hz());
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(left, 0.05)));
  }
  return !stopping_.load(std::memory_order_relaxed);
}

/** Returns when all threads have sent everything and packets have stopped arriving: soon if all have come or are
 * discarded, else after Load::quiet_s. */
void Generator::wait_for_the_rest(const Load& load) {
  const auto hz = static_cast<double>(rte_get_tsc_hz());
  while (!std::all_of(threads_.begin(), threads_.end(), [](auto& thread) { return thread->done(); }))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  Progress last = progress();
  uint64_t since = rte_rdtsc();
  const auto latest = since + static_cast<uint64_t>(kLongestRest_s * hz);
  for (uint64_t now = since; now < latest; now = rte_rdtsc()) {
    const uint64_t discarded = load.discarded ? load.discarded() : 0;
    const bool all_there = last.received + discarded >= last.sent && !last.duplicated;
    const double quiet_s = all_there ? std::min(kAllThere_s, load.quiet_s) : load.quiet_s;
    if (static_cast<double>(now - since) > quiet_s * hz) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const Progress current = progress();
    if (current.received != last.received) since = now;
    last = current;
  }
}

Counts Generator::run(const Load& load) {
  if (!(load.rate_pps >= 0 && load.rate_pps <= kMaxRate_pps))
    throw Error(format("generator: %g packets a second; at most %g can be due", load.rate_pps, kMaxRate_pps));
  stopping_ = false;
  const auto hz = static_cast<double>(rte_get_tsc_hz());
  const auto ticks = [hz](double seconds) { return static_cast<uint64_t>(seconds * hz); };
  Schedule schedule;
  schedule.stamps = load.stamps;
  // What another generator has sent may still be on its way.
  static std::atomic<uint8_t> runs{0};
  schedule.warmup_tag = static_cast<uint16_t>(kSignatureTag | runs++);
  schedule.tag = static_cast<uint16_t>(kSignatureTag | runs++);
  schedule.start = rte_rdtsc() + ticks(kStart_s);
  schedule.begin = schedule.start + ticks(load.warmup_s);
  schedule.end = schedule.begin + ticks(load.seconds);
  double frames = 0;
  for (auto& thread : threads_) frames += static_cast<double>(thread->frames());
  std::atomic<bool> over{false};
  std::vector<std::thread> running;
  for (size_t i = 0; i < threads_.size(); ++i) {
    Schedule mine = schedule;
    const double share = static_cast<double>(threads_[i]->frames()) / frames;
    if (load.rate_pps > 0 && share > 0)
      mine.pace = Pace(hz / (load.rate_pps * share), load.swing.low, load.swing.period_s * hz);
    running.emplace_back([this, i, mine, &over] {
      if (options_.first_core >= 0) pin_to_core(options_.first_core + static_cast<int>(i));
      const dpdk::ThreadGuard registered;
      threads_[i]->run(mine, stopping_, over);
    });
  }
  const bool begun = sleep_until(schedule.begin);
  if (begun && load.on_begin) load.on_begin();
  sleep_until(schedule.end);
  const uint64_t ended = std::clamp(rte_rdtsc(), schedule.begin, schedule.end);
  if (begun && load.on_end) load.on_end();
  wait_for_the_rest(load);
  over = true;
  for (auto& thread : running) thread.join();
  Counts sum;
  for (auto& thread : threads_) add(sum, thread->counts());
  sum.lost = sum.offered - std::min(sum.offered, sum.received);
  sum.seconds = static_cast<double>(ended - schedule.begin) / hz;
  sum.sending_s = std::max(sum.sending_s, sum.seconds);
  return sum;
}

}  // namespace heddle::bench
