#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "core/error.h"
#include "tests/support/harness.h"

namespace heddle::test::switching {

constexpr auto kPaint = static_cast<int>(Column::paint);
using Mac = std::array<uint8_t, 6>;
constexpr Mac kBroadcast = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

inline Mac mac(unsigned number) {
  return {0x02, 0, 0, 0, static_cast<uint8_t>(number >> 8), static_cast<uint8_t>(number)};
}
inline std::string text(const Mac& a) {
  return format("%02x:%02x:%02x:%02x:%02x:%02x", a[0], a[1], a[2], a[3], a[4], a[5]);
}

inline Frame frame_of(const Mac& to, const Mac& from, unsigned port, size_t length = 60) {
  Frame frame{Bytes(length, 0x11)};
  for (size_t i = 0; i < 6 && i < length; ++i) frame.bytes[i] = to[i];
  for (size_t i = 0; i < 6 && i + 6 < length; ++i) frame.bytes[6 + i] = from[i];
  frame.column[kPaint] = port;
  return frame;
}

/** What a switch does, a packet at a time; `ports` is the output for floods. */
struct Oracle {
  unsigned ports;
  std::map<Mac, unsigned> stays, learned{};
  bool learns = true;

  int output(const Frame& frame) {  // -1: short, -2: same port, -3: reserved
    if (frame.bytes.size() < 14) return -1;
    Mac to, from;
    std::copy_n(frame.bytes.begin(), 6, to.begin());
    std::copy_n(frame.bytes.begin() + 6, 6, from.begin());
    const auto port = static_cast<unsigned>(frame.column[kPaint]);
    if (Mac group = to; (group[5] &= 0xf0) == 0 && group == Mac{0x01, 0x80, 0xc2, 0, 0, 0}) return -3;
    if (learns && from[0] % 2 == 0 && port < ports && !stays.contains(from)) learned[from] = port;
    if (to[0] % 2 != 0) return static_cast<int>(ports);
    for (const auto* table : {&stays, &learned})
      if (const auto found = table->find(to); found != table->end())
        return found->second == port ? -2 : static_cast<int>(found->second);
    return static_cast<int>(ports);
  }
};

inline const std::string kSinks =
    " sw[0] -> s0 :: TestSink; sw[1] -> s1 :: TestSink; sw[2] -> s2 :: TestSink; sw[3] -> s3 :: TestSink;";

}  // namespace heddle::test::switching
