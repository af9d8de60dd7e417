#pragma once

#include <initializer_list>

#include "core/handlers.h"
#include "io/dpdk/dpdk.h"

namespace heddle {

namespace click {
class Arguments;
}

/** The handlers that all elements of a port have, by FastClick's names: hw_count, hw_bytes, hw_dropped, hw_errors,
 *  nombufs, xstats, carrier, link_status, speed, duplex, mac, mtu, device, driver, nb_rx_queues, nb_tx_queues. */
void add_port_handlers(Handlers& list, dpdk::Port*& port, bool receives);

/** A keyword that Click or FastClick has and Heddle has not, and what to do instead. */
struct RefusedKeyword {
  const char *keyword, *why;
};
void refuse_keywords(click::Arguments& arguments, std::initializer_list<RefusedKeyword> list);
/** Those of FastClick's DPDK ports. */
void refuse_port_keywords(click::Arguments& arguments);

}  // namespace heddle
