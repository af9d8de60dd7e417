// Fuzzes every element class that packets come to from a chain, on the CPU: the bytes choose a class, whether headers
// before it are looked at or taken as they are, and make frames. The chain (tests/support/every_class.h) runs in the
// real engine; each frame ends where its memory ends, and all of them must come out, be dropped with a reason, or be
// kept.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/fuzz/frames.h"
#include "tests/support/every_class.h"

namespace heddle::test {
namespace {

constexpr size_t kMaxFrames = 64;
constexpr int kBatches[] = {1, 7, 32, 64};

void check(Input input) {
  static const FilesOfElements files;
  const std::vector<ClassInChain>& classes = classes_in_chains();
  const unsigned number = input.byte() << 8 | input.byte(), how = input.byte();
  std::string chain = files.definitions() + classes[number % classes.size()].chain();
  if (how & 1)
    for (const char* header : {"IPHeader", "IP6Header"})
      for (size_t at = 0; (at = chain.find(std::string(" Mark") + header, at)) != std::string::npos;)
        chain.replace(at, 5, " Check");
  Options options;
  options.guarded = true;
  options.batches = {kBatches[how >> 1 & 3]};
  options.batch_size = 64, options.packets = 4096;
  options.on_packet = [](const std::string&, const Received&) {};
  std::vector<Frame> frames;
  while (!input.empty() && frames.size() < kMaxFrames) {
    frames.push_back(frame_of(input));
    frames.back().headroom = -1;
  }
  try {
    run(chain, {"cpu", "cpu", LaunchMode::persistent}, frames, options);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n%s\n", chain.c_str(), failure.what());
    std::abort();
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
