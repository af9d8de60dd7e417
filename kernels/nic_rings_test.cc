// Rings of a NIC that kernels drive, with a NIC played by the test, honest or lying, on simt: it sees the GPU's memory.
// What descriptors must say is written here as the datasheet has it, in numbers.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <thread>

#include "gpu/device.h"
#include "gpu/functions.h"
#include "io/memif/region.h"
#include "tests/support/patience.h"

namespace heddle {
namespace {

using Frame = std::vector<uint8_t>;

constexpr uint32_t kDone = 1, kEnd = 2;
constexpr uint32_t kCommand = 0x2B300000;  // DEXT, RS, IFCS, EOP; data descriptor

Frame numbered(uint32_t number, size_t bytes) {
  Frame frame(bytes);
  for (size_t i = 0; i < bytes; ++i) frame[i] = static_cast<uint8_t>(number * 31 + i * 7 + (number >> 8));
  return frame;
}
Frame mirrored(Frame frame) {
  std::swap_ranges(frame.begin(), frame.begin() + 6, frame.begin() + 6);
  return frame;
}

/** A GPU that mirrors frames between the rings of one NIC, and that NIC. */
class Nic {
 public:
  static constexpr uint32_t kBufferBytes = 2048, kStride = 2304, kHeadroom = 128;

  /** `split`: three kernels drive the rings. More than kMaxRingWorkers workers are teams. */
  explicit Nic(uint32_t size, bool split, int workers = gpu::kMaxRingWorkers)
      : size_(size), registers_(4096), device_(gpu::open_device("simt")) {
    tails_ = reinterpret_cast<uint32_t*>(registers_.base());
    device_->share({reinterpret_cast<uint8_t*>(registers_.base()), registers_.bytes()});
    pool_ = static_cast<uint8_t*>(device_->address(device_->add_state(size_t{2} * size * kStride)));
    add_program();
    pair_.rx = end(0), pair_.tx = end(1);
    rings_ = device_->add_rings(program_, 1, gpu::RingKind::nic, workers, 0, split);
    device_->start();
    resume();
  }
  ~Nic() { pause(); }

  void pause() {
    const gpu::RingStop stop = device_->stop_rings(rings_).at(0);
    pair_.rx.position = stop.rx_position, pair_.tx.position = stop.tx_position, pair_.rx.fresh = false;
  }
  void resume() { device_->start_rings(rings_, {program_, drops_, {kExits, 0, 1, 1, 2, 0}, std::span(&pair_, 1)}); }

  uint32_t tail(int ring) const { return __atomic_load_n(&tails_[ring * 32], __ATOMIC_ACQUIRE); }
  uint32_t owned(int ring) const { return (tail(ring) - head_[ring]) & (size_ - 1); }
  ixgbe::Descriptor& next(int ring) { return rings_at_[ring][head_[ring] & (size_ - 1)]; }
  ixgbe::Descriptor& at(int ring, uint32_t index) { return rings_at_[ring][index & (size_ - 1)]; }

  /** Puts a frame into the next receive descriptor, and says of it what the caller wants. */
  void receive(const Frame& frame, uint32_t status, uint32_t bytes) {
    ixgbe::Descriptor& to = next(0);
    EXPECT_EQ(to.word[2], 0u);
    EXPECT_EQ(to.word[3], 0u);
    auto* const buffer = reinterpret_cast<uint8_t*>(uint64_t{to.word[1]} << 32 | to.word[0]);
    ASSERT_TRUE(is_buffer(buffer));
    std::memcpy(buffer, frame.data(), frame.size());
    write_back(to, status, bytes);
    ++head_[0];
  }
  void receive(const Frame& frame) { receive(frame, kDone | kEnd, static_cast<uint32_t>(frame.size())); }
  static void write_back(ixgbe::Descriptor& to, uint32_t status, uint32_t bytes) {
    to.word[0] = 0xdeadbeef, to.word[1] = 0xffffffff;
    __atomic_store_n(&to.word[3], bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&to.word[2], status, __ATOMIC_RELEASE);
  }

  /** Fetches the next frame that is to be sent. */
  Frame fetch() {
    const ixgbe::Descriptor& from = next(1);
    const uint32_t bytes = from.word[2] & 0xffff;
    EXPECT_EQ(from.word[2] & 0xffff0000, kCommand);
    EXPECT_EQ(from.word[3], bytes << 14);
    const auto* const buffer = reinterpret_cast<uint8_t*>(uint64_t{from.word[1]} << 32 | from.word[0]);
    EXPECT_TRUE(is_buffer(buffer));
    ++head_[1];
    return {buffer, buffer + bytes};
  }
  /** Says that the frames before the head have been fetched. */
  void report() {
    for (; reported_ != head_[1]; ++reported_) __atomic_store_n(&at(1, reported_).word[3], kDone, __ATOMIC_RELEASE);
  }

  template <class Condition>
  void wait(const Condition& condition) const {
    test::Patience patience;
    while (!condition()) {
      ASSERT_FALSE(patience.is_over(uint64_t{head_[0]} + head_[1] + reported_));
      std::this_thread::yield();
    }
  }

  /** Sends `frames` and expects `wanted` back, in bursts of any size. */
  void exchange(
      const std::vector<Frame>& frames, const std::vector<Frame>& wanted,
      const std::function<void()>& between = [] {}) {
    std::mt19937 random(1);
    size_t sent = 0, got = 0;
    wait([&] {
      for (size_t n = random() % 64; n > 0 && sent < frames.size() && owned(0) > 0; --n) receive(frames[sent++]);
      for (; owned(1) > 0; ++got) {
        const Frame frame = fetch();
        EXPECT_TRUE(got < wanted.size() && frame == wanted[got]) << got;
      }
      report();
      between();
      return testing::Test::HasFailure() || (sent == frames.size() && got >= wanted.size());
    });
  }

  struct Drops {
    gpu::RingCount bad_descriptor, chained, of_function;
  };
  Drops drops() {
    gpu::RingCount drops[kExits];
    device_->read_state(drops_, 0, std::as_writable_bytes(std::span(drops)));
    return {drops[1], drops[2], drops[3]};
  }

 private:
  static constexpr uint16_t kExits = 7;

  bool is_buffer(const uint8_t* at) const {
    const auto offset = static_cast<size_t>(at - pool_);
    return at >= pool_ && offset < size_t{2} * size_ * kStride && offset % kStride == kHeadroom;
  }
  void add_program() {
    gpu::ProgramSpec spec;
    spec.counts = device_->add_state(3 * sizeof(gpu::NodeCounts));
    drops_ = device_->add_state(kExits * sizeof(gpu::RingCount));
    gpu::ProgramSpec::Node from{}, function{}, to{};
    from.function = to.function = -1;
    function.function = gpu::function_id("EtherMirror");
    const auto exit = [](int number) { return static_cast<uint16_t>(gpu::kExit + number); };
    from.outputs = {1}, from.drops = {exit(1), exit(2)};
    function.outputs = {gpu::kExit}, function.drops = {exit(3)};
    to.drops = {exit(4), exit(5), exit(6)};
    spec.nodes = {from, function, to};
    spec.writes_packets = true;
    program_ = device_->add_program(spec);
  }
  gpu::RingEnd end(uint32_t ring) {
    std::vector<uint32_t> offsets(size_);
    for (uint32_t i = 0; i < size_; ++i) offsets[i] = (ring * size_ + i) * kStride;
    const std::vector<ixgbe::Descriptor> begin(size_, ixgbe::Descriptor{{0, 0, 0, ring == 1 ? kDone : 0}});
    const auto table = [&](const auto& list) {
      return device_->address(device_->add_table(std::as_bytes(std::span(list))));
    };
    gpu::RingEnd end{};
    end.descriptors = rings_at_[ring] = static_cast<ixgbe::Descriptor*>(table(begin));
    end.tail = &tails_[ring * 32];
    end.size = size_, end.owner = end.fresh = true;
    end.buffers = static_cast<uint32_t*>(table(offsets));
    end.headroom = kHeadroom, end.capacity = kBufferBytes;
    end.memory[0] = {pool_, size_t{2} * size_ * kStride};
    end.bus = reinterpret_cast<uint64_t>(pool_);
    return end;
  }

  uint32_t size_;
  memif::Region registers_;
  std::unique_ptr<gpu::Device> device_;
  uint32_t* tails_;
  uint8_t* pool_;
  ixgbe::Descriptor* rings_at_[2] = {};
  uint32_t head_[2] = {0, 0}, reported_ = 0;
  gpu::RingPair pair_{};
  gpu::ProgramId program_{};
  gpu::StateId drops_{};
  gpu::RingsId rings_{};
};

std::pair<std::vector<Frame>, std::vector<Frame>> traffic(uint32_t count, uint32_t least, uint32_t most) {
  std::vector<Frame> frames, wanted;
  for (uint32_t i = 0; i < count; ++i) {
    frames.push_back(numbered(i, least + i * 97 % (most - least + 1)));
    if (frames.back().size() >= 12) wanted.push_back(mirrored(frames.back()));
  }
  return {frames, wanted};
}

/** What drives the rings. */
struct Driver {
  const char* name;
  bool split;
  int workers;
};
class NicRings : public testing::TestWithParam<Driver> {
 protected:
  static Nic nic_of(uint32_t size) { return Nic(size, GetParam().split, GetParam().workers); }
};

TEST_P(NicRings, KeepEveryFrameAndItsOrder) {
  for (const uint32_t size : {32u, 512u}) {
    Nic nic = nic_of(size);
    const auto [frames, wanted] = traffic(10'000, 60, 2048);
    nic.exchange(frames, wanted);
    EXPECT_EQ(nic.drops().bad_descriptor, 0u);
  }
}

TEST_P(NicRings, CloseTheGapsThatDropsLeave) {
  Nic nic = nic_of(64);
  const auto [frames, wanted] = traffic(5'000, 1, 40);
  nic.exchange(frames, wanted);
  EXPECT_EQ(nic.drops().of_function, frames.size() - wanted.size());
}

TEST_P(NicRings, GiveAllDescriptorsButOne) {
  Nic nic = nic_of(64);
  nic.wait([&] { return nic.owned(0) == 63; });
  EXPECT_EQ(nic.tail(0), 63u);
  EXPECT_EQ(nic.tail(1), 0u);
}

// As many frames are given to be sent as fit, and no more until the NIC reports some.
TEST_P(NicRings, WaitForTheNic) {
  Nic nic = nic_of(32);
  const auto traffic_here = traffic(200, 60, 60);
  const auto& frames = traffic_here.first;
  const auto& wanted = traffic_here.second;
  size_t sent = 0, got = 0;
  nic.wait([&] {
    for (; sent < frames.size() && nic.owned(0) > 0; ++sent) nic.receive(frames[sent]);
    return nic.owned(1) == 31 && nic.owned(0) == 0;
  });
  EXPECT_EQ(sent, 31u + 31u);
  for (; nic.owned(1) > 0; ++got) EXPECT_EQ(nic.fetch(), wanted[got]);
  for (int look = 0; look < 1000; ++look) std::this_thread::yield();
  EXPECT_EQ(nic.owned(1), 0u);  // fetched, but not reported
  nic.exchange({frames.begin() + static_cast<long>(sent), frames.end()},
               {wanted.begin() + static_cast<long>(got), wanted.end()});
}

// The kernel ends and begins again while frames are under way.
TEST_P(NicRings, StopAndGoOn) {
  Nic nic = nic_of(64);
  const auto [frames, wanted] = traffic(5'000, 60, 100);
  uint32_t last = nic.tail(1);
  int rounds = 0, stops = 0;
  nic.exchange(frames, wanted,
               [&] {  // a kernel that is stopped before it has looked at the rings leaves them as they are
                 if (nic.tail(1) == last || ++rounds % 20 != 0) return;
                 nic.pause();
                 last = nic.tail(1), ++stops;
                 nic.resume();
               });
  EXPECT_GE(stops, 3);
}

TEST_P(NicRings, DropWhatALyingNicHasWritten) {
  Nic nic = nic_of(64);
  const Frame frame = numbered(1, 60);
  const std::pair<uint32_t, uint32_t> lies[] = {
      {kDone | kEnd, 0},       {kDone | kEnd, 2049},          {kDone | kEnd, 0xffff},
      {kDone | kEnd, 0x10000}, {kDone | kEnd | 1u << 24, 60}, {0x20000000 | kDone | kEnd, 60},
  };
  for (int round = 0; round < 50; ++round) {
    for (const auto& [status, bytes] : lies) {
      nic.wait([&] { return nic.owned(0) > 0; });
      nic.receive(frame, status, bytes);
    }
    nic.exchange({frame}, {mirrored(frame)});
  }
  EXPECT_EQ(nic.drops().bad_descriptor, 50 * std::size(lies));
  EXPECT_EQ(nic.drops().chained, 0u);
}

TEST_P(NicRings, DropFramesInSeveralBuffersAsAWhole) {
  Nic nic = nic_of(64);
  const Frame frame = numbered(1, 60);
  std::mt19937 random(2);
  uint64_t parts = 0;
  for (int round = 0; round < 100; ++round) {
    const int n = 2 + static_cast<int>(random() % 90);  // more than a warp sees
    for (int i = 0; i < n; ++i) {
      nic.wait([&] { return nic.owned(0) > 0; });
      nic.receive(frame, i + 1 < n ? kDone : kDone | kEnd, 60);
    }
    parts += static_cast<uint64_t>(n);
    nic.exchange({frame}, {mirrored(frame)});
  }
  EXPECT_EQ(nic.drops().chained, parts);
}

// Done bits where the NIC owns nothing: at the descriptor that is held back, and, from the start, at all that are to be
// sent.
TEST_P(NicRings, LookAtNoDescriptorThatTheNicDoesNotOwn) {
  Nic nic = nic_of(32);
  nic.wait([&] { return nic.owned(0) == 31; });
  const ixgbe::Descriptor before = nic.at(0, 31);
  Nic::write_back(nic.at(0, 31), kDone | kEnd, 60);
  for (int look = 0; look < 1000; ++look) std::this_thread::yield();
  EXPECT_EQ(nic.tail(0), 31u);
  EXPECT_EQ(nic.tail(1), 0u);
  nic.at(0, 31) = before;
  const auto [frames, wanted] = traffic(500, 60, 60);
  nic.exchange(frames, wanted);
  const auto drops = nic.drops();
  EXPECT_EQ(drops.bad_descriptor + drops.chained, 0u);
}

INSTANTIATE_TEST_SUITE_P(All, NicRings,
                         testing::Values(Driver{"fused", false, gpu::kMaxRingWorkers},
                                         Driver{"spread", false, gpu::kMaxRingWorkers + 10},
                                         Driver{"split", true, gpu::kMaxRingWorkers},
                                         Driver{"split_one_worker", true, 1}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace heddle
