#include "functions/ip_lookup/direct_table.h"
#include "functions/ip_lookup/ip_lookup.h"
#include "functions/ip_lookup/linear_table.h"
#include "functions/ip_lookup/radix_table.h"

namespace heddle {

DirectIPLookup::DirectIPLookup() : IPRouteTable(std::make_unique<ip_lookup::DirectTable>()) {}
RadixIPLookup::RadixIPLookup() : IPRouteTable(std::make_unique<ip_lookup::RadixTable>()) {}
LinearIPLookup::LinearIPLookup() : IPRouteTable(std::make_unique<ip_lookup::LinearTable>()) {}

HEDDLE_ELEMENT(DirectIPLookup);
HEDDLE_ELEMENT(RadixIPLookup);
HEDDLE_ELEMENT(LinearIPLookup);

}  // namespace heddle
