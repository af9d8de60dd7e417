#include "functions/nids/streams.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace heddle::nids {
namespace {

/** How far `a` is behind `b`; sequence numbers go round (RFC 9293, 3.4). */
int32_t distance(uint32_t a, uint32_t b) { return static_cast<int32_t>(a - b); }

}  // namespace

Streams::Streams(size_t memory_bytes)
    : memory_(map_huge_pages(std::max(memory_bytes, sizeof(Block)))), blocks_(reinterpret_cast<Block*>(memory_.get())) {
  const auto count = static_cast<uint32_t>(std::max<size_t>(memory_bytes / sizeof(Block), 1));
  streams_.resize(count);
  free_streams_.reserve(count);
  for (uint32_t b = count; b-- > 0;) {
    blocks_[b].next = free_;
    free_ = b;
    free_streams_.push_back(b);
  }
  window_.reserve(kWindowBytes + kMaxPacketBytes + kMostHeld * kWindowBytes);
}

uint32_t Streams::take_block() {
  const uint32_t block = free_;
  if (block != kNone) free_ = blocks_[block].next, ++used_;
  return block;
}

void Streams::give_back(uint32_t block) {
  blocks_[block].next = free_;
  free_ = block;
  --used_;
}

void Streams::skip_to(Stream& stream, uint32_t sequence) {
  ++gaps_;
  stream.offset += sequence - stream.next;
  stream.next = sequence;
}

void Streams::forget(Stream& stream) {
  if (stream.tail != kNone) give_back(std::exchange(stream.tail, kNone));
  while (stream.held != kNone) {
    const uint32_t block = stream.held;
    stream.held = blocks_[block].next;
    give_back(block);
  }
  stream.held_count = 0;
}

void Streams::end(uint64_t word) {
  if (word == 0) return;
  forget(streams_[word - 1]);
  streams_[word - 1] = {};
  free_streams_.push_back(static_cast<uint32_t>(word - 1));
}

bool Streams::hold(Stream& stream, uint32_t sequence, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    if (stream.held_count == kMostHeld) return false;
    const uint32_t number = take_block();
    if (number == kNone) return false;
    Block& block = blocks_[number];
    block.sequence = sequence;
    block.length = static_cast<uint32_t>(std::min<size_t>(bytes.size(), kWindowBytes));
    std::memcpy(block.bytes, bytes.data(), block.length);
    // Behind those that begin where it does: the first to come counts.
    uint32_t* place = &stream.held;
    while (*place != kNone && distance(blocks_[*place].sequence, sequence) <= 0) place = &blocks_[*place].next;
    block.next = *place;
    *place = number;
    ++stream.held_count;
    sequence += block.length;
    bytes = bytes.subspan(block.length);
  }
  return true;
}

void Streams::append(Stream& stream, uint32_t sequence, std::span<const uint8_t> bytes) {
  const int32_t known = distance(stream.next, sequence);
  if (known < 0 || static_cast<size_t>(known) >= bytes.size()) return;
  const auto fresh = bytes.subspan(static_cast<size_t>(known));
  window_.insert(window_.end(), fresh.begin(), fresh.end());
  stream.next += static_cast<uint32_t>(fresh.size());
  stream.offset += fresh.size();
}

void Streams::append_held(Stream& stream) {
  while (stream.held != kNone && distance(blocks_[stream.held].sequence, stream.next) <= 0) {
    const uint32_t number = stream.held;
    const Block& block = blocks_[number];
    append(stream, block.sequence, {block.bytes, block.length});
    stream.held = block.next;
    --stream.held_count;
    give_back(number);
  }
}

Window Streams::take(uint64_t& word, const TcpSegment& segment) {
  const uint32_t first = segment.sequence + (segment.syn ? 1 : 0);
  if (word == 0) {
    if (free_streams_.empty()) {
      unfollowed_ += segment.payload.empty() ? 0 : 1;
      return {};
    }
    word = uint64_t{free_streams_.back()} + 1;
    free_streams_.pop_back();
    streams_[word - 1].begin = streams_[word - 1].next = first;
  }
  Stream& stream = streams_[word - 1];
  if (segment.syn && first != stream.begin) {  // the next connection with these ports
    forget(stream);
    stream.begin = stream.next = first, stream.offset = 0;
  }
  window_.clear();
  if (segment.payload.empty() && !segment.fin) return {};
  if (stream.tail != kNone)
    window_.assign(blocks_[stream.tail].bytes, blocks_[stream.tail].bytes + blocks_[stream.tail].length);
  auto old = static_cast<uint32_t>(window_.size());
  bool too_far = false;
  if (distance(first, stream.next) > 0) {
    if (hold(stream, first, segment.payload)) return {};
    // What is missing does not come: on with what is there.
    const bool held_first = stream.held != kNone && distance(blocks_[stream.held].sequence, first) < 0;
    skip_to(stream, held_first ? blocks_[stream.held].sequence : first);
    window_.clear();
    old = 0;
    append_held(stream);
    too_far = distance(first, stream.next) > 0 && !hold(stream, first, segment.payload);
  }
  append(stream, first, segment.payload);
  append_held(stream);
  const uint64_t begin = stream.offset - window_.size();
  if (stream.tail == kNone && window_.size() > old) stream.tail = take_block();
  if (stream.tail == kNone) {
    unfollowed_ += window_.size() > old ? 1 : 0;
  } else {
    Block& tail = blocks_[stream.tail];
    tail.length = static_cast<uint32_t>(std::min<size_t>(window_.size(), kWindowBytes));
    std::memcpy(tail.bytes, window_.data() + window_.size() - tail.length, tail.length);
  }
  const Window window{window_, old, begin};
  const uint32_t end = first + static_cast<uint32_t>(segment.payload.size());
  if (too_far) skip_to(stream, end);
  if (too_far || (segment.fin && end == stream.next)) forget(stream);  // behind a FIN nothing comes
  return window_.size() > old ? window : Window{};
}

}  // namespace heddle::nids
