#include "functions/nids/dns.h"

#include <algorithm>
#include <utility>

namespace heddle::nids {
namespace {

// RFC 1035, 4.1.1: id, flags, and how many questions, answers, authorities and additional records there are.
constexpr size_t kDnsHeaderBytes = 12, kFlags = 2, kCounts = 4, kMinRecordBytes = 2;
constexpr size_t kMaxLabels = 255, kMaxNameBytes = 1025;  // Suricata's
// Of a message; further names are not looked into, and ends of further ones not looked for.
constexpr size_t kMaxNames = 256, kMinNamesBytes = 4 << 10, kMaxNamesBytes = 64 << 10, kMaxSteps = 4096;

size_t big_endian16(std::string_view text, size_t at) {
  return static_cast<size_t>(static_cast<uint8_t>(text[at])) << 8 | static_cast<uint8_t>(text[at + 1]);
}

enum class Parsed : uint8_t { whole, cut, wrong };

/** Reads the name at `at` (RFC 1035, 4.1.4), which is then behind it. `left`: labels and pointers behind pointers that
 *  may still be read, of all names of the message. */
Parsed read_name(std::string_view message, size_t& at, std::string& name, size_t& left) {
  size_t from = at;
  bool jumped = false, full = false;
  name.clear();
  for (size_t labels = 0; from < message.size(); ++labels) {
    const size_t length = static_cast<uint8_t>(message[from]);
    if (jumped && left == 0) {  // nobody looks into what is not whole
      name.clear();
      return Parsed::whole;
    }
    left -= jumped ? 1 : 0;
    if (labels > kMaxLabels || (jumped && full)) {
      if (!jumped) return Parsed::wrong;
      return Parsed::whole;
    }
    if (length == 0) {
      if (!jumped) at = from + 1;
      return Parsed::whole;
    }
    if ((length & 0xc0) == 0xc0) {
      if (from + 2 > message.size()) return Parsed::cut;
      const size_t to = big_endian16(message, from) & 0x3fff;
      if (to > message.size() || (to == from && !jumped)) return Parsed::wrong;
      if (!std::exchange(jumped, true)) at = from + 2;
      if (to == from) return Parsed::whole;
      from = to;
    } else if ((length & 0xc0) == 0) {
      if (from + 1 + length > message.size()) return Parsed::cut;
      if (!full) name.append(name.empty() ? "" : ".").append(message.substr(from + 1, length));
      if (full = name.size() > kMaxNameBytes; full) name.resize(kMaxNameBytes);
      from += 1 + length;
    } else {
      return Parsed::wrong;
    }
  }
  if (!jumped) at = from;
  return Parsed::whole;
}

/** Calls `visit(name)` for each question. */
template <class Visit>
Parsed read_questions(std::string_view message, const Visit& visit) {
  std::string name;
  size_t at = kDnsHeaderBytes, steps = kMaxSteps;
  for (size_t left = big_endian16(message, kCounts); left > 0; --left) {
    if (const Parsed parsed = read_name(message, at, name, steps); parsed != Parsed::whole) return parsed;
    if (at + 4 > message.size()) return Parsed::cut;
    at += 4;  // type and class
    visit(name);
  }
  return Parsed::whole;
}

/** Whether a message of `bytes` bytes has a whole header and room for as many records as that says. */
bool has_header(std::string_view message, size_t bytes) {
  if (message.size() < kDnsHeaderBytes) return false;
  size_t records = 0;
  for (size_t k = 0; k < 4; ++k) records += big_endian16(message, kCounts + 2 * k);
  return kDnsHeaderBytes + kMinRecordBytes * records <= bytes;
}

}  // namespace

bool is_dns(std::string_view message, size_t bytes) {
  if (!has_header(message, bytes)) return false;
  return message.size() < bytes || read_questions(message, [](const std::string&) {}) != Parsed::wrong;
}

bool begins_dns(std::string_view text) {
  if (text.size() < 2 + kDnsHeaderBytes) return false;
  const size_t bytes = big_endian16(text, 0);
  return is_dns(text.substr(2, bytes), bytes);
}

bool DnsMessage::read(std::string_view message) {
  if (!has_header(message, message.size())) return false;
  const auto flags = static_cast<uint8_t>(message[kFlags]);
  side_ = (flags & 0x80) == 0 ? kRequest : kResponse;
  opcode_ = static_cast<char>(flags >> 3 & 15);
  size_t left = std::clamp(4 * message.size(), kMinNamesBytes, kMaxNamesBytes);
  return read_questions(message, [&](const std::string& name) {
           if (name.empty() || name.size() > left || names_.size() == kMaxNames) return;
           left -= name.size();
           names_.push_back(name);
         }) == Parsed::whole;
}

size_t DnsMessage::memory() const {
  size_t bytes = sizeof *this + progress.memory();
  for (const std::string& name : names_) bytes += sizeof name + name.capacity();
  return bytes;
}

Transaction::State DnsMessage::look(Buffer buffer, Side side, size_t k, std::string_view& text, std::string&) const {
  text = {};
  if (side != side_) return State::absent;
  if (buffer == Buffer::dns_opcode)
    text = {&opcode_, 1};
  else if (buffer == Buffer::dns_query && side == kRequest && k < names_.size())
    text = names_[k];
  return text.empty() ? State::absent : State::whole;
}

bool DnsConnection::take_message(std::string_view message) {
  auto read = std::make_unique<DnsMessage>();
  if (!read->read(message)) return false;
  messages_.push_back(std::move(read));
  return true;
}

void DnsConnection::show(const View& view, Window& window) {
  if (!view.has_ports || (view.source_port != kDnsPort && view.destination_port != kDnsPort)) return;
  const std::string_view message(reinterpret_cast<const char*>(view.payload.data()), view.payload.size());
  if (!is_dns(message, message.size())) return;
  window.application = Application::dns;
  if (!take_message(message)) return;
  window.dialogue = this, window.side = messages_[0]->side();
}

void DnsConnection::feed(Side side, std::string_view bytes) {
  std::string& waiting = waiting_[side];
  waiting.append(bytes);
  std::string_view rest = waiting;
  while (rest.size() >= 2 && rest.size() >= 2 + big_endian16(rest, 0) && !over_) {
    const std::string_view message = rest.substr(2, big_endian16(rest, 0));
    rest.remove_prefix(2 + message.size());
    if (!message.empty() && (messages_.size() == kMaxMessages || !take_message(message))) give_up();
  }
  waiting.erase(0, waiting.size() - rest.size());
}

const std::vector<Transaction*>& DnsConnection::transactions() {
  list_.clear();
  for (const auto& message : messages_) list_.push_back(message.get());
  return list_;
}

void DnsConnection::forget(Side) {
  messages_.clear();
  measure();
}

void DnsConnection::measure() {
  memory_ = sizeof *this + waiting_[0].capacity() + waiting_[1].capacity();
  for (const auto& message : messages_) memory_ += message->memory();
  if (memory_ > kMaxBytes) give_up();
}

}  // namespace heddle::nids
