// heddle flatten, heddle graph: the chain as it is when compound elements and variables are gone.
#include <cstdio>
#include <string>

#include "apps/heddle/commands.h"
#include "click/unparse.h"
#include "core/error.h"

namespace heddle {
namespace {

// Within quotes of the language of Graphviz.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') result += '\\';
    result += letter == '\n' ? ' ' : letter;
  }
  return result;
}

}  // namespace

int flatten(const ChainOptions& options) {
  std::fputs(click::unparse(read_chain(options).router.graph).c_str(), stdout);
  return 0;
}

int show_graph(const ChainOptions& options) {
  const Configuration chain = read_chain(options);
  const click::Graph& graph = chain.router.graph;
  std::string text = "digraph chain {\n  node [shape=box, style=filled, fontname=sans];\n";
  for (const auto& element : graph.elements) {
    const auto node = static_cast<size_t>(chain.router.find(element.name));
    const Processor processor = chain.plan.nodes[node].processor;
    text += format("  \"%s\" [label=\"%s\\n%s\", tooltip=\"%s on %s\", fillcolor=%s];\n", escaped(element.name).c_str(),
                   escaped(element.name).c_str(), escaped(element.class_name).c_str(),
                   escaped(click::unparse_arguments(element)).c_str(), chain.plan.name_of(processor).c_str(),
                   processor.is_gpu() ? "palegreen" : "lightblue");
  }
  for (const auto& connection : graph.connections) {
    const auto from = static_cast<size_t>(connection.from), to = static_cast<size_t>(connection.to);
    const std::string from_port = connection.from_port == 0 ? "" : std::to_string(connection.from_port);
    const std::string to_port = connection.to_port == 0 ? "" : std::to_string(connection.to_port);
    text +=
        format("  \"%s\" -> \"%s\" [taillabel=\"%s\", headlabel=\"%s\"];\n", escaped(graph.elements[from].name).c_str(),
               escaped(graph.elements[to].name).c_str(), from_port.c_str(), to_port.c_str());
  }
  std::fputs((text + "}\n").c_str(), stdout);
  return 0;
}

}  // namespace heddle
