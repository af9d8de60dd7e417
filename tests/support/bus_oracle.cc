#include "tests/support/bus_oracle.h"

#include <algorithm>
#include <bit>

namespace heddle::test {
namespace {

constexpr uint64_t kPiece = 16, kLine = 64, kSlot = 32;  // gpu/transport.h, gpu/slot.h
constexpr int kHeadroom = 128;                           // rte_mbuf

uint64_t up(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }
uint64_t down(uint64_t bytes, uint64_t unit) { return bytes / unit * unit; }
/** Of memory [first, end), with what lies around it. */
uint64_t pieces(int first, int end, uint64_t unit) {
  return up(static_cast<uint64_t>(end), kPiece) - down(static_cast<uint64_t>(first), unit);
}

using Places = BusSegment::Places;

Places places(const std::vector<Field>& fields, int head) {
  Places set;
  for (const Field& field : fields) {
    if (field.to == Field::kOpen) set.set(BusSegment::kPlaces);
    for (int at = field.from + head; at < BusSegment::kPlaces && at < field.to + head; ++at)
      set.set(static_cast<size_t>(at));
  }
  return set;
}

/** For each step the first one of its segment on the GPU, which ends behind a function if they are `isolated`; -1: it
 *  is on the CPU. */
std::vector<int> segments_of(const RandomChain& chain, const std::vector<bool>& on_gpu, bool isolated) {
  std::vector<int> first(chain.steps.size(), -1);
  std::vector<bool> has_function(chain.steps.size(), false);  // the segment that begins at the step
  for (size_t i = 0; i < first.size(); ++i) {
    if (!on_gpu[i]) continue;
    const Step& step = chain.steps[i];
    first[i] = step.parent < 0 ? -1 : first[static_cast<size_t>(step.parent)];
    if (first[i] < 0 || (isolated && has_function[static_cast<size_t>(first[i])])) first[i] = static_cast<int>(i);
    if (step.function) has_function[static_cast<size_t>(first[i])] = true;
  }
  return first;
}

/** What one packet's way through the chain says of the segments that it passes. */
class Way {
 public:
  Way(const RandomChain& chain, const std::vector<int>& segment_of, const std::vector<int>& path)
      : chain_(chain), segment_of_(segment_of), path_(path) {}

  void pass(std::map<int, BusSegment>& segments) const {
    BusSegment::Ends ends;
    for (size_t i = 0; i < path_.size();) {
      if (segment_of_[static_cast<size_t>(path_[i])] < 0) {
        const Step& step = at(i++);
        ends.head += step.head, ends.tail += step.tail;
        continue;
      }
      BusSegment& segment = segments[path_[i]];
      segment.entry = ends;
      i = cross(i, segment, ends);
    }
  }

 private:
  const Step& at(size_t i) const { return chain_.steps[static_cast<size_t>(path_[i])]; }

  /** From step i of the way, the segment's first, to the one behind its last, which is returned. */
  size_t cross(size_t i, BusSegment& segment, BusSegment::Ends& ends) const {
    Places written;
    unsigned columns_set = 0;
    for (const int first = path_[i]; segment_of_[static_cast<size_t>(path_[i])] == first; ++i) {
      const Step& step = at(i);
      if (std::find(segment.steps.begin(), segment.steps.end(), path_[i]) == segment.steps.end()) {
        segment.steps.push_back(path_[i]);
        segment.grows += std::max(step.tail, 0);
      }
      segment.in |= places(step.reads, ends.head) & ~written;
      written |= places(step.writes, ends.head);
      segment.columns_in |= step.column_reads & ~columns_set;
      columns_set |= step.column_writes;
      segment.wants_bytes = segment.wants_bytes || !step.reads.empty() || !step.writes.empty();
      segment.writes_bytes = segment.writes_bytes || !step.writes.empty();
      segment.resizes = segment.resizes || step.tail != 0;
      ends.head += step.head, ends.tail += step.tail;
      segment.unstripped = segment.unstripped || ends.head < segment.entry.head;
    }
    for (size_t k = i; k < path_.size(); ++k) segment.unstripped = segment.unstripped || at(k).head < 0;
    segment.leaving[path_[i]] = ends;
    const auto [fields, columns] = wanted_from(i, ends.head);
    segment.out |= written & fields;
    segment.columns_out |= columns_set & columns;
    return i;
  }

  /** What steps from the i-th on read before something writes it. */
  std::pair<Places, unsigned> wanted_from(size_t i, int head) const {
    Places fields, written;
    unsigned columns = 0, set = 0;
    for (; i < path_.size(); ++i) {
      const Step& step = at(i);
      fields |= places(step.reads, head) & ~written;
      written |= places(step.writes, head);
      columns |= step.column_reads & ~set;
      set |= step.column_writes;
      head += step.head;
    }
    return {fields, columns};
  }

  const RandomChain& chain_;
  const std::vector<int>& segment_of_;
  const std::vector<int>& path_;
};

/** Columns that come back for all packets of a slot, and were set for some only, must have gone there. */
void complete_columns(const RandomChain& chain, const std::vector<int>& segment_of, const std::vector<int>& path,
                      std::map<int, BusSegment>& segments) {
  for (size_t i = 0; i < path.size();) {
    const int first = path[i];
    if (!segments.contains(first)) {
      ++i;
      continue;
    }
    BusSegment& segment = segments[first];
    unsigned set = 0, wanted = 0;
    for (; segment_of[static_cast<size_t>(path[i])] == first; ++i)
      set |= chain.steps[static_cast<size_t>(path[i])].column_writes;
    for (size_t k = path.size(); k-- > i;) {
      const Step& step = chain.steps[static_cast<size_t>(path[k])];
      wanted = step.column_reads | (wanted & ~step.column_writes);
    }
    segment.columns_in |= segment.columns_out & wanted & ~set;
  }
}

}  // namespace

/** Packets stay on the GPU while others work on them: a field that is there moves again only when the CPU has written
 *  it. */
class Residence {
 public:
  Residence(const RandomChain& chain, const std::vector<bool>& on_gpu, std::map<int, BusSegment>& segments)
      : chain_(chain), on_gpu_(on_gpu), segments_(segments) {}

  void pass(const std::vector<int>& path) {
    stale_ = Places().set(), from_ = Field::kOpen, parts_ = false;
    int head = 0;
    for (const int index : path) {
      const Step& step = chain_.steps[static_cast<size_t>(index)];
      if (segments_.contains(index)) enter(segments_[index]);
      if (!on_gpu_[static_cast<size_t>(index)]) {
        if (step.tail != 0) from_ = Field::kOpen, parts_ = false;  // another packet
        stale_ |= places(step.writes, head);
      }
      head += step.head;
    }
  }

 private:
  void enter(BusSegment& segment) {
    if (!segment.moves_bytes()) return;
    const bool whole = segment.copied_in().to == Field::kOpen;
    segment.stale = Places().set();
    if (segment.grows > 0) from_ = Field::kOpen, parts_ = false;  // it may have moved to a buffer with room
    if (!whole) {
      parts_ = parts_ || (stale_ & (segment.in | segment.out)).any();
      return;
    }
    const bool is_there = from_ <= segment.entry.head + segment.copied_in().from;
    if (is_there) segment.stale = stale_;
    if (is_there && parts_) segment.stale.reset();
    if (!is_there || !parts_) parts_ = false;
    from_ = std::min(from_, segment.entry.head), stale_ = Places();
  }

  const RandomChain& chain_;
  const std::vector<bool>& on_gpu_;
  std::map<int, BusSegment>& segments_;
  Places stale_;
  int from_ = Field::kOpen;  // where the packet on the GPU begins; kOpen: there is none
  bool parts_ = false;       // parts of it have been brought up to date apart
};

namespace {

int frame_start(const Frame& frame) { return frame.headroom >= 0 ? frame.headroom : kHeadroom; }
uint64_t length(const Frame& frame, BusSegment::Ends ends) {
  return static_cast<uint64_t>(std::max(0, static_cast<int>(frame.bytes.size()) - ends.head + ends.tail));
}

}  // namespace

std::map<int, BusSegment> bus_segments(const RandomChain& chain, const std::vector<bool>& on_gpu, Between between) {
  const bool share = between == Between::shared;
  const std::vector<int> segment_of = segments_of(chain, on_gpu, between == Between::isolated);
  std::map<int, BusSegment> segments;
  for (auto& path : chain.paths()) Way(chain, segment_of, path).pass(segments);
  for (auto& path : chain.paths()) complete_columns(chain, segment_of, path, segments);
  for (auto& path : chain.paths())
    if (share) Residence(chain, on_gpu, segments).pass(path);
  return segments;
}

uint64_t BusSegment::slot_to_gpu() const {
  const bool in_words = !wants_bytes && !resizes && std::popcount(columns_in) == 1;
  return kSlot * (8 + (in_words ? 0 : 4 * static_cast<uint64_t>(std::popcount(columns_in))));
}
uint64_t BusSegment::slot_from_gpu() const {
  return kSlot * ((resizes ? 8 : 4) + 4 * static_cast<uint64_t>(std::popcount(columns_out)));
}

Field BusSegment::span(const Places& fields) const {
  if (fields.none()) return {0, 0};
  int first = 0, last = kPlaces - 1;
  while (first < kPlaces && !fields[static_cast<size_t>(first)]) ++first;
  while (last >= 0 && !fields[static_cast<size_t>(last)]) --last;
  return {first - entry.head, fields[kPlaces] ? Field::kOpen : std::max(last + 1 - entry.head, 0)};
}
// What is written back has come before, with the bytes around it.
Field BusSegment::copied_in() const {
  Field wanted = span(in | out);
  if (writes_bytes && grows > 0) wanted.to = Field::kOpen;
  if (wanted.to == Field::kOpen) wanted.from = std::min(wanted.from, 0);
  return wanted;
}

Bounds BusSegment::to_gpu(Transport transport, const Frame& frame) const {
  if (!moves_bytes()) return {};
  const Field field = copied_in();
  if (transport == Transport::coalescent) {
    const int to = std::min(static_cast<int>(length(frame, entry)), field.to);
    const uint64_t bytes = up(static_cast<uint64_t>(std::max(to - field.from, 0) + grows), kPiece);
    return {bytes, bytes};
  }
  if (transport == Transport::landing && out.any()) {
    const uint64_t bytes = landed(frame);
    return {bytes, bytes};
  }
  if (!gathers(transport) && transport != Transport::commlist) return {};
  const uint64_t all = gathered(field, frame);
  if (!stale) return {0, all};
  const Field part = field.to == Field::kOpen ? span(*stale) : field;
  const uint64_t bytes = part.to == Field::kOpen ? all : gathered(part, frame);
  return {bytes, bytes};
}

uint64_t BusSegment::gathered(Field field, const Frame& frame) const {
  const bool open = field.to == Field::kOpen;
  const int start = frame_start(frame) + entry.head, all = static_cast<int>(length(frame, entry));
  const int first = start + field.from, end = start + std::min(all, field.to) + (open ? grows : 0);
  const bool long_ones = copied_in().to == Field::kOpen || field.to - field.from > static_cast<int>(2 * kLine);
  return first < end ? pieces(first, end, long_ones ? kLine : kPiece) : 0;
}

// All of the packet, what has been stripped from it, and room for what the segment adds.
uint64_t BusSegment::landed(const Frame& frame) const {
  const uint64_t start = static_cast<uint64_t>(frame_start(frame));
  const uint64_t end = start + static_cast<uint64_t>(entry.head) + length(frame, entry) + static_cast<uint64_t>(grows);
  return start < end ? up(end, kPiece) - down(start, kLine) : 0;
}

uint64_t BusSegment::from_gpu(Transport transport, const Frame& frame, int behind) const {
  if (!moves_bytes() || out.none()) return 0;
  if (transport == Transport::coalescent) return to_gpu(transport, frame).most;
  if (transport == Transport::landing) return landed(frame);
  // Where a packet will end is not known when its copy is listed: all that has been brought goes back.
  if (transport == Transport::commlist && writes_to_end()) return to_gpu(transport, frame).most;
  if (transport != Transport::gather && transport != Transport::commlist) return 0;
  const bool open = writes_to_end();
  const Field field = span(out), gathered = copied_in();
  const int start = frame_start(frame) + entry.head;
  const Ends leaves = leaving.at(behind);
  const int first = open && !unstripped ? frame_start(frame) + leaves.head : start + field.from;
  const int end = open ? frame_start(frame) + leaves.head + static_cast<int>(length(frame, leaves))
                       : start + std::min(static_cast<int>(length(frame, entry)), field.to);
  return first < end ? pieces(first, end, gathered.to - gathered.from > static_cast<int>(2 * kLine) ? kLine : kPiece)
                     : 0;
}

uint64_t BusSegment::declared(const Places& fields, const Frame& frame) const {
  if (fields[kPlaces]) return length(frame, entry);
  return fields.count();
}

}  // namespace heddle::test
