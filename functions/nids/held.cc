#include <algorithm>
#include <cstring>

#include "functions/nids/streams.h"

namespace heddle::nids {

uint32_t Streams::Block::start(uint32_t piece) const {
  uint16_t at = 0;
  if (piece != 0) std::memcpy(&at, bytes + kWindowBytes - piece * sizeof(at), sizeof(at));
  return at;
}

uint32_t Streams::Block::piece_behind(uint32_t at) const {
  uint32_t low = 0, high = pieces;
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (start(middle) <= at)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

bool Streams::Block::has_room(size_t more, uint32_t more_pieces) const {
  return length + more + (pieces - 1 + more_pieces) * sizeof(uint16_t) <= kWindowBytes;
}

void Streams::Block::extend(std::span<const uint8_t> more) {
  std::memcpy(bytes + length, more.data(), more.size());
  length = static_cast<uint16_t>(length + more.size());
}

void Streams::Block::set_start(uint32_t piece, uint32_t at) {
  const auto value = static_cast<uint16_t>(at);
  if (piece != 0) std::memcpy(bytes + kWindowBytes - piece * sizeof(value), &value, sizeof(value));
}

void Streams::Block::add_piece(std::span<const uint8_t> more) {
  set_start(pieces, length);
  ++pieces;
  extend(more);
}

void Streams::Block::add_pieces(const Block& other, uint32_t first) {
  const uint32_t from = other.start(first);
  for (uint32_t piece = first; piece < other.pieces; ++piece)
    set_start(pieces + piece - first, length + other.start(piece) - from);
  pieces = static_cast<uint16_t>(pieces + other.pieces - first);
  extend({other.bytes + from, other.length - from});
}

void Streams::remove(Stream& stream, uint32_t& place) {
  uint32_t number = place;
  const Block& block = blocks_[number];
  place = block.next;
  --stream.held_count, --held_;
  if (block.doubtful) --stream.doubtful_count, --doubtful_;
  give_back(number);
}

void Streams::forget_held(Stream& stream) {
  while (stream.held != kNone) {
    const Block& block = blocks_[stream.held];
    if (!block.doubtful) unfollowed_ += block.pieces;
    remove(stream, stream.held);
  }
}

uint64_t Streams::waiting_segments() const {
  uint64_t count = 0;
  for (const Stream& stream : streams_)
    for (uint32_t number = stream.held; number != kNone; number = blocks_[number].next)
      if (!blocks_[number].doubtful) count += blocks_[number].pieces;
  return count;
}

void Streams::insert(Stream& stream, uint32_t number) {
  // Behind those that begin where it does: the first to come counts.
  uint32_t* place = &stream.held;
  while (*place != kNone && distance(blocks_[*place].sequence, blocks_[number].sequence) <= 0)
    place = &blocks_[*place].next;
  insert_at(stream, *place, number);
}

void Streams::insert_at(Stream& stream, uint32_t& place, uint32_t number) {
  Block& block = blocks_[number];
  block.next = place;
  place = number;
  ++stream.held_count, ++held_;
  if (block.doubtful) ++stream.doubtful_count, ++doubtful_;
}

uint32_t Streams::block_before(const Stream& stream, const TcpSegment& segment, uint32_t sequence) const {
  for (uint32_t number = stream.held; number != kNone; number = blocks_[number].next) {
    const Block& block = blocks_[number];
    if (block.doubtful && block.end() == sequence && block.length < kWindowBytes && block.has_ack == segment.ack &&
        block.acknowledgement == segment.acknowledgement)
      return number;
  }
  return kNone;
}

uint32_t Streams::block_to_share(const Stream& stream, uint32_t sequence, size_t bytes) const {
  uint32_t found = kNone;
  for (uint32_t number = stream.held; number != kNone; number = blocks_[number].next) {
    const Block& block = blocks_[number];
    if (distance(block.sequence, sequence) > 0) break;
    if (block.doubtful) continue;
    const int32_t over = distance(block.end(), sequence);
    if (over == 0) found = number;
    if (over > 0) found = kNone;  // this one counts before what comes at `sequence`, and behind those before it
  }
  return found != kNone && blocks_[found].has_room(bytes, 1) ? found : kNone;
}

void Streams::join(Stream& stream, uint32_t number) {
  Block& block = blocks_[number];
  for (uint32_t* place = &block.next; *place != kNone; place = &blocks_[*place].next) {
    const Block& other = blocks_[*place];
    if (other.doubtful) continue;
    if (other.sequence == block.end()) {
      if (!block.has_room(other.length, other.pieces)) return;
      block.add_pieces(other, 0);
      remove(stream, *place);
      return;
    }
    if (distance(other.end(), block.end()) > 0) return;
  }
}

bool Streams::is_held(const Stream& stream, uint32_t sequence, uint32_t end) const {
  for (uint32_t number = stream.held; number != kNone; number = blocks_[number].next) {
    const Block& block = blocks_[number];
    if (distance(block.sequence, sequence) > 0) return false;
    if (block.doubtful || distance(block.end(), end) < 0) continue;
    const uint32_t behind = block.piece_behind(sequence - block.sequence);
    if (behind == block.pieces || distance(block.sequence + block.start(behind), end) >= 0) return true;
  }
  return false;
}

bool Streams::has_room(const Stream& stream, bool doubtful) const {
  if (stream.held_count >= kMaxHeld || (doubtful && stream.doubtful_count >= kMaxDoubtful)) return false;
  return doubtful ? 8 * doubtful_ <= count_ : 2 * waiting() <= count_;
}

bool Streams::part(Stream& stream, uint32_t sequence, uint32_t end) {
  for (uint32_t number = stream.held; number != kNone; number = blocks_[number].next) {
    Block& block = blocks_[number];
    if (distance(block.sequence, sequence) > 0) break;
    if (distance(block.end(), sequence) <= 0) continue;
    const uint32_t behind = block.piece_behind(sequence - block.sequence);
    const uint32_t from = block.sequence + (behind == block.pieces ? block.length : block.start(behind));
    if (behind == block.pieces || distance(from, end) >= 0) continue;
    uint32_t rest = has_room(stream, false) ? take_block() : kNone;
    if (rest == kNone) return false;
    if (stream.held == kNone) {  // it was closed, and its own blocks have been taken
      give_back(rest);
      return true;
    }
    blocks_[rest].begin(from, false);
    blocks_[rest].add_pieces(block, behind);
    block.length = static_cast<uint16_t>(from - block.sequence), block.pieces = static_cast<uint16_t>(behind);
    uint32_t* place = &block.next;  // before what has come there later
    while (*place != kNone && distance(blocks_[*place].sequence, from) < 0) place = &blocks_[*place].next;
    insert_at(stream, *place, rest);
  }
  return true;
}

bool Streams::hold(Stream& stream, const TcpSegment& segment, bool doubtful) {
  uint32_t sequence = segment.sequence + (segment.syn ? 1 : 0);
  size_t length = 0;
  for (auto bytes = segment.payload; !bytes.empty(); bytes = bytes.subspan(length)) {
    length = std::min<size_t>(bytes.size(), kWindowBytes);
    const uint32_t end = sequence + static_cast<uint32_t>(length);
    if (!doubtful && is_held(stream, sequence, end)) {
      sequence = end;
      continue;
    }
    if (!doubtful && !part(stream, sequence, end)) return false;
    uint32_t number = doubtful ? block_before(stream, segment, sequence) : block_to_share(stream, sequence, length);
    if (number == kNone) {
      number = has_room(stream, doubtful) ? take_block() : kNone;
      if (number == kNone) return false;
      Block& block = blocks_[number];
      block.begin(sequence, doubtful);
      block.has_ack = segment.ack, block.acknowledgement = segment.acknowledgement;
      insert(stream, number);
    }
    Block& block = blocks_[number];
    if (doubtful) {
      length = std::min<size_t>(length, kWindowBytes - block.length);
      block.pieces = 1;
      block.extend(bytes.first(length));
    } else {
      block.add_piece(bytes.first(length));
      join(stream, number);
    }
    sequence += static_cast<uint32_t>(length);
  }
  return true;
}

}  // namespace heddle::nids
