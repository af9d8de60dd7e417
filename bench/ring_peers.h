#pragma once

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "bench/bench.h"
#include "bench/ring_rig.h"
#include "core/cores.h"

namespace heddle::bench {

constexpr double kPatienceS = 30;  ///< until what has not come is lost: simt is slow, and machines are busy

/** Calls `visit` until everything that was sent is back; throws Error if nothing has come for long. */
template <class Visit>
void finish(PeerEnd& end, const Visit& visit) {
  uint64_t got = end.got();
  for (double since = seconds_now(); end.got() != end.sent();) {
    visit();
    const double now = seconds_now();
    if (end.got() != got) got = end.got(), since = now;
    if (now > since + kPatienceS)
      throw Error(format("%llu frames were lost", static_cast<unsigned long long>(end.sent() - end.got())));
  }
}

/** What forward() has seen. */
struct Forwarded {
  double mpps = 0;
  double cpu = 0;  ///< cores that the process had beyond its peers': what it does for packets itself
};

/** The rate at which `pairs` of the rig, from the first on, forward in `seconds`, with peers on as many threads as the
 *  machine has cores for. They recirculate what lies in the rings: `pass_on(end, n)` sends `n` packets again. */
template <class PassOn>
Forwarded forward(RingRig& rig, int pairs, double seconds, const PassOn& pass_on) {
  const int threads = std::clamp(core_count() - 2, 1, pairs);
  std::atomic<bool> ends{false};
  std::atomic<int> ready{0}, lost{0};
  struct alignas(128) Cpu {
    std::atomic<double> seconds{0};  // of a peer, so far
  };
  std::vector<Cpu> cpu(static_cast<size_t>(threads));
  std::vector<std::thread> peers;
  for (int t = 0; t < threads; ++t)
    peers.emplace_back([&, t] {
      pin_to_core(t + 1);
      const auto circulate = [&](PeerEnd& end, bool sends) {
        if (const int n = end.waiting(); n > 0) end.give_back(n);
        if (const int n = sends ? end.room() : 0; n > 0) pass_on(end, n);
      };
      ++ready;
      for (uint32_t lap = 0; !ends.load(std::memory_order_relaxed); ++lap) {
        for (int i = t; i < pairs; i += threads) circulate(rig.end(i), true);
        if (lap % 256 == 0) cpu[static_cast<size_t>(t)].seconds = cpu_seconds();
      }
      for (int i = t; i < pairs; i += threads) try {
          finish(rig.end(i), [&] { circulate(rig.end(i), false); });
        } catch (const Error&) {
          ++lost;
        }
    });
  struct Sample {
    uint64_t packets = 0;
    double seconds = seconds_now(), cpu = 0;
  };
  const auto sample = [&] {
    Sample now;
    for (int i = 0; i < pairs; ++i) now.packets += rig.end(i).got();
    now.cpu = process_cpu_seconds() - cpu_seconds();
    for (const Cpu& peer : cpu) now.cpu -= peer.seconds;
    return now;
  };
  while (ready < threads) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  const Sample before = sample();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const Sample after = sample();
  ends = true;
  for (std::thread& peer : peers) peer.join();
  if (lost > 0) throw Error("frames were lost");
  const double elapsed = after.seconds - before.seconds;
  return {static_cast<double>(after.packets - before.packets) * 1e-6 / elapsed,
          std::max(0.0, after.cpu - before.cpu) / elapsed};
}

/** What receive() has seen. */
struct Received {
  double mpps = 0;
  uint64_t frames = 0;  ///< in all; the GPU has counted each
};

/** The rate at which the rig's first pair receives packets of which its function drops all: the peer sends as many as
 *  there is room for by `pass_on(end, n)`, and none comes back. */
template <class PassOn>
Received receive(RingRig& rig, double seconds, const PassOn& pass_on) {
  PeerEnd& end = rig.end(0);
  const auto send_for = [&](double duration) {
    const uint64_t before = end.sent();
    const double start = seconds_now();
    double now = start;
    for (uint32_t lap = 0; now < start + duration; ++lap) {
      if (const int n = end.room(); n > 0) pass_on(end, n);
      if (lap % 256 == 0) now = seconds_now();
    }
    return static_cast<double>(end.sent() - before) * 1e-6 / (now - start);
  };
  pin_to_core(1);
  send_for(0.03);
  const Received result{send_for(seconds), end.sent()};
  RingRig::Counts counts = rig.counts();
  for (const double deadline = seconds_now() + kPatienceS; counts.dropped < result.frames && seconds_now() < deadline;)
    counts = rig.counts();
  if (counts.received != result.frames || counts.dropped != result.frames || counts.sent != 0)
    throw Error(format("of %llu frames the GPU has received %llu and dropped %llu",
                       static_cast<unsigned long long>(result.frames), static_cast<unsigned long long>(counts.received),
                       static_cast<unsigned long long>(counts.dropped)));
  return result;
}

/** The same with all pairs and peers that move indices and touch no packet. */
inline Forwarded forward(RingRig& rig, double seconds) {
  return forward(rig, rig.pairs(), seconds, [](PeerEnd& end, int n) { end.pass_on(n); });
}

}  // namespace heddle::bench
