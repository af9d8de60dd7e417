#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "functions/nids/transaction.h"

namespace heddle::nids {

/** The handshake of a connection, as far as it is not encrypted. */
class TlsHandshake : public Transaction {
 public:
  State look(Buffer buffer, Side side, size_t k, std::string_view& text, std::string& scratch) const override;
  bool begun(Side) const override { return true; }
  bool ended(Side side) const override { return sides_[side].ended; }

 private:
  friend class TlsConnection;
  void read_message(Side side, uint8_t type, std::string_view body);
  size_t memory() const;

  struct OneSide {
    std::string messages;                   // of the handshake, what has not been read yet
    std::vector<std::string> certificates;  // as they came, in DER
    bool has_certificates = false, has_hello = false, ended = false;
  };
  OneSide sides_[2];  // [Side]
  std::string server_name_;
};

/** TLS (RFC 8446; RFC 5246), from SSL 3 on: the records of both sides until what is in them is encrypted. */
class TlsConnection : public Dialogue {
 public:
  static constexpr size_t kMaxMessageBytes = 256 << 10;  ///< of the handshake

  void close(Side side) override { end(side); }
  const std::vector<Transaction*>& transactions() override { return list_; }
  void forget(Side) override { measure(); }

 private:
  void feed(Side side, std::string_view bytes) override;
  void skip(Side side, uint64_t) override { end(side); }
  void end(Side side);
  void read_messages(Side side);
  void measure() override;

  TlsHandshake handshake_;
  std::string records_[2];  // [Side]: the beginning of a record
  std::vector<Transaction*> list_{&handshake_};
};

}  // namespace heddle::nids
