// What comes, changes and goes while kernels are resident: tables, programs, slots.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <string.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <thread>

#include "functions/xor/rule.h"
#include "gpu/functions.h"
#include "gpu/slot_ring.h"
#include "simt/launches.h"
#include "tests/support/harness.h"
#include "tests/support/sanitizer.h"

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

/** Whether some memory of this process that can be written has `count` bytes of which byte i is of(i). */
template <class Of>
bool in_memory(size_t count, const Of& of) {
  std::ifstream maps("/proc/self/maps");
  const int memory = ::open("/proc/self/mem", O_RDONLY);
  EXPECT_GE(memory, 0);
  std::vector<char> page(size_t{1} << 20);
  bool found = false;
  for (std::string line; !found && std::getline(maps, line);) {
    unsigned long first, last;
    char writable;
    if (std::sscanf(line.c_str(), "%lx-%lx %*c%c", &first, &last, &writable) != 3 || writable != 'w') continue;
    for (unsigned long at = first; !found && at < last; at += page.size() - count) {
      const ssize_t there =
          ::pread(memory, page.data(), std::min<unsigned long>(page.size(), last - at), static_cast<off_t>(at));
      const size_t end = there < 0 ? 0 : static_cast<size_t>(there);
      for (size_t place = 0; !found && place + count <= end; ++place) {
        size_t same = 0;
        while (same < count && static_cast<uint8_t>(page[place + same]) == of(same)) ++same;
        found = same == count;
      }
    }
  }
  ::close(memory);
  ::explicit_bzero(page.data(), page.size());
  return found;
}

// Tables hold keys: nothing of one is left where it lay, nor on the way there. On simt, that is memory of this process.
TEST(DeviceTables, LeaveNothingBehind) {
  if (test::kSanitized) GTEST_SKIP() << "a sanitizer's memory is terabytes";
  constexpr size_t kBytes = 4096, kPart = 40;
  const auto of = [](size_t i) { return static_cast<uint8_t>((i + 17) * 2654435761u >> 11 ^ 0x5a); };
  const auto of_the_middle = [&](size_t i) { return of(kBytes / 2 + i); };
  const auto device = open_device("simt");
  std::vector<std::byte> secret(kBytes);
  for (size_t i = 0; i < kBytes; ++i) secret[i] = std::byte{of(i)};
  const TableId removed = device->add_table(secret);
  ::explicit_bzero(secret.data(), secret.size());
  EXPECT_TRUE(in_memory(kPart, of_the_middle)) << "in the table";
  device->remove_table(removed);
  EXPECT_FALSE(in_memory(kPart, of_the_middle));
}

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

// A stream's graph has been made before the resident kernel was started, and launches other slots without waiting for
// it.
TEST_P(DeviceTest, GraphsLaunchAnySlotsBesideResidentKernels) {
  const ProgramId program = add_program(device_->add_table(bytes({0x11111111})));
  constexpr int kSlots = 6, kStreamsHere = 2;
  const SlotGroup group = device_->add_slots(program, kSlots, kStreamsHere);
  device_->make_graphs(group, program);
  SlotRing resident(device_->add_slots(program, 1), device_->address(program));
  SlotRing ring(group, device_->address(program));
  device_->start();
  const auto launch = [&](int slots, int stream) {
    std::memset(packets_.base, 0, packets_.bytes);
    int expected = 0;  // by slot, one packet: each has changed its own
    for (int i = 0; i < slots; ++i) {
      const uint64_t place = pack_word(0, kFrameBytes, static_cast<uint64_t>(i * kFrameBytes));
      ring.submit(ring.next_slot(), &place, 1);
    }
    const int first = (ring.next_index() + kSlots - slots) % kSlots, wrapped = std::max(0, first + slots - kSlots);
    device_->launch(group, program, first, slots - wrapped, stream);
    if (wrapped > 0) device_->launch(group, program, 0, wrapped, stream);
    device_->wait(group, stream);
    for (int i = 0; i < slots; ++i, ring.release_oldest()) {
      EXPECT_TRUE(ring.oldest_done());
      expected += std::to_integer<int>(packets_.base[i * kFrameBytes]) == 0x11;
    }
    EXPECT_EQ(expected, slots);
  };
  const simt::Launches before = simt::launches();
  for (int i = 0; i < 3 * kSlots; ++i) launch(1 + i % kSlots, i % kStreamsHere);
  EXPECT_EQ(result(resident), 0x11);
  if (!device_->info().name.starts_with("simt")) return;
  EXPECT_EQ(simt::launches().single, before.single);
  EXPECT_GE(simt::launches().graphs, before.graphs + 3 * kSlots);
  // Two streams that take half of the ring each come to the same slots again: nothing is to be changed any more.
  while (ring.next_index() != 0) launch(1, 0);
  for (int stream = 0; stream < kStreamsHere; ++stream) launch(kSlots / kStreamsHere, stream);
  const uint64_t changes = simt::launches().changes;
  for (int i = 0; i < 10; ++i) launch(kSlots / kStreamsHere, i % kStreamsHere);
  EXPECT_EQ(simt::launches().changes, changes);
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
