#pragma once

// Frames from a fuzzer's bytes.

#include <algorithm>
#include <cstdint>
#include <string>

#include "tests/support/harness.h"

namespace heddle::test {

// Far below the longest packet, where a segment on a GPU wants room for all that it may append, and the CPU for one
// element.
constexpr size_t kMaxBytes = 4096;
constexpr unsigned kMaxHeadroom = 128;

/** The input, read from its beginning; zeros behind its end. */
class Input {
 public:
  Input(const uint8_t* bytes, size_t size) : at_(bytes), end_(bytes + size) {}
  bool empty() const { return at_ == end_; }
  unsigned byte() { return at_ == end_ ? 0 : *at_++; }
  unsigned below(unsigned limit) { return byte() % limit; }
  uint32_t word() {
    uint32_t value = 0;
    for (int i = 0; i < 4; ++i) value = value << 8 | byte();
    return value;
  }

 private:
  const uint8_t *at_, *end_;
};

/** An IPv4 packet of TCP, UDP or ICMP, or one of IPv6 or NDN, with something to find in it. */
inline Frame telling_frame(Input& input, size_t length) {
  constexpr const char* kTexts[] = {"GET / HTTP/1.1\r\n",  "PORT 10", "port 7", "abc", "ping", "ZZZZ",
                                    "\5\6\7\4\10\1a\10\1b"};
  const std::string text = kTexts[input.below(std::size(kTexts))];
  const unsigned kind = input.below(5);
  const auto address = [&] {
    const unsigned which = input.below(4);
    return which == 0 ? input.word() : which == 1 ? 0xc0000201 : 0x0a000001;  // those of associations
  };
  const uint32_t from = address(), to = address();
  Frame frame = ip_frame(from, to, std::min<size_t>(length, 1400));
  Bytes& bytes = frame.bytes;
  bytes.resize(std::max<size_t>(bytes.size(), kind >= 3 ? 60 : 34 + 20));
  if (kind == 3) {  // IPv6
    const Bytes header = {0x86, 0xdd, 0x60, 0, 0, 0, 0, 0, 17, 64, 0x20, 1, 0x0d, 0xb8};
    std::copy(header.begin(), header.end(), bytes.begin() + 12);
    const Bytes towards = {0x20, 1, 0x0d, 0xb8, 0, 0, 0, static_cast<uint8_t>(input.below(3)), 0, 0, 0, 0, 0, 0, 0, 2};
    std::copy(towards.begin(), towards.end(), bytes.begin() + 38);
    put_u16(bytes, 54, 1000 + input.byte()), put_u16(bytes, 56, input.below(2) == 0 ? 80 : 53);
  } else if (kind == 4) {  // NDN
    const Bytes interest = {0x86, 0x24, 5, 10, 7, 6, 8, 1, 'a', 8, 1, 'b', 10, 0};
    std::copy(interest.begin(), interest.end(), bytes.begin() + 12);
  } else {
    constexpr uint8_t kProtocols[] = {6, 17, 1};
    bytes[23] = kProtocols[kind];
    put_u16(bytes, 16, static_cast<unsigned>(bytes.size() - 14));
    put_u16(bytes, 34, 1000 + input.byte()), put_u16(bytes, 36, input.below(2) == 0 ? 80 : 53);
    if (kind == 0) bytes[46] = 0x50, bytes[47] = static_cast<uint8_t>(input.byte());
    set_ip_checksum(bytes, 14);
  }
  if (input.below(8) == 0) bytes[0] = 1, bytes[1] = 0x80, bytes[2] = 0xc2;  // a bridge's own protocol
  frame.bytes.insert(frame.bytes.end(), text.begin(), text.end());
  frame.column[static_cast<int>(Column::l3)] = 14;
  frame.column[static_cast<int>(Column::l4)] = kind == 3 ? 54 : 34;
  return frame;
}

inline Frame frame_of(Input& input) {
  Frame frame;
  const unsigned kind = input.byte();
  size_t length = kind % 4 == 0 ? input.byte() << 3 : input.below(130);
  length = std::min(length, kMaxBytes);
  if (kind % 8 == 1) {
    frame = ip_frame(input.word(), input.word(), std::min<size_t>(length, 1500));
  } else if (kind % 8 >= 5) {
    frame = telling_frame(input, length);
  } else {
    uint32_t state = input.word();
    for (size_t i = 0; i < length; ++i) {
      frame.bytes.push_back(static_cast<uint8_t>(state >> 24));
      state = state * 1664525 + 1013904223;
    }
  }
  const auto set = [&](Column which, uint64_t value) { frame.column[static_cast<int>(which)] = value; };
  if (kind & 64) frame.headroom = static_cast<int>(input.below(kMaxHeadroom + 1));
  const unsigned hostile = kind & 128 ? input.byte() : 0;
  if (hostile & 1) frame.bytes.resize(std::min<size_t>(frame.bytes.size(), input.byte()));  // ends anywhere
  if (hostile & 2) set(Column::l3, hostile & 4 ? input.word() : input.byte());
  if (hostile & 8) set(Column::l4, hostile & 16 ? input.word() : input.byte());
  set(Column::dst, input.word());
  set(Column::paint, input.byte());
  set(Column::vlan, input.byte());
  set(Column::flow, hostile & 32 ? input.word() : input.byte());
  set(Column::sa, hostile & 64 ? input.word() : input.below(7));
  set(Column::esp_sequence, input.word());
  set(Column::esp_iv, uint64_t{input.word()} << 32 | 1);
  set(Column::rule, hostile & 128 ? input.word() : 0);
  return frame;
}

}  // namespace heddle::test
