// `heddle softnic`: plays a NIC for a GPU port of another program.

#include <signal.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "apps/heddle/commands.h"
#include "core/error.h"

namespace heddle {
namespace {

volatile sig_atomic_t nic_is_over = 0;
void end_nic(int) { nic_is_over = 1; }

void end_nic_on_signals() {
  struct sigaction action {};
  action.sa_handler = end_nic;
  action.sa_flags = SA_RESETHAND;  // the second one ends the program
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

}  // namespace

int SoftNicCommand::run() {
  nic.dpdk_args = split_dpdk_arguments(dpdk);
  end_nic_on_signals();
  NicProcess process(nic);
  process.run([] { return nic_is_over != 0; });
  process.stop();
  const softnic::Counts& counts = process.counts();
  nlohmann::ordered_json list{{"connections", process.connections()}};
  const std::pair<const char*, const std::atomic<uint64_t>*> all[] = {
      {"received", &counts.received},       {"sent", &counts.sent},           {"bad_length", &counts.bad_length},
      {"too_large", &counts.too_large},     {"malformed", &counts.malformed}, {"too_long", &counts.too_long},
      {"unprocessed", &counts.unprocessed}, {"unsent", &counts.unsent}};
  for (const auto& [name, count] : all) list[name] = count->load();
  if (json) {
    std::printf("%s\n", list.dump(2).c_str());
  } else {
    for (const auto& [name, value] : list.items())
      std::printf("%-12s %llu\n", name.c_str(), static_cast<unsigned long long>(value.get<uint64_t>()));
  }
  const std::string problem = process.problem();
  if (!problem.empty()) std::fprintf(stderr, "heddle: soft NIC: %s\n", problem.c_str());
  return problem.empty() ? 0 : 1;
}

}  // namespace heddle
