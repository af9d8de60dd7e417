#pragma once

#include "core/handlers.h"
#include "io/dpdk/dpdk.h"

namespace heddle {

namespace click {
class Arguments;
}

/** The handlers that all elements of a port have, by FastClick's names: hw_count, hw_bytes, hw_dropped, hw_errors,
 *  nombufs, xstats, carrier, link_status, speed, duplex, mac, mtu, device, driver, nb_rx_queues, nb_tx_queues. */
void add_port_handlers(Handlers& list, dpdk::Port*& port, bool receives);

/** Reports FastClick's keywords of ports that Heddle does not have. */
void refuse_port_keywords(click::Arguments& arguments);

/** An Ethernet address as an argument, "" = none. */
struct MacAddress {
  std::string text;
};
bool parse(std::string_view text, MacAddress& address);
std::string expectation(const MacAddress&);

}  // namespace heddle
