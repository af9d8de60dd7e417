#include "tests/support/frames.h"

#include <cstdlib>

#include "tests/support/sanitizer.h"

namespace heddle::test {

unsigned seed() {
  static const unsigned value = [] {
    const char* text = std::getenv("HEDDLE_TEST_SEED");
    return text == nullptr ? 20140513u : static_cast<unsigned>(std::strtoul(text, nullptr, 0));
  }();
  return value;
}

std::mt19937 random_for(const std::string& purpose) {
  std::seed_seq mixed(purpose.begin(), purpose.end());
  uint32_t word[1];
  mixed.generate(word, word + 1);
  return std::mt19937(seed() ^ word[0]);
}

bool full() {
  const char* text = std::getenv("HEDDLE_FULL");
  return text != nullptr && *text == '1';
}

int tries(int usual, int most) {
  if (full()) return most;
  return kSanitized ? usual / 5 : usual;
}

Frame random_frame(std::mt19937& random, size_t length) {
  Frame frame;
  frame.bytes.resize(length);
  for (auto& byte : frame.bytes) byte = static_cast<uint8_t>(random());
  return frame;
}

std::vector<Frame> frames_of_all_lengths(std::mt19937& random) {
  std::vector<Frame> frames;
  for (size_t length = 0; length <= 80; ++length) frames.push_back(random_frame(random, length));
  for (size_t length : {1499, 1500, 2048, 2049, 9000}) frames.push_back(random_frame(random, length));
  return frames;
}

std::vector<Frame> random_frames(std::mt19937& random, size_t count, size_t least, size_t most) {
  std::vector<Frame> frames;
  for (size_t i = 0; i < count; ++i) frames.push_back(random_frame(random, least + random() % (most - least + 1)));
  return frames;
}

void put_u16(Bytes& bytes, size_t at, unsigned value) {
  bytes.at(at) = static_cast<uint8_t>(value >> 8);
  bytes.at(at + 1) = static_cast<uint8_t>(value);
}
void put_u32(Bytes& bytes, size_t at, uint32_t value) {
  put_u16(bytes, at, value >> 16);
  put_u16(bytes, at + 2, value & 0xffff);
}
uint32_t get_u32(const Bytes& bytes, size_t at) {
  return ip(bytes.at(at), bytes.at(at + 1), bytes.at(at + 2), bytes.at(at + 3));
}

// Sixteen bits at a time, carries added back one by one: not the way of core/checksum.h.
void set_ip_checksum(Bytes& bytes, size_t at) {
  put_u16(bytes, at + 10, 0);
  unsigned sum = 0;
  for (size_t i = 0; i < (bytes.at(at) & 15u) * 4; i += 2) {
    sum += static_cast<unsigned>(bytes.at(at + i) << 8 | bytes.at(at + i + 1));
    if (sum > 0xffff) sum -= 0xffff;
  }
  put_u16(bytes, at + 10, ~sum & 0xffff);
}

Frame ip_frame(uint32_t source, uint32_t destination, size_t payload) {
  Frame frame;
  frame.bytes = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45};
  frame.bytes.resize(34 + payload);
  put_u16(frame.bytes, 16, static_cast<unsigned>(20 + payload));
  frame.bytes[22] = 64, frame.bytes[23] = 17;
  put_u32(frame.bytes, 26, source);
  put_u32(frame.bytes, 30, destination);
  set_ip_checksum(frame.bytes, 14);
  for (size_t i = 34; i < frame.bytes.size(); ++i) frame.bytes[i] = static_cast<uint8_t>(i * 7 + destination);
  return frame;
}

}  // namespace heddle::test
