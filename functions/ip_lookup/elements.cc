#include <arpa/inet.h>

#include "functions/ip_lookup/direct_table.h"
#include "functions/ip_lookup/ip_lookup.h"
#include "functions/ip_lookup/linear_table.h"
#include "functions/ip_lookup/radix_table.h"

namespace heddle {

DirectIPLookup::DirectIPLookup() : IPRouteTable(std::make_unique<ip_lookup::DirectTable>()) {}
RadixIPLookup::RadixIPLookup() : IPRouteTable(std::make_unique<ip_lookup::RadixTable>()) {}
LinearIPLookup::LinearIPLookup() : IPRouteTable(std::make_unique<ip_lookup::LinearTable>()) {}

void DirectIPLookup::prefetch(Batch& batch) const {
  const auto& direct = static_cast<const ip_lookup::DirectTable&>(*table);
  if (!direct.looks_up_early()) return;
  const uint32_t* dst = batch.column(Column::dst);
  for (int i = 0; i < batch.size(); ++i) direct_prefetch(direct.image(), ntohl(dst[i]));
}

HEDDLE_ELEMENT(DirectIPLookup);
HEDDLE_ELEMENT(RadixIPLookup);
HEDDLE_ELEMENT_NAMED(RadixIPLookup, RangeIPLookup);
HEDDLE_ELEMENT(LinearIPLookup);
HEDDLE_ELEMENT_NAMED(LinearIPLookup, StaticIPLookup);
HEDDLE_ELEMENT_NAMED(LinearIPLookup, SortedIPLookup);
HEDDLE_ELEMENT_NAMED(LinearIPLookup, LookupIPRoute);
HEDDLE_ELEMENT_NAMED(LinearIPLookup, LookupIPRouteMP);

}  // namespace heddle
