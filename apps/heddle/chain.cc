// Reading a chain: `heddle check` and what the other commands begin with.

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>

#include "apps/heddle/commands.h"
#include "click/parser.h"
#include "click/quoting.h"
#include "core/error.h"
#include "core/warnings.h"

namespace heddle {
namespace {

constexpr size_t kMaxTextBytes = size_t{64} << 20;

/** All of `input`. Throws Error when there is too much for a chain: a file without an end. */
std::string read_all(std::istream& input, const std::string& name) {
  std::string text;
  char piece[65536];
  while (input.read(piece, sizeof piece), input.gcount() > 0) {
    text.append(piece, static_cast<size_t>(input.gcount()));
    if (text.size() > kMaxTextBytes)
      throw Error(
          format("the chain '%s' does not end within %zu bytes; is it a text file?", name.c_str(), kMaxTextBytes));
  }
  return text;
}

// The words that are no options: variables, and at most one file.
void sort_operands(ChainOptions& options) {
  for (auto& word : options.operands) {
    const size_t equals = word.find('=');
    const bool variable = equals != std::string::npos && equals > 0 &&
                          std::all_of(word.begin(), word.begin() + static_cast<long>(equals), click::is_word_character);
    if (variable)
      options.variables.push_back(word);
    else if (!options.file.empty() || options.expression)
      throw Error("'" + word + "': expected NAME=VALUE; the chain has been given already");
    else
      options.file = word;
  }
}

/** The text of a library: beside the file that names it, beside the chain, in a folder of the path, or here. */
std::optional<std::string> read_library(const ChainOptions& chain, const std::string& file, const std::string& from) {
  std::string folders = std::filesystem::path(from).parent_path().string();
  folders += ":" + std::filesystem::path(chain.file).parent_path().string();
  for (auto& list : chain.click_path) folders += ":" + list;
  if (const char* environment = std::getenv("CLICKPATH")) folders += std::string(":") + environment;
  std::istringstream list(folders + ":.");
  for (std::string folder; std::getline(list, folder, ':');) {
    std::ifstream input(std::filesystem::path(folder) / file, std::ios::binary);
    if (std::error_code error;
        !input.is_open() || !std::filesystem::is_regular_file(std::filesystem::path(folder) / file, error))
      continue;
    return read_all(input, file);
  }
  return std::nullopt;
}

// As Click does for -p, -u and --socket.
void add_control_sockets(click::Graph& graph, const ChainOptions& options) {
  int number = 0;
  const auto add = [&](std::vector<std::string> arguments, const char* option) {
    click::ElementDeclaration element;
    element.name = std::string(kDriverPrefix) + "ControlSocket" + (number == 0 ? "" : "@" + std::to_string(number));
    ++number;
    element.class_name = "ControlSocket";
    element.where = {option, 1, 1};
    for (auto& text : arguments) element.arguments.push_back({text, element.where});
    graph.elements.push_back(std::move(element));
  };
  for (auto& port : options.tcp_ports) add({"tcp", port}, "--port");
  for (int descriptor : options.sockets) add({"socket", std::to_string(descriptor)}, "--socket");
  for (auto& path : options.unix_sockets) {
    std::string quoted = "\"";
    for (char c : path) quoted += (c == '"' || c == '\\' ? "\\" : "") + std::string(1, c);
    add({"unix", quoted + '"'}, "--unix-socket");
  }
}

void skip_unsupported(click::Graph& graph) {
  for (auto& element : graph.elements) {
    const auto says = [](const click::Argument& argument) { return argument.text.starts_with("SKIP_UNSUPPORTED"); };
    if (element.class_name == "NIDS" && std::ranges::none_of(element.arguments, says))
      element.arguments.push_back({"SKIP_UNSUPPORTED true", element.where});
  }
}

// Unknown element classes leave the graph whole, so that ports and arguments can be checked as well.
bool graph_is_whole(const click::Diagnostics& diagnostics) {
  return std::all_of(diagnostics.errors().begin(), diagnostics.errors().end(),
                     [](auto& error) { return error.message.starts_with("unknown element class"); });
}

}  // namespace

bool mentions_variable(std::string_view text, std::string_view name) {
  for (size_t at = 0; (at = text.find('$', at)) != text.npos; ++at) {
    const size_t begin = at + 1 + (text.substr(at + 1, 1) == "{" ? 1 : 0), end = begin + name.size();
    if (text.substr(std::min(begin, text.size()), name.size()) == name &&
        (end >= text.size() || !click::is_word_character(text[end])))
      return true;
  }
  return false;
}

void warn_of_unknown(const std::vector<std::string>& variables, std::string_view text) {
  for (const std::string& variable : variables) {
    const std::string name = variable.substr(0, variable.find('='));
    if (mentions_variable(text, name)) continue;
    std::set<std::string> known;
    for (size_t at = 0; (at = text.find('$', at)) != text.npos; ++at) {
      const size_t begin = at + 1 + (text.substr(at + 1, 1) == "{" ? 1 : 0);
      size_t end = begin;
      while (end < text.size() && click::is_word_character(text[end])) ++end;
      if (end > begin) known.emplace(text.substr(begin, end - begin));
    }
    warn("heddle: warning: '" + variable + "': the chain mentions no $" + name +
         click::suggestion(name, {known.begin(), known.end()}));
  }
}

std::string read_chain_text(ChainOptions& options) {
  sort_operands(options);
  if (options.file.empty() && !options.expression && options.from_standard_input) options.file = "-";
  if (options.file.empty() != options.expression.has_value())
    throw Error("give the chain either as a file (-f FILE) or as text (-e TEXT)");
  if (options.expression) {
    std::string text = *options.expression;
    options.file = "<expression>";
    return text;
  }
  if (options.file == "-") return read_all(std::cin, "-");
  std::ifstream file(options.file, std::ios::binary);
  std::string text;
  bool read = file.is_open();
  try {
    text = read_all(file, options.file);
  } catch (const std::ios_base::failure&) {  // a directory
    read = false;
  }
  if (!read || file.bad())
    throw Error("cannot read the chain '" + options.file + "': " + std::strerror(errno) +
                "; give the path of a text file that may be read");
  return text;
}

namespace {

/** Mistakes go to `diagnostics`; the result is usable only if there is none. The text of libraries is added to
 *  `libraries`. */
Configuration make_chain(ChainOptions options, const std::string& text, click::Diagnostics& diagnostics,
                         std::string& libraries) {
  click::ParseOptions parse = language();
  for (auto& variable : options.variables) {
    const size_t equals = variable.find('=');
    parse.variables[variable.substr(0, equals)] = variable.substr(equals + 1);
  }
  parse.read_library = [&](const std::string& file, const std::string& from) {
    const auto library = read_library(options, file, from);
    if (library) libraries += *library + "\n";
    return library;
  };
  options.plan.launch = mode_named<LaunchMode>(options.launch, kLaunchModes).value_or(LaunchMode::persistent);
  options.plan.transport = mode_named<Transport>(options.transport, kTransports);
  try {
    options.plan.set_device(options.device);
  } catch (const Error& error) {
    throw Error(std::string("--device ") + error.what());
  }

  Configuration chain;
  click::Graph graph = click::parse(text, options.file, parse, diagnostics);
  for (auto& element : graph.elements)
    if (element.name.starts_with(kDriverPrefix))
      diagnostics.error(element.where, "element name " + in_quotes(element.name) +
                                           " begins as those of control sockets "
                                           "that the command line asks for (" +
                                           kDriverPrefix + "); give it another one");
  add_control_sockets(graph, options);
  if (options.skip_unsupported) skip_unsupported(graph);
  if (graph_is_whole(diagnostics)) chain.router = Router::build(graph, diagnostics);
  chain.router.text = text;
  if (diagnostics.ok()) chain.plan = make_plan(chain.router, options.plan, diagnostics);
  return chain;
}

std::string mistakes(const click::Diagnostics& diagnostics) {
  const size_t n = diagnostics.errors().size();
  return format("%s%zu mistake%s in the chain", diagnostics.full() ? "at least " : "", n, n == 1 ? "" : "s");
}

/** The lines of Diagnostics::text(), for programs. */
void print_json(const click::Diagnostics& diagnostics) {
  std::vector<click::Diagnostic> sorted = diagnostics.errors();
  std::ranges::stable_sort(sorted, {}, &click::Diagnostic::where);
  std::set<click::Diagnostic> told;
  nlohmann::json list = nlohmann::json::array();
  for (const click::Diagnostic& mistake : sorted) {
    if (!told.insert(mistake).second) continue;
    const auto& [file, line, column] = mistake.where;
    list.push_back({{"message", mistake.message}, {"file", file}, {"line", line}, {"column", column}});
  }
  const nlohmann::json answer{{"ok", false}, {"mistakes", list}};
  std::printf("%s\n", answer.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

}  // namespace

Configuration read_chain(ChainOptions options) {
  const std::string text = read_chain_text(options);
  click::Diagnostics diagnostics;
  std::string all = text + "\n";
  Configuration chain = make_chain(options, text, diagnostics, all);
  warn_of_unknown(options.variables, all);
  if (diagnostics.ok()) return chain;
  if (options.json) print_json(diagnostics);
  std::fputs(diagnostics.text().c_str(), stderr);
  throw Error(mistakes(diagnostics) + "; nothing was started");
}

Configuration read_new_chain(const ChainOptions& options, const std::string& text) {
  click::Diagnostics diagnostics;
  ChainOptions of_new = options;
  sort_operands(of_new);
  of_new.file = "<hotconfig>";
  std::string libraries;
  Configuration chain = make_chain(of_new, text, diagnostics, libraries);
  if (diagnostics.ok()) return chain;
  throw Error(diagnostics.text() + mistakes(diagnostics) + "; the former one goes on");
}

int check(const ChainOptions& options) {
  const Configuration chain = read_chain(options);
  warn_of_hidden_rules(chain.router);
  if (options.json)
    std::printf("{\"ok\": true, \"elements\": %zu}\n", chain.router.graph.elements.size());
  else
    std::printf("ok: %zu elements, %zu segments\n", chain.router.graph.elements.size(), chain.plan.segments.size());
  return 0;
}

int show_plan(const ChainOptions& options) {
  const Configuration chain = read_chain(options);
  std::fputs((options.json ? chain.plan.json(chain.router) : chain.plan.text(chain.router)).c_str(), stdout);
  return 0;
}

}  // namespace heddle
