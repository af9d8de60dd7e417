#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "functions/nids/transaction.h"

struct htp_connp_t;
struct htp_tx_t;

namespace heddle::nids {

/** A request and its response. */
class HttpTransaction : public Transaction {
 public:
  explicit HttpTransaction(const htp_tx_t& parsed) : parsed_(parsed) {}

  State look(Buffer buffer, Side side, size_t k, std::string_view& text, std::string& scratch) const override;
  bool begun(Side side) const override;
  bool ended(Side side) const override;

 private:
  friend class HttpConnection;
  size_t memory() const;
  void append(Side side, std::string_view bytes);

  const htp_tx_t& parsed_;
  std::string raw_headers_[2];
  std::string uri_;
};

/** An HTTP connection's transactions, by libhtp, which is Suricata's parser. One thread at a time.
 *
 *  Memory is bounded: a side's headers by kMaxHeaderBytes, bodies as Body says, all of it by kMaxBytes; a
 *  connection that takes more is not followed any longer. */
class HttpConnection : public Dialogue {
 public:
  static constexpr size_t kMaxHeaderBytes = 64 << 10;
  static constexpr size_t kMinBytes = 2 << 10;
  static constexpr size_t kMaxTransactions = 512;  ///< that have not ended; Suricata's max-tx

  /** Throws std::bad_alloc. */
  HttpConnection();
  ~HttpConnection() override;

  /** Whether a client that begins so speaks HTTP; nothing: it cannot be said yet. */
  static std::optional<bool> begins(std::string_view text);

  void close(Side side) override;
  const std::vector<Transaction*>& transactions() override;
  void forget(Side side) override;

 private:
  struct Hooks;
  friend struct Hooks;
  /** Calls `visit(transaction)` for each that has not been forgotten, in order. */
  template <class Visit>
  void each(const Visit& visit);
  /** What a server has said before it was asked is no answer. */
  uint64_t begin_of(Side side, const Window& window) const override {
    return window.offset + (side == kRequest ? 0 : window.fresh);
  }
  void feed(Side side, std::string_view bytes) override;
  void skip(Side side, uint64_t bytes) override;
  void measure() override;

  htp_connp_t* parser_;
  std::vector<Transaction*> list_;
  std::string waiting_[2];  // bytes that the parser does not want yet
  bool closed_[2] = {};
};

}  // namespace heddle::nids
