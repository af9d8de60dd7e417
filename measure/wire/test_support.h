#pragma once

#include <cstdint>
#include <string>
#include <vector>

/** For the tests of this folder: what shares no code with it. */
namespace heddle::bench {

inline uint32_t be16(const std::vector<uint8_t>& bytes, size_t at) { return bytes[at] * 256u + bytes[at + 1]; }

/** RFC 1071, a byte at a time: 0xffff when the checksum among the bytes is right. */
inline uint32_t rfc1071(const std::vector<uint8_t>& bytes) {
  uint32_t sum = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    sum += i % 2 == 0 ? bytes[i] * 256u : bytes[i];
    sum = sum % 65536 + sum / 65536;
  }
  return sum;
}

inline std::vector<uint8_t> with_pseudo_header(const std::vector<uint8_t>& frame) {
  std::vector<uint8_t> bytes(frame.begin() + 26, frame.begin() + 34);
  const size_t length = be16(frame, 16) - 20;
  for (const size_t byte : {size_t{0}, size_t{frame[23]}, length / 256, length % 256})
    bytes.push_back(static_cast<uint8_t>(byte));
  bytes.insert(bytes.end(), frame.begin() + 34, frame.begin() + 34 + static_cast<ptrdiff_t>(length));
  return bytes;
}

/** What is wrong with the lengths and checksums of an IPv4 frame without options, "" = nothing. */
inline std::string checksum_errors(const std::vector<uint8_t>& frame) {
  if (be16(frame, 12) != 0x0800 || frame[14] != 0x45) return "not IPv4";
  if (14 + be16(frame, 16) != frame.size() && frame.size() > 60) return "total length";
  if (rfc1071({frame.begin() + 14, frame.begin() + 34}) != 0xffff) return "IPv4 checksum";
  if (frame[23] != 6 && frame[23] != 17) return {};
  if (frame[23] == 17 && 34 + be16(frame, 38) != frame.size()) return "UDP length";
  if (frame[23] == 17 && be16(frame, 40) == 0) return "no UDP checksum";
  return rfc1071(with_pseudo_header(frame)) == 0xffff ? "" : "transport checksum";
}

/** What is wrong with the lengths and checksums of a frame of IPv6 with UDP or TCP, "" = nothing. */
inline std::string checksum_errors6(const std::vector<uint8_t>& frame) {
  if (be16(frame, 12) != 0x86dd || frame[14] != 0x60) return "not IPv6";
  const size_t length = be16(frame, 18);
  if (54 + length != frame.size()) return "payload length";
  if (frame[20] == 17 && (be16(frame, 58) != length || be16(frame, 60) == 0)) return "UDP header";
  std::vector<uint8_t> bytes(frame.begin() + 22, frame.begin() + 54);
  for (const size_t byte : {size_t{0}, size_t{0}, length / 256, length % 256, size_t{0}, size_t{0}, size_t{0}})
    bytes.push_back(static_cast<uint8_t>(byte));
  bytes.push_back(frame[20]);
  bytes.insert(bytes.end(), frame.begin() + 54, frame.end());
  return rfc1071(bytes) == 0xffff ? "" : "transport checksum";
}

/** Makes the lengths and checksums of a TCP frame right. */
inline void set_lengths(std::vector<uint8_t>& frame) {
  const auto put = [&](size_t at, size_t value) {
    frame[at] = static_cast<uint8_t>(value / 256), frame[at + 1] = static_cast<uint8_t>(value);
  };
  put(16, frame.size() - 14);
  put(24, 0);
  put(24, 0xffff - rfc1071({frame.begin() + 14, frame.begin() + 34}));
  put(50, 0);
  put(50, 0xffff - rfc1071(with_pseudo_header(frame)));
}

}  // namespace heddle::bench
