// The options of `heddle bench`.

#include <CLI/CLI.hpp>

#include "apps/heddle/commands.h"

namespace heddle {
namespace {

std::string text_of(const nlohmann::ordered_json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void add_options(CLI::App* command, BenchCommand& run) {
  add_chain_source(command, run.chain);
  command->add_option("--measure", run.measures, "throughput (default), latency (if there is a --rate), zero-loss")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("LIST:{throughput,latency,zero-loss}");
  command->add_option("--sweep", run.sweeps, "NAME=1..8, NAME=64,128 or NAME=64..1024*2: measure all combinations")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUES");
  command->add_option("--compare", run.compare, "As --sweep, but measured in turn; prints paired ratios")
      ->type_name("NAME=VALUES");
  command
      ->add_option("--json", run.json_file,
                   "Add a line a point to FILE (\"-\": standard output); points that it has are not measured again")
      ->type_name("FILE");
  command->add_option("--html", run.html_file, "Write a page with plots")->type_name("FILE");
  command->add_option("--svg", run.svg_file, "Write the plots")->type_name("FILE");
  command->add_option("--png", run.png_file, "Write the plots")->type_name("FILE");
  command
      ->add_option("--histogram", run.histograms, "Write the distribution of each point's latencies to FOLDER (.hgrm)")
      ->type_name("FOLDER");
  command->add_option("--against", run.against_file, "Compare with earlier results of this machine")->type_name("FILE");
  command->add_option("--name", run.name, "What results are called; default: bench");
  command->add_option("--commit", run.commit, "The program's commit; default: COMMIT beside it, or what git says");
  command
      ->add_option(
          "--memif", run.memif,
          "Measure no chain but the router that connects to this memif socket, a port of the wire (repeat it for "
          "more); with \":receive\" behind it nothing is sent there")
      ->allow_extra_args(false)
      ->type_name("SOCKET");
  command->add_option("--packets", run.packets, "Packets in the pool; default: what the chain needs");
  command->add_option("--dpdk", run.dpdk, "Arguments for DPDK")->allow_extra_args(false)->type_name("ARGS");
  command->add_flag("--no-pin", run.no_pin, "Do not keep threads on cores of their own");
  command->add_flag("--quiet", run.quiet, "Show no progress");
  for (auto& parameter : bench::parameters()) {
    const std::string name = parameter.name;
    command
        ->add_option_function<std::string>(
            (name == "cores" ? "-j,--threads,--" : "--") + name,
            [&run, name](const std::string& text) { bench::set_parameter(run.setup, name, text); },
            parameter.help + ("; default: " + text_of(parameter.get(run.setup))))
        ->type_name(parameter.value)
        ->group("PARAMETERS, also for --sweep and --compare, as are the chain's variables");
  }
}

}  // namespace

std::function<int()> add_bench_command(CLI::App& command) {
  const auto run = std::make_shared<BenchCommand>();
  add_options(&command, *run);
  return [run] { return run->run(); };
}

}  // namespace heddle
