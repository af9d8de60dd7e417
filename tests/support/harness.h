#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "engine/engine.h"
#include "tests/support/frames.h"

/** Runs chains in the real engine on frames in memory, on every backend. */
namespace heddle::test {

/** Where functions run. */
struct Backend {
  std::string name;
  std::string device;
  LaunchMode launch;
  Transport transport = Transport::direct;
  bool share = true;
  bool by_load = false;  ///< on the device and on the CPU, changing every other batch
  bool cpu_after_failure = false;
  bool workers = false;  ///< a thread more, the master, drives the device
  bool isolate = false;  ///< each function is a segment of its own
  PlanOptions plan() const {
    return {device, launch, transport, share, isolate, by_load, cpu_after_failure, 0, workers};
  }
  bool on_gpu() const { return device != "cpu"; }
  bool real_gpu() const { return device.starts_with("gpu"); }
};
void PrintTo(const Backend& backend, std::ostream* out);

/** cpu, simt and, if this machine has one, the GPU: these in several pairs of launch mode and transport, and once in
 *  turn with the CPU. With HEDDLE_REQUIRE_GPU=1 the GPU is always among them, so that its absence fails; with
 *  HEDDLE_WORKERS=1 a thread more drives it for the others. */
const std::vector<Backend>& backends();
inline const Backend& cpu() { return backends()[0]; }
/** Those of a GPU alone. */
std::vector<Backend> gpu_backends();
/** Those that stay on one processor. */
std::vector<Backend> fixed_backends();
/** Every launch mode with every transport that goes with it, on simt and, if it is among backends(), the GPU. */
std::vector<Backend> all_ways();
/** What a product over all ways has: backends() without those that all_ways() has as well, and these. */
std::vector<Backend> backends_and_all_ways();
std::string backend_name(const testing::TestParamInfo<Backend>& info);

/** A test on every backend: HEDDLE_ON_EVERY_BACKEND(Suite); TEST_P(Suite, Name) {... GetParam() ...} */
class OnBackend : public testing::TestWithParam<Backend> {};
#define HEDDLE_ON_EVERY_BACKEND(Suite) \
  class Suite : public OnBackend {};   \
  INSTANTIATE_TEST_SUITE_P(All, Suite, testing::ValuesIn(backends()), backend_name)
/** The same of what the load cannot move. */
#define HEDDLE_ON_EVERY_FIXED_BACKEND(Suite) \
  class Suite : public OnBackend {};         \
  INSTANTIATE_TEST_SUITE_P(All, Suite, testing::ValuesIn(fixed_backends()), backend_name)

/** A packet as it came to a sink. */
struct Received {
  Bytes bytes;
  uint64_t column[kColumns];  ///< those that the sink reads, else 0; l3 and l4 from the start of the frame as received
  int64_t serial;             ///< which of the frames given to run() it was; -1: a copy that the engine has made
  uint64_t timestamp_ns;
  uint32_t missing_bytes;
};

struct Options {
  std::vector<int> batches = {1024};  ///< packets that the source gives at a time, over and over; 0: an empty round
  int batch_size = 1024;              ///< capacity of batches
  int slots = 4;
  unsigned packets = 4096;
  int threads = 1;
  uint32_t scratch = 0;  ///< bytes around a frame that the chain may change, beyond those that it leaves with
  bool endless = false;  ///< the source repeats the frames until the engine stops
  bool guarded = false;  ///< each frame lies at the end of memory of its own, which AddressSanitizer guards; CPU only
  /** Called for every packet instead of collecting it. On packet threads. */
  std::function<void(const std::string& sink, const Received&)> on_packet{};
  /** Called on the calling thread while the engine runs. An endless run ends when it returns. */
  std::function<void(Engine&)> meanwhile{};
};

struct Result {
  std::map<std::string, std::vector<Received>> sinks;  ///< in order of arrival
  std::map<std::string, uint64_t> drops;               ///< "element.reason"
  std::map<std::string, uint64_t> statistics;          ///< "element.name"
  std::map<std::string, std::string> processor;        ///< by element
  uint64_t received = 0, delivered = 0, dropped = 0;
  Report report;

  const std::vector<Received>& at(const std::string& sink) const { return sinks.at(sink); }
  uint64_t drop(const std::string& which) const { return drops.contains(which) ? drops.at(which) : 0; }
  std::vector<Bytes> bytes(const std::string& sink = "sink") const;
};

/** Reads, plans and runs a chain from a TestSource to TestSinks:
 *
 *      TestSource([keywords SETS, EVERY_THREAD])     gives the frames; sets the columns SETS "dst paint" from them
 *      TestSink([keywords READS])                    collects packets with the columns READS "dst paint"
 *
 *  Checks on the way, as gtest failures: the chain is right, the engine reports no problem, no byte outside a frame
 * has changed (the buffers around frames carry a pattern), every packet has come back to its pool, and, unless the
 * chain copies packets, received = arrived at an end + dropped. */
Result run(const std::string& chain, const Backend& backend, const std::vector<Frame>& frames, Options options = {});

/** Returns when the condition no longer holds. Threads that it waits for have the processor meanwhile. */
template <class Condition>
void wait_while(const Condition& holds) {
  while (holds()) std::this_thread::sleep_for(std::chrono::microseconds(100));
}

/** Returns when packet threads have counted more twice by the handler `name`. Counts are published now and then: the
 *  second time, all that was counted before the call is there. */
void wait_for_more(Broker& handlers, const std::string& name);

/** The plan of a chain for a device, as text; its mistakes if it has some. */
std::string plan_text(const std::string& chain, const std::string& device = "cpu");
/** A chain that has been read; mistakes go to `diagnostics`. */
struct Chain {
  Router router;
  Plan plan;
};
Chain read(const std::string& chain, const PlanOptions& options, click::Diagnostics& diagnostics);
/** The mistakes that are found in a chain. */
std::string mistakes(const std::string& chain, const std::string& device = "cpu");

/** Fails with the first difference, in hexadecimal. */
testing::AssertionResult same(const std::vector<Bytes>& got, const std::vector<Bytes>& wanted);
/** Whether the serial numbers rise. */
testing::AssertionResult in_order(const std::vector<Received>& packets);

}  // namespace heddle::test
