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

void Streams::remove(Stream& stream, uint32_t& place) {
  uint32_t number = place;
  const Block& block = blocks_[number];
  place = block.next;
  --stream.held_count, --held_;
  if (block.doubtful) --stream.doubtful_count, --doubtful_;
  give_back(number);
}

void Streams::forget_held(Stream& stream) {
  unfollowed_ += static_cast<uint64_t>(stream.held_count - stream.doubtful_count);
  while (stream.held != kNone) remove(stream, stream.held);
}

void Streams::forget_gap(Stream& stream) {
  give_back(stream.gap.tail);
  stream.has_gap = false;
}

void Streams::clear(Stream& stream) {
  give_back(stream.at.tail);
  forget_gap(stream);
  forget_held(stream);
  set_closed(number_of(stream), false);
}

void Streams::begin(Stream& stream, uint32_t sequence) {
  clear(stream);
  const uint32_t other = stream.other;
  stream = {};
  stream.other = other;
  stream.begin = stream.at.next = stream.sent = stream.acknowledged = sequence;
}

void Streams::end(uint64_t word) {
  if (word == 0) return;
  Stream& stream = streams_[word - 1];
  clear(stream);
  if (Stream* const other = other_of(stream)) other->other = kNone;
  stream = {};
  free_streams_.push_back(static_cast<uint32_t>(word - 1));
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

Doubt Streams::doubt_of(const Stream& stream, const TcpSegment& segment) const {
  if (segment.rst) return Doubt::with_rst;
  if (segment.syn) return Doubt::with_syn;
  if (!segment.ack) return Doubt::no_ack;
  if (stream.other != kNone) {
    const Stream& other = streams_[stream.other];
    const auto most = static_cast<int32_t>(std::min<uint64_t>(kOldAckBytes, other.at.offset));
    if (distance(segment.acknowledgement, other.sent) > 0 ||
        distance(other.acknowledged, segment.acknowledgement) > most)
      return Doubt::bad_ack;
  }
  if (segment.timestamp && stream.has_timestamp && distance(*segment.timestamp, stream.timestamp) < 0)
    return Doubt::old_timestamp;
  return Doubt::none;
}

void Streams::take_syn(Stream& stream, uint32_t first) {
  if (first == stream.begin) return;
  const bool has_data = stream.at.offset != 0 || stream.held_count != stream.doubtful_count;
  const bool may_begin =
      stream.other == kNone ? stream.closed || !has_data : !stream.answered && (stream.closed || !has_data);
  const uint32_t other_begin = may_begin ? stream.begin : first;
  if (may_begin) begin(stream, first);
  stream.other_begin = other_begin, stream.has_other_begin = true;
}

void Streams::take_answer(Stream& stream, uint32_t first, uint32_t acknowledgement) {
  Stream& asked = streams_[stream.other];
  const bool by_other = asked.has_other_begin && acknowledgement == asked.other_begin;
  const bool is_answer = !by_other && acknowledgement - asked.begin <= asked.sent - asked.begin;  // they go round
  if (is_answer) {
    take_syn(stream, first);
    if (!asked.answered && asked.at.offset != 0) doubt_beginning(asked);
  } else if (asked.has_other_begin) {
    begin(asked, acknowledgement);
    begin(stream, first);
  } else {
    return;  // no host has asked for it
  }
  take_acknowledgement(asked, acknowledgement);
  asked.has_other_begin = false;
}

void Streams::settle_beginning(Stream& stream, uint32_t acknowledgement) {
  if (!stream.has_other_begin || (stream.answered && !stream.closed)) return;
  const bool by_this = acknowledgement - stream.acknowledged <= stream.sent - stream.acknowledged;
  if (by_this || acknowledgement - stream.other_begin > kOldAckBytes) return;
  begin(stream, stream.other_begin);
  stream.sent = acknowledgement;
}

void Streams::take_acknowledgement(Stream& stream, uint32_t acknowledgement) {
  if (distance(acknowledgement, stream.begin) < 0 && !stream.answered) return;
  stream.answered = true;
  if (distance(acknowledgement, stream.acknowledged) > 0) stream.acknowledged = acknowledgement;
}

void Streams::doubt_beginning(Stream& stream) {
  forget_gap(stream);
  const Place place = std::exchange(stream.at, Place{0, stream.begin, kNone});
  stream.has_timestamp = false;
  if (place.tail == kNone) return;
  Block& block = blocks_[place.tail];
  block.sequence = place.next - block.length;
  block.doubtful = true, block.acknowledgement = streams_[stream.other].sent;
  insert(stream, place.tail);
}

void Streams::skip_to(Stream& stream, uint32_t sequence, bool for_good) {
  ++gaps_;
  const Place place{stream.at.offset + (sequence - stream.at.next), sequence, kNone};
  if (for_good) forget_gap(stream);
  if (for_good || stream.has_gap)
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

void Streams::insert(Stream& stream, uint32_t number) {
  Block& block = blocks_[number];
  // Behind those that begin where it does: the first to come counts.
  uint32_t* place = &stream.held;
  while (*place != kNone && distance(blocks_[*place].sequence, block.sequence) <= 0) place = &blocks_[*place].next;
  block.next = *place;
  *place = number;
  ++stream.held_count, ++held_;
  if (block.doubtful) ++stream.doubtful_count, ++doubtful_;
}

bool Streams::hold(Stream& stream, const TcpSegment& segment, bool doubtful) {
  uint32_t sequence = segment.sequence + (segment.syn ? 1 : 0);
  for (auto bytes = segment.payload; !bytes.empty();) {
    if (stream.held_count >= kMaxHeld || 2 * held_ > count_) return false;
    if (doubtful && stream.doubtful_count >= kMaxDoubtful) return false;
    const uint32_t number = take_block();
    if (number == kNone) return false;
    Block& block = blocks_[number];
    block.sequence = sequence;
    block.length = static_cast<uint16_t>(std::min<size_t>(bytes.size(), kWindowBytes));
    block.doubtful = doubtful, block.acknowledgement = segment.acknowledgement;
    std::memcpy(block.bytes, bytes.data(), block.length);
    insert(stream, number);
    sequence += block.length;
    bytes = bytes.subspan(block.length);
  }
  return true;
}

bool Streams::comes_behind_syn(Stream& stream, uint32_t sequence) {
  if (stream.other != kNone || stream.doubtful_count == 0) return false;
  Block& block = blocks_[stream.held];
  if (!block.doubtful || block.sequence != stream.begin || block.end() != sequence) return false;
  block.doubtful = false;
  --stream.doubtful_count, --doubtful_;
  return true;
}

bool Streams::is_next(Stream& stream, const TcpSegment& segment) {
  const uint32_t sequence = segment.sequence;
  if (stream.has_gap) {
    const int32_t known = distance(stream.gap.next, sequence);
    if (known >= 0 && static_cast<size_t>(known) < segment.payload.size()) go_back(stream);
  }
  const int32_t ahead = distance(sequence, stream.at.next);
  if (ahead <= 0 || comes_behind_syn(stream, sequence)) return true;
  if (ahead > kMaxAhead) {
    ++unfollowed_;
    if (++stream.far_count < kMaxHeld) return false;
    forget_held(stream);
    --unfollowed_;  // this one is followed
    skip_to(stream, sequence, false);
  } else if (hold(stream, segment, false)) {
    return false;
  } else {
    uint32_t first = stream.held;  // that is in no doubt
    while (first != kNone && blocks_[first].doubtful) first = blocks_[first].next;
    const bool held_first = first != kNone && distance(blocks_[first].sequence, sequence) < 0;
    skip_to(stream, held_first ? blocks_[first].sequence : sequence, false);
  }
  return true;
}

void Streams::open_window(Stream& stream) {
  window_.clear();
  if (stream.at.tail == kNone) return;
  const Block& tail = blocks_[stream.at.tail];
  window_.assign(tail.bytes, tail.bytes + tail.length);
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
  uint32_t* place = &stream.held;
  while (*place != kNone && distance(blocks_[*place].sequence, stream.at.next) <= 0) {
    Block& block = blocks_[*place];
    if (block.doubtful && distance(block.end(), stream.at.next) > 0) {
      place = &block.next;
      continue;
    }
    append(stream, block.sequence, {block.bytes, block.length});
    remove(stream, *place);
  }
}

bool Streams::append_acknowledged(Stream& stream) {
  uint32_t* place = &stream.held;
  const auto is_over = [&](const Block& block) { return distance(block.sequence, stream.at.next) > 0; };
  while (*place != kNone && !is_over(blocks_[*place]) && distance(blocks_[*place].end(), stream.acknowledged) > 0)
    place = &blocks_[*place].next;
  if (*place == kNone || is_over(blocks_[*place])) return false;
  // A host has taken it: the other side has sent what it acknowledges, and its timestamp is not old.
  const Block& block = blocks_[*place];
  Stream& other = streams_[stream.other];
  if (distance(block.acknowledgement, other.sent) > 0) other.sent = block.acknowledgement;
  stream.has_timestamp = false;
  append(stream, block.sequence, {block.bytes, block.length});
  remove(stream, *place);
  return true;
}

Window Streams::finish_window(Stream& stream, uint32_t old) {
  const auto fresh = static_cast<uint32_t>(window_.size()) - old;
  if (fresh == 0) return {};
  stream.far_count = 0;
  set_closed(number_of(stream), false);
  keep_tail(stream);
  stream.since_gap += fresh;
  if (stream.has_gap && stream.since_gap > kRegretBytes) forget_gap(stream);
  return {window_, old, stream.at.offset - window_.size()};
}

void Streams::keep_tail(Stream& stream) {
  if (stream.at.tail == kNone) stream.at.tail = take_block();
  if (stream.at.tail == kNone) {
    ++unfollowed_;
    return;
  }
  Block& tail = blocks_[stream.at.tail];
  tail.length = static_cast<uint16_t>(std::min<size_t>(window_.size(), kWindowBytes));
  std::memcpy(tail.bytes, window_.data() + window_.size() - tail.length, tail.length);
}

Window Streams::take(uint64_t& word, const TcpSegment& segment, uint64_t other) {
  const uint32_t first = segment.sequence + (segment.syn ? 1 : 0);
  if (word == 0) {
    if (free_streams_.empty()) {
      unfollowed_ += segment.payload.empty() ? 0 : 1;
      return {};
    }
    word = uint64_t{free_streams_.back()} + 1;
    free_streams_.pop_back();
    Stream& stream = streams_[word - 1];
    begin(stream, first);
    if (other != 0) {
      if (Stream* const former = other_of(streams_[other - 1])) former->other = kNone;
      stream.other = static_cast<uint32_t>(other - 1), streams_[other - 1].other = number_of(stream);
    }
  }
  Stream& stream = streams_[word - 1];
  if (segment.syn) {
    if (segment.ack && stream.other != kNone)
      take_answer(stream, first, segment.acknowledgement);
    else
      take_syn(stream, first);
    if (segment.timestamp && first == stream.at.next && !stream.has_timestamp)
      stream.timestamp = *segment.timestamp, stream.has_timestamp = true;
  }
  if (segment.ack && !segment.syn && stream.other != kNone)
    settle_beginning(streams_[stream.other], segment.acknowledgement);
  const Doubt doubt = doubt_of(stream, segment);
  const uint32_t end = first + static_cast<uint32_t>(segment.payload.size());
  if (const uint32_t sent = end + (segment.fin ? 1 : 0); distance(sent, stream.sent) > 0) stream.sent = sent;
  if (segment.rst && segment.sequence == stream.at.next) {
    set_closed(number_of(stream), true);
    if (stream.other != kNone) set_closed(stream.other, true);
  }
  if (doubt != Doubt::none) {
    if (segment.payload.empty()) return {};
    ++doubts_[static_cast<size_t>(doubt)];
    const bool no_host_takes_it = doubt == Doubt::no_ack || doubt == Doubt::with_rst;
    const int32_t ahead = distance(first, stream.at.next);
    if (!no_host_takes_it && ahead <= kMaxAhead && distance(end, stream.at.next) > 0) hold(stream, segment, true);
    return {};
  }
  if (Stream* const acknowledged = other_of(stream)) take_acknowledgement(*acknowledged, segment.acknowledgement);
  if (segment.timestamp && distance(first, stream.at.next) <= 0 &&
      (first == stream.at.next || distance(end, stream.at.next) > 0))
    stream.timestamp = *segment.timestamp, stream.has_timestamp = true;
  if (segment.fin) stream.end = end, stream.has_end = true;

  Window window;
  if (!segment.payload.empty() && is_next(stream, segment)) {
    open_window(stream);
    const auto old = static_cast<uint32_t>(window_.size());
    append_held(stream);  // where what is before them has been given up
    append(stream, first, segment.payload);
    append_held(stream);
    window = finish_window(stream, old);
    if (distance(first, stream.at.next) > 0 && !hold(stream, segment, false)) ++unfollowed_;
  }
  if (stream.has_end && stream.at.next == stream.end) set_closed(number_of(stream), true);
  return window;
}

Window Streams::acknowledged(uint64_t word) {
  Stream* const stream = other_of(streams_[word - 1]);
  if (stream == nullptr) return {};
  uint32_t to = stream->acknowledged;
  if (stream->has_end && to == stream->end + 1) to = stream->end;  // the FIN
  while (distance(to, stream->at.next) > 0) {
    open_window(*stream);
    const auto old = static_cast<uint32_t>(window_.size());
    do append_held(*stream);
    while (distance(to, stream->at.next) > 0 && append_acknowledged(*stream));
    const Window window = finish_window(*stream, old);
    if (stream->has_end && stream->at.next == stream->end) set_closed(number_of(*stream), true);
    if (!window.bytes.empty()) return window;
    uint32_t next = stream->held;
    while (next != kNone && distance(blocks_[next].sequence, stream->at.next) <= 0) next = blocks_[next].next;
    const bool held_first = next != kNone && distance(blocks_[next].sequence, to) < 0;
    skip_to(*stream, held_first ? blocks_[next].sequence : to, true);
  }
  return {};
}

}  // namespace heddle::nids
