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
    {"FromDPDKDevice", "device", "PORT", true},        {"ToDPDKDevice", "device", "PORT", false},
    {"FromDevice", "device", "DEVNAME", true},         {"ToDevice", "device", "DEVNAME", false},
    {"PollDevice", "device", "DEVNAME", true},         {"FromDump", "capture", "FILENAME", true},
    {"ToDump", "capture", "FILENAME", false},          {"FromIPSummaryDump", "summary", "FILENAME", true},
    {"ToIPSummaryDump", "summary", "FILENAME", false},
};

const End* end_of(const click::ElementDeclaration& element) {
  const auto* found =
      std::find_if(std::begin(kEnds), std::end(kEnds), [&](auto& end) { return element.class_name == end.class_name; });
  return found == std::end(kEnds) ? nullptr : found;
}

bool is_gpu_port(const click::ElementDeclaration& element) {
  return element.class_name == "FromGPUPort" || element.class_name == "ToGPUPort";
}

/** What names a GPU port. */
struct GpuPortName {
  std::string port, device;  ///< device: of its soft NIC; "": another element has it, or it is a memif
};

GpuPortName name_of(const click::ElementDeclaration& element) {
  click::Diagnostics none;  // Router::build has reported mistakes
  GpuPortName name;
  click::Arguments(element, none).required("PORT", name.port).keyword("SOFTNIC", name.device);
  return name;
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
      return element.class_name == "FromGPUPort" || (end != nullptr && end->source);
    });
    for (size_t i = 0, n = elements.size(); i < n; ++i) {
      if (const End* end = end_of(elements[i])) replace(i, *end, fed);
      if (is_gpu_port(elements[i])) replace_soft_nic(i);
    }
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

  // The device of a soft NIC becomes a port of the wire, if this element of the GPU port names it.
  void replace_soft_nic(size_t i) {
    click::ElementDeclaration& element = chain_.graph.elements[i];
    const GpuPortName name = name_of(element);
    if (name.device.empty()) return expect_soft_nic(element, name.port);
    const size_t port = port_of("device " + name.device.substr(0, name.device.find(',')));
    for (auto& other : chain_.graph.elements)
      if (is_gpu_port(other) && name_of(other).port == name.port)
        (other.class_name == "FromGPUPort" ? chain_.ports[port].receives : chain_.ports[port].transmits) = true;
    int queues = 1;
    click::Diagnostics none;
    click::Arguments(element, none).keyword("QUEUES", queues);
    if (chain_.soft_nic_queues != 0 && chain_.soft_nic_queues != queues)
      throw Error("a wire has as many queues on all its ports: give all soft NICs the same QUEUES");
    chain_.soft_nic_queues = queues;
    for (auto& argument : element.arguments)
      if (argument.text.starts_with("SOFTNIC"))
        argument.text = "SOFTNIC \"" + port_name_(static_cast<int>(port)) + "\"";
  }

  void expect_soft_nic(const click::ElementDeclaration& element, const std::string& port) const {
    for (auto& other : chain_.graph.elements)
      if (is_gpu_port(other) && name_of(other).port == port && !name_of(other).device.empty()) return;
    throw Error(element.class_name + " '" + element.name +
                "': the virtual wire has no memif; give the port a SOFTNIC, or " +
                "start the chain with heddle run and measure it from outside: heddle bench --memif SOCKET");
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
