// TCP segments of any kind, of three connections: what is followed of a direction is what has come, each byte at its
// place, however little memory there is; and when all has ended nothing is kept.

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "functions/nids/streams.h"

using namespace heddle;
using nids::Streams;

namespace {

constexpr size_t kDirections = 6;
constexpr uint32_t kBegin = 0xffffff80;  // sequence numbers go round soon
constexpr uint32_t kPeriod = 64;

/** Payloads: the byte of a sequence number says which, modulo kPeriod, and which of four texts it is of. */
const uint8_t* bytes_at(uint32_t sequence, unsigned text) {
  static const auto all = [] {
    std::array<std::vector<uint8_t>, 4> texts;
    for (unsigned t = 0; t < 4; ++t)
      for (uint32_t n = 0; n < kPeriod + Streams::kLongestWindow; ++n)
        texts[t].push_back(static_cast<uint8_t>(n % kPeriod << 2 | t));
    return texts;
  }();
  return all[text].data() + sequence % kPeriod;
}

/** A payload that some host may take. */
struct Piece {
  uint32_t sequence, length;
  unsigned text;
};

struct Direction {
  uint64_t name = 0;
  uint32_t next = kBegin;  ///< behind the last segment
  std::vector<Piece> came;
  std::vector<uint32_t> begins{kBegin};  ///< sequence numbers that its first byte may have

  /** Whether the bytes of a window have come, if the direction begins with this sequence number. */
  bool has(uint32_t begin, const nids::Window& window) const {
    for (size_t at = 0; at < window.bytes.size();) {
      const uint32_t sequence = begin + static_cast<uint32_t>(window.offset + at);
      size_t longest = 0;
      for (const Piece& piece : came) {
        const uint32_t behind = sequence - piece.sequence;
        if (behind >= piece.length) continue;
        const auto rest =
            window.bytes.subspan(at).first(std::min<size_t>(window.bytes.size() - at, piece.length - behind));
        const auto differs = std::ranges::mismatch(rest, std::span(bytes_at(sequence, piece.text), rest.size())).in1;
        longest = std::max(longest, static_cast<size_t>(differs - rest.begin()));
      }
      if (longest == 0) return false;
      at += longest;
    }
    return true;
  }

  void check(const nids::Window& window) {
    if (window.bytes.empty()) return;
    if (window.fresh >= window.bytes.size() || window.fresh > Streams::kWindowBytes) abort();
    if (window.bytes.size() > Streams::kLongestWindow) abort();
    const auto begin = std::ranges::find_if(begins, [&](uint32_t one) { return has(one, window); });
    if (begin == begins.end()) abort();
    std::iter_swap(begins.begin(), begin);  // the next one is likely to have the same
  }
};

struct Input {
  const uint8_t *at, *end;

  uint8_t byte() { return at == end ? 0 : *at++; }
  uint32_t number() {
    uint32_t all = 0;
    for (int n = 0; n < 4; ++n) all = all << 8 | byte();
    return all;
  }
  /** Near `next`, or anywhere. */
  uint32_t sequence(uint32_t next, unsigned how) {
    switch (how) {
      case 0:
      case 1:
        return next;
      case 2:
        return next + static_cast<uint32_t>(static_cast<int8_t>(byte()));
      case 3:
        return next + 200 * static_cast<uint32_t>(static_cast<int8_t>(byte()));
      case 4:
        return kBegin + byte();
      case 5:
        return next + byte() * (uint32_t{Streams::kMaxAhead} / 200);
      case 6:
        return next + (uint32_t{byte()} << 24);
      default:
        return number();
    }
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input{data, data + std::min<size_t>(size, 2048)};
  const size_t blocks = 1 + input.byte();
  Streams streams(blocks * 2048, 1 + input.byte() % kDirections);
  std::array<Direction, kDirections> directions;
  while (input.at != input.end) {
    const uint8_t who = input.byte(), what = input.byte();
    Direction& direction = directions[(who & 7) % kDirections];
    Direction& other = directions[static_cast<size_t>(&direction - directions.data()) ^ 1];
    if (what == 0xff) {
      streams.end(direction.name);
      direction = {};
      continue;
    }
    const unsigned text = who >> 3 & 3;
    nids::TcpSegment segment{input.sequence(direction.next, what & 7), false, false, false, {}};
    segment.acknowledgement = input.sequence(other.next, who >> 5);
    const unsigned flags = what >> 3;  // mostly ACK alone
    segment.syn = (flags & 3) == 1, segment.fin = (flags & 7) == 2, segment.rst = flags == 6, segment.ack = flags < 24;
    if ((flags & 4) != 0) {
      segment.timestamp = input.byte() * 0x1000001u;
      segment.window = static_cast<uint16_t>(input.byte() * 100);
      if (segment.syn) segment.window_scale = static_cast<uint8_t>(segment.sequence);
    }
    const uint8_t length = input.byte();
    const uint32_t first = segment.sequence + (segment.syn ? 1 : 0);
    const uint32_t bytes = length < 200   ? length % 50
                           : length < 255 ? (length - 199) * (length - 199) * 20
                                          : kMaxPacketBytes;
    segment.payload = {bytes_at(first, text), bytes};
    direction.next = first + bytes + (segment.fin ? 1 : 0);
    if (!segment.rst && (segment.ack || segment.syn)) direction.came.push_back({first, bytes, text});
    direction.begins.push_back(first);
    if (segment.ack) other.begins.push_back(segment.acknowledgement);

    direction.check(streams.take(direction.name, segment, direction.name == 0 ? other.name : 0));
    for (int windows = 0; direction.name != 0; ++windows) {
      const nids::Window window = streams.acknowledged(direction.name);
      if (window.bytes.empty()) break;
      other.check(window);
      if (windows > 1000) abort();
    }
    if (streams.blocks_used() > blocks || streams.waiting() > streams.blocks_used()) abort();
  }
  for (const Direction& direction : directions) streams.end(direction.name);
  if (streams.blocks_used() != 0 || streams.waiting() != 0) abort();
  return 0;
}
