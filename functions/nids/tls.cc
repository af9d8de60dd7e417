#include "functions/nids/tls.h"

namespace heddle::nids {
namespace {

// RFC 8446, 5.1: type, version, length; and 4: type and length of a message in it.
constexpr size_t kRecordHeaderBytes = 5, kMessageHeaderBytes = 4;
constexpr size_t kMaxRecordBytes = (16 << 10) + 2048;  // RFC 5246, 6.2.3
constexpr uint8_t kChangeCipherSpec = 20, kAlert = 21, kHandshake = 22;
constexpr uint8_t kClientHello = 1, kCertificate = 11;
constexpr size_t kServerName = 0;        // RFC 6066, 3
constexpr size_t kMaxCertificates = 64;  // of a side; further ones are not looked into

/** Takes numbers and pieces off the front of a text; what is not there whole is nothing, and ends it. */
class Taker {
 public:
  explicit Taker(std::string_view text) : text_(text) {}
  bool empty() const { return text_.empty(); }
  size_t number(size_t bytes) {
    size_t value = 0;
    for (const char byte : piece(bytes)) value = value << 8 | static_cast<uint8_t>(byte);
    return value;
  }
  std::string_view piece(size_t bytes) {
    if (bytes > text_.size()) text_ = {}, bytes = 0;
    const std::string_view piece = text_.substr(0, bytes);
    text_.remove_prefix(bytes);
    return piece;
  }
  /** A piece that `bytes` bytes before it say the length of. */
  std::string_view counted(size_t bytes) { return piece(number(bytes)); }

 private:
  std::string_view text_;
};

/** The name of the server in a ClientHello (RFC 8446, 4.1.2); "": there is none. */
std::string_view server_name_in(std::string_view hello) {
  Taker rest(hello);
  rest.piece(2 + 32);  // version and random
  rest.counted(1), rest.counted(2), rest.counted(1);
  for (Taker extensions(rest.counted(2)); !extensions.empty();) {
    const size_t type = extensions.number(2);
    const std::string_view body = extensions.counted(2);
    if (type != kServerName) continue;
    Taker names(Taker(body).counted(2));
    if (names.number(1) == 0) return names.counted(2);  // a host's
    return {};
  }
  return {};
}

}  // namespace

void TlsHandshake::read_message(Side side, uint8_t type, std::string_view body) {
  OneSide& mine = sides_[side];
  if (type == kClientHello && side == kRequest && !mine.has_hello)
    mine.has_hello = true, server_name_ = server_name_in(body);
  if (type != kCertificate || mine.has_certificates) return;
  mine.has_certificates = true;
  for (Taker chain(Taker(body).counted(3)); !chain.empty();)
    if (const std::string_view one = chain.counted(3); !one.empty() && mine.certificates.size() < kMaxCertificates)
      mine.certificates.emplace_back(one);
}

Transaction::State TlsHandshake::look(Buffer buffer, Side side, size_t k, std::string_view& text, std::string&) const {
  text = {};
  const OneSide& mine = sides_[side];
  bool known = true;
  if (buffer == Buffer::tls_sni && side == kRequest) {
    known = mine.has_hello, text = server_name_;
  } else if (buffer == Buffer::tls_certificates) {
    known = mine.has_certificates;
    if (k < mine.certificates.size()) text = mine.certificates[k];
  }
  if (!known && !mine.ended) return State::pending;
  return text.empty() ? State::absent : State::whole;
}

size_t TlsHandshake::memory() const {
  size_t bytes = server_name_.capacity() + progress.memory();
  for (const OneSide& side : sides_) {
    bytes += side.messages.capacity();
    for (const std::string& one : side.certificates) bytes += sizeof one + one.capacity();
  }
  return bytes;
}

void TlsConnection::end(Side side) {
  handshake_.sides_[side].ended = true;
  for (std::string* text : {&handshake_.sides_[side].messages, &records_[side]}) text->clear(), text->shrink_to_fit();
  over_ = over_ || handshake_.sides_[1 - side].ended;
}

void TlsConnection::read_messages(Side side) {
  std::string& messages = handshake_.sides_[side].messages;
  size_t at = 0;
  while (messages.size() - at >= kMessageHeaderBytes) {
    Taker rest(std::string_view(messages).substr(at));
    const auto type = static_cast<uint8_t>(rest.number(1));
    const size_t bytes = rest.number(3);
    if (bytes > kMaxMessageBytes) return give_up();
    if (messages.size() - at < kMessageHeaderBytes + bytes) break;
    handshake_.read_message(side, type, rest.piece(bytes));
    at += kMessageHeaderBytes + bytes;
  }
  messages.erase(0, at);
}

void TlsConnection::feed(Side side, std::string_view bytes) {
  std::string& records = records_[side];
  if (handshake_.ended(side)) return;
  records.append(bytes);
  size_t at = 0;
  while (records.size() - at >= kRecordHeaderBytes) {
    Taker rest(std::string_view(records).substr(at));
    const auto type = static_cast<uint8_t>(rest.number(1)), version = static_cast<uint8_t>(rest.number(1));
    rest.number(1);
    const size_t length = rest.number(2);
    if ((type & 0x80) != 0) return end(side);  // of SSL 2, whose messages are no records
    if (version != 3 || length > kMaxRecordBytes) return give_up();
    if (type != kAlert && type != kHandshake) {  // what comes now is encrypted
      if (type < kChangeCipherSpec) return give_up();
      return end(side);
    }
    if (records.size() - at < kRecordHeaderBytes + length) break;
    if (type == kHandshake) handshake_.sides_[side].messages.append(rest.piece(length)), read_messages(side);
    at += kRecordHeaderBytes + length;
    if (over_) return;
  }
  records.erase(0, at);
}

void TlsConnection::measure() {
  memory_ = sizeof *this + records_[0].capacity() + records_[1].capacity() + handshake_.memory();
  if (memory_ > kMaxBytes) give_up();
}

}  // namespace heddle::nids
