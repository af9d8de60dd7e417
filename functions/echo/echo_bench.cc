// echo: a router that sends to random ports between net_null ports, against a bare loop of receiving and sending: what
// each packet costs that is looked at by nobody (the paper's baseline for all its routers).

#include "bench/bare_loop.h"
#include "bench/bench.h"
#include "bench/engine_run.h"

namespace heddle::bench {
namespace {

constexpr double kSeconds = 0.25;
constexpr int kRounds = 15;
constexpr const char* kPort = ",size=60";

double echo_mpps() {
  RunOptions options;
  options.pin = true;
  const std::string device = std::string("\"net_null0") + kPort + "\"";
  return engine_mpps("FromDPDKDevice(" + device + ") -> e :: Echo; out :: ToDPDKDevice(net_null1);" +
                         " e[0] -> out; e[1] -> out; e[2] -> out; e[3] -> out;",
                     {}, options, kSeconds);
}

const Register echo("echo", false, [] {
  return std::vector{paired("echo", "Mpps", 0.8, kRounds, echo_mpps,
                            [] { return bare_loop_mpps(kSeconds, kPort, [](rte_mbuf**, uint16_t) {}); })};
});

}  // namespace
}  // namespace heddle::bench
