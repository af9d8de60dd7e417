#include "measure/campaign/memif_router.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "core/cores.h"
#include "core/error.h"
#include "io/dpdk/memif_buffers.h"
#include "measure/campaign/outcome.h"
#include "measure/campaign/store.h"
#include "measure/campaign/watcher.h"
#include "measure/wire/generator.h"

namespace heddle::bench {
namespace {

using Clock = std::chrono::steady_clock;

/** The socket's absolute name: it stands among a driver's arguments, and in a chain that is run elsewhere. */
std::string file_of(const std::string& socket) {
  if (socket.empty() || socket.find_first_of(",:\"'\\[]\n") != std::string::npos)
    throw Error("--memif '" + socket + "': a socket's name is not empty, and has none of , : ' \" \\ [ ]; only " +
                kReceiveOnly + " may follow");
  return std::filesystem::absolute(socket).lexically_normal();
}

}  // namespace

class MemifRouter::Connection : public Target {
 public:
  Connection(const MemifRouter& router, const Setup& setup, bool pin, TrialWatch watch)
      : router_(router), setup_(setup), watch_(std::move(watch)) {
    TrafficOptions options;
    options.sizes = setup.size, options.addresses = setup.addresses, options.protocol = setup.protocol;
    options.flows = setup.flows, options.zipf = setup.zipf, options.seed = setup.seed;
    options.look = [this] {
      if (!watch_({})) throw Interrupted{};
    };
    traffic_ = std::make_unique<Traffic>(options, static_cast<int>(router.sending_.size()), 1);
    const int threads = setup.generators, receivers = threads - 1;
    generator_ = std::make_unique<Generator>(*traffic_, router.receiving_, router.sending_, router.ports_->pool(),
                                             GeneratorOptions{threads, receivers, pin ? core_count() - threads : -1});
  }

  Outcome run(const Trial& trial) override {
    Load load;
    load.rate_pps = trial.rate_pps, load.swing = trial.swing, load.seconds = trial.seconds, load.stamps = trial.stamps;
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
        const bool on = watch_(progress);
        if (on && router_.ports_->linked()) return;
        interrupted = interrupted || !on;
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

MemifRouter::MemifRouter(const std::vector<std::string>& sockets, uint32_t longest) : longest_(longest) {
  std::vector<std::string> files;
  std::vector<bool> sends;
  for (auto& socket : sockets) {
    sends.push_back(!socket.ends_with(kReceiveOnly));
    files.push_back(file_of(sends.back() ? socket : socket.substr(0, socket.rfind(kReceiveOnly))));
    if (std::count(files.begin(), files.end(), files.back()) > 1)
      throw Error("--memif " + socket + ": each port needs a socket of its own");
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
  std::vector<std::string> both, only_to;
  for (size_t i = 0; i < receiving_.size(); ++i) {
    const bool sent_to = std::find(sending_.begin(), sending_.end(), receiving_[i]) != sending_.end();
    (sent_to ? both : only_to).push_back(wire_->router_port(static_cast<int>(i)));
  }
  std::string chain;
  const auto add = [&](const std::string& from, const std::string& to) {
    chain += (chain.empty() ? "" : "; ") + from + " -> ToDPDKDevice(" + to + ")";
  };
  for (size_t i = 0; i < both.size(); ++i)
    add("FromDPDKDevice(" + both[i] + ")", i < only_to.size() ? only_to[i]
                                           : !only_to.empty() ? both[i]
                                                              : both[both.size() - 1 - i]);
  for (size_t i = both.size(); i < only_to.size(); ++i) add("Idle", only_to[i]);
  return chain;
}

void MemifRouter::wait(const std::function<bool()>& keep_waiting) const {
  while (!ports_->linked()) {
    if (!keep_waiting()) throw Interrupted{};
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  // DPDK's driver makes other frames of those that do not fit.
  if (const uint32_t bytes = dpdk::smallest_memif_buffer(); bytes != 0 && bytes < longest_)
    throw Error(
        format("--memif: the router has buffers of %u bytes, but frames have up to %u; give its device bsize=%u", bytes,
               longest_, dpdk::kMemifBufferBytes));
}

std::unique_ptr<Target> MemifRouter::target(const Setup& setup, bool pin, TrialWatch watch) {
  return std::make_unique<Connection>(*this, setup, pin, std::move(watch));
}

}  // namespace heddle::bench
