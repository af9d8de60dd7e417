#include "elements/endpoints/gpu_port.h"

#include <bit>

#include "click/arguments.h"
#include "core/error.h"

namespace heddle {
namespace {

// What the 82599 has (datasheet, RDLEN and SRRCTL.BSIZEPACKET; descriptors: as many as the drivers of the kernel and of
// DPDK allow).
constexpr int kMaxNicDescriptors = 4096, kMaxNicQueues = 8;
constexpr uint32_t kNicBufferUnit = 1024, kMaxNicBuffer = 16 * kNicBufferUnit;

}  // namespace

void GPUPort::configure(click::Arguments& arguments) {
  Config config;
  memif::Interface& interface = config.memif.interface;
  int descriptors = 1 << interface.log2_size;
  std::string device;
  arguments.required("PORT", port_).keyword("SOCKET", config.memif.socket).keyword("SOFTNIC", device);
  arguments.choice("ROLE", config.memif.role,
                   {{"client", memif::Role::client},
                    {"server", memif::Role::server},
                    {"slave", memif::Role::client},
                    {"master", memif::Role::server}});
  arguments.keyword("ID", interface.id).keyword("QUEUES", interface.queues, 1, 64);
  arguments.keyword("NDESC", descriptors, 32, 1 << memif::kMaxLog2Size);
  arguments.keyword("BUFFER", config.buffer_bytes, 64, 65535).keyword("SECRET", interface.secret);
  arguments.keyword("WARP_BATCH", config.warp_batch, 0, kMaxWarpBatch);
  arguments.choice("KERNELS", config.split, {{"fused", false}, {"split", true}});
  if (config.split && config.warp_batch > kMaxSplitWarpBatch)
    arguments.error("WARP_BATCH", format("at most %d with KERNELS split", kMaxSplitWarpBatch));
  if (config.warp_batch % 32 != 0) arguments.error("WARP_BATCH", format("a multiple of 32, up to %d", kMaxWarpBatch));
  if (!std::has_single_bit(static_cast<unsigned>(descriptors))) arguments.error("NDESC", "a power of two");
  if (interface.secret.size() > 23) arguments.error("SECRET is not of 23 bytes at most");
  if (config.memif.socket.size() > memif::kMaxPathBytes)
    arguments.error("SOCKET", format("a path of at most %zu bytes", memif::kMaxPathBytes));
  interface.log2_size = std::bit_width(static_cast<unsigned>(descriptors)) - 1;
  const bool of_memif = config.memif.role != memif::Role::client || interface.id != 0 || !interface.secret.empty();
  const bool anything = of_memif || interface.queues != 1 || descriptors != 1024 || config.buffer_bytes != 2048 ||
                        config.warp_batch != 0 || config.split;
  if (!device.empty()) {
    if (of_memif || !config.memif.socket.empty())
      arguments.error("SOCKET, ROLE, ID and SECRET are a memif's; a port has either these or SOFTNIC");
    configure_soft_nic(arguments, device, config);
  }
  if (!config.memif.socket.empty() || !device.empty())
    config_ = config;
  else if (anything)
    arguments.error("SOCKET is missing: where the port's other arguments are, it says where its peer is found");
}

void GPUPort::configure_soft_nic(click::Arguments& arguments, const std::string& device, Config& config) {
  const memif::Interface& interface = config.memif.interface;
  if (interface.queues > kMaxNicQueues) arguments.error("QUEUES", format("at most %d with SOFTNIC", kMaxNicQueues));
  if (1 << interface.log2_size > kMaxNicDescriptors)
    arguments.error("NDESC", format("at most %d with SOFTNIC", kMaxNicDescriptors));
  if (config.buffer_bytes % kNicBufferUnit != 0 || config.buffer_bytes > kMaxNicBuffer)
    arguments.error("BUFFER", format("a multiple of %u up to %u, as SOFTNIC wants", kNicBufferUnit, kMaxNicBuffer));
  dpdk::Port& port = *(config.soft_nic = dpdk::request_port(device));
  const auto queues = static_cast<unsigned>(interface.queues);
  port.rx_queues = interface.queues;
  port.spreads = true;
  port.frame_bytes = config.buffer_bytes;
  port.held = queues * 2 * (softnic::kTransfers + 2) * softnic::kBatch;
}

std::string GPUPort::stop() { return config_ && config_->soft_nic != nullptr ? config_->soft_nic->problem() : ""; }

std::vector<std::pair<std::string, uint64_t>> GPUPort::statistics() const {
  if (losses == nullptr) return {{"connections", connections}};
  std::vector<std::pair<std::string, uint64_t>> list;
  const auto add = [&](const char* name, const std::atomic<uint64_t>& count) {
    if (count != 0) list.emplace_back(name, count);
  };
  if (receives())
    add("bad_length", losses->bad_length), add("too_large", losses->too_large), add("unprocessed", losses->unprocessed);
  else
    add("malformed", losses->malformed), add("too_long", losses->too_long), add("unsent", losses->unsent);
  return list;
}

void GPUPort::handlers(Handlers& list) {
  list.read("connected", [this] { return std::string(connected ? "true" : "false"); });
}

}  // namespace heddle
