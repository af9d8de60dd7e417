#include "functions/nids/streams.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace heddle::nids {

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

void Streams::forget_gap(Stream& stream) {
  give_back(stream.gap.tail);
  stream.has_gap = stream.has_former = false;
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
  const bool offers_timestamps = stream.offers_timestamps;
  stream = {};
  stream.other = other, stream.offers_timestamps = offers_timestamps;
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
  if (stream.other == kNone) return Doubt::none;
  const Stream& other = streams_[stream.other];
  const auto most = static_cast<int32_t>(std::min<uint64_t>(kOldAckBytes, other.at.offset));
  if (other.knows_begin() && (distance(segment.acknowledgement, other.sent) > 0 ||
                              distance(other.acknowledged, segment.acknowledgement) > most))
    return Doubt::bad_ack;
  const bool have_timestamps = stream.offers_timestamps && other.offers_timestamps;  // RFC 7323, 3.2
  if (have_timestamps && segment.timestamp && stream.has_timestamp &&
      distance(*segment.timestamp, stream.timestamp) < 0)
    return Doubt::old_timestamp;
  const uint32_t end = segment.sequence + static_cast<uint32_t>(segment.payload.size());
  return stream.has_edge && !segment.payload.empty() && distance(end, stream.edge) > 0 ? Doubt::beyond_window
                                                                                       : Doubt::none;
}

void Streams::raise_sent(Stream& stream, uint32_t sent) {
  const uint32_t from = stream.other != kNone && stream.answered ? stream.acknowledged : stream.at.next;
  if (distance(sent, stream.sent) > 0 && distance(sent, from) <= kMaxUnacknowledged) stream.sent = sent;
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
  // A connection is answered once, by one number: another one answers the SYN of the next connection.
  const bool by_other =
      asked.has_other_begin && (acknowledgement == asked.other_begin || (asked.answered && first != stream.begin));
  const bool is_answer =
      !by_other && distance(acknowledgement, asked.begin) >= 0 && distance(acknowledgement, asked.sent) <= 0;
  if (is_answer) {
    take_syn(stream, first);
    if (!asked.answered && asked.at.offset != 0) doubt_beginning(asked);
  } else if (asked.has_other_begin) {
    begin(asked, acknowledgement);
    begin(stream, first);
    asked.has_syn = true;
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
  stream.sent = acknowledgement, stream.has_syn = true;
}

void Streams::take_acknowledgement(Stream& stream, uint32_t acknowledgement) {
  if (!stream.knows_begin() &&
      (distance(acknowledgement, stream.begin) < 0 || distance(acknowledgement, stream.sent) > 0)) {
    const int32_t ahead = distance(acknowledgement, stream.at.next);
    forget_gap(stream);
    stream.gap = {ahead > 0 ? stream.at.offset + static_cast<uint32_t>(ahead) : 0, acknowledgement, kNone};
    stream.has_gap = true, stream.since_gap = 0;
    return;
  }
  if (distance(acknowledgement, stream.begin) < 0 && !stream.answered) return;
  stream.answered = true;
  if (distance(acknowledgement, stream.acknowledged) > 0) stream.acknowledged = acknowledgement;
}

void Streams::take_window(Stream& stream, const TcpSegment& segment) {
  const Stream& other = streams_[stream.other];
  if (!segment.window || !stream.knows_scale || !other.knows_scale) return;
  const uint32_t acknowledgement = segment.acknowledgement;
  if (distance(acknowledgement, stream.acknowledged) < 0 || distance(acknowledgement, stream.sent) > 0) return;
  // The window of a SYN itself is not scaled (RFC 7323, 2.2), nor is any unless both SYNs offer it.
  const bool scales = !segment.syn && stream.scales_window && other.scales_window;
  const uint32_t edge = acknowledgement + (uint32_t{*segment.window} << (scales ? other.window_scale : 0));
  if (stream.has_edge && distance(edge, stream.edge) <= 0) return;  // hosts need not take back what they have said
  stream.edge = edge, stream.has_edge = true;
}

void Streams::doubt_beginning(Stream& stream) {
  forget_gap(stream);
  const Place place = std::exchange(stream.at, Place{0, stream.begin, kNone});
  stream.has_timestamp = false;
  if (place.tail == kNone) return;
  Block& block = blocks_[place.tail];
  block.sequence = place.next - block.length;
  block.doubtful = true, block.has_ack = false, block.pieces = 1;
  insert(stream, place.tail);
}

void Streams::skip_to(Stream& stream, uint32_t sequence, bool for_good) {
  if (for_good && stream.has_former && distance(sequence, stream.gap.next) >= 0) {
    give_back(stream.at.tail);
    stream.at = std::exchange(stream.gap, Place{});
    stream.has_former = false;
    return;
  }
  ++gaps_;
  const Place place{stream.at.offset + (sequence - stream.at.next), sequence, kNone};
  if (for_good && stream.has_gap) forget_gap(stream);
  if (for_good || stream.has_gap)
    give_back(stream.at.tail);
  else
    may_go_back(stream);
  stream.at = place;
}

void Streams::may_go_back(Stream& stream) {
  forget_gap(stream);
  stream.gap = stream.at, stream.has_gap = true, stream.since_gap = 0;
  stream.at.tail = kNone;
}

void Streams::go_back(Stream& stream) {
  const bool is_back = distance(stream.at.next, stream.gap.next) >= 0;
  if (!is_back) ++gaps_;
  forget_held(stream);
  std::swap(stream.at, stream.gap);
  stream.has_gap = false;
  if (is_back && stream.other != kNone)
    stream.has_former = true;
  else
    forget_gap(stream);
  if (!stream.knows_begin() && distance(stream.at.next, stream.begin) < 0)
    stream.begin = stream.acknowledged = stream.at.next;
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

void Streams::append_held(Stream& stream, bool doubtful) {
  uint32_t* place = &stream.held;
  while (*place != kNone && distance(blocks_[*place].sequence, stream.at.next) <= 0) {
    Block& block = blocks_[*place];
    if (block.doubtful && !doubtful && distance(block.end(), stream.at.next) > 0) {
      place = &block.next;
      continue;
    }
    append(stream, block.sequence, {block.bytes, block.length});
    remove(stream, *place);
  }
}

bool Streams::append_acknowledged(Stream& stream) {
  // One that is acknowledged as a whole is more likely to be what has been taken.
  uint32_t* found = nullptr;
  for (uint32_t* place = &stream.held; *place != kNone; place = &blocks_[*place].next) {
    const Block& block = blocks_[*place];
    if (distance(block.sequence, stream.at.next) > 0) break;
    if (found == nullptr) found = place;
    if (distance(block.end(), stream.acknowledged) > 0) continue;
    found = place;
    break;
  }
  if (found == nullptr) return false;
  // A host has taken it: the other side has sent what it acknowledges, and its timestamp is not old.
  const Block& block = blocks_[*found];
  if (block.has_ack) raise_sent(streams_[stream.other], block.acknowledgement);
  stream.has_timestamp = false;
  const uint32_t taken = std::min<uint32_t>(block.length, stream.acknowledged - block.sequence);
  append(stream, block.sequence, {block.bytes, taken});
  if (taken == block.length) remove(stream, *found);
  return true;
}

uint32_t Streams::first_held(const Stream& stream, uint32_t before) const {
  uint32_t number = stream.held;
  while (number != kNone && distance(blocks_[number].end(), stream.at.next) <= 0) number = blocks_[number].next;
  const bool is_before = number != kNone && distance(blocks_[number].sequence, before) < 0;
  return is_before ? blocks_[number].sequence : before;
}

Window Streams::follow_doubtful(Stream& stream, const TcpSegment& segment) {
  const uint32_t first = segment.sequence + (segment.syn ? 1 : 0);
  if (const uint32_t next = first_held(stream, first); distance(next, stream.at.next) > 0) skip_to(stream, next, false);
  open_window(stream);
  const auto old = static_cast<uint32_t>(window_.size());
  if (!stream.has_gap) may_go_back(stream);
  append_held(stream, true);
  append(stream, first, segment.payload);
  append_held(stream, true);
  const Window window = finish_window(stream, old);
  if (distance(first, stream.at.next) > 0 && !hold(stream, segment, true)) ++unfollowed_;
  return window;
}

Window Streams::finish_window(Stream& stream, uint32_t old) {
  const auto fresh = static_cast<uint32_t>(window_.size()) - old;
  if (fresh == 0) return {};
  stream.far_count = 0;
  set_closed(number_of(stream), false);
  keep_tail(stream);
  stream.since_gap += fresh;
  const bool is_asked_for =  // the other side says that it has not come
      stream.other != kNone && stream.answered && distance(stream.acknowledged, stream.gap.next) <= 0;
  if (stream.has_gap && stream.since_gap > kRegretBytes && !is_asked_for) forget_gap(stream);
  if (stream.has_former && distance(stream.at.next, stream.gap.next) >= 0) forget_gap(stream);
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
  const bool no_host_takes_it = segment.rst || (!segment.ack && !segment.syn);
  if (word == 0) {
    if (no_host_takes_it) {  // nor does a connection begin by it
      if (!segment.payload.empty()) ++doubts_[static_cast<size_t>(segment.rst ? Doubt::with_rst : Doubt::no_ack)];
      return {};
    }
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
    if (first == stream.begin) {
      if (!stream.knows_scale) {
        constexpr uint8_t kMostScale = 14;  // RFC 7323, 2.3
        stream.scales_window = segment.window_scale.has_value();
        stream.window_scale = std::min(segment.window_scale.value_or(0), kMostScale);
      }
      stream.has_syn = stream.knows_scale = true;
      if (Stream* const asked = other_of(stream); asked != nullptr && segment.ack) take_window(*asked, segment);
    }
    stream.offers_timestamps |= segment.timestamp.has_value();
    if (segment.timestamp && first == stream.at.next && !stream.has_timestamp)
      stream.timestamp = *segment.timestamp, stream.has_timestamp = true;
  }
  if (segment.ack && !segment.syn && stream.other != kNone)
    settle_beginning(streams_[stream.other], segment.acknowledgement);
  const Doubt doubt = doubt_of(stream, segment);
  const uint32_t end = first + static_cast<uint32_t>(segment.payload.size());
  if (!no_host_takes_it && (!segment.syn || first == stream.begin)) raise_sent(stream, end + (segment.fin ? 1 : 0));
  if (segment.rst && segment.sequence == stream.at.next) {
    set_closed(number_of(stream), true);
    if (stream.other != kNone) set_closed(stream.other, true);
  }
  // That there is no room for its payload does not touch what a segment says of the other direction.
  if (Stream* const asked = other_of(stream);
      asked != nullptr && (doubt == Doubt::none || doubt == Doubt::beyond_window)) {
    take_acknowledgement(*asked, segment.acknowledgement);
    take_window(*asked, segment);
  }
  if (doubt != Doubt::none) {
    if (segment.fin && !no_host_takes_it && !stream.has_end) stream.end = end, stream.may_end = true;
    if (segment.payload.empty()) return {};
    ++doubts_[static_cast<size_t>(doubt)];
    if (no_host_takes_it || distance(end, stream.at.next) <= 0) return {};
    if (distance(first, stream.at.next) <= kMaxAhead)
      return hold(stream, segment, true) ? Window{} : follow_doubtful(stream, segment);
    ++unfollowed_;
    return {};
  }
  if (segment.timestamp && distance(first, stream.at.next) <= 0 && distance(first, stream.acknowledged) <= 0 &&
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
  if ((stream->has_end || stream->may_end) && to == stream->end + 1)
    to = stream->end, stream->has_end = true;  // the FIN
  // What has been given up, or followed in doubt, is not missed any more.
  if (stream->has_gap && distance(to, stream->gap.next) > 0 && distance(to, stream->at.next) >= 0) forget_gap(*stream);
  while (distance(to, stream->at.next) > 0) {
    open_window(*stream);
    const auto old = static_cast<uint32_t>(window_.size());
    do append_held(*stream);
    while (distance(to, stream->at.next) > 0 && append_acknowledged(*stream));
    const Window window = finish_window(*stream, old);
    if (stream->has_end && stream->at.next == stream->end) set_closed(number_of(*stream), true);
    if (!window.bytes.empty()) return window;
    skip_to(*stream, first_held(*stream, to), true);
  }
  return {};
}

}  // namespace heddle::nids
