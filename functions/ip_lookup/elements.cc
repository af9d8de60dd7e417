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
  const auto& image = *reinterpret_cast<const ip_lookup::DirectImage*>(table->bytes().data());
  const uint32_t* dst = batch.column(Column::dst);
  for (int i = 0; i < batch.size(); ++i) __builtin_prefetch(&image.tbl24[ntohl(dst[i]) >> 8]);
}

HEDDLE_ELEMENT(DirectIPLookup);
HEDDLE_ELEMENT(RadixIPLookup);
HEDDLE_ELEMENT_NAMED(RadixIPLookup, RangeIPLookup);
HEDDLE_ELEMENT(LinearIPLookup);
HEDDLE_ELEMENT_NAMED(LinearIPLookup, StaticIPLookup);

}  // namespace heddle
