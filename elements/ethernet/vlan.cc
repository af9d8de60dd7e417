#include "elements/ethernet/vlan.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "click/arguments.h"
#include "core/load.h"

namespace heddle {
namespace {
constexpr int kTagBytes = 4;

/** The arguments VLAN_TCI, VLAN_PCP and VLAN_ID; nullopt: VLAN_TCI is ANNO, as it is by default where it `may_be`. */
std::optional<uint32_t> read_tci(click::Arguments& arguments, bool may_be) {
  std::string text = may_be ? "ANNO" : "";
  uint32_t priority = 0, value = 0;
  int id = -1;
  arguments.keyword("VLAN_ID", id, 0, 4095);
  const bool has_id = id >= 0;
  if (has_id)
    arguments.keyword("VLAN_TCI", text);
  else if (may_be)
    arguments.optional("VLAN_TCI", text);
  else
    arguments.required("VLAN_TCI", text);
  arguments.optional("VLAN_PCP", priority, 0u, 7u);
  if (has_id) value = static_cast<uint32_t>(id);
  if (!has_id && may_be && text == "ANNO") return std::nullopt;
  if (!has_id && !text.empty() && !click::parse(text, value, 0u, 65535u))
    arguments.error("VLAN_TCI", may_be ? "an integer from 0 to 65535 or ANNO" : "an integer from 0 to 65535");
  return priority == 0 ? value : (value & 0x1fff) | priority << 13;
}

/** Handlers of a tag control information, by its parts. */
void add_tci(Handlers& list, std::atomic<uint32_t>& tci) {
  const auto set = [&tci](uint32_t keep, uint32_t value) { tci = (tci & keep) | value; };
  list.read("vlan_tci", [&tci] { return std::to_string(tci.load()); })
      .write("vlan_tci", [=](const std::string& text) { set(0, click::value_of<uint32_t>(text, 0u, 65535u)); })
      .read("vlan_id", [&tci] { return std::to_string(tci.load() & 0xfff); })
      .write("vlan_id", [=](const std::string& text) { set(0xf000, click::value_of<uint32_t>(text, 0u, 4095u)); })
      .read("vlan_pcp", [&tci] { return std::to_string(tci.load() >> 13); })
      .write("vlan_pcp", [=](const std::string& text) { set(0x1fff, click::value_of<uint32_t>(text, 0u, 7u) << 13); });
}

}  // namespace

void VLANEncap::configure(click::Arguments& arguments) {
  int native = -1;
  const std::optional<uint32_t> tci = read_tci(arguments, true);
  arguments.keyword("NATIVE_VLAN", native, -1, 4095).keyword("ETHERTYPE", ethertype_);
  from_annotation_ = !tci;
  tci_ = tci.value_or(0), native_ = native;
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
  add_tci(list, tci_);
  list.read("native_vlan", [this] { return std::to_string(native_.load()); })
      .write("native_vlan", [this](const std::string& text) { native_ = click::value_of<int>(text, -1, 4095); });
}

void SetVLANAnno::configure(click::Arguments& arguments) { tci_ = read_tci(arguments, false).value_or(0); }

void SetVLANAnno::run_cpu(Batch& batch) {
  std::fill_n(batch.column(Column::vlan), batch.size(), tci_.load(std::memory_order_relaxed));
}

void SetVLANAnno::handlers(Handlers& list) { add_tci(list, tci_); }

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

void StripEtherVLANHeader::configure(click::Arguments& arguments) {
  arguments.optional("NATIVE_VLAN", native_, -1, 4095);
}

Access StripEtherVLANHeader::access(Processor) const {
  return {.reads = {{Base::head, 12, 16}}, .column_writes = columns(Column::vlan)};
}

std::span<const char* const> StripEtherVLANHeader::drop_reasons() const {
  static constexpr const char* kReasons[] = {"short", "untagged"};
  return kReasons;
}

void StripEtherVLANHeader::run_cpu(Batch& batch) {
  constexpr int kHeaderBytes = 14;
  uint32_t* vlan = batch.column(Column::vlan);
  for (int i = 0; i < batch.size(); ++i) {
    const uint8_t* frame = batch.frame(i);
    vlan[i] = 0;
    const bool whole = batch.length(i) >= kHeaderBytes, tagged = whole && load_u16(frame + 12) == htons(0x8100);
    if (!whole || (tagged && batch.length(i) < kHeaderBytes + kTagBytes)) {
      batch.drop(i, kShort);
    } else if (tagged) {
      vlan[i] = ntohs(load_u16(frame + 14));
      move_head(batch.packet(i), kHeaderBytes + kTagBytes);
    } else if (native_ >= 0) {
      vlan[i] = static_cast<uint32_t>(native_);
      move_head(batch.packet(i), kHeaderBytes);
    } else if (outputs > 1) {
      batch.next()[i] = kUntagged;
    } else {
      batch.drop(i, kUntagged);
    }
  }
}

HEDDLE_ELEMENT(VLANEncap);
HEDDLE_ELEMENT(SetVLANAnno);
HEDDLE_ELEMENT_NAMED(SetVLANAnno, SetVlanAnno);
HEDDLE_ELEMENT(VLANDecap);
HEDDLE_ELEMENT(StripEtherVLANHeader);
HEDDLE_ELEMENT_NAMED(StripEtherVLANHeader, StripEtherVlanHeader);

}  // namespace heddle
