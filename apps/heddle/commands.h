#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "convert/routes/convert.h"
#include "convert/rules/rule_list.h"
#include "engine/engine.h"
#include "engine/nic_process.h"
#include "measure/campaign/setup.h"

namespace CLI {
class App;
}

namespace heddle {

/** A chain on the command line. */
struct ChainOptions {
  std::string file;
  std::optional<std::string> expression;
  std::vector<std::string> operands;   ///< a file, and NAME=VALUE
  std::vector<std::string> variables;  ///< NAME=VALUE
  std::vector<std::string> tcp_ports;  ///< control sockets to add: "7777", "7777+"
  std::vector<int> sockets;            ///< connections that are open already, for a control socket each
  std::vector<std::string> click_path;
  std::vector<std::string> unix_sockets;
  bool from_standard_input = false;  ///< if neither file nor expression is given
  bool skip_unsupported = false;     ///< SKIP_UNSUPPORTED true for each NIDS that does not say it
  PlanOptions plan;
  std::string device = "cpu", launch = "persistent", transport;  ///< transport: "" if the plan is to choose
  bool json = false;
};

/** Adds -f, -e and the operands. */
void add_chain_source(CLI::App* command, ChainOptions& options);

/** Whether `text` mentions $name or ${name}. */
bool mentions_variable(std::string_view text, std::string_view name);
/** Says on standard error which of `variables` (NAME=VALUE) `text` does not mention. */
void warn_of_unknown(const std::vector<std::string>& variables, std::string_view text);
/** The chain's text, not parsed. Sorts the operands into options.file and options.variables. Throws Error. */
std::string read_chain_text(ChainOptions& options);
/** Reads, checks and plans. All mistakes are printed to standard error, and with --json as JSON to standard output;
 *  throws Error if there are any. Variables that the chain does not mention are a warning, for others may use the same
 *  command line. */
Configuration read_chain(ChainOptions options);
/** The same of `text`, which has come by the handler `hotconfig`; Error has all mistakes. */
Configuration read_new_chain(const ChainOptions& options, const std::string& text);

/** The words of --dpdk, each of which may be a whole text of arguments. */
std::vector<std::string> split_dpdk_arguments(const std::vector<std::string>& texts);

/** `heddle run`, and the program under the name `click`. */
struct RunCommand {
  RunOptions options;
  double seconds = 0;
  bool quiet = false;
  bool as_click = false;  ///< print only what Click prints
  std::vector<std::string> dpdk;
  int metrics_port = 0;                  ///< 0: none
  std::vector<std::string> handlers;     ///< to read at the end
  std::string exit_handler, output;      ///< output: a file for the flat configuration
  std::optional<double> simulated_time;  ///< seconds since 1970 at which simulated time begins
  double simulated_tick_s = 0;           ///< by which it goes on when it is asked for
  bool do_not_run = false, print_time = false, allow_reconfigure = false;
  bool no_warnings = false;
  int run(const ChainOptions& chain);

 private:
  /** The option for which something is printed to standard output, "" = none. */
  std::string prints(const ChainOptions& chain) const;
  void drive(Engine& engine) const;
};

/** Throws Error if not all handlers that are to be read at the end can be: -h's `names`, as print_handlers() takes
 *  them, and -x's `exit_handler` ("": none). */
void check_handlers(Engine& engine, const std::vector<std::string>& names, const std::string& exit_handler);
/** Reads handlers at the end of a run and prints their values as Click does: ELEMENT.HANDLER, where ELEMENT may be a
 *  name, a pattern with * ? [ or a class. False: some do not exist; that has been reported. */
bool print_handlers(Engine& engine, const std::vector<std::string>& names);
/** What the value of a handler is as an exit code: an integer, or true (0) or false (1); -1 if it is none. */
int exit_code(Engine& engine, const std::string& handler);

void print_table(const Report& report);
std::string json_of(const Report& report);
void print_json(const Report& report);

/** `heddle top`: how a running router does, over its control socket. */
struct TopCommand {
  std::string address;
  double interval_s = 1;
  int count = 0;  ///< tables to print, 0: on the terminal until q is pressed
  int run() const;
};

/** `heddle trace`: the ways of the next packets through a running router. */
struct TraceCommand {
  std::string address, filter;
  int count = 1;
  double seconds = 0;  ///< how long it waits for them, 0: until Ctrl-C
  int run() const;
};

/** `heddle softnic`: plays a NIC for a GPU port of another program. */
struct SoftNicCommand {
  NicProcess::Config nic;
  std::vector<std::string> dpdk;
  bool json = false;
  int run();
};

struct RoutesCommand {
  std::string file;
  std::vector<std::string> addresses;
  bool json = false;
  int run() const;
};

struct ConvertCommand {
  ip_lookup::ConvertOptions options;
  std::string output = "-";
  int run() const;
};

/** `heddle rules check`, `convert` and `explain`. */
struct RulesCommand {
  std::string file;
  classifier::RuleListOptions options;
  std::string output = "-";        ///< of convert
  std::vector<std::string> asked;  ///< explain: fields, or a capture
  uint64_t packet = 0;             ///< of the capture, from 1; 0: all
  bool all = false, json = false;
  int check() const;
  int convert() const;
  int explain() const;

 private:
  /** Reads the file; prints all mistakes and throws Error if there are any. */
  classifier::RuleList read() const;
};

/** Says on standard error of which elements some rules can be hit by no packet, as far as little time tells. */
void warn_of_hidden_rules(const Router& router);

/** `heddle bench`: measures a chain whose devices and captures have become ports of a virtual wire. */
struct BenchCommand {
  ChainOptions chain;
  bench::Setup setup;
  std::vector<std::string> measures;  ///< empty: latency if there is a rate, else throughput
  std::vector<std::string> sweeps;    ///< NAME=VALUES
  std::string compare;                ///< NAME=VALUES, measured in turn; "" = none
  std::string name = "bench", commit;
  std::string json_file, html_file, svg_file, png_file, against_file, histograms;
  std::vector<std::string> dpdk;
  std::vector<std::string> memif;  ///< sockets to which the router connects; empty: the chain is measured
  unsigned packets = 0;
  bool no_pin = false, quiet = false;
  int run();
};
/** Adds its options; what it returns runs it. */
std::function<int()> add_bench_command(CLI::App& command);

/** Adds the commands of `heddle gen`; what it returns runs the one that was given. */
std::function<int()> add_gen_commands(CLI::App& gen);

int check(const ChainOptions& chain);
int show_plan(const ChainOptions& chain);
/** Prints the chain without compound elements, variables and comments, as Click's click-flatten does; but secrets
 *  become variables, for what is printed is seen. `output`: as of write_output(). */
int flatten(const ChainOptions& chain, const std::string& output);
/** `heddle graph`: a chain or a running router as a graph in the language of Graphviz (DOT) or as SVG, elements in the
 *  colour of the processor that runs them, the stronger the more packets pass. */
struct GraphCommand {
  std::string address;               ///< of a running router's control socket; "": the chain is drawn
  std::optional<double> interval_s;  ///< in which packets are counted; 1 if not given
  bool svg = false;
  int run(const ChainOptions& chain) const;
};
int show_elements(const std::string& name, bool json);
/** Also what helps or hinders, as /proc, /sys and /dev below `root` show it ("": of this machine). */
int show_gpus(bool json, const std::string& root);

/** The manual of an element class, its header comment; "" if there is none. Made by the build. */
std::string manual(const std::string& class_name);

}  // namespace heddle
