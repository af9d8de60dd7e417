#include "elements/endpoints/from_host.h"

#include "click/arguments.h"

namespace heddle {
void FromHost::configure(click::Arguments& arguments) {
  uint32_t headroom = 0;
  click::EthernetAddress ether;
  arguments.required("DEVNAME", interface_).optional("ADDRESS", address_).optional("GATEWAY", gateway_);
  arguments.keyword("ETHER", ether).keyword("HEADROOM", headroom, 0u, uint32_t{RTE_PKTMBUF_HEADROOM});
  if (interface_.empty()) return;
  dpdk::Port& port = *dpdk::request_interface(interface_, "net_tap");
  if (ether != click::EthernetAddress{}) port.mac = ether;
  configure_port(arguments, port);
  if (gateway_ != click::Ipv4Address{} && !address_.contains(gateway_))
    arguments.error("GATEWAY is not in the network of ADDRESS");
}

void FromHost::start(const Environment& environment) {
  FromDPDKDevice::start(environment);
  InterfaceRequests requests(interface_);
  if (address_.length >= 0) requests.set_address(address_);
  requests.bring_up();
  if (gateway_ != click::Ipv4Address{}) requests.add_default_route(gateway_);
}

void FromHost::handlers(Handlers& list) {
  FromDPDKDevice::handlers(list);
  list.read("dev_name", [this] { return interface_; });
}

void ToHost::configure(click::Arguments& arguments) {
  std::string interface = "heddle0";
  arguments.optional("DEVNAME", interface);
  if (!interface.empty()) configure_port(arguments, *dpdk::request_interface(interface, "net_tap"));
}

HEDDLE_ELEMENT(FromHost);
HEDDLE_ELEMENT(ToHost);
HEDDLE_ELEMENT_NAMED(ToHost, ToHostSniffers);

}  // namespace heddle
