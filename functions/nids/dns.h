#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "functions/nids/transaction.h"

namespace heddle::nids {

constexpr uint16_t kDnsPort = 53;

/** Whether a message of DNS (RFC 1035, 4.1) begins so: it has a whole header, room for as many records as that says,
 *  and no question's name is malformed, as far as the message is there. `bytes`: that all of it has. */
bool is_dns(std::string_view message, size_t bytes);
/** The same of TCP, where two bytes before a message say how many it has (RFC 1035, 4.2.2). */
bool begins_dns(std::string_view text);

/** A message. */
class DnsMessage : public Transaction {
 public:
  /** With the questions' names; false: it is no message of DNS, or its questions are cut off. */
  bool read(std::string_view message);

  State look(Buffer buffer, Side side, size_t k, std::string_view& text, std::string& scratch) const override;
  bool begun(Side side) const override { return side == side_; }
  bool ended(Side) const override { return true; }
  Side side() const { return side_; }
  size_t memory() const;

 private:
  Side side_ = kRequest;
  char opcode_ = 0;
  std::vector<std::string> names_;
};

/** Messages over TCP, or a datagram. A message that is none ends the dialogue, as in Suricata. */
class DnsConnection : public Dialogue {
 public:
  static constexpr size_t kMaxMessages = 1024;  ///< that one window may bring

  /** If the packet is a datagram of DNS, takes it, and says so in the window. */
  void show(const View& view, Window& window);

  void close(Side) override {}
  const std::vector<Transaction*>& transactions() override;
  void forget(Side side) override;

 private:
  bool take_message(std::string_view message);
  void feed(Side side, std::string_view bytes) override;
  void skip(Side, uint64_t) override { give_up(); }
  void measure() override;

  std::string waiting_[2];  // the beginning of a message, [Side]
  std::vector<std::unique_ptr<DnsMessage>> messages_;
  std::vector<Transaction*> list_;
};

}  // namespace heddle::nids
