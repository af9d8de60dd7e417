// Fuzz target: any text is a configuration or a list of mistakes, and a graph written as text is the same graph again.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <tuple>

#include "click/address_book.h"
#include "click/arguments.h"
#include "click/parser.h"
#include "click/unparse.h"

namespace {

using namespace heddle::click;

void require(bool condition, const char* what, const std::string& flat) {
  if (condition) return;
  std::fprintf(stderr, "%s\n%s", what, flat.c_str());
  std::abort();
}

Graph parse_with(std::string_view text, const ParseOptions& options, Diagnostics& diagnostics) {
  return parse(text, "fuzz", options, diagnostics);
}

void check_round_trip(const Graph& graph, const ParseOptions& options) {
  const std::string flat = unparse(graph);
  Diagnostics diagnostics;
  const Graph again = parse_with(flat, options, diagnostics);
  require(diagnostics.ok(), diagnostics.text().c_str(), flat);
  require(again.elements.size() == graph.elements.size(), "other elements", flat);
  for (size_t i = 0; i < graph.elements.size(); ++i) {
    const ElementDeclaration &a = graph.elements[i], &b = again.elements[i];
    require(a.name == b.name && a.class_name == b.class_name, "another element", flat);
    require(a.arguments.size() == b.arguments.size(), "another number of arguments", flat);
    require(unparse_arguments(a) == unparse_arguments(b), "other arguments", flat);
  }
  require(again.connections.size() == graph.connections.size(), "other connections", flat);
  for (size_t i = 0; i < graph.connections.size(); ++i) {
    const Connection &a = graph.connections[i], &b = again.connections[i];
    require(std::tie(a.from, a.from_port, a.to, a.to_port) == std::tie(b.from, b.from_port, b.to, b.to_port),
            "another connection", flat);
  }
  require(unparse(again) == flat, "another text", flat);
}

/** Reads the arguments as values of every type. */
void read_values(const Graph& graph) {
  const AddressBook book(graph);
  Diagnostics diagnostics;
  for (const ElementDeclaration& element : graph.elements) {
    const auto read = [&]<class T>(T value) {
      Arguments(element, diagnostics, &book).optional("A", value).keyword("KEY", value).finish();
    };
    read(false), read(0), read(uint64_t{}), read(0.0), read(std::string());
    read(Ipv4Address()), read(Ipv4Prefix()), read(EthernetAddress()), read(std::vector<Ipv4Address>());
    read(Duration()), read(Bandwidth()), read(Port());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ParseOptions options;
  options.known_classes = {"A", "AddressInfo", "B", "PortInfo", "Queue", "Script"};
  options.variables = {{"v", "1, '$x'"}, {"w", "$$w"}};
  Diagnostics diagnostics;
  const Graph graph = parse_with({reinterpret_cast<const char*>(data), size}, options, diagnostics);
  if (!diagnostics.ok()) return 0;
  options.variables.clear();
  check_round_trip(graph, options);
  read_values(graph);
  return 0;
}
