#include "elements/ethernet/ether_encap.h"

#include <arpa/inet.h>

#include <array>

#include "click/arguments.h"
#include "core/load.h"

namespace heddle {
namespace {

constexpr int kHeaderBytes = 14;
enum Reason : int { kNoHeadroom, kTooLong };
constexpr const char* kReasons[] = {"no_headroom", "too_long"};
using Header = std::array<uint8_t, kHeaderBytes>;

Header header_of(uint16_t ethertype, const click::EthernetAddress& src, const click::EthernetAddress& dst) {
  Header header;
  std::memcpy(header.data(), dst.bytes.data(), 6);
  std::memcpy(header.data() + 6, src.bytes.data(), 6);
  store_u16(header.data() + 12, htons(ethertype));
  return header;
}

/** Puts a header before packet `i`, or drops it. */
inline void encapsulate(Batch& batch, int i, Packet* packet, const Header& header) {
  if (packet->data_off < kHeaderBytes) {
    batch.drop(i, kNoHeadroom);
  } else if (length(packet) + kHeaderBytes > kMaxPacketBytes) {
    batch.drop(i, kTooLong);
  } else {
    move_head(packet, -kHeaderBytes);
    std::memcpy(data(packet), header.data(), kHeaderBytes);
  }
}

}  // namespace

void EtherEncap::configure(click::Arguments& arguments) {
  uint16_t ethertype = 0;
  click::EthernetAddress src, dst;
  arguments.required("ETHERTYPE", ethertype).required("SRC", src).required("DST", dst);
  ethertype_ = ethertype;
  src_.store(src), dst_.store(dst);
}

std::span<const char* const> EtherEncap::drop_reasons() const { return kReasons; }

void EtherEncap::run_cpu(Batch& batch) {
  const Header header = header_of(ethertype_.load(std::memory_order_relaxed), src_.load(), dst_.load());
  Packet* const* const packets = batch.packets();  // the compiler cannot know that frames leave the batch alone
  const int n = batch.size();
  for (int i = 0; i < n; ++i) encapsulate(batch, i, packets[i], header);
}

void EtherEncap::handlers(Handlers& list) {
  const auto read_type = [this] { return std::to_string(ethertype_.load()); };
  const auto write_type = [this](const std::string& value) { ethertype_ = click::value_of<uint16_t>(value); };
  list.read("src", [this] { return to_text(src_.load()); })
      .write("src", [this](const std::string& value) { src_.store(click::value_of<click::EthernetAddress>(value)); })
      .read("dst", [this] { return to_text(dst_.load()); })
      .write("dst", [this](const std::string& value) { dst_.store(click::value_of<click::EthernetAddress>(value)); })
      .read("ethertype", read_type)
      .write("ethertype", write_type)
      .read("etht", read_type)
      .write("etht", write_type);
}

void EnsureEther::configure(click::Arguments& arguments) {
  uint16_t ethertype = 0x0800;
  click::EthernetAddress src{{1, 1, 1, 1, 1, 1}}, dst{{2, 2, 2, 2, 2, 2}};
  arguments.optional("ETHERTYPE", ethertype).optional("SRC", src).optional("DST", dst);
  header_ = header_of(ethertype, src, dst);
}

Access EnsureEther::access(Processor) const {
  return {.reads = {{Base::head, -14, 14}}, .writes = {{Base::l3, -14, 0}}, .column_reads = columns(Column::l3)};
}

std::span<const char* const> EnsureEther::drop_reasons() const { return kReasons; }

void EnsureEther::run_cpu(Batch& batch) {
  const uint32_t* l3 = batch.column(Column::l3);
  const auto is_ip = [](const uint8_t* type) {
    return load_u16(type) == htons(0x0800) || load_u16(type) == htons(0x86dd);
  };
  for (int i = 0; i < batch.size(); ++i) {
    Packet* packet = batch.packet(i);
    const uint32_t before = l3[i] - packet->data_off;  // bytes before the header; huge if it is before the packet
    if (l3[i] == 0 || before >= length(packet)) continue;
    if (before == kHeaderBytes && is_ip(data(packet) + 12)) continue;
    if (before == 0 && packet->data_off >= kHeaderBytes && is_ip(data(packet) - 2)) {
      if (length(packet) + kHeaderBytes > kMaxPacketBytes)
        batch.drop(i, kTooLong);
      else
        move_head(packet, -kHeaderBytes);
      continue;
    }
    move_head(packet, static_cast<int>(before));
    encapsulate(batch, i, packet, header_);
  }
}

HEDDLE_ELEMENT(EnsureEther);
HEDDLE_ELEMENT(EtherEncap);

}  // namespace heddle
