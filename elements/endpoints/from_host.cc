#include "elements/endpoints/from_host.h"

#include "click/arguments.h"
#include "core/error.h"
#include "elements/endpoints/from_device.h"

namespace heddle {
void FromHost::configure(click::Arguments& arguments) {
  uint32_t headroom = 0;
  click::EthernetAddress ether;
  std::string address;
  arguments.required("DEVNAME", interface_).optional("ADDRESS", address).optional("GATEWAY", gateway_);
  arguments.keyword("ETHER", ether).keyword("HEADROOM", headroom, 0u, uint32_t{RTE_PKTMBUF_HEADROOM});
  if (!address.empty() && !read_address(arguments, address, address_))
    arguments.error("ADDRESS", expectation(address_));
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
  interface = interface_of(interface, arguments);
  if (!interface.empty()) configure_port(arguments, *dpdk::request_interface(interface, "net_tap"));
}

void ToHostSniffers::configure(click::Arguments& arguments) {
  std::string interface = "heddle0";
  arguments.optional("DEVNAME", interface);
  interface = interface_of(interface, arguments);
  if (interface.empty()) return;
  device_ = dpdk::request_interface(interface, dpdk::kAnyMethod);
  configure_port(arguments, *device_);
}

void ToHostSniffers::link(const Directory&) {
  if (device_ == nullptr) return;
  if (device_->device.starts_with("net_af_xdp"))
    throw Error(
        "nobody at the interface sees what METHOD af_xdp receives; join it with METHOD af_packet, or name another");
  are_seen_ = device_->device.starts_with("net_af_packet");
}

void ToHostSniffers::run_cpu(Batch& batch) {
  if (are_seen_)
    batch.free_packets();
  else
    ToHost::run_cpu(batch);
}

HEDDLE_ELEMENT(FromHost);
HEDDLE_ELEMENT(ToHost);
HEDDLE_ELEMENT(ToHostSniffers);
HEDDLE_ELEMENT_NAMED(FromHost, FromLinux);
HEDDLE_ELEMENT_NAMED(ToHost, ToLinux);
HEDDLE_ELEMENT_NAMED(ToHostSniffers, ToLinuxSniffers);

}  // namespace heddle
