#include "elements/endpoints/port_handlers.h"

#include <rte_ethdev.h>

#include <string>
#include <vector>

#include "click/arguments.h"
#include "core/error.h"

namespace heddle {
namespace {

/** The port, if it can be asked. */
uint16_t id_of(dpdk::Port* port) {
  if (port == nullptr || port->queues == 0 || !rte_eth_dev_is_valid_port(port->id))
    throw Error("the port has not been started");
  return port->id;
}

rte_eth_stats stats_of(dpdk::Port* port) {
  rte_eth_stats stats{};
  if (rte_eth_stats_get(id_of(port), &stats) != 0) throw Error("the driver gives no statistics");
  return stats;
}

rte_eth_link link_of(dpdk::Port* port) {
  rte_eth_link link{};
  if (rte_eth_link_get_nowait(id_of(port), &link) != 0) throw Error("the driver does not tell of its link");
  return link;
}

rte_eth_dev_info info_of(dpdk::Port* port) {
  rte_eth_dev_info info{};
  if (rte_eth_dev_info_get(id_of(port), &info) != 0) throw Error("the driver does not tell");
  return info;
}

/** "name value" lines, or the value of one. */
std::string xstats(dpdk::Port* port, const std::string& wanted) {
  const uint16_t id = id_of(port);
  const int number = rte_eth_xstats_get_names(id, nullptr, 0);
  if (number <= 0) return "";
  std::vector<rte_eth_xstat_name> names(static_cast<size_t>(number));
  std::vector<rte_eth_xstat> values(static_cast<size_t>(number));
  if (rte_eth_xstats_get_names(id, names.data(), static_cast<unsigned>(number)) != number ||
      rte_eth_xstats_get(id, values.data(), static_cast<unsigned>(number)) != number)
    throw Error("the driver gives no extended statistics");
  std::string text;
  for (const rte_eth_xstat& value : values) {
    const char* const name = names[value.id].name;
    if (wanted.empty())
      text += format("%s %ju\n", name, uintmax_t{value.value});
    else if (wanted == name)
      return std::to_string(value.value);
  }
  if (!wanted.empty()) throw Error("'" + wanted + "' is no extended statistic of this port");
  return text;
}

}  // namespace

void add_port_handlers(Handlers& list, dpdk::Port*& port, bool receives) {
  const auto number = [&](const char* name, auto give) {
    list.read(name, [&port, give] { return std::to_string(give(stats_of(port))); });
  };
  if (receives) {
    number("hw_count", [](const rte_eth_stats& s) { return s.ipackets; });
    number("hw_bytes", [](const rte_eth_stats& s) { return s.ibytes; });
    number("hw_dropped", [](const rte_eth_stats& s) { return s.imissed; });
    number("hw_errors", [](const rte_eth_stats& s) { return s.ierrors; });
    number("nombufs", [](const rte_eth_stats& s) { return s.rx_nombuf; });
  } else {
    number("hw_count", [](const rte_eth_stats& s) { return s.opackets; });
    number("hw_bytes", [](const rte_eth_stats& s) { return s.obytes; });
    number("hw_errors", [](const rte_eth_stats& s) { return s.oerrors; });
  }
  list.read_with_argument("xstats", [&port](const std::string& name) { return xstats(port, name); });
  list.read("carrier", [&port] { return std::string(port != nullptr && port->link_up ? "1" : "0"); })
      .read("link_status",
            [&port] {
              if (port != nullptr && port->removed) return std::string("removed");
              return std::string(port != nullptr && port->link_up ? "up" : "down");
            })
      .read("speed", [&port] { return std::to_string(link_of(port).link_speed); })
      .read("duplex", [&port] { return std::to_string(link_of(port).link_duplex); })
      .read("mac",
            [&port] {
              rte_ether_addr address{};
              if (rte_eth_macaddr_get(id_of(port), &address) != 0) throw Error("the port has no address");
              char text[RTE_ETHER_ADDR_FMT_SIZE];
              rte_ether_format_addr(text, sizeof text, &address);
              return std::string(text);
            })
      .read("mtu",
            [&port] {
              uint16_t mtu = 0;
              if (port != nullptr && port->mtu != 0) return std::to_string(port->mtu);
              if (rte_eth_dev_get_mtu(id_of(port), &mtu) != 0) throw Error("the driver does not tell");
              return std::to_string(mtu);
            })
      .read("device", [&port] { return port == nullptr ? std::string() : port->device; })
      .read("driver", [&port] { return std::string(info_of(port).driver_name); })
      .read("nb_rx_queues", [&port] { return std::to_string(info_of(port).nb_rx_queues); })
      .read("nb_tx_queues", [&port] { return std::to_string(info_of(port).nb_tx_queues); });
}

void refuse_keywords(click::Arguments& arguments, std::initializer_list<RefusedKeyword> list) {
  for (const RefusedKeyword& refused : list) {
    std::string given(1, '\0');
    arguments.keyword(refused.keyword, given);
    if (given != std::string(1, '\0'))
      arguments.error(refused.keyword, std::string("supported; leave it out: ") + refused.why);
  }
}

void refuse_port_keywords(click::Arguments& arguments) {
  refuse_keywords(arguments, {{"NUMA", "queues lie where their port is"},
                              {"MAXQUEUES", "N_QUEUES sets their number"},
                              {"MINQUEUES", "N_QUEUES sets their number"},
                              {"SCALE", "-j sets the number of threads"},
                              {"RSS_AGGREGATE", "AggregateIPFlows sets the aggregate annotation"},
                              {"PAINT_QUEUE", "CPUPaint paints by thread"},
                              {"MODE", "queues are chosen by receive-side scaling"},
                              {"VF_POOLS", "queues are chosen by receive-side scaling"},
                              {"TSO", "packets are sent as they are"},
                              {"TCO", "packets are sent as they are"},
                              {"IPCO", "packets are sent as they are"},
                              {"LRO", "packets are received as they are"},
                              {"JUMBO", "MTU says how long frames may be"},
                              {"ALLOC", "buffers are always the port's own"},
                              {"CLEAR", "annotations begin unset"}});
}

}  // namespace heddle
