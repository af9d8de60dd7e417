#include "elements/analysis/aggregate_ip.h"

#include "click/arguments.h"

namespace heddle {

void AggregateIP::configure(click::Arguments& arguments) {
  bool unshift = false;
  arguments.required("FIELD", field_).keyword("INCREMENTAL", incremental_).keyword("UNSHIFT_IP_ADDR", unshift);
  constexpr uint32_t kSource = 96, kBehindDestination = 160;
  const uint32_t end = field_.offset + field_.length;
  if (incremental_ && field_.length == 32)
    arguments.error("INCREMENTAL: FIELD has 32 bits, which leave no room for others; take fewer, such as " +
                    click::in_quotes(field_.text() + "/16"));
  if (unshift && field_.header == IPField::Header::ip && field_.offset >= kSource && end <= kBehindDestination &&
      field_.offset / 32 == (end - 1) / 32)
    unshift_ = (32 - end % 32) % 32;
}

Access AggregateIP::access(Processor) const {
  return {.reads = {{Base::l3, 0, kToEnd}},
          .column_reads = columns(Column::l3) | (incremental_ ? columns(Column::aggregate) : 0),
          .column_writes = columns(Column::aggregate)};
}

std::span<const char* const> AggregateIP::drop_reasons() const {
  static constexpr const char* kReasons[] = {"no_field"};
  return kReasons;
}

void AggregateIP::run_cpu(Batch& batch) {
  const uint32_t* l3 = batch.column(Column::l3);
  uint32_t* aggregate = batch.column(Column::aggregate);
  for (int i = 0; i < batch.size(); ++i) {
    const Ip4Header ip = ip4_header(batch.packet(i), l3[i]);
    uint32_t value = 0;
    if (ip && field_.read(ip, value)) {
      aggregate[i] = (incremental_ ? aggregate[i] << field_.length : 0) + (value << unshift_);
      continue;
    }
    if (!incremental_) aggregate[i] = 0;
    if (outputs > 1)
      batch.next()[i] = 1;
    else
      batch.drop(i, 0);
  }
}

void AggregateIP::handlers(Handlers& list) {
  list.read("field", [this] { return field_.text(); })
      .read("header", [this] { return field_.header_name(); })
      .read("bit_offset", [this] { return std::to_string(field_.offset); })
      .read("bit_length", [this] { return std::to_string(field_.length); });
}

HEDDLE_ELEMENT(AggregateIP);

}  // namespace heddle
