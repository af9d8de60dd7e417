#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "gpu/events.h"

namespace heddle::nids {

/** What a GPU tells the host of candidates that go on without waiting for it: a copy of each, and where it lies. Its
 *  State (gpu/registry.cuh). Packets have any length, so their bytes are in a ring of words of their own. Written
 *  before the event that names them; the oldest are written over. */
struct Candidates {
  struct Candidate {
    uint64_t first;   ///< number of its first word
    uint32_t bytes;   ///< of the packet
    uint16_t l3, l4;  ///< where its headers begin in it
  };
  using Told = gpu::EventRing<Candidate, 1 << 15>;
  using Words = gpu::EventRing<uint32_t, 1 << 20>;  ///< the packets' bytes, in memory order, each from a new word on

  Told told;
  Words words;
};

/** The host's end of it; one thread at a time. */
class CandidateReader {
 public:
  /** Calls `visit(packet, l3, l4)` for candidates that the GPU has told of since the last call, `glance`, if there is
   *  one, for all of them before. The packet, a span of its bytes, is there until the next call. `read`, `last`: as of
   *  gpu::EventReader::poll(). */
  template <class Read, class Visit, class Glance = std::nullptr_t>
  void poll(const Read& read, const Visit& visit, bool last = false, const Glance& glance = nullptr) {
    list_.clear();
    told_.poll([&](size_t offset, auto to) { return read(offsetof(Candidates, told) + offset, to); },
               [&](const Candidates::Candidate& candidate) { list_.push_back(candidate); }, last);
    if (list_.empty()) return;
    uint64_t first = ~uint64_t{0}, end = 0;
    for (const auto& one : list_) first = std::min(first, one.first), end = std::max(end, one.first + words_of(one));
    first = std::max(first, end - std::min<uint64_t>(end, Candidates::Words::kEvents));
    if (!fetch(first, end, read)) {
      overwritten_ += list_.size();
      return;
    }
    if constexpr (!std::is_null_pointer_v<Glance>) each(first, glance);
    overwritten_ += list_.size() - each(first, visit);
  }

  /** Candidates that nobody has seen, because others were written over them, or the GPU failed. */
  uint64_t lost() const { return told_.lost() + overwritten_; }

 private:
  /** Calls `visit` for those of the list that are there, in words_, which begin with number `first`; returns how
   *  many. */
  template <class Visit>
  size_t each(uint64_t first, const Visit& visit) {
    size_t there = 0;
    for (const auto& one : list_) {
      if (one.first < first || !assemble(one, first)) continue;
      visit(std::span<const uint8_t>(reinterpret_cast<const uint8_t*>(packet_.data()), one.bytes), one.l3, one.l4);
      ++there;
    }
    return there;
  }

  static uint64_t words_of(const Candidates::Candidate& one) { return (uint64_t{one.bytes} + 3) / 4; }

  /** Reads words [first, end), at most as many as there are. */
  template <class Read>
  bool fetch(uint64_t first, uint64_t end, const Read& read) {
    using Words = Candidates::Words;
    words_.resize(end - first);
    for (uint64_t at = first; at < end;) {
      const uint64_t count = std::min(end - at, Words::kEvents - at % Words::kEvents);
      const size_t offset =
          offsetof(Candidates, words) + offsetof(Words, word) + at % Words::kEvents * sizeof(uint64_t);
      if (!read(offset, std::as_writable_bytes(std::span(words_).subspan(at - first, count)))) return false;
      at += count;
    }
    return true;
  }

  /** Puts it into packet_, from words_, which begin with number `first`; false: it has been written over. */
  bool assemble(const Candidates::Candidate& one, uint64_t first) {
    packet_.resize(words_of(one));
    for (size_t w = 0; w < packet_.size(); ++w) {
      const uint64_t word = words_[one.first - first + w];
      if (word >> 32 != Candidates::Words::stamp_of(one.first + w)) return false;
      packet_[w] = static_cast<uint32_t>(word);
    }
    return true;
  }

  gpu::EventReader<Candidates::Told> told_;
  std::vector<Candidates::Candidate> list_;
  std::vector<uint64_t> words_;
  std::vector<uint32_t> packet_;
  uint64_t overwritten_ = 0;
};

}  // namespace heddle::nids
