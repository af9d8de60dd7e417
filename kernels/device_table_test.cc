// What comes, changes and goes while kernels are resident: tables, programs, slots.

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "functions/xor/rule.h"
#include "gpu/functions.h"
#include "gpu/slot_ring.h"
#include "tests/support/harness.h"

namespace heddle::gpu {
namespace {

class DeviceTest : public testing::TestWithParam<std::string> {
 protected:
  static constexpr int kFrameBytes = 64;

  DeviceTest() : device_(open_device(GetParam())) {
    packets_ = device_->packet_memory(size_t{kSlotPackets} * kFrameBytes);
    std::memset(packets_.base, 0, packets_.bytes);
  }
  ~DeviceTest() override { device_->stop(); }

  static std::span<const std::byte> bytes(const xor_bytes::Key& key) { return std::as_bytes(std::span(&key, 1)); }
  /** XOR with the key in `table`. */
  ProgramId add_program(TableId table) {
    ProgramSpec spec;
    spec.nodes = {{function_id("XOR"), {}, table, StateId::none, {kExit}, {}}};
    spec.writes_packets = true;
    return device_->add_program(spec);
  }
  /** Takes one packet of zeros through a slot; what has become of its first byte. */
  int result(SlotRing& ring) {
    std::memset(packets_.base, 0, kFrameBytes);
    const uint64_t place = pack_word(0, kFrameBytes, 0);
    ring.submit(ring.free_slot(), &place, 1);
    while (!ring.oldest_done()) std::this_thread::yield();
    ring.release_oldest();
    return std::to_integer<int>(packets_.base[0]);
  }

  std::unique_ptr<Device> device_;
  PacketMemory packets_;
};

std::vector<std::string> devices_here() {
  std::vector<std::string> names{"simt", "simt3"};
  for (const auto& backend : test::gpu_backends())
    if (backend.real_gpu() && names.back() != "gpu") names.push_back("gpu");
  return names;
}
INSTANTIATE_TEST_SUITE_P(All, DeviceTest, testing::ValuesIn(devices_here()),
                         [](const auto& parameter) { return parameter.param; });

TEST_P(DeviceTest, TablesChangeWhileKernelsAreResident) {
  const TableId table = device_->add_table(bytes({0x11111111}));
  const ProgramId program = add_program(table);
  SlotRing ring(device_->add_slots(program, 2), device_->address(program));
  device_->start();
  EXPECT_EQ(result(ring), 0x11);
  device_->patch(table, 0, bytes({0x22222222}));
  EXPECT_EQ(result(ring), 0x22);
  const TableWord words[] = {{0, 0x33, 1}, {2, 0x4455, 2}};
  device_->patch_words(table, words);
  EXPECT_EQ(result(ring), 0x33);
  EXPECT_EQ(std::to_integer<int>(packets_.base[1]), 0x22);
  EXPECT_EQ(std::to_integer<int>(packets_.base[3]), 0x44);
}

// A generation of a table is a program of its own; a slot runs one to the end.
TEST_P(DeviceTest, ProgramsComeAndGoWhileKernelsAreResident) {
  TableId table = device_->add_table(bytes({0x01010101}));
  ProgramId program = add_program(table);
  SlotRing ring(device_->add_slots(program, 3), device_->address(program));
  device_->start();
  for (uint32_t generation = 1; generation < 20; ++generation) {
    EXPECT_EQ(result(ring), static_cast<int>(generation));
    const TableId next = device_->add_table(bytes({0x01010101 * (generation + 1)}));
    const ProgramId next_program = add_program(next);
    ring.switch_to(device_->address(next_program));
    device_->remove_program(std::exchange(program, next_program));  // nothing is in flight
    device_->remove_table(std::exchange(table, next));
  }
}

TEST_P(DeviceTest, SpareSlotsServeALaterProgram) {
  const ProgramId first = add_program(device_->add_table(bytes({0x11111111})));
  SlotRing ring(device_->add_slots(first, 1), device_->address(first));
  device_->start(4);
  EXPECT_EQ(result(ring), 0x11);
  const ProgramId second = add_program(device_->add_table(bytes({0x22222222})));
  SlotRing later(device_->add_slots(second, 3), device_->address(second));
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(result(later), 0x22);
    EXPECT_EQ(result(ring), 0x11);
  }
  try {
    device_->add_slots(second, 2);
    FAIL() << "one is left";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("2 more slots of 1 warps, but 1 are spare"), std::string::npos)
        << error.what();
  }
}

TEST_P(DeviceTest, MoreSlotsThanFitAreRefused) {
  const ProgramId program = add_program(device_->add_table(bytes({0})));
  device_->add_slots(program, 9000);
  try {
    device_->start();
    FAIL() << "it has started";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("9000 slots of 1 warp"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("do not fit"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace heddle::gpu
