#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "functions/nids/buffers.h"
#include "functions/nids/match.h"

namespace heddle::nids {

/** A body without its codings, as far as rules still look into it: all of it until it has kMin bytes, then a window
 *  before what is new, until it has had kMax bytes. Suricata's numbers (7.0, suricata.yaml, libhtp). */
struct Body {
  static constexpr size_t kMax = 100 << 10;
  static constexpr size_t kMin[] = {32 << 10, 40 << 10};  // [Side]
  static constexpr size_t kWindow[] = {4 << 10, 16 << 10};

  std::string bytes;
  uint64_t offset = 0;   ///< of `bytes` from the body's first
  uint64_t scanned = 0;  ///< up to where patterns have been looked for in all that look for some
  bool ended = false;    ///< nothing comes behind it

  uint64_t total() const { return offset + bytes.size(); }
};

/** What rules look into as a whole: a request of HTTP and its response, the handshake of TLS, a message of DNS. */
class Transaction {
 public:
  virtual ~Transaction() = default;

  /** What a buffer of one side is. `pending`: not there yet, `absent`: there is none, `part`: of a body, more may come,
   *  `whole`: there will be no more. */
  enum class State : uint8_t { pending, absent, part, whole };
  /** `text`: empty, or the buffer's bytes, perhaps put together in `scratch`; of a body, those that are kept. Of what
   *  there may be several of (is_list()), number `k`; absent behind the last. */
  virtual State look(Buffer buffer, Side side, size_t k, std::string_view& text, std::string& scratch) const = 0;
  virtual bool begun(Side side) const = 0;
  virtual bool ended(Side side) const = 0;
  const Body& body(Side side) const { return bodies_[side]; }
  /** Patterns have been looked for in all of the body that is there. */
  void set_scanned(Side side) { bodies_[side].scanned = bodies_[side].total(); }

  /** What rules are up to with it. Theirs to use. */
  struct Progress {
    struct Candidate {
      uint32_t rule;
      Side side;
      uint32_t matched;  ///< bit k: its part k
    };
    uint64_t generation = 0;        ///< of the rules; 0: none have seen it
    std::vector<uint64_t> offered;  ///< bit 2 * rule + side: it is a candidate, or has been one
    std::vector<uint8_t> scanned;   ///< [buffer of the rules * 2 + side]: patterns have been looked for in it
    std::vector<Candidate> candidates;
    bool begun[2] = {}, ended[2] = {};  ///< [Side]

    size_t memory() const {
      return offered.capacity() * 8 + scanned.capacity() + candidates.capacity() * sizeof(Candidate);
    }
  } progress;

 protected:
  Body bodies_[2];  // [Side]
};

/** What a connection says in an application protocol that rules look into. One thread at a time. */
class Dialogue {
 public:
  static constexpr size_t kMaxBytes = 1 << 20;  ///< that one may take; what takes more is given up

  virtual ~Dialogue() = default;
  Dialogue() = default;
  Dialogue(const Dialogue&) = delete;
  Dialogue& operator=(const Dialogue&) = delete;

  /** Takes what of a window is new to it. Bytes that were given up are a gap. */
  void take(Side side, const Window& window) {
    if (over_ || window.bytes.empty()) return;
    const uint64_t end = window.offset + window.bytes.size();
    auto& seen = seen_[side];
    if (!seen) seen = begin_of(side, window);
    if (*seen >= end) return;
    if (*seen < window.offset) skip(side, window.offset - *seen), seen = window.offset;
    const auto fresh = window.bytes.subspan(static_cast<size_t>(*seen - window.offset));
    seen = end;
    if (!over_) feed(side, {reinterpret_cast<const char*>(fresh.data()), fresh.size()});
    measure();
  }
  /** No more comes from this side. */
  virtual void close(Side side) = 0;
  /** Whether nothing more is to be seen, for it was too much or not what it seemed, or goes over to something else. */
  bool over() const { return over_; }
  bool gave_up() const { return gave_up_; }  ///< for it was too much, or not what it seemed
  /** How much of a side it has seen; nothing: none. */
  std::optional<uint64_t> seen(Side side) const { return seen_[side]; }

  /** Those that have not been forgotten, in order, until the next call of anything. */
  virtual const std::vector<Transaction*>& transactions() = 0;
  /** Rules have seen what came last: forgets transactions that have ended, and bytes that nobody looks into again. */
  virtual void forget(Side side) = 0;
  /** Bytes that it takes, as far as can be seen. */
  size_t memory() const { return memory_; }

 protected:
  /** Where in a direction what it takes begins, of which it has seen nothing before this window. */
  virtual uint64_t begin_of(Side, const Window& window) const { return window.offset; }
  virtual void feed(Side side, std::string_view bytes) = 0;
  virtual void skip(Side side, uint64_t bytes) = 0;
  /** Sets memory_, and gives up what takes too much. */
  virtual void measure() = 0;
  void give_up() { over_ = gave_up_ = true; }

  std::optional<uint64_t> seen_[2];
  size_t memory_ = 0;
  bool over_ = false, gave_up_ = false;
};

}  // namespace heddle::nids
