#include "elements/ip/strip_ip_header.h"

#include "elements/ip/transport.h"

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

/** Bytes of the TCP header at `l4`, or 0: there is none. */
uint32_t tcp_header_bytes(Packet* packet, uint32_t l4) {
  const uint32_t room = bytes_from(packet, l4);
  if (room < 20) return 0;
  const uint32_t bytes = (marked_header(packet, l4)[12] >> 4) * 4u;
  return bytes >= 20 && bytes <= room ? bytes : 0;
}

/** Removes what is before a header and its `bytes`; drops the packet if these are 0. */
void strip(Batch& batch, int i, uint32_t header, uint32_t bytes) {
  Packet* packet = batch.packet(i);
  if (bytes == 0)
    batch.drop(i, 0);
  else
    move_head(packet, static_cast<int>(header + bytes) - packet->data_off);
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
  for (int i = 0; i < batch.size(); ++i) strip(batch, i, l4[i], tcp_header_bytes(batch.packet(i), l4[i]));
}

Access StripTransportHeader::access(Processor) const {
  return {.reads = {{Base::l3, 0, 20}, {Base::l4, 12, 13}}, .column_reads = columns(Column::l3, Column::l4)};
}

std::span<const char* const> StripTransportHeader::drop_reasons() const { return kReasons; }

void StripTransportHeader::run_cpu(Batch& batch) {
  const uint32_t *l3 = batch.column(Column::l3), *l4 = batch.column(Column::l4);
  for (int i = 0; i < batch.size(); ++i) {
    const Ip4Header ip = ip4_header(batch.packet(i), l3[i]);
    uint32_t bytes = 0;
    if (ip && ip.first_fragment()) {
      if (ip.at[9] == kTcp)
        bytes = tcp_header_bytes(batch.packet(i), l4[i]);
      else if ((ip.at[9] == kUdp || ip.at[9] == kIcmp) && bytes_from(batch.packet(i), l4[i]) >= 8)
        bytes = 8;
    }
    strip(batch, i, l4[i], bytes);
  }
}

HEDDLE_ELEMENT(StripIPHeader);
HEDDLE_ELEMENT(StripTCPHeader);
HEDDLE_ELEMENT(StripToNetworkHeader);
HEDDLE_ELEMENT(StripTransportHeader);
HEDDLE_ELEMENT(UnstripIPHeader);
HEDDLE_ELEMENT(UnstripTCPHeader);

}  // namespace heddle
