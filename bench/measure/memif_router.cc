#include "bench/measure/memif_router.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "bench/measure/outcome.h"
#include "bench/measure/store.h"
#include "bench/measure/watcher.h"
#include "bench/wire/generator.h"
#include "core/error.h"

namespace heddle::bench {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

class MemifRouter::Connection : public Target {
 public:
  Connection(const MemifRouter& router, const Setup& setup, bool pin, TrialWatch watch)
      : router_(router), setup_(setup), watch_(std::move(watch)) {
    TrafficOptions options;
    options.sizes = setup.size, options.addresses = setup.addresses;
    options.flows = setup.flows, options.zipf = setup.zipf, options.seed = setup.seed;
    options.look = [this] {
      if (!watch_({})) throw Interrupted{};
    };
    traffic_ = std::make_unique<Traffic>(options, static_cast<int>(router.sending_.size()), 1);
    const int threads = setup.generators, receivers = threads - 1;
    generator_ = std::make_unique<Generator>(*traffic_, router.receiving_, router.sending_, router.ports_->pool(),
                                             GeneratorOptions{threads, receivers, pin ? 0 : -1});
  }

  Outcome run(const Trial& trial) override {
    Load load;
    load.rate_pps = trial.rate_pps, load.seconds = trial.seconds, load.stamps = trial.stamps;
    load.warmup_s = setup_.warmup_s, load.quiet_s = setup_.drain_s;
    bool interrupted = false;
    Counts counts;
    {
      const auto start = Clock::now();
      uint64_t last = 0;
      auto then = start;
      const Watcher watcher([&] {
        const uint64_t packets = generator_->progress().received;
        const auto now = Clock::now();
        const double span = std::chrono::duration<double>(now - then).count();
        const TrialProgress progress{trial, std::chrono::duration<double>(now - start).count(),
                                     packets > last ? static_cast<double>(packets - last) * 1e-6 / span : 0};
        last = packets, then = now;
        if (watch_(progress) && router_.ports_->linked()) return;
        interrupted = interrupted || router_.ports_->linked();
        generator_->stop();
      });
      counts = generator_->run(load);
    }
    if (interrupted) throw Interrupted{};
    if (!router_.ports_->linked()) throw Error("--memif: the router has disconnected");
    return outcome_of(std::move(counts));
  }

  void rest() override { std::this_thread::sleep_for(std::chrono::duration<double>(setup_.rest_s)); }

 private:
  const MemifRouter& router_;
  Setup setup_;
  TrialWatch watch_;
  std::unique_ptr<Traffic> traffic_;
  std::unique_ptr<Generator> generator_;
};

MemifRouter::MemifRouter(const std::vector<std::string>& sockets, uint32_t longest) {
  std::vector<std::string> files;
  std::vector<bool> sends;
  for (auto& socket : sockets) {
    sends.push_back(!socket.ends_with(kReceiveOnly));
    files.push_back(sends.back() ? socket : socket.substr(0, socket.rfind(kReceiveOnly)));
  }
  wire_ = std::make_unique<MemifWire>(files);
  unsigned& room = dpdk::settings().data_room;
  room = std::max(dpdk::data_room(), RTE_PKTMBUF_HEADROOM + longest);
  ports_ = std::make_unique<Standalone>(1);
  receiving_ = wire_->port_ids();
  for (size_t i = 0; i < sends.size(); ++i)
    if (sends[i]) sending_.push_back(receiving_[i]);
}

MemifRouter::~MemifRouter() = default;

std::string MemifRouter::example() const {
  std::string chain;
  const auto last = static_cast<int>(receiving_.size()) - 1;
  for (int i = 0; i <= last; ++i)
    if (std::find(sending_.begin(), sending_.end(), receiving_[static_cast<size_t>(i)]) != sending_.end())
      chain += format("%sFromDPDKDevice(%s) -> ToDPDKDevice(%s)", chain.empty() ? "" : "; ",
                      wire_->router_port(i).c_str(), wire_->router_port(last - i).c_str());
  return chain;
}

void MemifRouter::wait(const std::function<bool()>& keep_waiting) const {
  while (!ports_->linked()) {
    if (!keep_waiting()) throw Interrupted{};
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

std::unique_ptr<Target> MemifRouter::target(const Setup& setup, bool pin, TrialWatch watch) {
  return std::make_unique<Connection>(*this, setup, pin, std::move(watch));
}

}  // namespace heddle::bench
