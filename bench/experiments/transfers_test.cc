// Copies between the host's memory and a GPU's, on simt and, where there is one, on the GPU.

#include "bench/experiments/transfers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "gpu/device.h"

namespace heddle::gpu {
namespace {

class TransfersOnEveryDevice : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::string reason;
    if (GetParam() == std::string("gpu") && devices(reason).empty()) GTEST_SKIP() << "no GPU: " << reason;
    gpu = open_transfers(GetParam());
  }
  static uint8_t byte_at(size_t at) { return static_cast<uint8_t>(at * 31 + at / 1024 + 1); }
  void write(size_t bytes) const {
    for (size_t at = 0; at < bytes; ++at) gpu->packets()[at] = byte_at(at);
  }

  std::unique_ptr<Transfers> gpu;
};

TEST_P(TransfersOnEveryDevice, ThesePartsComeBackAndNoOthers) {
  constexpr uint32_t kPacket = 1024, kPackets = 200, kBytes = kPacket * kPackets;
  std::vector<Transfers::Part> parts = {{0, kPacket}, {3 * kPacket, 5 * kPacket}, {11 * kPacket, 16}};
  for (uint32_t packet = 20; packet < kPackets; packet += 2) parts.push_back({packet * kPacket, kPacket});
  for (const auto how : {Transfers::Back::copies, Transfers::Back::batch, Transfers::Back::kernel}) {
    write(kBytes);
    gpu->load();
    std::memset(gpu->packets(), 0, kBytes);
    EXPECT_GT(gpu->copy_back_s(how, parts), 0);
    std::vector<uint8_t> wanted(kBytes);
    for (const auto& part : parts)
      for (uint32_t at = part.at; at < part.at + part.bytes; ++at) wanted[at] = byte_at(at);
    EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), gpu->packets())) << static_cast<int>(how);
    EXPECT_EQ(gpu->copy_back_s(how, {}), 0);
  }
}

TEST_P(TransfersOnEveryDevice, PartsOutsideTheBufferAreRefused) {
  constexpr auto kEnd = static_cast<uint32_t>(Transfers::kMaxBytes);
  const std::vector<std::vector<Transfers::Part>> bad = {
      {{kEnd - 16, 32}}, {{~0u & ~15u, 32}}, {{8, 16}},
      {{0, 8}},          {{0, 0}},           std::vector<Transfers::Part>(4097, {0, 16})};
  for (const auto& parts : bad) EXPECT_THROW(gpu->copy_back_s(Transfers::Back::kernel, parts), Error);
}

TEST_P(TransfersOnEveryDevice, EachFunctionHasItsCopies) {
  write(4096);
  const std::vector<Transfers::Function> functions = {{4096, 4096}, {1024, 16}, {16, 0}};
  constexpr int kRounds = 20;
  const auto copies = gpu->serve(functions, kRounds, 100);
  ASSERT_EQ(copies.size(), functions.size() * kRounds);
  std::vector<int> rounds(functions.size());
  std::vector<double> last(functions.size());
  for (const auto& copy : copies) {
    const auto function = static_cast<size_t>(copy.function);
    ++rounds.at(function);
    EXPECT_LE(copy.start_us, copy.end_us);
    EXPECT_LE(last[function], copy.start_us);  // its stream does one thing behind the other
    last[function] = copy.end_us;
  }
  EXPECT_EQ(rounds, std::vector<int>(functions.size(), kRounds));
  for (size_t i = 0; i < functions.size(); ++i)
    for (size_t at = 0; at < 4096; ++at)
      ASSERT_EQ(gpu->results(static_cast<int>(i))[at],
                at < functions[i].bytes_out ? static_cast<uint8_t>(~byte_at(at)) : 0)
          << i << " " << at;
  EXPECT_THROW(gpu->serve(std::vector<Transfers::Function>(6, {16, 0}), 1, 1), Error);
  EXPECT_THROW(gpu->serve(std::vector<Transfers::Function>{{16, 32}}, 1, 1), Error);
}

INSTANTIATE_TEST_SUITE_P(Experiments, TransfersOnEveryDevice, testing::Values("simt", "gpu"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace heddle::gpu
