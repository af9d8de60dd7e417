#include "elements/endpoints/gpu_port.h"

#include <bit>

#include "click/arguments.h"
#include "core/error.h"

namespace heddle {
void GPUPort::configure(click::Arguments& arguments) {
  Config config;
  memif::Interface& interface = config.memif.interface;
  int queues = 1, descriptors = 1 << interface.log2_size;
  std::string device;
  arguments.required("PORT", port_).keyword("SOCKET", config.memif.socket).keyword("SOFTNIC", device);
  arguments.keyword("NIC_SOCKET", config.nic_socket);
  arguments.choice("ROLE", config.memif.role,
                   {{"client", memif::Role::client},
                    {"server", memif::Role::server},
                    {"slave", memif::Role::client},
                    {"master", memif::Role::server}});
  arguments.keyword("ID", interface.id).keyword("QUEUES", queues, 1, 64);
  arguments.keyword("NDESC", descriptors, 32, 1 << memif::kMaxLog2Size);
  arguments.keyword("BUFFER", config.buffer_bytes, 64, 65535).keyword("SECRET", interface.secret);
  arguments.keyword("WARP_BATCH", config.warp_batch, 0, kMaxWarpBatch);
  arguments.choice("KERNELS", config.split, {{"fused", false}, {"split", true}});
  if (config.split && config.warp_batch > kMaxSplitWarpBatch)
    arguments.error("WARP_BATCH", format("at most %d with KERNELS split", kMaxSplitWarpBatch));
  if (config.warp_batch % 32 != 0) arguments.error("WARP_BATCH", format("a multiple of 32, up to %d", kMaxWarpBatch));
  if (!std::has_single_bit(static_cast<unsigned>(descriptors))) arguments.error("NDESC", "a power of two");
  if (interface.secret.size() > 23) arguments.error("SECRET is not of 23 bytes at most");
  for (const auto& [keyword, path] : {std::pair{"SOCKET", &config.memif.socket}, {"NIC_SOCKET", &config.nic_socket}})
    if (path->size() > memif::kMaxPathBytes)
      arguments.error(keyword, format("a path of at most %zu bytes", memif::kMaxPathBytes));
  interface.receiving = interface.transmitting = queues;
  interface.log2_size = std::bit_width(static_cast<unsigned>(descriptors)) - 1;
  const bool of_memif = config.memif.role != memif::Role::client || interface.id != 0 || !interface.secret.empty();
  const bool anything = of_memif || queues != 1 || descriptors != 1024 || config.buffer_bytes != 2048 ||
                        config.warp_batch != 0 || config.split;
  if (const char* const nic = !device.empty() ? "SOFTNIC" : !config.nic_socket.empty() ? "NIC_SOCKET" : nullptr) {
    if (of_memif || !config.memif.socket.empty())
      arguments.error(format("SOCKET, ROLE, ID and SECRET are a memif's; a port has either these or %s", nic));
    if (!device.empty() && !config.nic_socket.empty())
      arguments.error("SOFTNIC is a NIC that this program plays, NIC_SOCKET that of a process; a port has one of them");
    check_nic(arguments, nic, config);
    if (!device.empty()) config.soft_nic = request_device(device, config);
  }
  if (!config.memif.socket.empty() || config.is_nic())
    config_ = config;
  else if (anything)
    arguments.error("SOCKET is missing: where the port's other arguments are, it says where its peer is found");
}

void GPUPort::check_nic(click::Arguments& arguments, const char* keyword, const Config& config) {
  const memif::Interface& interface = config.memif.interface;
  if (interface.receiving > static_cast<int>(softnic::kMaxQueues))
    arguments.error("QUEUES", format("at most %u with %s", softnic::kMaxQueues, keyword));
  if (1u << interface.log2_size > softnic::kMaxDescriptors)
    arguments.error("NDESC", format("at most %u with %s", softnic::kMaxDescriptors, keyword));
  if (config.buffer_bytes % softnic::kBufferUnit != 0 || config.buffer_bytes > softnic::kMaxBuffer)
    arguments.error(
        "BUFFER", format("a multiple of %u up to %u, as %s wants", softnic::kBufferUnit, softnic::kMaxBuffer, keyword));
}

dpdk::Port* GPUPort::request_device(const std::string& device, const Config& config) {
  dpdk::Port* const port = dpdk::request_port(device);
  const memif::Interface& interface = config.memif.interface;
  softnic::request_queues(*port, interface.receiving, interface.transmitting, config.buffer_bytes);
  return port;
}

std::string GPUPort::stop() { return config_ && config_->soft_nic != nullptr ? config_->soft_nic->problem() : ""; }

std::vector<std::pair<std::string, uint64_t>> GPUPort::statistics() const {
  std::vector<std::pair<std::string, uint64_t>> list;
  if (has_peer) list.emplace_back("connections", connections);
  if (losses == nullptr) return list;
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
