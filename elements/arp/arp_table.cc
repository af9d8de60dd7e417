#include "elements/arp/arp_table.h"

#include "elements/arp/neighbour_querier_functions.h"

namespace heddle {

void ARPTable::configure(click::Arguments& arguments) {
  uint32_t packets = 0;
  known.configure(arguments);
  arguments.keyword("CAPACITY", packets);
}

void ARPTable::handlers(Handlers& list) {
  known.add_handlers(list);
  list.write("insert", [this](const std::string& text) {
    const auto [address, ethernet] = ARPQuerier::parse_entry(text);
    known.set(address, ethernet, ARPQuerier::clock_ms(), true);
  });
}

std::vector<std::pair<std::string, uint64_t>> ARPTable::statistics() const {
  return {{"entries", known.table ? known.table->size() : 0}, {"replaced", known.table ? known.table->replaced() : 0}};
}

HEDDLE_ELEMENT(ARPTable);

}  // namespace heddle
