// What a GPU tells of candidates, as the host reads it: written here by hand.

#include "functions/nids/candidates.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>

namespace heddle::nids {
namespace {

using Words = Candidates::Words;
using Told = Candidates::Told;

/** The kernel's side. */
class Teller {
 public:
  Teller() : state_(std::make_unique<Candidates>()) {}

  void tell(const std::string& packet, uint32_t l3 = 14, uint32_t l4 = 34) {
    const auto bytes = static_cast<uint32_t>(packet.size());
    const uint64_t first = reserve(bytes);
    write(first, packet);
    announce({first, bytes, static_cast<uint16_t>(l3), static_cast<uint16_t>(l4)});
  }
  uint64_t reserve(uint32_t bytes) {
    const uint64_t first = state_->words.pushed;
    state_->words.pushed += (bytes + 3) / 4;
    return first;
  }
  void write(uint64_t first, const std::string& packet) {
    for (size_t at = 0; at < packet.size(); at += 4) {
      uint32_t word = 0;
      std::memcpy(&word, packet.data() + at, std::min<size_t>(4, packet.size() - at));
      put(state_->words, first + at / 4, word);
    }
  }
  void announce(const Candidates::Candidate& candidate) { put(state_->told, state_->told.pushed++, candidate); }

  /** What has been read: "PACKET L3 L4". */
  std::vector<std::string> heard(CandidateReader& reader, bool works = true) {
    std::vector<std::string> list;
    reader.poll(
        [&](size_t offset, std::span<std::byte> to) {
          if (!works && offset >= offsetof(Candidates, words)) return false;
          std::memcpy(to.data(), reinterpret_cast<const std::byte*>(state_.get()) + offset, to.size());
          return true;
        },
        [&](std::span<const uint8_t> packet, uint32_t l3, uint32_t l4) {
          list.push_back(std::string(packet.begin(), packet.end()) + " " + std::to_string(l3) + " " +
                         std::to_string(l4));
        });
    return list;
  }

 private:
  template <class Ring>
  static void put(Ring& ring, uint64_t number, const typename Ring::Event& event) {
    uint32_t words[Ring::kWords] = {};
    std::memcpy(words, &event, sizeof event);
    for (uint32_t w = 0; w < Ring::kWords; ++w)
      ring.word[number % Ring::kEvents][w] = uint64_t{Ring::stamp_of(number)} << 32 | words[w];
  }
  std::unique_ptr<Candidates> state_;
};

TEST(Candidates, AreReadAsTheyWereTold) {
  Teller teller;
  CandidateReader reader;
  EXPECT_EQ(teller.heard(reader), std::vector<std::string>{});
  teller.tell("a packet"), teller.tell("another", 0, 20), teller.tell("");
  EXPECT_EQ(teller.heard(reader), (std::vector<std::string>{"a packet 14 34", "another 0 20", " 14 34"}));
  EXPECT_EQ(teller.heard(reader), std::vector<std::string>{});
  EXPECT_EQ(reader.lost(), 0u);
}

// Their words need not lie in the order in which they are told of, and both rings go round many times.
TEST(Candidates, GoRound) {
  Teller teller;
  CandidateReader reader;
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> wanted;
    for (int i = 0; i < 500; ++i) {
      const std::string one(static_cast<size_t>(i % 90), static_cast<char>('a' + i % 26)), two(9000, 'x');
      const uint64_t first = teller.reserve(static_cast<uint32_t>(one.size()));
      if (i % 100 == 0) teller.tell(two), wanted.push_back(two + " 14 34");
      teller.write(first, one);
      teller.announce({first, static_cast<uint32_t>(one.size()), 1, 2});
      wanted.push_back(one + " 1 2");
    }
    ASSERT_EQ(teller.heard(reader), wanted) << round;
  }
  EXPECT_EQ(reader.lost(), 0u);
}

TEST(Candidates, ThatAreWrittenOverAreCounted) {
  Teller teller;
  CandidateReader reader;
  const std::string jumbo(9000, 'x');
  const size_t fit = Words::kEvents / (9000 / 4);
  for (size_t i = 0; i < 2 * fit; ++i) teller.tell(jumbo);
  EXPECT_EQ(teller.heard(reader).size(), fit);
  EXPECT_EQ(reader.lost(), fit);
  for (size_t i = 0; i < Told::kEvents + 7; ++i) teller.tell("short");  // more than there are events for
  EXPECT_EQ(teller.heard(reader).size(), Told::kEvents);
  EXPECT_EQ(reader.lost(), fit + 7);
  teller.tell("after");
  EXPECT_EQ(teller.heard(reader), std::vector<std::string>{"after 14 34"});
}

TEST(Candidates, OfAGpuThatFailsAreLost) {
  Teller teller;
  CandidateReader reader;
  teller.tell("one"), teller.tell("two");
  EXPECT_EQ(teller.heard(reader, false), std::vector<std::string>{});
  EXPECT_EQ(reader.lost(), 2u);
}

}  // namespace
}  // namespace heddle::nids
