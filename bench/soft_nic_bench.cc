// gpu-soft-nic: the mirror chain between soft NICs, whose rings and frames lie in GPU memory; the NIC's DMA engine is a
// kernel, and two host threads a queue play the rest. First numbered frames of all lengths go through a wire and back,
// and every byte of them is looked at; then the rates, on net_null ports, without a loss.

#include <rte_ethdev.h>

#include <algorithm>
#include <cstring>

#include "bench/bench.h"
#include "bench/engine_run.h"
#include "core/error.h"
#include "io/dpdk/dpdk.h"
#include "measure/wire/wire.h"

namespace heddle::bench {
namespace {

constexpr double kSeconds = 0.5;
constexpr int kRounds = 5;
constexpr uint32_t kMin = 60, kMax = 1514, kFrames = 500'000;

uint32_t length_of(uint32_t number) { return kMin + number * 2654435761u % (kMax - kMin + 1); }

void fill(uint8_t* frame, uint32_t number) {
  uint64_t state = number * 0x9e3779b97f4a7c15ull + 1;
  for (uint32_t at = 0; at < length_of(number);
       at += 8, state = state * 6364136223846793005ull + 1442695040888963407ull)
    std::memcpy(frame + at, &state, 8);
}

void check_frame(const Packet* packet, uint32_t number) {
  uint8_t wanted[kMax + 8];
  fill(wanted, number);
  std::swap_ranges(wanted, wanted + 6, wanted + 6);
  if (length(packet) != length_of(number) || std::memcmp(data(packet), wanted, length(packet)) != 0)
    throw Error(format("frame %u came back wrong", number));
}

/** Numbered frames to a port's wire and back, in order. */
void exchange(uint16_t port) {
  constexpr uint32_t kBurst = 64;
  const dpdk::ThreadGuard registered;
  Packet* packets[kBurst];
  uint32_t sent = 0, got = 0;
  for (double deadline = seconds_now() + 5; got < kFrames;) {
    if (seconds_now() > deadline) throw Error(format("%u frames were lost", kFrames - got));
    const uint32_t n = std::min(kBurst, kFrames - sent);
    if (n > 0 && sent - got < 8192 && dpdk::packet_pool()->allocate(packets, n)) {
      for (uint32_t i = 0; i < n; ++i) {
        fill(data(packets[i]), sent + i);
        packets[i]->data_len = static_cast<uint16_t>(packets[i]->pkt_len = length_of(sent + i));
      }
      const uint32_t gone = rte_eth_tx_burst(port, 0, packets, static_cast<uint16_t>(n));
      rte_pktmbuf_free_bulk(packets + gone, n - gone);
      sent += gone;
    }
    const uint32_t back = rte_eth_rx_burst(port, 0, packets, kBurst);
    for (uint32_t i = 0; i < back; ++i) check_frame(packets[i], got + i);
    rte_pktmbuf_free_bulk(packets, back);
    got += back;
    if (back > 0) deadline = seconds_now() + 5;
  }
}

/** Ends the engine; throws Error if what was received was not sent, by the GPU and by the device. */
void end_without_loss(Engine& engine) {
  engine.stop();
  engine.wait();
  const Report report = engine.report();
  if (!report.problems.empty()) throw Error(report.problems[0]);
  for (const Report::Element& element : report.elements) {
    if (element.packets != report.received) throw Error("packets were lost before " + element.name);
    for (const auto& [name, count] : element.statistics)
      if (count != 0)
        throw Error(
            format("%s: %s is %llu", element.name.c_str(), name.c_str(), static_cast<unsigned long long>(count)));
  }
}

std::string arguments(int queues) { return format("NDESC 4096, QUEUES %d", queues); }

void check() {
  const Wire wire({});
  const auto engine = make_engine(
      "FromGPUPort(wire, SOFTNIC " + wire.router_port(0) + ", " + arguments(1) + ") -> EtherMirror -> ToGPUPort(wire)",
      {.device = "gpu"}, {});
  engine->start();
  exchange(wire.port_ids()[0]);
  end_without_loss(*engine);
}

Result rate(const char* name, int queues, uint32_t bytes, double figure) {
  const std::string text = format(
      "FromGPUPort(in, SOFTNIC \"net_null0,size=%u\", %s) -> EtherMirror -> "
      "ToGPUPort(out, SOFTNIC \"net_null1\", %s)",
      bytes, arguments(queues).c_str(), arguments(queues).c_str());
  const bool long_frames = bytes > 64;
  Result result = absolute(name, long_frames ? "Gb/s" : "Mpps", figure, false, kRounds, [&] {
    const auto engine = make_engine(text, {.device = "gpu"}, {});
    engine->start();
    const double mpps = running_mpps(*engine, kSeconds);
    end_without_loss(*engine);
    return mpps * (long_frames ? 8e-3 * bytes : 1);
  });
  result.note = format("soft NIC, DMA by a kernel; %d queue%s of 4096, net_null ports", queues, queues == 1 ? "" : "s");
  if (figure == 1) result.target = 0;
  return result;
}

const Register gpu_soft_nic("gpu-soft-nic", true, [] {
  check();
  return std::vector{rate("gpu-soft-nic-64", 1, 64, 20), rate("gpu-soft-nic-64-2", 2, 64, 1),
                     rate("gpu-soft-nic-64-4", 4, 64, 1), rate("gpu-soft-nic-1460", 1, 1460, 1),
                     rate("gpu-soft-nic-1460-4", 4, 1460, 1)};
});

}  // namespace
}  // namespace heddle::bench
