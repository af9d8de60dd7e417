#include "elements/endpoints/gpu_port.h"

#include <bit>

#include "click/arguments.h"

namespace heddle {

void GPUPort::configure(click::Arguments& arguments) {
  Config config;
  memif::Interface& interface = config.memif.interface;
  int descriptors = 1 << interface.log2_size;
  arguments.required("PORT", port_).keyword("SOCKET", config.memif.socket);
  arguments.choice("ROLE", config.memif.role,
                   {{"client", memif::Role::client},
                    {"server", memif::Role::server},
                    {"slave", memif::Role::client},
                    {"master", memif::Role::server}});
  arguments.keyword("ID", interface.id).keyword("QUEUES", interface.queues, 1, 64);
  arguments.keyword("NDESC", descriptors, 32, 1 << memif::kMostLog2Size);
  arguments.keyword("BUFFER", config.buffer_bytes, 64, 65535).keyword("SECRET", interface.secret);
  if (!std::has_single_bit(static_cast<unsigned>(descriptors))) arguments.error("NDESC", "a power of two");
  if (interface.secret.size() > 23) arguments.error("SECRET", "of 23 bytes at most");
  interface.log2_size = std::bit_width(static_cast<unsigned>(descriptors)) - 1;
  const bool anything = config.memif.role != memif::Role::client || interface.id != 0 || interface.queues != 1 ||
                        descriptors != 1024 || config.buffer_bytes != 2048 || !interface.secret.empty();
  if (!config.memif.socket.empty())
    config_ = config;
  else if (anything)
    arguments.error("SOCKET is missing: where the port's other arguments are, it says where its peer is found");
}

void GPUPort::handlers(Handlers& list) {
  list.read("connected", [this] { return std::string(connected ? "true" : "false"); });
}

}  // namespace heddle
