#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "core/error.h"
#include "functions/ipsec/rule.h"
#include "tests/support/harness.h"

/** Files of associations, packets and chains of IPsec's tests. */
namespace heddle::test::esp {

/** A file that others may not read, gone at the end. */
class KeyFile {
 public:
  explicit KeyFile(const std::string& text, mode_t mode = 0600) {
    const int file = ::mkstemp(path_);
    EXPECT_EQ(::write(file, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    ::fchmod(file, mode);
    ::close(file);
  }
  ~KeyFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_; }

 private:
  char path_[32] = "/tmp/heddle_keys_XXXXXX";
};

inline std::string hex(std::mt19937& random, int bytes) {
  std::string text = "0x";
  for (int b = 0; b < bytes; ++b) text += format("%02x", static_cast<unsigned>(random() & 255));
  return text;
}

/** What protects an association's packets, as a file says it. */
struct Algorithms {
  int key_bits = 128;  // of AES
  int gcm_bits = 0;    // of the ICV; 0: AES-CTR and an HMAC
  bool sha256 = false;
};
inline std::string lines_of(std::mt19937& random, const Algorithms& a) {
  const std::string key = hex(random, a.key_bits / 8 + 4);
  if (a.gcm_bits != 0) return format("\taead rfc4106(gcm(aes)) %s %d\n", key.c_str(), a.gcm_bits);
  const std::string hash = hex(random, a.sha256 ? 32 : 20);
  return format("\tauth-trunc hmac(%s) %s %d\n\tenc rfc3686(ctr(aes)) %s\n", a.sha256 ? "sha256" : "sha1", hash.c_str(),
                a.sha256 ? 128 : 96, key.c_str());
}

/** What its packets look like from outside, as a file says it. */
struct Outside {
  bool transport = false, ip6 = false, udp = false;
  uint64_t extended_from = 0;  // number that has come and been sent; 0: numbers have 32 bits
};

struct Sa {
  unsigned spi;
  std::string more = "";  // lines
  int window = 64;
  Algorithms algorithms = {};
  Outside outside = {};
};

inline std::string lines_of(const Outside& outside, int window) {
  std::string text = outside.udp ? "\tencap type espinudp sport 4501 dport 4500 addr 0.0.0.0\n" : "";
  const auto low = static_cast<unsigned>(outside.extended_from);
  const auto high = static_cast<unsigned>(outside.extended_from >> 32);
  if (outside.extended_from != 0)
    text += format(
        "\tanti-replay esn context:\n\t seq-hi 0x%x, seq 0x%x, oseq-hi 0x%x, oseq 0x%x\n"
        "\t replay_window %d, bitmap-length 2\n\t 00000000 00000000\n",
        high, low, high, low, window);
  return text;
}

inline std::string associations(const std::vector<Sa>& list) {
  auto random = random_for("ipsec keys");
  std::string text;
  for (auto& sa : list)
    text += format("src %s\n\tproto esp spi 0x%08x reqid 1 mode %s\n\treplay-window %d%s\n%s%s%s",
                   sa.outside.ip6 ? "2001:db8:a::1 dst 2001:db8:b::1" : "198.51.100.1 dst 203.0.113.1", sa.spi,
                   sa.outside.transport ? "transport" : "tunnel", sa.window,
                   sa.outside.extended_from != 0 ? " flag esn" : "", lines_of(random, sa.algorithms).c_str(),
                   lines_of(sa.outside, sa.window).c_str(), sa.more.c_str());
  return text;
}

inline Frame inner_frame(std::mt19937& random, size_t payload) {
  Frame frame = ip_frame(random(), random(), payload);
  for (size_t at = 34; at < frame.bytes.size(); ++at) frame.bytes[at] = static_cast<uint8_t>(random());
  return frame;
}

/** An IPv6 packet with these extension headers (RFC 8200), of eight bytes each, to 2001:db8:b::1. */
inline Frame inner6_frame(std::mt19937& random, size_t payload, const std::vector<uint8_t>& extensions = {}) {
  constexpr uint8_t kTo[16] = {0x20, 0x01, 0x0d, 0xb8, 0, 0x0b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  const size_t bytes = 8 * extensions.size() + payload;
  Frame frame = random_frame(random, 14 + ipsec::kIp6Bytes + bytes);
  put_u16(frame.bytes, 12, 0x86dd), put_u16(frame.bytes, 18, static_cast<unsigned>(bytes));
  frame.bytes[14] = static_cast<uint8_t>(0x60 | (random() & 15));
  std::copy(std::begin(kTo), std::end(kTo), frame.bytes.begin() + 38);
  size_t next = 20, at = 14 + ipsec::kIp6Bytes;
  for (const uint8_t extension : extensions) {
    frame.bytes[next] = extension;
    next = at, at += 8;
    frame.bytes[next + 1] = 0;
  }
  frame.bytes[next] = 17;
  return frame;
}

/** A packet that an association may protect; tunnels have both families inside. */
inline Frame frame_for(std::mt19937& random, const Outside& outside, size_t payload) {
  static const std::vector<std::vector<uint8_t>> kChains = {{}, {0}, {0, 43}, {60}, {0, 60}, {43, 60, 0}};
  if (outside.transport ? outside.ip6 : random() % 2 == 0)
    return inner6_frame(random, payload, kChains[random() % kChains.size()]);
  Frame frame = inner_frame(random, payload);
  if (outside.transport) put_u32(frame.bytes, 30, ip(203, 0, 113, 1)), set_ip_checksum(frame.bytes, 14);
  return frame;
}

inline std::vector<Bytes> bytes_of(const std::vector<Frame>& frames) {
  std::vector<Bytes> list;
  for (auto& frame : frames) list.push_back(frame.bytes);
  return list;
}

inline std::vector<Frame> frames_of(const std::vector<Bytes>& list) {
  std::vector<Frame> frames;
  for (auto& bytes : list) frames.push_back({bytes});
  return frames;
}

inline std::string encap_chain(const KeyFile& keys, const std::string& sequence = "") {
  return "TestSource -> q :: IPsecSequence(esp" + sequence + ") -> esp :: IPsecEncap(" + keys.path() +
         ", OFFSET 14) -> sink :: TestSink;";
}
/** With numbers and IVs that the frames bring. */
inline std::string numbered_encap(const KeyFile& keys) {
  return "TestSource(SETS \"sa esp_sequence esp_iv\") -> esp :: IPsecEncap(" + keys.path() +
         ", OFFSET 14) -> sink :: TestSink;";
}
/** `apart`: windows are judged by an IPsecReplay, so that the rest can run on a GPU. */
inline std::string decap_chain(const KeyFile& keys, const std::string& offset = "14", bool apart = true) {
  return "TestSource -> it :: IPsecDecap(" + keys.path() + ", OFFSET " + offset + ")" +
         (apart ? " -> r :: IPsecReplay(it)" : "") + " -> sink :: TestSink(READS \"sa\");";
}

}  // namespace heddle::test::esp
