#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "functions/nids/http_buffers.h"
#include "functions/nids/match.h"

struct htp_connp_t;
struct htp_tx_t;

namespace heddle::nids {

/** A body without its codings, as far as rules still look into it: all of it until it has kMin bytes, then a window
 *  before what is new, until it has had kMax bytes. Suricata's numbers (7.0, suricata.yaml, libhtp). */
struct HttpBody {
  static constexpr size_t kMax = 100 << 10;
  static constexpr size_t kMin[] = {32 << 10, 40 << 10};  // [HttpSide]
  static constexpr size_t kWindow[] = {4 << 10, 16 << 10};

  std::string bytes;
  uint64_t offset = 0;   ///< of `bytes` from the body's first
  uint64_t scanned = 0;  ///< up to where patterns have been looked for in all that look for some
  bool ended = false;    ///< nothing comes behind it

  uint64_t total() const { return offset + bytes.size(); }
};

/** A request and its response. */
class HttpTransaction {
 public:
  explicit HttpTransaction(const htp_tx_t& parsed) : parsed_(parsed) {}

  /** What a buffer of one side is. `pending`: not there yet, `absent`: there is none, `part`: of a body, more may come,
   *  `whole`: there will be no more. */
  enum class State : uint8_t { pending, absent, part, whole };
  /** `text`: empty, or the buffer's bytes, perhaps put together in `scratch`; of a body, those that are kept. */
  State look(HttpBuffer buffer, HttpSide side, std::string_view& text, std::string& scratch) const;
  const HttpBody& body(HttpSide side) const { return bodies_[side]; }
  /** Patterns have been looked for in all of the body that is there. */
  void set_scanned(HttpSide side) { bodies_[side].scanned = bodies_[side].total(); }
  bool begun(HttpSide side) const;
  bool ended(HttpSide side) const;

  /** What rules are up to with it. Theirs to use. */
  struct Progress {
    struct Candidate {
      uint32_t rule;
      HttpSide side;
      uint32_t matched;  ///< bit k: its part k
    };
    uint64_t generation = 0;        ///< of the rules; 0: none have seen it
    std::vector<uint64_t> offered;  ///< bit 2 * rule + side: it is a candidate, or has been one
    std::vector<uint8_t> scanned;   ///< [buffer of the rules * 2 + side]: patterns have been looked for in it
    std::vector<Candidate> candidates;
    bool begun[2] = {}, ended[2] = {};  ///< [HttpSide]
  } progress;

 private:
  friend class HttpConnection;
  size_t memory() const;
  void append(HttpSide side, std::string_view bytes);

  const htp_tx_t& parsed_;
  std::string raw_headers_[2];
  std::string uri_;
  HttpBody bodies_[2];
};

/** An HTTP connection's transactions, by libhtp, which is Suricata's parser. One thread at a time.
 *
 *  Memory is bounded: a side's headers by kMaxHeaderBytes, bodies as HttpBody says, all of it by kMaxBytes; a
 *  connection that takes more is not followed any longer. */
class HttpConnection {
 public:
  static constexpr size_t kMaxHeaderBytes = 64 << 10;
  static constexpr size_t kMinBytes = 2 << 10, kMaxBytes = 1 << 20;
  static constexpr size_t kMaxTransactions = 512;  ///< that have not ended; Suricata's max-tx

  /** Throws std::bad_alloc. */
  HttpConnection();
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  /** Whether a client that begins so speaks HTTP; nothing: it cannot be said yet. */
  static std::optional<bool> begins(std::string_view text);

  /** Takes what of a window is new to it. Bytes that were given up are a gap. */
  void take(HttpSide side, const Window& window);
  /** No more comes from this side. */
  void close(HttpSide side);
  /** Whether nothing more is to be seen, for it was too much or no HTTP, or goes over to something else. */
  bool over() const { return over_; }
  bool gave_up() const { return gave_up_; }  ///< for it was too much, or no HTTP
  /** How much of a side it has seen; nothing: none. */
  std::optional<uint64_t> seen(HttpSide side) const { return seen_[side]; }

  /** Calls `visit(transaction)` for each that has not been forgotten, in order. */
  template <class Visit>
  void each(const Visit& visit) {
    for (HttpTransaction* one : transactions()) visit(*one);
  }
  /** Rules have seen what came last: forgets transactions that have ended, and bytes before the windows of bodies. */
  void forget(HttpSide side);
  /** Bytes that it takes, as far as can be seen. */
  size_t memory() const { return memory_; }

 private:
  struct Hooks;
  friend struct Hooks;
  const std::vector<HttpTransaction*>& transactions();
  void feed(HttpSide side, std::string_view bytes);
  void skip(HttpSide side, uint64_t bytes);
  void give_up() { over_ = gave_up_ = true; }
  void measure();

  htp_connp_t* parser_;
  std::vector<HttpTransaction*> list_;
  std::optional<uint64_t> seen_[2];
  std::string waiting_[2];  // bytes that the parser does not want yet
  size_t memory_ = 0;
  bool over_ = false, gave_up_ = false, closed_[2] = {};
};

}  // namespace heddle::nids
