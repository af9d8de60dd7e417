// Device memory that several programs have, on simt and on a GPU, if there is one: two devices stand for two of them.

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <numeric>

#include "core/error.h"
#include "gpu/device.h"
#include "io/memif/region.h"

namespace heddle {
namespace {

constexpr size_t kBytes = 10'000;

memif::File copy_of(int file) { return memif::File(dup(file)); }

class SharedState : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::string reason;
    if (GetParam() == std::string("gpu0") && gpu::devices(reason).empty()) GTEST_SKIP() << "no GPU: " << reason;
    one_ = gpu::open_device(GetParam()), other_ = gpu::open_device(GetParam());
    made_ = one_->add_shared_state(kBytes);
  }
  static void set(gpu::Device& device, gpu::StateId state, size_t at, uint8_t value) {
    device.write_state(state, at, std::as_bytes(std::span(&value, 1)));
  }
  std::vector<uint8_t> read(gpu::Device& device, gpu::StateId state) {
    std::vector<uint8_t> bytes(kBytes);
    device.read_state(state, 0, std::as_writable_bytes(std::span(bytes)));
    return bytes;
  }
  std::unique_ptr<gpu::Device> one_, other_;
  gpu::StateId made_ = gpu::StateId::none;
};

TEST_P(SharedState, IsTheSameForAll) {
  EXPECT_EQ(read(*one_, made_), std::vector<uint8_t>(kBytes));
  const gpu::StateId opened = other_->open_state(copy_of(one_->file(made_)), kBytes);
  EXPECT_NE(one_->address(made_), other_->address(opened));
  std::vector<uint8_t> bytes(kBytes);
  std::iota(bytes.begin(), bytes.end(), uint8_t{1});
  one_->write_state(made_, 0, std::as_bytes(std::span(bytes)));
  EXPECT_EQ(read(*other_, opened), bytes);
  set(*other_, opened, 77, 0);
  bytes[77] = 0;
  EXPECT_EQ(read(*one_, made_), bytes);
}

// Who has made it may go first, and another one may open what is left.
TEST_P(SharedState, LastsAsLongAsSomebodyHasIt) {
  const gpu::StateId opened = other_->open_state(copy_of(one_->file(made_)), kBytes);
  set(*other_, opened, kBytes - 1, 9);
  one_->remove_state(made_);
  EXPECT_EQ(read(*other_, opened)[kBytes - 1], 9);
  const gpu::StateId again = one_->open_state(copy_of(other_->file(opened)), kBytes);
  other_->remove_state(opened);
  EXPECT_EQ(read(*one_, again)[kBytes - 1], 9);
}

TEST_P(SharedState, IsWhatItIsSaidToBe) {
  const bool simt = GetParam() == std::string("simt0");
  const auto why = [&](memif::File file, size_t bytes) -> std::string {
    try {
      other_->open_state(std::move(file), bytes);
    } catch (const Error& error) {
      return error.what();
    }
    return "taken";
  };
  const auto expect = [&](const std::string& said, const char* wanted) {
    EXPECT_NE(said.find(simt ? wanted : "GPU memory that programs share: "), std::string::npos) << said;
  };
  expect(why(copy_of(one_->file(made_)), size_t{1} << 30), "its file has 10000 bytes");
  expect(why(copy_of(one_->file(made_)), 0), "a size of 1 to");
  expect(why(memif::File(), kBytes), "its file is missing");
  memif::File soft(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(soft.get(), kBytes), 0);
  expect(why(std::move(soft), kBytes), "can become shorter");
  // One that is refused leaves nothing behind.
  const gpu::StateId opened = other_->open_state(copy_of(one_->file(made_)), kBytes);
  EXPECT_EQ(read(*other_, opened), std::vector<uint8_t>(kBytes));
}

INSTANTIATE_TEST_SUITE_P(All, SharedState, testing::Values("simt0", "gpu0"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace heddle
