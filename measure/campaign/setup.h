#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "measure/wire/pace.h"

namespace heddle::bench {

/** What `heddle bench` can measure of a chain. */
constexpr const char *kThroughput = "throughput", *kLatency = "latency", *kZeroLoss = "zero-loss";

/** Everything that a point is measured with: what options set for all points and --sweep varies. */
struct Setup {
  // The router.
  bool elsewhere = false;  ///< it is another process: nothing of it is known
  int cores = 1;           ///< packet threads
  std::string device = "cpu", launch = "persistent", transport = "auto";
  bool share = true;     ///< what one GPU segment has gathered the next need not gather again
  bool isolate = false;  ///< each function on a GPU is a segment of its own, and shares nothing with others there
  bool workers = false;  ///< the last packet thread drives GPU segments for the others
  int batch = 1024;
  int slots = 0;           ///< 0: as many as RunOptions takes
  int descriptors = 1024;  ///< packets that a queue of the wire holds, each way
  // What is sent to it.
  std::string size = "64";  ///< bytes of a frame on the wire, check sequence included; "imix"; a capture
  uint32_t flows = 1024;
  std::string addresses = "uniform";
  std::string protocol = "udp";  ///< or "tcp"
  double zipf = 0;               ///< flow k has a share in proportion to 1 / k^zipf
  int generators = 0;            ///< cores that generate; 0: generator_cores()
  uint64_t seed = 1;
  // The trials.
  int repetitions = 6;  ///< the least that give an interval of 95 %
  double warmup_s = 0.1, trial_s = 1;
  double drain_s = 0.25;     ///< a trial is over when nothing has come out for so long after its last packet
  double rate_pps = 0;       ///< latency: what is sent
  Swing swing{};             ///< latency: of that
  double loss = 0;           ///< zero-loss: share of the packets that a trial may lose
  double start_pps = 0;      ///< zero-loss: rate of the first trial; 0: what the router forwards at maximum load
  double resolution = 0.01;  ///< zero-loss: share of the rate
  double final_s = 0;        ///< zero-loss: length of the trial that decides; 0: as the others
  double rest_s = 0.1;       ///< zero-loss: pause after a trial that lost packets
  int retries = 1;           ///< zero-loss: times that a trial that lost packets is made again

  std::map<std::string, std::string> variables;  ///< of the chain
};

constexpr int kQueues = 16;  ///< that a port of the wire has at most: DPDK's ring ports

/** What a generator has at most for each packet thread: one thread that takes what it sends, for that goes to one
 *  queue, and two that keep it supplied. */
constexpr int kGeneratorsPerThread = 3;
/** The same for a router elsewhere: its ports have one queue, to which one thread sends and from which one receives. */
constexpr int kGeneratorsElsewhere = 2;

/** Threads that the setup's generator really has, each on a core: setup.generators, or what the packet threads leave of
 *  `available` cores, up to kGeneratorsPerThread for each of them. For a router elsewhere kGeneratorsElsewhere, if that
 *  leaves it a core. */
int generator_cores(const Setup& setup, int available);

/** Of so many `generators` for `cores` packet threads, those that only receive, while the others only send: one for
 *  each packet thread when there are twice as many; else 0, and each does both. */
int receiving_cores(int generators, int cores);

/** A name that options, --sweep and records share. */
struct Parameter {
  const char *name, *help, *value;                      ///< value: what the help shows for it
  const char* measure;                                  ///< the only one that it means something to, or null
  std::function<void(Setup&, const std::string&)> set;  ///< throws Error that says what was expected
  std::function<nlohmann::ordered_json(const Setup&)> get;
  bool of_router = false;  ///< not what is sent to it, nor of the trials
};
const std::vector<Parameter>& parameters();

/** Sets a parameter, or the variable `name` of the chain ("$name" is that one in any case). Throws Error. */
void set_parameter(Setup& setup, const std::string& name, const std::string& text);

/** The parameters that matter to `measure`, as a record has them. */
nlohmann::ordered_json describe(const Setup& setup, const std::string& measure);

/** Packets a second: "2M", "1.5Mpps", "800k", "64", as many as a generator can pace. Throws Error. */
double rate_of(const std::string& text);
/** "0.001", "0.1%". Throws Error. */
double share_of(const std::string& text);

}  // namespace heddle::bench
