#include "elements/ethernet/ether_encap.h"

#include <arpa/inet.h>

#include <array>

#include "click/arguments.h"
#include "core/load.h"

namespace heddle {
namespace {

constexpr int kHeaderBytes = 14;
enum Reason : int { kNoHeadroom, kTooLong };

}  // namespace

void EtherEncap::configure(click::Arguments& arguments) {
  uint16_t ethertype = 0;
  click::EthernetAddress src, dst;
  arguments.required("ETHERTYPE", ethertype).required("SRC", src).required("DST", dst);
  ethertype_ = ethertype;
  src_.store(src), dst_.store(dst);
}

std::span<const char* const> EtherEncap::drop_reasons() const {
  static constexpr const char* kReasons[] = {"no_headroom", "too_long"};
  return kReasons;
}

void EtherEncap::run_cpu(Batch& batch) {
  std::array<uint8_t, kHeaderBytes> header;
  const click::EthernetAddress src = src_.load(), dst = dst_.load();
  std::memcpy(header.data(), dst.bytes.data(), 6);
  std::memcpy(header.data() + 6, src.bytes.data(), 6);
  store_u16(header.data() + 12, htons(ethertype_.load(std::memory_order_relaxed)));
  Packet* const* const packets = batch.packets();  // the compiler cannot know that frames leave the batch alone
  const int n = batch.size();
  for (int i = 0; i < n; ++i) {
    Packet* packet = packets[i];
    if (packet->data_off < kHeaderBytes) {
      batch.drop(i, kNoHeadroom);
    } else if (length(packet) + kHeaderBytes > kMaxPacketBytes) {
      batch.drop(i, kTooLong);
    } else {
      move_head(packet, -kHeaderBytes);
      std::memcpy(data(packet), header.data(), kHeaderBytes);
    }
  }
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

HEDDLE_ELEMENT(EtherEncap);

}  // namespace heddle
