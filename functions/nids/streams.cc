#include "functions/nids/streams.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace heddle::nids {
namespace {

/** How far `a` is behind `b`; sequence numbers go round (RFC 9293, 3.4). */
int32_t distance(uint32_t a, uint32_t b) { return static_cast<int32_t>(a - b); }

}  // namespace

Streams::Streams(size_t memory_bytes, size_t directions)
    : memory_(map_huge_pages(std::max(memory_bytes, sizeof(Block)))),
      count_(static_cast<uint32_t>(std::max<size_t>(memory_bytes / sizeof(Block), 1))),
      blocks_(reinterpret_cast<Block*>(memory_.get())),
      streams_(directions) {
  for (uint32_t b = count_; b-- > 0;) blocks_[b].next = std::exchange(free_, b);
  free_streams_.reserve(directions);
  for (auto s = static_cast<uint32_t>(directions); s-- > 0;) free_streams_.push_back(s);
  window_.reserve(kLongestWindow);
}

uint32_t Streams::take_block() {
  while (free_ == kNone && first_closed_ != kNone) {
    Stream& closed = streams_[first_closed_];
    give_back(closed.at.tail);
    forget_gap(closed);
    forget_held(closed);
    set_closed(first_closed_, false);
  }
  const uint32_t block = free_;
  if (block != kNone) free_ = blocks_[block].next, ++used_;
  return block;
}

void Streams::give_back(uint32_t& block) {
  if (block == kNone) return;
  blocks_[block].next = free_;
  free_ = std::exchange(block, kNone);
  --used_;
}

void Streams::forget_held(Stream& stream) {
  while (stream.held != kNone) {
    uint32_t block = stream.held;
    stream.held = blocks_[block].next;
    give_back(block);
  }
  held_ -= std::exchange(stream.held_count, uint8_t{0});
}

void Streams::forget_gap(Stream& stream) {
  give_back(stream.gap.tail);
  stream.has_gap = false;
}

void Streams::begin(Stream& stream, uint32_t sequence) {
  const auto number = static_cast<uint32_t>(&stream - streams_.data());
  end(number + uint64_t{1});
  free_streams_.pop_back();  // it keeps its name
  stream.begin = stream.at.next = sequence;
}

void Streams::end(uint64_t word) {
  if (word == 0) return;
  const auto number = static_cast<uint32_t>(word - 1);
  Stream& stream = streams_[number];
  give_back(stream.at.tail);
  forget_gap(stream);
  forget_held(stream);
  set_closed(number, false);
  stream = {};
  free_streams_.push_back(number);
}

void Streams::set_closed(uint32_t number, bool closed) {
  Stream& stream = streams_[number];
  if (stream.closed == closed) return;
  stream.closed = closed;
  if (closed) {
    stream.closed_before = last_closed_, stream.closed_behind = kNone;
    (last_closed_ == kNone ? first_closed_ : streams_[last_closed_].closed_behind) = number;
    last_closed_ = number;
  } else {
    (stream.closed_before == kNone ? first_closed_ : streams_[stream.closed_before].closed_behind) =
        stream.closed_behind;
    (stream.closed_behind == kNone ? last_closed_ : streams_[stream.closed_behind].closed_before) =
        stream.closed_before;
  }
}

void Streams::skip_to(Stream& stream, uint32_t sequence) {
  ++gaps_;
  const Place place{stream.at.offset + (sequence - stream.at.next), sequence, kNone};
  if (stream.has_gap)
    give_back(stream.at.tail);
  else
    stream.gap = stream.at, stream.has_gap = true, stream.since_gap = 0;
  stream.at = place;
}

void Streams::go_back(Stream& stream) {
  give_back(stream.at.tail);
  forget_held(stream);
  stream.at = std::exchange(stream.gap, Place{});
  stream.has_gap = false;
}

bool Streams::hold(Stream& stream, uint32_t sequence, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    if (stream.held_count == kMaxHeld || 2 * held_ > count_) return false;
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
    ++stream.held_count, ++held_;
    sequence += block.length;
    bytes = bytes.subspan(block.length);
  }
  return true;
}

bool Streams::is_next(Stream& stream, uint32_t sequence, std::span<const uint8_t> bytes) {
  if (stream.has_gap) {
    const int32_t known = distance(stream.gap.next, sequence);
    if (known >= 0 && static_cast<size_t>(known) < bytes.size()) go_back(stream);
  }
  const int32_t ahead = distance(sequence, stream.at.next);
  if (ahead <= 0) return true;
  if (ahead > kMaxAhead) {
    ++unfollowed_;
    if (++stream.far_count < kMaxHeld) return false;
    unfollowed_ += stream.held_count;
    forget_held(stream);
    --unfollowed_;  // this one is followed
    skip_to(stream, sequence);
  } else if (hold(stream, sequence, bytes)) {
    return false;
  } else {
    const bool held_first = stream.held != kNone && distance(blocks_[stream.held].sequence, sequence) < 0;
    skip_to(stream, held_first ? blocks_[stream.held].sequence : sequence);
  }
  return true;
}

void Streams::append(Stream& stream, uint32_t sequence, std::span<const uint8_t> bytes) {
  const int32_t known = distance(stream.at.next, sequence);
  if (known < 0 || static_cast<size_t>(known) >= bytes.size()) return;
  const auto fresh = bytes.subspan(static_cast<size_t>(known));
  window_.insert(window_.end(), fresh.begin(), fresh.end());
  stream.at.next += static_cast<uint32_t>(fresh.size());
  stream.at.offset += fresh.size();
}

void Streams::append_held(Stream& stream) {
  while (stream.held != kNone && distance(blocks_[stream.held].sequence, stream.at.next) <= 0) {
    uint32_t number = stream.held;
    const Block& block = blocks_[number];
    append(stream, block.sequence, {block.bytes, block.length});
    stream.held = block.next;
    --stream.held_count, --held_;
    give_back(number);
  }
}

void Streams::keep_tail(Stream& stream) {
  if (stream.at.tail == kNone) stream.at.tail = take_block();
  if (stream.at.tail == kNone) {
    ++unfollowed_;
    return;
  }
  Block& tail = blocks_[stream.at.tail];
  tail.length = static_cast<uint32_t>(std::min<size_t>(window_.size(), kWindowBytes));
  std::memcpy(tail.bytes, window_.data() + window_.size() - tail.length, tail.length);
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
    streams_[word - 1].begin = streams_[word - 1].at.next = first;
  }
  const auto number = static_cast<uint32_t>(word - 1);
  Stream& stream = streams_[number];
  if (segment.syn && first != stream.begin && (stream.closed || (stream.at.offset == 0 && stream.held == kNone)))
    begin(stream, first);
  if (segment.fin) stream.end = first + static_cast<uint32_t>(segment.payload.size()), stream.has_end = true;
  if (segment.rst && segment.sequence == stream.at.next) set_closed(number, true);

  Window window;
  if (!segment.payload.empty() && is_next(stream, first, segment.payload)) {
    window_.clear();
    if (stream.at.tail != kNone)
      window_.assign(blocks_[stream.at.tail].bytes, blocks_[stream.at.tail].bytes + blocks_[stream.at.tail].length);
    const auto old = static_cast<uint32_t>(window_.size());
    append_held(stream);  // where what is before them has been given up
    append(stream, first, segment.payload);
    append_held(stream);
    if (const size_t fresh = window_.size() - old; fresh > 0) {
      window = {window_, old, stream.at.offset - window_.size()};
      stream.far_count = 0;
      set_closed(number, false);
      keep_tail(stream);
      stream.since_gap += static_cast<uint32_t>(fresh);
      if (stream.has_gap && stream.since_gap > kRegretBytes) forget_gap(stream);
    }
    if (distance(first, stream.at.next) > 0 && !hold(stream, first, segment.payload)) ++unfollowed_;
  }
  if (stream.has_end && stream.at.next == stream.end) set_closed(number, true);
  return window;
}

}  // namespace heddle::nids
