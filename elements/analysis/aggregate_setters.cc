#include "elements/analysis/aggregate_setters.h"

#include "click/arguments.h"
#include "elements/analysis/packet_size.h"

namespace heddle {

void AggregateLength::configure(click::Arguments& arguments) { arguments.keyword("IP", ip_); }

Access AggregateLength::access(Processor) const {
  return {.column_reads = ip_ ? columns(Column::l3) : 0, .column_writes = columns(Column::aggregate)};
}

std::span<const char* const> AggregateLength::drop_reasons() const {
  static constexpr const char* kReasons[] = {"no_header"};
  return kReasons;
}

void AggregateLength::run_cpu(Batch& batch) {
  const uint32_t* l3 = batch.column(Column::l3);
  uint32_t* aggregate = batch.column(Column::aggregate);
  for (int i = 0; i < batch.size(); ++i) {
    const Packet* packet = batch.packet(i);
    const uint32_t bytes = ip_ ? bytes_from(packet, l3[i]) : length(packet);
    aggregate[i] = bytes + missing_bytes(packet);
    if (!ip_ || bytes > 0) continue;
    if (outputs > 1)
      batch.next()[i] = 1;
    else
      batch.drop(i, 0);
  }
}

void AggregatePaint::configure(click::Arguments& arguments) {
  arguments.optional("BITS", bits_, 1u, 8u).keyword("INCREMENTAL", incremental_);
}

Access AggregatePaint::access(Processor) const {
  return {.column_reads = columns(Column::paint) | (incremental_ ? columns(Column::aggregate) : 0),
          .column_writes = columns(Column::aggregate)};
}

void AggregatePaint::run_cpu(Batch& batch) {
  const uint32_t* paint = batch.column(Column::paint);
  uint32_t* aggregate = batch.column(Column::aggregate);
  const uint32_t mask = (1u << bits_) - 1;
  for (int i = 0; i < batch.size(); ++i) aggregate[i] = (incremental_ ? aggregate[i] << bits_ : 0) + (paint[i] & mask);
}

HEDDLE_ELEMENT(AggregateLength);
HEDDLE_ELEMENT(AggregatePaint);

}  // namespace heddle
