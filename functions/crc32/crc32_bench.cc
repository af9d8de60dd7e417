// crc: the batch path of SetCRC32 against bare rte_net_crc_calc on the same packets, on one core, without I/O.
// On the GPU: gpu-crc in kernels/slots_bench.cc.

#include <rte_net_crc.h>

#include <cstring>
#include <memory>
#include <random>

#include "bench/bench.h"
#include "bench/packet_array.h"
#include "core/cores.h"
#include "core/element.h"
#include "core/error.h"
#include "functions/crc32/cpu.h"

namespace heddle::bench {
namespace {

constexpr int kPackets = 256, kRounds = 21, kLaps = 400;
constexpr uint16_t kBytes = 1500;

std::vector<Result> crc() {
  pin_to_core(1);
  std::mt19937 random(1);
  PacketArray packets(kPackets, kBytes, crc32::kBytes);
  Batch& batch = packets.batch;
  for (int i = 0; i < kPackets; ++i)
    for (uint32_t b = 0; b < kBytes; ++b) batch.frame(i)[b] = static_cast<uint8_t>(random());
  const std::unique_ptr<Element> element = Catalog::instance().find("SetCRC32")->make();
  element->start({});
  const auto rate = [&](const auto& work) {
    const double start = seconds_now();
    for (int lap = 0; lap < kLaps; ++lap) {
      packets.set_length(kBytes);
      work();
    }
    return static_cast<double>(kLaps) * kPackets * kBytes / (seconds_now() - start) * 1e-9;
  };
  uint32_t sum = 0, count = 0;
  const auto ours = [&] { return rate([&] { element->run_cpu(batch); }); };
  const auto bare = [&] {
    return rate([&] {
      for (int i = 0; i < kPackets; ++i)
        sum += rte_net_crc_calc(data(batch.packet(i)), batch.length(i), RTE_NET_CRC32_ETH), ++count;
    });
  };
  std::vector<Result> results = {paired("crc-1500", "GB/s", 0.9, kRounds, ours, bare)};
  packets.set_length(kBytes);
  element->run_cpu(batch);
  for (int i = 0; i < kPackets; ++i) {
    uint32_t stored;
    std::memcpy(&stored, batch.frame(i) + kBytes, sizeof stored);
    if (stored != crc32::crc(batch.frame(i), kBytes, crc32::Variant::ieee)) throw Error("SetCRC32 gave a wrong result");
  }
  if (count == 0 || sum == 1) results[0].note = "baseline without result";  // keeps its work from being left out
  return results;
}

const Register registered("crc", false, crc);

}  // namespace
}  // namespace heddle::bench
