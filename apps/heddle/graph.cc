// heddle flatten, heddle graph: the chain as it is when compound elements and variables are gone.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "apps/heddle/commands.h"
#include "apps/heddle/remote.h"
#include "click/parser.h"
#include "click/quoting.h"
#include "click/unparse.h"
#include "core/element.h"
#include "core/error.h"
#include "core/output_file.h"

namespace heddle {
namespace {

// A name within quotes of the language of Graphviz.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') result += '\\';
    result += letter == '\n' ? ' ' : letter;
  }
  return result;
}

// The same of text that is shown, in which Graphviz knows entities of HTML.
std::string shown(const std::string& text) {
  std::string result;
  for (const char letter : text) result += letter == '&' ? "&amp;" : std::string(1, letter);
  return escaped(result);
}

/** What is drawn. */
struct Drawing {
  struct Element {
    std::string name, class_name, arguments, processor;
    bool gpu = false;
    std::string colour, note;  // of a running router
  };
  std::vector<Element> elements;
  std::vector<click::Connection> connections;
};

Drawing drawing_of(const click::Graph& graph) {
  Drawing drawing{{}, graph.connections};
  click::HiddenSecrets hidden;
  for (const auto& element : graph.elements)
    drawing.elements.push_back(
        {element.name, element.class_name, click::unparse_arguments(element, &hidden), "", false, "", ""});
  return drawing;
}

Drawing drawing_of(const Configuration& chain) {
  Drawing drawing = drawing_of(chain.router.graph);
  for (auto& element : drawing.elements) {
    const Processor processor = chain.plan.nodes[static_cast<size_t>(chain.router.find(element.name))].processor;
    element.processor = chain.plan.name_of(processor), element.gpu = processor.is_gpu();
  }
  return drawing;
}

/** Light where there is little to do, strong where most packets pass: blue on a CPU, green on a GPU. */
std::string colour_of(double load, bool gpu) {
  return format("\"%.3f %.3f 1.000\"", gpu ? 0.333 : 0.541, 0.06 + 0.74 * load);
}

/** Values for the variables that stand for secrets in a router's `flatconfig`: their own names. */
std::map<std::string, std::string> values_for_secrets(const std::string& text) {
  std::map<std::string, std::string> values;
  for (size_t at = text.find("$SECRET"); at != text.npos; at = text.find("$SECRET", at + 1)) {
    const auto end = std::find_if_not(text.begin() + static_cast<long>(at) + 1, text.end(), click::is_word_character);
    const std::string name(text.begin() + static_cast<long>(at) + 1, end);
    values[name] = name;
  }
  return values;
}

/** Elements of a running router, and their packets between two looks. */
Drawing drawing_of_router(const std::string& address, double interval_s) {
  Remote router(address);
  click::Diagnostics diagnostics;
  const std::string text = router.read("flatconfig");
  Drawing drawing =
      drawing_of(click::parse(text, address, {Catalog::instance().names(), values_for_secrets(text)}, diagnostics));
  if (!diagnostics.ok()) throw Error(diagnostics.text());
  struct Look {
    std::string processor;
    double packets = 0, dropped = 0;
  };
  const auto look = [&router] {
    std::map<std::pair<std::string, std::string>, Look> elements;  // by name and class: reconfiguration changes that
    const auto report = nlohmann::json::parse(router.read("report"));  // which throws, as at() and get() do
    for (auto& entry : report.at("elements")) {
      Look& element = elements[{entry.at("name"), entry.at("class")}];
      element = {entry.at("processor"), entry.at("packets"), 0};
      for (auto& [reason, packets] : entry.at("drops").items()) element.dropped += packets.get<double>();
    }
    return elements;
  };
  const auto start = std::chrono::steady_clock::now();
  auto before = look();
  std::this_thread::sleep_for(std::chrono::duration<double>(interval_s));
  auto now = look();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  double most = 1;
  for (auto& [which, element] : now) {
    element.packets = std::max(0.0, element.packets - before[which].packets) / seconds;
    element.dropped = std::max(0.0, element.dropped - before[which].dropped) / seconds;
    most = std::max(most, element.packets);
  }
  for (auto& element : drawing.elements) {
    const Look& seen = now[{element.name, element.class_name}];
    element.processor = seen.processor;
    element.gpu = !seen.processor.empty() && !seen.processor.starts_with("cpu");
    element.colour = colour_of(seen.packets / most, element.gpu);
    element.note = format("\\n%.0f packets/s", seen.packets);
    if (seen.dropped > 0) element.note += format(", %.0f dropped/s", seen.dropped);
  }
  return drawing;
}

Drawing look_at_router(const std::string& address, double interval_s) {
  try {
    return drawing_of_router(address, interval_s);
  } catch (const nlohmann::json::exception& error) {
    throw Error(address + ": its handler `report` says what this program does not understand (" + error.what() +
                "); is it a heddle of this version?");
  }
}

/** In the language of Graphviz. */
std::string dot_of(const Drawing& drawing) {
  std::string text = "digraph chain {\n  node [shape=box, style=filled, fontname=sans];\n";
  for (const auto& element : drawing.elements) {
    const std::string colour = !element.colour.empty() ? element.colour : element.gpu ? "palegreen" : "lightblue";
    text += format("  \"%s\" [label=\"%s\\n%s%s\", tooltip=\"%s on %s\", fillcolor=%s];\n",
                   escaped(element.name).c_str(), shown(element.name).c_str(), shown(element.class_name).c_str(),
                   element.note.c_str(), shown(element.arguments).c_str(), element.processor.c_str(), colour.c_str());
  }
  for (const auto& connection : drawing.connections) {
    const auto name = [&](int element) { return escaped(drawing.elements[static_cast<size_t>(element)].name); };
    const std::string from_port = connection.from_port == 0 ? "" : std::to_string(connection.from_port);
    const std::string to_port = connection.to_port == 0 ? "" : std::to_string(connection.to_port);
    text += format("  \"%s\" -> \"%s\" [taillabel=\"%s\", headlabel=\"%s\"];\n", name(connection.from).c_str(),
                   name(connection.to).c_str(), from_port.c_str(), to_port.c_str());
  }
  return text + "}\n";
}

}  // namespace

int flatten(const ChainOptions& options, const std::string& output) {
  write_output(output, click::unparse_without_secrets(read_chain(options).router.graph));
  return 0;
}

int GraphCommand::run(const ChainOptions& options) const {
  const bool has_chain = !options.file.empty() || options.expression || !options.operands.empty();
  if (!address.empty() && has_chain) throw Error("give either a chain or a running router (-r), not both");
  if (address.empty() && interval_s) throw Error("-i: only packets of a running router (-r) are counted");
  const std::string text =
      dot_of(address.empty() ? drawing_of(read_chain(options)) : look_at_router(address, interval_s.value_or(1)));
  if (!svg) {
    std::fputs(text.c_str(), stdout);
    return 0;
  }
  if (std::system("command -v dot >/dev/null") != 0)
    throw Error("--svg: there is no program `dot`; install Graphviz, or leave --svg out");
  // What it draws goes through this program, which, unlike dot, says when the output is full.
  const std::unique_ptr<FILE, int (*)(FILE*)> input(std::tmpfile(), std::fclose);
  if (!input || std::fputs(text.c_str(), input.get()) < 0 || std::fflush(input.get()) != 0)
    throw Error(format("--svg: no temporary file for `dot`: %s", std::strerror(errno)));
  FILE* dot = popen(format("dot -Tsvg /dev/fd/%d", fileno(input.get())).c_str(), "r");
  if (dot == nullptr) throw Error("--svg: `dot` cannot be started");
  char piece[65536];
  size_t drawn = 0;
  for (size_t n = 0; (n = std::fread(piece, 1, sizeof piece, dot)) > 0; drawn += n) std::fwrite(piece, 1, n, stdout);
  if (pclose(dot) != 0 || drawn == 0) throw Error("--svg: `dot` has failed");
  return 0;
}

}  // namespace heddle
