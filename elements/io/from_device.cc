#include "elements/io/from_device.h"

#include "click/arguments.h"
#include "core/error.h"

namespace heddle {

std::string device_method(click::Arguments& arguments) {
  std::string method;
  arguments.choice(
      "METHOD", method,
      {{"af_packet", "net_af_packet"}, {"LINUX", "net_af_packet"}, {"af_xdp", "net_af_xdp"}, {"tap", "net_tap"}});
  return method;
}

void FromDevice::configure(click::Arguments& arguments) {
  std::string interface;
  arguments.required("DEVNAME", interface);
  const std::string method = device_method(arguments);
  if (interface.empty()) return;
  dpdk::Port& port = *dpdk::request_interface(interface, method);
  const bool kernel_sees = port.device.starts_with("net_af_packet");
  bool sniffer = kernel_sees;
  arguments.keyword("SNIFFER", sniffer).keyword("SNAPLEN", snap_length_, 14u, 65535u);
  if (sniffer != kernel_sees)
    arguments.error(sniffer
                        ? "SNIFFER true needs METHOD af_packet: with af_xdp and tap the kernel does not receive the "
                          "packets"
                        : "SNIFFER false needs METHOD af_xdp or tap: with af_packet the kernel receives the packets, "
                          "too");
  configure_port(arguments, port);
}

HEDDLE_ELEMENT(FromDevice);

}  // namespace heddle
