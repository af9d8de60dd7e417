#include "elements/endpoints/dpdk_info.h"

#include "click/arguments.h"
#include "io/dpdk/dpdk.h"

namespace heddle {

void DPDKInfo::configure(click::Arguments& arguments) {
  dpdk::Settings settings;
  arguments.optional("NB_MBUF", settings.packets, 256u, 1u << 26);
  arguments.keyword("NB_SOCKET_MBUF", settings.packets, 256u, 1u << 26);
  arguments.keyword("NB_SOCKET_MBUF_0", settings.packets, 256u, 1u << 26);
  arguments.keyword("MBUF_SIZE", settings.data_room, 640u, 65535u);
  arguments.keyword("MBUF_CACHE_SIZE", settings.cached, 0u, 512u);
  arguments.keyword("DEF_RING_NDESC", settings.descriptors, 32, 32768);
  arguments.keyword("DEF_BURST_SIZE", settings.burst, 1, 1024);
  std::string pool;
  arguments.keyword("POOL", pool);
  if (pool == "cpu" || pool == "gpu")
    settings.lists_on_gpu = pool == "gpu";
  else if (!pool.empty())
    arguments.error("POOL", "cpu or gpu");
  if (settings.packets != 0 && settings.cached * 3 / 2 > settings.packets)
    arguments.error("MBUF_CACHE_SIZE may be two thirds of NB_MBUF at most");
  dpdk::settings() = settings;
}

HEDDLE_ELEMENT(DPDKInfo);

}  // namespace heddle
