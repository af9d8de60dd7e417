#include "elements/ethernet/vlan.h"

#include <arpa/inet.h>

#include <cstring>

#include "click/arguments.h"
#include "core/load.h"

namespace heddle {
namespace {
enum Reason : int { kShort, kNoHeadroom, kTooLong };
constexpr int kTagBytes = 4;
}  // namespace

void VLANEncap::configure(click::Arguments& arguments) {
  std::string tci = "0";
  uint32_t priority = 0, value = 0;
  int id = -1, native = -1;
  arguments.keyword("VLAN_ID", id, 0, 4095);
  const bool has_id = id >= 0;
  if (has_id)
    arguments.keyword("VLAN_TCI", tci);
  else
    arguments.required("VLAN_TCI", tci);
  arguments.optional("VLAN_PCP", priority, 0u, 7u).keyword("NATIVE_VLAN", native, -1, 4095);
  native_ = native;
  arguments.keyword("ETHERTYPE", ethertype_);
  from_annotation_ = tci == "ANNO";
  if (!from_annotation_ && !click::parse(tci, value, 0u, 65535u))
    arguments.error("VLAN_TCI", "an integer from 0 to 65535 or ANNO");
  tci_ = has_id ? static_cast<uint32_t>(id) : value;
  if (priority != 0) tci_ = (tci_ & 0x1fff) | priority << 13;
}

Access VLANEncap::access(Processor) const {
  return {.reads = {{Base::head, 0, 12}},
          .writes = {{Base::head, -4, 12}},
          .column_reads = from_annotation_ ? columns(Column::vlan) : 0};
}

std::span<const char* const> VLANEncap::drop_reasons() const {
  static constexpr const char* kReasons[] = {"short", "no_headroom", "too_long"};
  return kReasons;
}

void VLANEncap::run_cpu(Batch& batch) {
  const uint32_t* vlan = batch.column(Column::vlan);
  const uint32_t own = tci_.load(std::memory_order_relaxed);
  const int native = native_.load(std::memory_order_relaxed);
  for (int i = 0; i < batch.size(); ++i) {
    Packet* packet = batch.packet(i);
    const uint32_t tci = from_annotation_ ? vlan[i] : own;
    if (static_cast<int>(tci & 0xfff) == native) continue;
    if (length(packet) < 12) {
      batch.drop(i, kShort);
    } else if (packet->data_off < kTagBytes) {
      batch.drop(i, kNoHeadroom);
    } else if (length(packet) + kTagBytes > kMaxPacketBytes) {
      batch.drop(i, kTooLong);
    } else {
      move_head(packet, -kTagBytes);
      uint8_t* frame = data(packet);
      std::memmove(frame, frame + kTagBytes, 12);
      store_u16(frame + 12, htons(ethertype_));
      store_u16(frame + 14, htons(static_cast<uint16_t>(tci)));
    }
  }
}

void VLANEncap::handlers(Handlers& list) {
  const auto set = [this](uint32_t keep, uint32_t value) { tci_ = (tci_ & keep) | value; };
  list.read("vlan_tci", [this] { return std::to_string(tci_.load()); })
      .write("vlan_tci", [=](const std::string& text) { set(0, click::value_of<uint32_t>(text, 0u, 65535u)); })
      .read("vlan_id", [this] { return std::to_string(tci_.load() & 0xfff); })
      .write("vlan_id", [=](const std::string& text) { set(0xf000, click::value_of<uint32_t>(text, 0u, 4095u)); })
      .read("vlan_pcp", [this] { return std::to_string(tci_.load() >> 13); })
      .write("vlan_pcp", [=](const std::string& text) { set(0x1fff, click::value_of<uint32_t>(text, 0u, 7u) << 13); })
      .read("native_vlan", [this] { return std::to_string(native_.load()); })
      .write("native_vlan", [this](const std::string& text) { native_ = click::value_of<int>(text, -1, 4095); });
}

void VLANDecap::configure(click::Arguments& arguments) {
  arguments.optional("ANNO", annotate_).keyword("ETHERTYPE", ethertype_);
}

Access VLANDecap::access(Processor) const {
  return {.reads = {{Base::head, 0, 16}},
          .writes = {{Base::head, 0, 16}},
          .column_writes = annotate_ ? columns(Column::vlan) : 0};
}

void VLANDecap::run_cpu(Batch& batch) {
  uint32_t* vlan = batch.column(Column::vlan);
  for (int i = 0; i < batch.size(); ++i) {
    uint8_t* frame = batch.frame(i);
    const bool tagged = batch.length(i) >= 16 && load_u16(frame + 12) == htons(ethertype_);
    if (annotate_) vlan[i] = tagged ? ntohs(load_u16(frame + 14)) : 0;
    if (!tagged) continue;
    std::memmove(frame + kTagBytes, frame, 12);
    move_head(batch.packet(i), kTagBytes);
  }
}

HEDDLE_ELEMENT(VLANEncap);
HEDDLE_ELEMENT(VLANDecap);

}  // namespace heddle
