// Fuzzes the functions' GPU sides: the bytes make a chain of functions with a GPU side, a tree that forks at look-ups,
// and frames with columns of any value. The chain runs in the real engine on the CPU and on simt; both must give the
// same bytes, columns, exits and drop counts, and the harness must find nothing wrong with either (damaged
// surroundings, lost packets). Frames have any length, and any room before them.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/support/harness.h"

namespace heddle::test {
namespace {

constexpr size_t kMostFunctions = 8, kMostFrames = 80;
// Far below the longest packet, where a segment on a GPU wants room for all that it may append, and the CPU for one
// element.
constexpr size_t kMostBytes = 4096;
constexpr int kBatches[] = {1, 7, 31, 32, 33, 64};

/** The input, read from its beginning; zeros behind its end. */
class Input {
 public:
  Input(const uint8_t* bytes, size_t size) : at_(bytes), end_(bytes + size) {}
  bool empty() const { return at_ == end_; }
  unsigned byte() { return at_ == end_ ? 0 : *at_++; }
  unsigned below(unsigned limit) { return byte() % limit; }
  uint32_t word() {
    uint32_t value = 0;
    for (int i = 0; i < 4; ++i) value = value << 8 | byte();
    return value;
  }

 private:
  const uint8_t *at_, *end_;
};

/** A chain as text, made of what the input says. */
class Writer {
 public:
  explicit Writer(Input& input) : input_(input) {}

  std::string chain() {
    branch("TestSource(SETS \"dst paint\")");
    return text_;
  }

 private:
  /** A path from an output, as text, to its sinks. */
  void branch(std::string path) {
    while (functions_ < kMostFunctions) {
      const std::string name = "f" + std::to_string(functions_);
      const unsigned choice = input_.below(12);
      if (choice == 0) break;
      ++functions_;
      if (choice >= 9) {
        fork(path + " -> " + name + " :: " + look_up(choice), name);
        return;
      }
      path += " -> " + name + " :: " + plain(choice);
    }
    text_ += path + " -> s" + std::to_string(sinks_++) + " :: TestSink(READS \"dst paint\");\n";
  }

  std::string plain(unsigned choice) {
    switch (choice) {
      case 1:
        return "EtherMirror";
      case 2:
        return "XOR(" + std::to_string(input_.byte()) + ")";
      case 3:
        return "SetCRC32";
      case 4:
        return "CheckCRC32";
      case 5:
        return "Counter";
      case 6:
        return "Paint(" + std::to_string(input_.byte()) + ")";
      case 7:
        return "CheckIPHeader(14)";
      default:
        return "Null";
    }
  }

  std::string look_up(unsigned choice) {
    constexpr const char* kClasses[] = {"DirectIPLookup", "RadixIPLookup", "LinearIPLookup"};
    std::string routes;
    outputs_ = 1 + input_.below(3);
    for (unsigned i = 0, count = 1 + input_.below(6); i < count; ++i) {
      const unsigned bits = input_.below(2) == 0 ? 0 : input_.below(33);  // half of them take any address
      const uint32_t address = bits == 0 ? 0 : input_.word() & ~uint32_t{0} << (32 - bits);
      routes += format("%s%u.%u.%u.%u/%u ", i == 0 ? "" : ", ", address >> 24, address >> 16 & 255, address >> 8 & 255,
                       address & 255, bits);
      if (input_.below(2) == 1) routes += format("192.0.2.%u ", 1 + input_.below(200));
      routes += std::to_string(i < outputs_ ? i : input_.below(outputs_));
      if (i + 1 == count) outputs_ = std::min(outputs_, count);
    }
    return format("%s(%s)", kClasses[choice - 9], routes.c_str());
  }

  void fork(const std::string& path, const std::string& name) {
    text_ += path + ";\n";
    for (unsigned output = 0, count = outputs_; output < count; ++output)
      branch(name + "[" + std::to_string(output) + "]");
  }

  Input& input_;
  std::string text_;
  size_t functions_ = 0, sinks_ = 0;
  unsigned outputs_ = 1;
};

Frame frame_of(Input& input) {
  Frame frame;
  const unsigned kind = input.byte();
  size_t length = kind % 4 == 0 ? input.byte() << 3 : input.below(130);
  length = std::min(length, kMostBytes);
  if (kind % 8 == 1) {
    frame = ip_frame(input.word(), input.word(), std::min<size_t>(length, 1500));
  } else {
    uint32_t state = input.word();
    for (size_t i = 0; i < length; ++i) {
      frame.bytes.push_back(static_cast<uint8_t>(state >> 24));
      state = state * 1664525 + 1013904223;
    }
  }
  if (kind & 64) frame.headroom = static_cast<int>(input.below(129));
  frame.column[static_cast<int>(Column::dst)] = input.word();
  frame.column[static_cast<int>(Column::paint)] = input.byte();
  return frame;
}

[[noreturn]] void differ(const std::string& chain, const std::string& what) {
  std::fprintf(stderr, "%s\nCPU and simt differ: %s\n", chain.c_str(), what.c_str());
  std::abort();
}

void compare(const std::string& chain, const Result& cpu, const Result& gpu) {
  const auto text = [](const std::map<std::string, uint64_t>& drops) {
    std::string all;
    for (auto& [reason, count] : drops)
      all += format(" %s %llu", reason.c_str(), static_cast<unsigned long long>(count));
    return all;
  };
  if (cpu.drops != gpu.drops) differ(chain, "drops:" + text(cpu.drops) + "; simt:" + text(gpu.drops));
  for (auto& [sink, wanted] : cpu.sinks) {
    const auto found = gpu.sinks.find(sink);
    if (found == gpu.sinks.end() || found->second.size() != wanted.size()) differ(chain, sink + ": number of packets");
    for (size_t i = 0; i < wanted.size(); ++i) {
      const Received& got = found->second[i];
      const std::string where = format("%s, packet %zu: ", sink.c_str(), i);
      if (got.serial != wanted[i].serial) differ(chain, where + "another frame");
      if (got.bytes != wanted[i].bytes) differ(chain, where + "bytes");
      if (!std::equal(std::begin(got.column), std::end(got.column), wanted[i].column)) differ(chain, where + "columns");
    }
  }
}

void check(Input input) {
  const auto launch = static_cast<LaunchMode>(input.below(kLaunchModes.size()));
  const auto transport = static_cast<Transport>(input.below(kTransports.size()));
  if (copies_by_engine(transport) && launch == LaunchMode::persistent) return;
  Options options;
  options.batches = {kBatches[input.below(std::size(kBatches))]};
  options.batch_size = 64, options.packets = 512;
  options.scratch = 4 * kMostFunctions;  // of check sums that were appended and taken off again
  const std::string chain = Writer(input).chain();
  if (!mistakes(chain, "cpu").empty() || !mistakes(chain, "simt").empty()) return;
  std::vector<Frame> frames;
  while (!input.empty() && frames.size() < kMostFrames) frames.push_back(frame_of(input));
  try {
    const Result cpu = run(chain, {"cpu", "cpu", LaunchMode::persistent}, frames, options);
    const Result gpu = run(chain, {"simt", "simt", launch, transport}, frames, options);
    compare(chain, cpu, gpu);
  } catch (const std::exception& failure) {
    differ(chain, failure.what());
  }
}

}  // namespace
}  // namespace heddle::test

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  (void)argc, (void)argv;
  testing::FLAGS_gtest_throw_on_failure = true;  // what the harness finds ends the run
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  heddle::test::check({bytes, size});
  return 0;
}
