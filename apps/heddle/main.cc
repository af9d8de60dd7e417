// heddle: runs chains of network functions on CPUs and GPUs. This file reads the command line; each subcommand has a
// file. Called under the name `click` it is `heddle run` with Click's manners.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>

#include "apps/heddle/commands.h"
#include "apps/heddle/options.h"
#include "click/diagnostics.h"
#include "click/values.h"
#include "core/error.h"

namespace {

using heddle::ChainOptions;
using heddle::RunCommand;

constexpr const char* kVersion = "heddle 0.1, with the language, handlers and switches of Click 2.1";

// The options of every command that takes a chain; `bench` has its own.
void add_chain_options(CLI::App* command, ChainOptions& options) {
  heddle::add_chain_source(command, options);
  command->add_option("--device", options.device,
                      "Where functions without DEVICE run: cpu (default), gpu, gpu0, gpu1, ..., auto (cpu or gpu, by "
                      "load; auto:gpu1), or simt (tests)");
  command
      ->add_option_function<std::string>(
          "--on-gpu-error", [&options](const std::string& what) { options.plan.cpu_after_failure = what == "cpu"; },
          "When a GPU fails: stop (default), or go on on the cpu")
      ->check(CLI::IsMember({"stop", "cpu"}))
      ->type_name("stop|cpu");
  command
      ->add_option("--launch", options.launch, "How GPU segments get work: persistent (default), async, graph or sync")
      ->check(CLI::IsMember(heddle::kLaunchModes));
  command
      ->add_option("--transport", options.transport, "How packet bytes get to GPU segments; default: the plan chooses")
      ->check(CLI::IsMember(heddle::kTransports));
  command
      ->add_option_function<std::string>(
          "--latency",
          [&options](const std::string& time) {
            options.plan.latency_us = heddle::click::value_of<heddle::click::Duration>(time).microseconds;
          },
          "Budget of packets on their way through a GPU (200us): they wait for others as far as it goes, and the CPU "
          "takes those of DEVICE auto when the GPU takes longer; default: none wait")
      ->check([](const std::string& text) {
        heddle::click::Duration time;
        return heddle::click::parse(text, time) && time.microseconds > 0 ? ""
                                                                         : "'" + text + "' is no time, such as 200us";
      })
      ->type_name("TIME");
  command->add_flag(
      "--workers", options.plan.workers,
      "Let the last packet thread (-j, 2 or more) drive all GPU segments: the others are its workers, hand "
      "packets over to it and take them back; default: each thread drives them for itself");
  command->add_flag_callback(
      "--no-share", [&options] { options.plan.share = false; },
      "Transport gather: let each GPU segment gather packets anew");
  command->add_flag(
      "--isolate", options.plan.isolate,
      "Let each function on a GPU be a segment of its own: what it reads of packets moves there from the CPU, what it "
      "has written moves back, nothing stays in GPU memory for the next, and IP headers that CheckIPHeader has parsed "
      "are parsed again before each that reads them but the first. A baseline to compare with");
  command->add_flag(
      "--skip-unsupported", options.skip_unsupported,
      "Leave out, and list, rules that ask for what is not supported: SKIP_UNSUPPORTED true for each NIDS "
      "that does not say it");
}

void add_json(CLI::App* command, bool& json) { command->add_flag("--json", json, "Print JSON"); }

// Those that Click has.
void add_click_options(CLI::App* command, ChainOptions& chain, RunCommand& run) {
  command->set_help_flag("--help", "Print this help message and exit");  // -h is a handler's
  command->add_option("-j,--threads", run.options.threads, "Packet threads")
      ->check(CLI::Range(1, heddle::kMaxThreads))
      ->type_name("N");
  command
      ->add_option(
          "-p,--port", chain.tcp_ports,
          "Listen for control connections on TCP port PORT of 127.0.0.1; \"PORT+\": on the next one that is free")
      ->check([](const std::string& text) {
        uint16_t port = 0;
        const std::string number = text.ends_with('+') ? text.substr(0, text.size() - 1) : text;
        return heddle::click::parse(number, port) && port > 0 ? "" : "Value " + text + " not in range 1 to 65535";
      })
      ->allow_extra_args(false)
      ->type_name("PORT[+]");
  command->add_option("--socket", chain.sockets, "Take control commands from the open connection DESCRIPTOR")
      ->check(CLI::Range(0, 1 << 20))
      ->allow_extra_args(false)
      ->type_name("DESCRIPTOR");
  command->add_option("-u,--unix-socket", chain.unix_sockets, "Listen for control connections on Unix socket FILE")
      ->allow_extra_args(false)
      ->type_name("FILE");
  command->add_option("-h,--handler", run.handlers, "Print the value of read handler ELEMENT.HANDLER at the end")
      ->allow_extra_args(false)
      ->type_name("ELEMENT.HANDLER");
  command->add_option("-x,--exit-handler", run.exit_handler, "Take the exit code from ELEMENT.HANDLER at the end")
      ->type_name("ELEMENT.HANDLER");
  command->add_option("-o,--output", run.output, "Write the flat configuration to FILE (\"-\": standard output)")
      ->type_name("FILE");
  command->add_flag("-q,--quit", run.do_not_run, "Do not run the chain");
  command->add_flag("-t", run.print_time, "Print the time that the run took");
  command
      ->add_option(
          "--simtime", run.simulated_time,
          "Simulated time, from TIME (1000000000, seconds since 1970): it stands still while there is anything "
          "to do, and then jumps to what is due next")
      ->check(heddle::number_in(1, 4e9))
      ->type_name("[=TIME]");
  command
      ->add_option("--simtick", run.simulated_tick_s,
                   "Seconds (or 1ms, 20us) by which simulated time goes on whenever an element asks for it; default 0")
      ->transform([](std::string text) {
        double number = 0;
        heddle::click::Duration time;
        if (!heddle::click::parse(text, number) && heddle::click::parse(text, time))
          text = heddle::format("%.6f", static_cast<double>(time.microseconds) / 1e6);
        return text;
      })
      ->check(heddle::number_in(0, 1))
      ->type_name("SECONDS");
  command->add_flag("-w,--no-warnings", run.no_warnings, "Print no warnings");
  command->add_option("-C,--clickpath", chain.click_path, "Folders in which require(library FILE) looks, FOLDER:FOLDER")
      ->allow_extra_args(false)
      ->type_name("PATH");
  command->add_flag("-R,--allow-reconfigure", run.allow_reconfigure,
                    "Offer the handler hotconfig: what is written to it replaces the running chain; and let the "
                    "arguments of every element be written (config)");
  command->add_option("--dpdk", run.dpdk, "Arguments for DPDK: one text, or words up to \"--\"")
      ->allow_extra_args(false)
      ->type_name("ARGS");
  command->set_version_flag("-v,-V,--version", kVersion);
}

// Heddle's own.
void add_run_options(CLI::App* command, RunCommand& run) {
  command->add_option("--slots", run.options.slots, "GPU: slots of 32 packets in flight, over all threads")
      ->check(CLI::Range(1, 4096));
  command
      ->add_option("--batch", run.options.batch_size,
                   "Most packets that go through the chain together; default 1024. 1: one by one, in Click's order")
      ->check(CLI::Range(1, 1 << 16));
  command->add_option("--packets", run.options.packets, "Packets in the pool; default: what the chain needs")
      ->check(CLI::Range(1u, 1u << 30));
  command->add_flag("--pin,-a,--affinity", run.options.pin, "Keep each packet thread on a core of its own");
  command->add_option("--time", run.seconds, "Stop after this many seconds")->check([](const std::string& text) {
    double seconds = 0;
    return heddle::click::parse(text, seconds) && seconds > 0 ? ""
                                                              : "'" + text + "' is not a positive number of seconds";
  });
  command->add_flag("--quiet", run.quiet, "Print no report, progress or warnings; errors and what elements print stay");
  command
      ->add_option("--metrics", run.metrics_port,
                   "Offer counters to Prometheus on port PORT of 127.0.0.1, to 64 connections at a time")
      ->check(CLI::Range(1, 65535))
      ->type_name("PORT");
}

// "--simtime" alone, for what is behind it may be a file.
void complete_simulated_time(std::vector<std::string>& words) {
  for (auto& word : words)
    if (word == "--simtime") word += "=1000000000";
}

// Whether it is written as a number, nan as well, whatever its value; or begins as one, as "10s" does.
bool begins_as_number(const std::string& word) {
  char* end = nullptr;
  std::strtod(word.c_str(), &end);
  return *end == '\0' || (end != word.c_str() && word.find_first_of("0123456789") < 2);
}

// "--time" without a number, as Click has it, is -t.
void complete_time(std::vector<std::string>& words) {
  for (auto word = words.begin(); word != words.end(); ++word)
    if (*word == "--time" && (word + 1 == words.end() || !begins_as_number(*(word + 1)))) *word = "-t";
}

// "--dpdk ARGS... --", as FastClick has it, becomes one "--dpdk=TEXT"; "--dpdk TEXT" stays.
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  complete_simulated_time(words);
  if (argc > 1 && (std::filesystem::path(argv[0]).filename() == "click" || words.front() == "run"))
    complete_time(words);
  const auto begin = std::find(words.begin(), words.end(), "--dpdk");
  const auto end = std::find(begin, words.end(), "--");
  if (end == words.end()) return words;
  std::string text;
  for (auto word = begin + 1; word != end; ++word) text += (text.empty() ? "" : " ") + *word;
  *begin = "--dpdk=" + text;
  words.erase(begin + 1, end + 1);
  return words;
}

// "; did you mean ..." of the first option that `app` has not, if one that it has is near.
std::string misspelt(const CLI::App& app) {
  std::vector<std::string> known;
  for (const auto* option : app.get_options())
    for (const auto& name : option->get_lnames()) known.push_back("--" + name);
  for (const std::string& word : app.remaining())
    if (word.starts_with("--"))
      if (const std::string near = heddle::click::suggestion(word.substr(0, word.find('=')), known); !near.empty())
        return near;
  return "";
}

// What is wrong with the command line, and with the line of which command.
std::string usage_error(const CLI::App* app, const CLI::Error& error) {
  std::string command = app->get_name();
  while (!app->get_subcommands().empty()) {
    app = app->get_subcommands().front();
    command += " " + app->get_name();
  }
  const std::string near = misspelt(*app);
  return command + ": " + error.what() + near + (near.empty() ? "; `" : " `") + command +
         " --help` says what it takes\n";
}

// Throws Error where the first word is to be a command of `app` and is none; so for the commands that have others.
void check_command(CLI::App& app, const std::string& called, std::span<const std::string> words) {
  std::vector<std::string> commands;
  for (const auto* command : app.get_subcommands(nullptr)) commands.push_back(command->get_name());
  if (commands.empty() || words.empty() || words[0].starts_with("-")) return;
  if (std::ranges::find(commands, words[0]) != commands.end())
    return check_command(*app.get_subcommand(words[0]), called + " " + words[0], words.subspan(1));
  std::error_code unreadable;
  const bool takes_files = app.get_require_subcommand_min() == 0;  // routes
  if (takes_files &&
      (heddle::click::nearest(words[0], commands).empty() || std::filesystem::exists(words[0], unreadable)))
    return;
  throw heddle::Error("unknown command '" + words[0] + "'" +
                      heddle::hint(words[0], commands, "`" + called + " --help` lists all"));
}

// CLI11 wants them the other way round.
void parse(CLI::App& app, std::vector<std::string> words) {
  app.failure_message(usage_error);
  std::reverse(words.begin(), words.end());
  app.parse(words);
}

int click(std::vector<std::string> words) {
  CLI::App app{"Runs a Click configuration.", "click"};
  ChainOptions chain;
  RunCommand run;
  chain.from_standard_input = run.as_click = true;
  add_chain_options(&app, chain);
  add_json(&app, chain.json);
  add_click_options(&app, chain, run);
  add_run_options(&app, run);
  try {
    parse(app, std::move(words));
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 1;
  }
  return run.run(chain);
}

int heddle_main(std::vector<std::string> words) {
  CLI::App app{"Runs chains of network functions on CPUs and GPUs.", "heddle"};
  app.require_subcommand(1);
  app.fallthrough(false);
  app.set_version_flag("--version", kVersion);

  ChainOptions chain;
  RunCommand run;
  heddle::RoutesCommand routes;
  heddle::ConvertCommand convert;
  std::string element, sysroot;
  bool json = false;

  auto* run_app = app.add_subcommand("run", "Run a chain until its sources end or Ctrl-C");
  add_chain_options(run_app, chain);
  add_json(run_app, chain.json);
  add_click_options(run_app, chain, run);
  add_run_options(run_app, run);
  auto* bench_app = app.add_subcommand("bench", "Measure a chain on a virtual wire");
  const auto measure = heddle::add_bench_command(*bench_app);
  auto* check_app = app.add_subcommand("check", "Check a chain without running it");
  add_chain_options(check_app, chain);
  add_json(check_app, chain.json);
  auto* plan_app = app.add_subcommand("plan", "Show what runs where and which bytes move");
  add_chain_options(plan_app, chain);
  add_json(plan_app, chain.json);
  auto* flatten_app = app.add_subcommand("flatten", "Print a chain without compound elements and variables");
  add_chain_options(flatten_app, chain);
  std::string flat_file = "-";
  flatten_app->add_option("-o,--output", flat_file, "File to write; default: standard output")->type_name("FILE");
  auto* graph_app = app.add_subcommand("graph", "Draw a chain, or a running router and its load");
  add_chain_options(graph_app, chain);
  heddle::GraphCommand graph;
  graph_app->add_flag("--svg", graph.svg, "Print SVG, by Graphviz's dot; else a graph in its language");
  graph_app->add_option("-r,--router", graph.address,
                        "Draw the router with this control socket (FILE, PORT or HOST:PORT) and its packets a second");
  graph_app->add_option("-i,--interval", graph.interval_s, "Seconds in which they are counted; default 1")
      ->check(heddle::number_in(0.01, 3600));
  heddle::TopCommand top;
  auto* top_app = app.add_subcommand("top", "Show how a running router does, over its control socket");
  top_app->add_option("socket", top.address, "The control socket: FILE, PORT or HOST:PORT")->required();
  top_app->add_option("-i,--interval", top.interval_s, "Seconds between two looks; default 1")
      ->check(heddle::number_in(0.05, 3600))
      ->type_name("SECONDS");
  top_app->add_option("-n,--count", top.count, "Print N tables instead, one after the other")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N");
  heddle::TraceCommand trace;
  auto* trace_app =
      app.add_subcommand("trace", "Show the way of packets through a running router, and what elements change");
  trace_app->add_option("socket", trace.address, "Its control socket: FILE, PORT or HOST:PORT")->required();
  trace_app->add_option("filter", trace.filter,
                        "Packets to follow, in IPFilter's language: 'tcp dst port 80'; default: any");
  trace_app->add_option("-n,--count", trace.count, "How many packets; default 1")
      ->check(CLI::Range(1, 63))
      ->type_name("N");
  trace_app->add_option("--time", trace.seconds, "Wait for them no longer than this")
      ->check(heddle::number_in(0.01, 1e6))
      ->type_name("SECONDS");
  auto* elements_app = app.add_subcommand("elements", "List elements, or show the manual of one");
  elements_app->add_option("name", element, "Element");
  add_json(elements_app, json);
  auto* gpus_app = app.add_subcommand("gpus", "List the GPUs that can be used, and what helps or hinders");
  gpus_app->add_option("--sysroot", sysroot, "Look into /proc, /sys and /dev below FOLDER, say of another machine")
      ->check(CLI::ExistingDirectory)
      ->type_name("FOLDER");
  add_json(gpus_app, json);
  auto* routes_app = app.add_subcommand("routes", "Check a route file, and look addresses up in it");
  routes_app->add_option("file", routes.file, "Route file: PREFIX [GATEWAY] OUTPUT a line");
  routes_app->add_option("addresses", routes.addresses, "IPv4 addresses to look up");
  add_json(routes_app, routes.json);
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
      ->check(CLI::Range(1, INT32_MAX));
  heddle::RulesCommand rules;
  auto* rules_app = app.add_subcommand("rules", "Check, convert and explain rules of packet classification");
  rules_app->require_subcommand(1);
  const auto add_rules_command = [&](const char* name, const char* help) {
    auto* command = rules_app->add_subcommand(name, help);
    command->add_option("file", rules.file, "Rules (\"-\": standard input)")->required();
    command->add_option("--format", rules.options.format, "auto (default): what the file looks like")
        ->check(CLI::IsMember({"auto", "classbench", "listing", "iptables", "nft", "ipfilter"}));
    command->add_option("--chain", rules.options.chain, "iptables, nft: whose rules; default: those of forwarding")
        ->type_name("NAME");
    command
        ->add_option("--family", rules.options.family,
                     "iptables: ip or ip6, where nothing in the file says (`ip6tables -S`)")
        ->transform(CLI::CheckedTransformer(std::map<std::string, int>{{"ip", 4}, {"ip6", 6}}))
        ->type_name("ip|ip6");
    command->add_flag("--skip-unsupported", rules.options.skip_unsupported,
                      "iptables, nft: leave out lines that have no equal without state, and list them");
    return command;
  };
  auto* rules_check = add_rules_command("check", "Report mistakes, and rules that no packet can hit");
  auto* rules_convert = add_rules_command(
      "convert", "Make a rule file of iptables-save, `nft list ruleset`, lines of Click's IPFilter or a listing");
  auto* rules_explain =
      add_rules_command("explain", "Say which rule packets hit, and which before it they miss, and why");
  add_json(rules_check, rules.json);
  rules_convert->add_option("-o,--output", rules.output, "Rule file to write; default: standard output")
      ->type_name("FILE");
  rules_explain
      ->add_option("packet", rules.asked,
                   "A capture, or SOURCE DESTINATION SOURCE_PORT DESTINATION_PORT PROTOCOL [FIELD=VALUE ...]")
      ->required();
  rules_explain
      ->add_option("--packet", rules.packet, "Of the capture this one only, from 1, with the rules that it misses")
      ->check(CLI::Range(uint64_t{1}, UINT64_MAX))
      ->type_name("N");
  rules_explain->add_flag("--all", rules.all, "Print all rules that are missed, not 20");
  add_json(rules_explain, rules.json);
  heddle::SoftNicCommand softnic;
  auto* softnic_app = app.add_subcommand(
      "softnic", "Play a NIC for a GPU port of another program, between its rings and a DPDK device, until Ctrl-C");
  softnic_app->add_option("socket", softnic.nic.socket, "Socket to listen at, the port's NIC_SOCKET")->required();
  softnic_app->add_option("port", softnic.nic.port, "DPDK device, as FromDPDKDevice takes it")->required();
  softnic_app->add_option("--device", softnic.nic.device, "The port's GPU: gpu (default), gpu0, gpu1, ..., simt");
  softnic_app->add_option("--queues", softnic.nic.queues, "Ring pairs, the port's QUEUES; default 1")
      ->check(CLI::Range(1u, heddle::softnic::kMaxQueues))
      ->type_name("N");
  softnic_app->add_option("--buffer", softnic.nic.buffer_bytes, "The port's BUFFER; default 2048")
      ->check(CLI::Range(heddle::softnic::kBufferUnit, heddle::softnic::kMaxBuffer))
      ->type_name("BYTES");
  softnic_app->add_option("--dpdk", softnic.dpdk, "Arguments for DPDK: one text, or words up to \"--\"")
      ->allow_extra_args(false)
      ->type_name("ARGS");
  add_json(softnic_app, softnic.json);
  auto* gen_app = app.add_subcommand("gen", "Make tables and traffic with the statistics of real ones");
  const auto generate = heddle::add_gen_commands(*gen_app);

  check_command(app, "heddle", words);
  try {
    parse(app, std::move(words));
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  }
  if (*gen_app) return generate();
  if (*bench_app) return measure();
  if (*run_app) return run.run(chain);
  if (*check_app) return heddle::check(chain);
  if (*plan_app) return heddle::show_plan(chain);
  if (*flatten_app) return heddle::flatten(chain, flat_file);
  if (*graph_app) return graph.run(chain);
  if (*top_app) return top.run();
  if (*trace_app) return trace.run();
  if (*elements_app) return heddle::show_elements(element, json);
  if (*softnic_app) return softnic.run();
  if (*gpus_app) return heddle::show_gpus(json, sysroot);
  if (*convert_app) return convert.run();
  if (*rules_check) return rules.check();
  if (*rules_convert) return rules.convert();
  if (*rules_explain) return rules.explain();
  if (routes.file.empty()) throw heddle::Error("routes: missing the route file, or the command convert");
  return routes.run();
}

// What the program opens never gets the number of a standard descriptor that was closed. In its place is one that fails
// when it is used, but for errors, which go nowhere.
void open_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(descriptor, F_GETFD) < 0 && errno == EBADF) open("/dev/null", descriptor == 1 ? O_RDONLY : O_WRONLY);
}

// What has been printed must have arrived.
int flushed(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  std::fprintf(stderr, "heddle: cannot write standard output: %s\n", std::strerror(errno));
  return code == 0 ? 1 : code;
}

}  // namespace

void heddle::add_chain_source(CLI::App* command, ChainOptions& options) {
  command->add_option("-f,--file", options.file, "Read the chain from FILE (\"-\": standard input)")->type_name("FILE");
  // An empty TEXT is one, too.
  command
      ->add_option_function<std::string>(
          "-e,--expression", [&options](const std::string& text) { options.expression = text; },
          "Take the chain from TEXT")
      ->type_name("TEXT");
  command->add_option("operands", options.operands, "FILE, and NAME=VALUE to set $NAME in the chain")
      ->type_name("FILE|NAME=VALUE");
}

int main(int argc, char** argv) {
  open_standard_descriptors();
  std::signal(SIGXFSZ, SIG_IGN);  // where a file grows too large for the limit, writing it fails
  const std::string name = argc > 0 ? std::filesystem::path(argv[0]).filename().string() : "";
  try {
    return flushed(name == "click" ? click(words_of(argc, argv)) : heddle_main(words_of(argc, argv)));
  } catch (const heddle::Error& error) {
    std::fprintf(stderr, "heddle: %s\n", error.what());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "heddle: out of memory\n");
  } catch (const std::exception& error) {  // of the system: no more threads
    std::fprintf(stderr, "heddle: %s\n", error.what());
  }
  return 1;
}
