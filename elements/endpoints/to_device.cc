#include "elements/endpoints/to_device.h"

#include "click/arguments.h"
#include "elements/endpoints/from_device.h"

namespace heddle {

void ToDevice::configure(click::Arguments& arguments) {
  std::string interface;
  arguments.required("DEVNAME", interface);
  interface = interface_of(interface, arguments);
  const std::string method = device_method(arguments);
  if (!interface.empty()) configure_port(arguments, *dpdk::request_interface(interface, method));
}

HEDDLE_ELEMENT(ToDevice);

}  // namespace heddle
