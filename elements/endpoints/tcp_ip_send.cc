#include "elements/endpoints/tcp_ip_send.h"

#include <arpa/inet.h>

#include <algorithm>

#include "click/arguments.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/packet_pool.h"
#include "elements/endpoints/checksums.h"
#include "elements/ip/transport.h"

namespace heddle {

void TCPIPSend::send(const std::string& text) {
  const std::vector<std::string_view> words = click::split_words(text);
  if (words.size() != 7) throw Error("expected SADDR SPORT DADDR DPORT SEQ ACK BITS");
  Headers headers{};
  uint8_t *const ip = headers.data(), *const tcp = ip + 20;
  ip[0] = 0x45, ip[6] = 0x40, ip[8] = 255, ip[9] = kTcp;
  store_u16(ip + 2, htons(kBytes));
  store_u32(ip + 12, htonl(click::value_of<click::Ipv4Address>(words[0]).value));
  store_u32(ip + 16, htonl(click::value_of<click::Ipv4Address>(words[2]).value));
  set_ip4_checksum(ip, 20);
  store_u16(tcp, htons(click::value_of<uint16_t>(words[1])));
  store_u16(tcp + 2, htons(click::value_of<uint16_t>(words[3])));
  store_u32(tcp + 4, htonl(click::value_of<uint32_t>(words[4])));
  store_u32(tcp + 8, htonl(click::value_of<uint32_t>(words[5])));
  tcp[12] = 0x50, tcp[13] = click::value_of<uint8_t>(words[6]);
  store_u16(tcp + 14, htons(32120));
  store_u16(tcp + 16, htons(static_cast<uint16_t>(transport_checksum(ip, tcp, 20, 20))));
  const uint64_t number = asked_.load(std::memory_order_relaxed);
  if (number - sent_.load(std::memory_order_acquire) == kMaxWaiting)
    throw Error(format("%u packets wait to leave already", kMaxWaiting));
  waiting_[number % kMaxWaiting] = headers;
  asked_.store(number + 1, std::memory_order_release);
}

void TCPIPSend::receive(Batch& batch) {
  uint64_t number = sent_.load(std::memory_order_relaxed);
  const uint64_t asked = asked_.load(std::memory_order_acquire);
  if (number == asked) return;
  const uint64_t now_ns = RouterClock::wall_ns();
  for (; number != asked && batch.size() < batch.room(); ++number) {
    const int i = batch.size();
    if (!packets_->allocate(&batch.packets()[i], 1)) break;  // later
    batch.resize(i + 1);
    Packet* packet = batch.packet(i);
    packet->data_len = kBytes, packet->pkt_len = kBytes;
    set_capture_info(packet, {now_ns, 0});
    const Headers& headers = waiting_[number % kMaxWaiting];
    std::ranges::copy(headers, data(packet));
    batch.column(Column::dst)[i] = load_u32(headers.data() + 16);
    batch.column(Column::l3)[i] = packet->data_off;
    batch.column(Column::l4)[i] = packet->data_off + 20u;
  }
  sent_.store(number, std::memory_order_release);
}

void TCPIPSend::handlers(Handlers& list) {
  list.write("send", [this](const std::string& text) { send(text); }).read("count", [this] {
    return std::to_string(sent_.load());
  });
}

HEDDLE_ELEMENT(TCPIPSend);

}  // namespace heddle
