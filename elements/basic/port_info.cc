#include "elements/basic/port_info.h"

#include "click/address_book.h"
#include "click/arguments.h"

namespace heddle {

// The names are in use before any element is configured: the address book takes them from the graph.
void PortInfo::configure(click::Arguments& arguments) {
  click::AddressBook scratch;
  for (const click::Argument& argument : arguments.rest_with_keywords())
    if (const std::string mistake = scratch.add_port(name, argument.text); !mistake.empty())
      arguments.error_at(argument, mistake);
}

HEDDLE_ELEMENT(PortInfo);

}  // namespace heddle
