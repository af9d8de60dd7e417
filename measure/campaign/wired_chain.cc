#include "measure/campaign/wired_chain.h"

#include <algorithm>
#include <map>

#include "click/arguments.h"
#include "core/error.h"

namespace heddle::bench {
namespace {

/** A class that stands for something outside the program. */
struct End {
  const char* class_name;
  const char* kind;      ///< of what is outside
  const char* argument;  ///< that names it, the first one
  bool source;
};
constexpr End kEnds[] = {
    {"FromDPDKDevice", "device", "PORT", true},         {"ToDPDKDevice", "device", "PORT", false},
    {"FromDevice", "device", "DEVNAME", true},          {"ToDevice", "device", "DEVNAME", false},
    {"FromDump", "capture", "FILENAME", true},          {"ToDump", "capture", "FILENAME", false},
    {"FromIPSummaryDump", "summary", "FILENAME", true}, {"ToIPSummaryDump", "summary", "FILENAME", false},
};

const End* end_of(const click::ElementDeclaration& element) {
  const auto* found =
      std::find_if(std::begin(kEnds), std::end(kEnds), [&](auto& end) { return element.class_name == end.class_name; });
  return found == std::end(kEnds) ? nullptr : found;
}

class Rewriting {
 public:
  Rewriting(const click::Graph& graph, const std::function<std::string(int)>& port_name) : port_name_(port_name) {
    chain_.graph = graph;
  }

  WiredChain run() {
    const auto& elements = chain_.graph.elements;
    const bool fed = std::any_of(elements.begin(), elements.end(), [](auto& element) {
      const End* end = end_of(element);
      return end != nullptr && end->source;
    });
    for (size_t i = 0, n = elements.size(); i < n; ++i)
      if (const End* end = end_of(elements[i])) replace(i, *end, fed);
    return std::move(chain_);
  }

 private:
  void replace(size_t i, const End& end, bool fed) {
    auto& element = chain_.graph.elements[i];
    std::vector<click::Argument> kept;
    const std::string name = read(element, end, kept);
    const bool was_device = std::string(end.kind) == "device";
    const bool forces_ip = std::string(end.class_name) == "FromDump" && is_true(element, "FORCE_IP");
    element.arguments.clear();
    if (!fed) {
      element.class_name = "Discard";
      return;
    }
    const size_t port = port_of(std::string(end.kind) + " " + name);
    (end.source ? chain_.ports[port].receives : chain_.ports[port].transmits) = true;
    element.class_name = end.source ? "FromDPDKDevice" : "ToDPDKDevice";
    element.arguments.push_back({"\"" + port_name_(static_cast<int>(port)) + "\"", element.where});
    if (was_device) element.arguments.insert(element.arguments.end(), kept.begin(), kept.end());
    if (forces_ip) put_behind(i, {{"MarkIPHeader", "14"}, {"GetIPAddress", "30"}});
    if (std::string(end.class_name) == "FromIPSummaryDump")
      put_behind(i, {{"Strip", "14"}, {"MarkIPHeader", "0"}, {"GetIPAddress", "16"}});
  }

  // What the element stands for, and the arguments that a port of the wire has as well.
  std::string read(const click::ElementDeclaration& element, const End& end, std::vector<click::Argument>& kept) {
    click::Diagnostics none;  // Router::build has reported mistakes
    click::Arguments arguments(element, none);
    std::string name;
    int queue = -1, queues = 0;
    arguments.required(end.argument, name);
    if (std::string(end.argument) == "PORT") arguments.optional("QUEUE", queue).optional("N_QUEUES", queues);
    chain_.queues = std::max({chain_.queues, queue + 1, queues});
    if (queue >= 0) kept.push_back({"QUEUE " + std::to_string(queue), element.where});
    for (auto& argument : element.arguments)
      for (const char* keyword : {"BURST ", "BLOCKING "})
        if (argument.text.starts_with(keyword)) kept.push_back(argument);
    return std::string(end.kind) == "device" ? name.substr(0, name.find(',')) : name;
  }

  static bool is_true(const click::ElementDeclaration& element, const char* keyword) {
    click::Diagnostics none;
    bool value = false;
    click::Arguments(element, none).keyword(keyword, value);
    return value;
  }

  size_t port_of(const std::string& what) {
    for (size_t i = 0; i < chain_.ports.size(); ++i)
      if (chain_.ports[i].stands_for == what) return i;
    chain_.ports.push_back({what});
    return chain_.ports.size() - 1;
  }

  // What a source did to its packets and a port does not: such sources gave IP packets with their annotations set.
  void put_behind(size_t source, const std::vector<std::pair<std::string, std::string>>& elements) {
    auto& graph = chain_.graph;
    const click::Location where = graph.elements[source].where;
    int last = static_cast<int>(source);
    std::vector<click::Connection> added;
    for (const auto& [class_name, argument] : elements) {
      const auto next = static_cast<int>(graph.elements.size());
      graph.elements.push_back(
          {graph.elements[source].name + "/" + class_name, class_name, {{argument, where}}, where});
      added.push_back({last, 0, next, 0, where});
      last = next;
    }
    for (auto& connection : graph.connections)
      if (connection.from == static_cast<int>(source)) connection.from = last;
    graph.connections.insert(graph.connections.end(), added.begin(), added.end());
  }

  const std::function<std::string(int)>& port_name_;
  WiredChain chain_;
};

}  // namespace

bool WiredChain::fed() const {
  return std::any_of(ports.begin(), ports.end(), [](auto& port) { return port.receives; });
}

WiredChain put_on_wire(const click::Graph& graph, const std::function<std::string(int)>& port_name) {
  return Rewriting(graph, port_name).run();
}

}  // namespace heddle::bench
