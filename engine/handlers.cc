// The handlers that every element and every router has.
#include "core/error.h"
#include "engine/engine.h"

namespace heddle {
namespace {

constexpr const char* kVersion = "2.1";  // of Click, whose language and handlers these are

// Click's list: inputs, then outputs, a line each with kind and what it is connected to.
std::string ports_text(const Router& router, int node) {
  const click::Graph& graph = router.graph;
  const int self = graph.find(router.nodes[static_cast<size_t>(node)].element->name);
  const Node& here = router.nodes[static_cast<size_t>(node)];
  const auto name = [&](int element) { return graph.elements[static_cast<size_t>(element)].name; };
  std::string text = std::to_string(here.element->inputs) + (here.element->inputs == 1 ? " input\n" : " inputs\n");
  const auto side = [&](int ports, const std::vector<PortKind>& kinds, bool input) {
    for (int port = 0; port < ports; ++port) {
      std::string peers;
      for (auto& c : graph.connections) {
        if (input && c.to == self && c.to_port == port)
          peers += (peers.empty() ? "" : ", ") + format("%s [%d]", name(c.from).c_str(), c.from_port);
        if (!input && c.from == self && c.from_port == port)
          peers += (peers.empty() ? "" : ", ") + format("[%d] %s", c.to_port, name(c.to).c_str());
      }
      const bool pull = kinds[static_cast<size_t>(port)] == PortKind::pull;
      text += std::string(pull ? "pull" : "push") + "\t-\t" + peers + "\n";
    }
  };
  side(here.element->inputs, here.kinds.inputs, true);
  text += std::to_string(here.element->outputs) + (here.element->outputs == 1 ? " output\n" : " outputs\n");
  side(here.element->outputs, here.kinds.outputs, false);
  return text;
}

}  // namespace

void Engine::make_handlers() {
  broker_ = std::make_unique<Broker>(Broker::Engine{
      [this](Element& element, const std::function<void()>& change) { update(element, change); }, [this] { stop(); },
      [this] { return exhausted(); }});
  // Elements in the order of the configuration, as Click lists them.
  for (auto& declaration : router_.graph.elements) {
    const int i = router_.find(declaration.name);
    const Node& node = router_.nodes[static_cast<size_t>(i)];
    broker_->add(*node.element, node.config, [this, i](Handlers& list) {
      list.read("ports", [this, i] { return ports_text(router_, i); });
      list.read("drops", [this, i] {
        std::string text;
        for (auto& [reason, packets] : element_report(i).drops) text += reason + " " + std::to_string(packets) + "\n";
        return text;
      });
    });
  }
  Handlers& global = broker_->global();
  global.read("version", [] { return std::string(kVersion); });
  global.read("list", [this] {
    std::string text = std::to_string(broker_->members().size()) + "\n";
    for (auto& member : broker_->members()) text += member.element->name + "\n";
    return text;
  });
  global.read("config", [this] { return router_.text; });
  global.read("load", [this] {
    std::string text;
    for (size_t i = 0; progress_ && i < workers_.size(); ++i) {
      const auto cycles = static_cast<double>(progress_[i].cycles.load());
      const double busy = cycles == 0 ? 0 : static_cast<double>(progress_[i].busy_cycles.load()) / cycles;
      text += format("%zu %.3f\n", i, busy);
    }
    return text;
  });
  global.read("classes", [] {
    std::string text;
    for (auto& name : Catalog::instance().names()) text += name + "\n";
    return text;
  });
  global.write("stop", [this](const std::string&) { broker_->stop(); });
}

}  // namespace heddle
