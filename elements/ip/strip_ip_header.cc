#include "elements/ip/strip_ip_header.h"

#include "elements/ip/header.h"

namespace heddle {
namespace {

constexpr const char* kReasons[] = {"no_header"};

/** Moves the start of packets back to a header. */
void unstrip(Batch& batch, Column header) {
  const uint32_t* at = batch.column(header);
  for (int i = 0; i < batch.size(); ++i) {
    Packet* packet = batch.packet(i);
    if (at[i] == 0)
      batch.drop(i, 0);
    else if (at[i] < packet->data_off)
      move_head(packet, static_cast<int>(at[i]) - packet->data_off);
  }
}

}  // namespace

Access StripIPHeader::access(Processor) const {
  return {.reads = {{Base::l3, 0, 1}}, .column_reads = columns(Column::l3)};
}

std::span<const char* const> StripIPHeader::drop_reasons() const { return kReasons; }

void StripIPHeader::run_cpu(Batch& batch) {
  const uint32_t* l3 = batch.column(Column::l3);
  for (int i = 0; i < batch.size(); ++i) {
    Packet* packet = batch.packet(i);
    if (const Ip4Header header = ip4_header(packet, l3[i])) {
      move_head(packet, static_cast<int>(header.behind() - data(packet)));
    } else {
      batch.drop(i, 0);
    }
  }
}

std::span<const char* const> UnstripIPHeader::drop_reasons() const { return kReasons; }

void UnstripIPHeader::run_cpu(Batch& batch) { unstrip(batch, Column::l3); }

std::span<const char* const> UnstripTCPHeader::drop_reasons() const { return kReasons; }

void UnstripTCPHeader::run_cpu(Batch& batch) { unstrip(batch, Column::l4); }

std::span<const char* const> StripToNetworkHeader::drop_reasons() const { return kReasons; }

void StripToNetworkHeader::run_cpu(Batch& batch) {
  const uint32_t* l3 = batch.column(Column::l3);
  for (int i = 0; i < batch.size(); ++i) {
    Packet* packet = batch.packet(i);
    const uint32_t end = packet->data_off + length(packet);
    if (l3[i] == 0 || l3[i] > end)
      batch.drop(i, 0);
    else if (l3[i] > packet->data_off)
      move_head(packet, static_cast<int>(l3[i]) - packet->data_off);
  }
}

Access StripTCPHeader::access(Processor) const {
  return {.reads = {{Base::l4, 12, 13}}, .column_reads = columns(Column::l4)};
}

std::span<const char* const> StripTCPHeader::drop_reasons() const { return kReasons; }

void StripTCPHeader::run_cpu(Batch& batch) {
  const uint32_t* l4 = batch.column(Column::l4);
  for (int i = 0; i < batch.size(); ++i) {
    Packet* packet = batch.packet(i);
    const uint32_t room = bytes_from(packet, l4[i]);
    const uint8_t* tcp = marked_header(packet, l4[i]);
    const uint32_t bytes = room < 20 ? 0 : (tcp[12] >> 4) * 4u;
    if (bytes >= 20 && bytes <= room) {
      move_head(packet, static_cast<int>(tcp + bytes - data(packet)));
    } else {
      batch.drop(i, 0);
    }
  }
}

HEDDLE_ELEMENT(StripIPHeader);
HEDDLE_ELEMENT(StripTCPHeader);
HEDDLE_ELEMENT(StripToNetworkHeader);
HEDDLE_ELEMENT(UnstripIPHeader);
HEDDLE_ELEMENT(UnstripTCPHeader);

}  // namespace heddle
