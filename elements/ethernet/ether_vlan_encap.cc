#include "elements/ethernet/ether_vlan_encap.h"

#include <arpa/inet.h>

#include <array>

#include "click/arguments.h"
#include "core/error.h"
#include "core/load.h"

namespace heddle {
namespace {

constexpr int kPlainBytes = 14, kTaggedBytes = 18;
constexpr uint16_t kMaxVlan = 4094, kTagType = 0x8100;

}  // namespace

void EtherVLANEncap::configure(click::Arguments& arguments) {
  uint16_t ethertype = 0, vlan = 0, priority = 0;
  click::EthernetAddress src, dst;
  std::string vlan_text;
  arguments.required("ETHERTYPE", ethertype).required("SRC", src).required("DST", dst).required("VLAN", vlan_text);
  arguments.optional("VLAN_PCP", priority, 0, 7).keyword("NATIVE_VLAN", native_, -1, 4095);
  from_annotation_ = vlan_text == "ANNO";
  if (!from_annotation_ && !vlan_text.empty() && !click::parse(vlan_text, vlan, 0, kMaxVlan))
    arguments.error("VLAN", "an integer from 0 to 4094 or ANNO");
  if (!from_annotation_) native_ = -1;
  ethertype_ = ethertype, vlan_ = vlan, priority_ = priority;
  src_.store(src), dst_.store(dst);
}

Access EtherVLANEncap::access(Processor) const {
  return {.writes = {{Base::head, -kTaggedBytes, 0}}, .column_reads = from_annotation_ ? columns(Column::vlan) : 0};
}

std::span<const char* const> EtherVLANEncap::drop_reasons() const {
  static constexpr const char* kReasons[] = {"no_headroom", "too_long"};
  return kReasons;
}

void EtherVLANEncap::run_cpu(Batch& batch) {
  const uint32_t* annotation = batch.column(Column::vlan);
  const click::EthernetAddress src = src_.load(), dst = dst_.load();
  const uint16_t ethertype = htons(ethertype_.load(std::memory_order_relaxed));
  const auto own =
      static_cast<uint16_t>(priority_.load(std::memory_order_relaxed) << 13 | vlan_.load(std::memory_order_relaxed));
  std::array<uint8_t, kTaggedBytes> header;
  std::memcpy(header.data(), dst.bytes.data(), 6);
  std::memcpy(header.data() + 6, src.bytes.data(), 6);
  for (int i = 0; i < batch.size(); ++i) {
    Packet* packet = batch.packet(i);
    const auto tag = from_annotation_ ? static_cast<uint16_t>(annotation[i]) : own;
    const bool tagged = (tag & 0xfff) != native_;
    const int bytes = tagged ? kTaggedBytes : kPlainBytes;
    if (packet->data_off < bytes) {
      batch.drop(i, kNoHeadroom);
    } else if (length(packet) + static_cast<uint32_t>(bytes) > kMaxPacketBytes) {
      batch.drop(i, kTooLong);
    } else {
      store_u16(header.data() + 12, htons(kTagType));
      store_u16(header.data() + 14, htons(tag));
      store_u16(header.data() + bytes - 2, ethertype);
      move_head(packet, -bytes);
      std::memcpy(data(packet), header.data(), static_cast<size_t>(bytes));
    }
  }
}

void EtherVLANEncap::handlers(Handlers& list) {
  const auto address = [&](const char* name, AtomicEthernetAddress& value) {
    list.read(name, [&value] { return to_text(value.load()); }).write(name, [&value](const std::string& text) {
      value.store(click::value_of<click::EthernetAddress>(text));
    });
  };
  const auto of_tag = [&](const char* name, std::atomic<uint16_t>& value, uint16_t most) {
    list.read(name, [this, &value] { return from_annotation_ ? "ANNO" : std::to_string(value.load()); })
        .write(name, [this, &value, most](const std::string& text) {
          if (from_annotation_) throw Error("VLAN is ANNO: the annotation says it");
          value = click::value_of<uint16_t>(text, 0, most);
        });
  };
  address("src", src_), address("dst", dst_);
  list.read("ethertype", [this] { return std::to_string(ethertype_.load()); })
      .write("ethertype", [this](const std::string& text) { ethertype_ = click::value_of<uint16_t>(text); });
  of_tag("vlan", vlan_, kMaxVlan), of_tag("vlan_pcp", priority_, 7);
}

HEDDLE_ELEMENT(EtherVLANEncap);
HEDDLE_ELEMENT_NAMED(EtherVLANEncap, EtherVlanEncap);

}  // namespace heddle
