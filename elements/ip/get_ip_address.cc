#include "elements/ip/get_ip_address.h"

#include <string>

#include "click/arguments.h"
#include "core/load.h"
#include "elements/ip/address_annotation.h"
#include "elements/ip/marked_header.h"

namespace heddle {

void GetIPAddress::configure(click::Arguments& arguments) {
  AddressAnnotation anno;
  std::string which;
  arguments.keyword("IP", which);
  if (which.empty())
    arguments.required("OFFSET", place_.offset, 0, 16384);
  else if (!parse(which, place_) || !place_.in_header)
    arguments.error("IP", "src or dst");
  arguments.optional("ANNO", anno);
}

std::optional<NeutralOp> GetIPAddress::neutral() const {
  if (place_.in_header) return std::nullopt;
  return NeutralOp{NeutralOp::kLoadDst, place_.offset};
}

Access GetIPAddress::access(Processor processor) const {
  if (!place_.in_header) return NeutralElement::access(processor);
  return {.reads = {{Base::l3, place_.offset, place_.offset + 4}},
          .column_reads = columns(Column::l3),
          .column_writes = columns(Column::dst)};
}

std::span<const char* const> GetIPAddress::drop_reasons() const {
  static constexpr const char* kReasons[] = {"short"};
  return kReasons;
}

void GetIPAddress::run_cpu(Batch& batch) {
  if (!place_.in_header) return NeutralElement::run_cpu(batch);
  const uint32_t* l3 = batch.column(Column::l3);
  for (int i = 0; i < batch.size(); ++i) {
    Packet* packet = batch.packet(i);
    if (has_bytes_from(packet, l3[i], static_cast<uint32_t>(place_.offset) + 4))
      batch.column(Column::dst)[i] = load_u32(marked_header(packet, l3[i]) + place_.offset);
    else
      batch.drop(i, 0);
  }
}

HEDDLE_ELEMENT(GetIPAddress);

}  // namespace heddle
