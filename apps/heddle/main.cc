// heddle: runs chains of network functions on CPUs and GPUs. This file reads the command line; each subcommand has a
// file.

#include <CLI/CLI.hpp>
#include <cstdio>

#include "apps/heddle/commands.h"
#include "core/error.h"

namespace {

using heddle::ChainOptions;

// The options of every command that takes a chain.
void add_chain_options(CLI::App* command, ChainOptions& options) {
  command->add_option("-f,--file,file", options.file, "Read the chain from FILE (\"-\": standard input)")
      ->type_name("FILE");
  command->add_option("-e,--expression", options.expression, "Take the chain from TEXT")->type_name("TEXT");
  command->add_option("variables", options.variables, "NAME=VALUE: sets $NAME in the chain")->type_name("NAME=VALUE");
  command->add_option("--device", options.plan.device,
                      "Where functions without DEVICE run: cpu (default), gpu, gpu0, gpu1, ..., or simt (tests)");
  command->add_option("--launch", options.launch, "How GPU segments get work: persistent (default) or sync")
      ->check(CLI::IsMember({"persistent", "sync"}));
  command->add_flag("--json", options.json, "Print JSON");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Runs chains of network functions on CPUs and GPUs."};
  app.require_subcommand(1);
  app.fallthrough(false);

  ChainOptions chain;
  heddle::RunCommand run;
  heddle::RoutesCommand routes;
  heddle::ConvertCommand convert;
  std::string element;
  bool json = false;

  auto* run_app = app.add_subcommand("run", "Run a chain until its sources end or Ctrl-C");
  add_chain_options(run_app, chain);
  run_app->add_option("-j,--threads", run.options.threads, "Packet threads")->check(CLI::Range(1, heddle::kMaxThreads));
  run_app->add_option("--slots", run.options.slots, "GPU: slots of 32 packets in flight, over all threads")
      ->check(CLI::Range(1, 4096));
  run_app->add_option("--packets", run.options.packets, "Packets in the pool; default: what the chain needs");
  run_app->add_flag("--pin", run.options.pin, "Keep each packet thread on a core of its own");
  run_app->add_option("--time", run.seconds, "Stop after this many seconds")->check(CLI::PositiveNumber);
  run_app->add_flag("-q,--quiet", run.quiet, "Print nothing but errors");
  run_app->add_option("--dpdk", run.dpdk, "Further arguments for DPDK, as one text")->type_name("ARGS");

  auto* check_app = app.add_subcommand("check", "Check a chain without running it");
  add_chain_options(check_app, chain);
  auto* plan_app = app.add_subcommand("plan", "Show what runs where and which bytes move");
  add_chain_options(plan_app, chain);
  auto* elements_app = app.add_subcommand("elements", "List elements, or show the manual of one");
  elements_app->add_option("name", element, "Element");
  elements_app->add_flag("--json", json, "Print JSON");
  auto* gpus_app = app.add_subcommand("gpus", "List the GPUs that can be used");
  gpus_app->add_flag("--json", json, "Print JSON");
  auto* routes_app = app.add_subcommand("routes", "Check a route file, and look addresses up in it");
  routes_app->add_option("file", routes.file, "Route file: PREFIX [GATEWAY] OUTPUT a line");
  routes_app->add_option("addresses", routes.addresses, "IPv4 addresses to look up");
  routes_app->add_flag("--json", routes.json, "Print JSON");
  auto* convert_app = routes_app->add_subcommand(
      "convert",
      "Make a route file of an MRT dump (RIPE RIS, RouteViews; plain, gzip or bzip2), of `ip route` or of CSV");
  convert_app->add_option("input", convert.options.input, "File to convert (\"-\": standard input)")->required();
  convert_app->add_option("-o,--output", convert.output, "Route file to write; default: standard output")
      ->type_name("FILE");
  convert_app->add_option("--format", convert.options.format, "auto (default): what the file looks like")
      ->check(CLI::IsMember({"auto", "mrt", "iproute", "csv"}));
  convert_app
      ->add_option(
          "--outputs", convert.options.outputs,
          "Deal next hops out to N outputs in turn; default: an output each (routes with an interface: one each)")
      ->type_name("N")
      ->check(CLI::PositiveNumber);

  CLI11_PARSE(app, argc, argv);
  try {
    if (*run_app) return run.run(chain);
    if (*check_app) return heddle::check(chain);
    if (*plan_app) return heddle::show_plan(chain);
    if (*elements_app) return heddle::show_elements(element, json);
    if (*gpus_app) return heddle::show_gpus(json);
    if (*convert_app) return convert.run();
    if (routes.file.empty()) throw heddle::Error("routes: missing the route file, or the command convert");
    return routes.run();
  } catch (const heddle::Error& error) {
    std::fprintf(stderr, "heddle: %s\n", error.what());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "heddle: out of memory\n");
  }
  return 1;
}
