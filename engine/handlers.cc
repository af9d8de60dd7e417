// The handlers that every element and every router has.
#include <algorithm>

#include "click/lexer.h"
#include "click/parser.h"
#include "click/quoting.h"
#include "click/unparse.h"
#include "click/values.h"
#include "control/conversation.h"
#include "core/argument_handlers.h"
#include "core/error.h"
#include "engine/engine.h"

namespace heddle {
namespace {

constexpr const char* kStartWithR =
    "start the router with -R (--allow-reconfigure), which lets clients change all of its configuration";
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

std::string lines(const std::vector<std::string>& list) {
  std::string text;
  for (auto& line : list) text += line + "\n";
  return text;
}

/** What `config` gives for a configuration that requires compact_config: without compound elements, whose own elements
 *  stand behind those around them, as Click expands them. */
std::string compact_text(const click::Graph& graph) {
  click::Graph sorted = graph;
  const auto depth = [](const click::ElementDeclaration& element) {
    return std::count(element.name.begin(), element.name.end(), '/');
  };
  std::stable_sort(sorted.elements.begin(), sorted.elements.end(),
                   [&](const auto& a, const auto& b) { return depth(a) < depth(b); });
  return "require(compact_config);\n\n" + click::unparse_declarations(sorted) + "\n" +
         click::unparse_connections(graph);
}

// The packages that a configuration requires.
std::vector<std::string> requirements(const std::string& text) {
  click::Diagnostics none;
  click::Lexer lexer(text, "", none);
  std::vector<std::string> list;
  bool required = false;
  for (click::Token token = lexer.next(); token.kind != click::Token::kEnd; token = lexer.next()) {
    if (token.is("(")) {
      for (auto& argument : lexer.configuration(token.where))
        if (required) list.push_back(argument.text);
    }
    required = token.is_name("require");
  }
  return list;
}

// Whether packet threads run it over and over: a source that pushes, or what pulls.
bool runs_by_itself(const Router& router, int node) {
  return std::any_of(router.tasks.begin(), router.tasks.end(),
                     [&](const Task& task) { return (task.driver >= 0 ? task.driver : task.source) == node; });
}

/** The packet thread that runs it; -1: all of them. */
int thread_of(const Element& element) {
  const auto* source = dynamic_cast<const Source*>(&element);
  const bool everywhere = element.home < 0 && source != nullptr && source->every_thread();
  return everywhere ? -1 : std::max(element.home, 0);
}

// Whether they end where they are told to: nothing behind a bracket of theirs is taken for more of the configuration.
bool are_arguments(const std::string& arguments) {
  click::Diagnostics diagnostics;
  const std::string text = "(" + arguments + "\n)";
  click::Lexer lexer(text, "", diagnostics);
  lexer.configuration(lexer.next().where);
  return diagnostics.ok() && !lexer.unterminated() && lexer.next().kind == click::Token::kEnd;
}

// The graph without the control sockets of the command line.
click::Graph written(click::Graph graph) {
  while (!graph.elements.empty() && graph.elements.back().name.starts_with(kDriverPrefix)) graph.elements.pop_back();
  return graph;
}

}  // namespace

// Ends of the chain have the handlers of Click's devices. An element's own ones of these names win.
std::function<void()> Engine::add_counts(const Generation& generation, int node, Handlers& list) {
  const Element& element = *generation.router.nodes[static_cast<size_t>(node)].element;
  EndCounts& since = reset_[{element.name, element.class_name}];
  // Packets and drops are not read in one moment, so their difference may fall a little.
  const auto text = [](uint64_t now, uint64_t then) { return std::to_string(now - std::min(now, then)); };
  const auto now = [this, &generation, node] { return end_counts(generation, node); };
  list.read("count", [=, &since] { return text(now().packets, since.packets); })
      .read("byte_count", [=, &since] { return text(now().bytes, since.bytes); })
      .read("dropped", [=, &since] { return text(now().dropped, since.dropped); })
      .write("reset_counts", [](const std::string&) {});
  return [=, &since] { since = now(); };
}

Engine::EndCounts Engine::end_counts(const Generation& generation, int node) const {
  EndCounts counts{0, bytes_of(generation, node), 0};
  const Element& element = *generation.router.nodes[static_cast<size_t>(node)].element;
  for (auto& worker : generation.scheduler.workers()) {
    const NodeCounts& here = worker->counts(node);
    counts.packets += here.packets;
    for (auto& drops : here.drops) counts.dropped += drops;
    counts.bytes -= std::min<uint64_t>(counts.bytes, here.dropped_bytes);
  }
  if (generation.gpus != nullptr) {
    counts.packets += generation.gpus->counts(node).first;
    for (const uint64_t drops : generation.gpus->ring_drops(node)) counts.dropped += drops;
  }
  if (const auto before = earlier_.find({element.name, element.class_name}); before != earlier_.end()) {
    counts.packets += before->second.packets, counts.bytes += before->second.bytes;
    for (auto& drop : before->second.drops) counts.dropped += drop.second;
  }
  counts.packets -= std::min(counts.packets, counts.dropped);
  return counts;
}

void Engine::add_task_handlers(Generation& generation, int node, Handlers& list) {
  const Node& here = generation.router.nodes[static_cast<size_t>(node)];
  TaskShare* share = here.share.get();
  list.read("home_thread", [element = here.element.get()] { return std::to_string(thread_of(*element)); })
      .read("scheduled", [share] { return std::string(share->scheduled ? "true" : "false"); })
      .write("scheduled",
             [this, &generation, share](const std::string& value) {
               share->scheduled = click::value_of<bool>(value);
               share_out(generation);
             })
      .read("tickets", [share] { return std::to_string(share->tickets); })
      .write("tickets", [this, &generation, share](const std::string& value) {
        share->tickets = click::value_of<int>(value, 1, TaskShare::kMaxTickets);
        share_out(generation);
      });
}

void Engine::share_out(Generation& generation) const {
  const auto& nodes = generation.router.nodes;
  std::vector<const Node*> drivers;
  for (const Task& task : generation.router.tasks)
    drivers.push_back(&nodes[static_cast<size_t>(task.driver >= 0 ? task.driver : task.source)]);
  for (const Node* node : drivers) {
    int most = 1;
    for (const Node* other : drivers) {
      const int one = thread_of(*node->element), another = thread_of(*other->element);
      if (other->share->scheduled && (one == another || one < 0 || another < 0))
        most = std::max(most, other->share->tickets);
    }
    const auto part =
        uint64_t{TaskShare::kAlways} * static_cast<uint64_t>(node->share->tickets) / static_cast<uint64_t>(most);
    node->share->rounds = node->share->scheduled ? std::max(static_cast<uint32_t>(part), 1u) : 0;
  }
}

void Engine::change_arguments(const std::string& element, const std::string& arguments) {
  if (!are_arguments(arguments)) throw Error("these are no arguments: brackets and quotes must be balanced");
  click::Graph graph = written(router().graph);
  auto& declaration = graph.elements[static_cast<size_t>(graph.find(element))];
  declaration.arguments.clear();
  if (!click::trim(arguments).empty()) declaration.arguments.push_back({arguments + "\n", declaration.where});
  const std::string text = click::unparse(graph);
  reconfigure([&] { return read_(text); }, element);
}

Broker::Members Engine::make_members(Generation& generation) {
  Broker::Members members;
  const Router& router = generation.router;
  click::HiddenSecrets hidden;
  // Elements in the order of the configuration, as Click lists them.
  for (auto& declaration : router.graph.elements) {
    const int i = router.find(declaration.name);
    const Node& node = router.nodes[static_cast<size_t>(i)];
    const std::string shown = click::unparse_arguments(declaration, &hidden);
    std::function<void()> reset;                                          // what the engine counts at an end
    const bool has_place = !declaration.name.starts_with(kDriverPrefix);  // in the configuration's text
    const bool is_writable = read_ && has_place && (everything_ || node.element->can_live_reconfigure());
    const auto change = [this, name = declaration.name](const std::string& value) { change_arguments(name, value); };
    Broker::add(members, *node.element, click::has_secret(declaration) ? shown : node.config,
                [=, this, &generation, &router, &node, &declaration, &reset](Handlers& list) {
                  list.read("ports", [&router, i] { return ports_text(router, i); });
                  list.read("drops", [this, &generation, i] {
                    std::string text;
                    for (auto& [reason, packets] : whole_report_of(generation, i).drops)
                      text += reason + " " + std::to_string(packets) + "\n";
                    return text;
                  });
                  if (runs_by_itself(router, i)) add_task_handlers(generation, i, list);
                  if (everything_ && has_place) list.write("config", change);
                  const auto* has_arguments = dynamic_cast<const HasArgumentHandlers*>(node.element.get());
                  for (size_t a = 0; has_arguments != nullptr && a < declaration.arguments.size(); ++a) {
                    const std::string handler = has_arguments->argument_handlers() + std::to_string(a);
                    list.read(handler, [&declaration, a] { return declaration.arguments[a].text; });
                    if (is_writable)
                      list.write(handler, [this, &declaration, a](const std::string& value) {
                        std::string all;
                        for (size_t i = 0; i < declaration.arguments.size(); ++i)
                          all += (i == 0 ? "" : ", ") + (i == a ? value : declaration.arguments[i].text);
                        change_arguments(std::string(declaration.name), all);
                      });
                  }
                  if (node.targets.empty() || node.predecessors.empty()) reset = add_counts(generation, i, list);
                });
    Handlers& list = members.list.back().handlers;
    if (const bool of_its_own = static_cast<bool>(list.find("config")->write); !of_its_own && is_writable)
      list.write("config", change);
    else if (!of_its_own && read_ && has_place)
      list.read_only("config", kStartWithR);
    // Counts of its own begin anew together with these.
    for (const char* name : {"reset_counts", "reset"})
      if (const Handler* own = list.find(name); reset && own != nullptr)
        list.write(name, [reset, write = own->write](const std::string& value) { write(value), reset(); });
  }
  return members;
}

void Engine::make_global_handlers() {
  Handlers& global = broker_->global();
  global.read("version", [] { return std::string(kVersion); });
  global.read("list", [this] {
    std::string text = std::to_string(broker_->members().size()) + "\n";
    for (auto& member : broker_->members()) text += member.element->name + "\n";
    return text;
  });
  global.read("config", [this] {
    const click::Graph& graph = router().graph;
    if (std::any_of(graph.elements.begin(), graph.elements.end(), click::has_secret))
      return click::unparse_without_secrets(written(graph));
    const std::vector<std::string> required = requirements(router().text);
    const bool compact = std::find(required.begin(), required.end(), "compact_config") != required.end();
    return compact ? compact_text(written(graph)) : router().text;
  });
  global.read("flatconfig", [this] { return click::unparse_without_secrets(written(router().graph)); });
  global.read("requirements", [this] { return lines(requirements(router().text)); });
  global.read("packages", [] { return lines(click::default_packages()); });
  global.read("load", [this] {
    std::string text;
    const auto loads = load();
    for (size_t i = 0; i < loads.size(); ++i) text += format("%zu %.3f\n", i, loads[i]);
    return text;
  });
  // All cycles of each packet thread, and those of rounds that found packets.
  global.read("cycles", [this] {
    std::string text;
    const auto list = cycles();
    for (size_t i = 0; i < list.size(); ++i)
      text += format("%zu %ju %ju\n", i, uintmax_t{list[i].all}, uintmax_t{list[i].busy});
    return text;
  });
  global.read("classes", [] { return lines(language().known_classes); });
  global.read("trace", [this] { return tracer_.text(); })
      .write("trace",
             [this](const std::string& value) {
               const std::string text(click::trim(value));
               const size_t end = std::min(text.find(' '), text.size());
               if (text.empty()) return tracer_.end();
               const uint64_t trace =
                   tracer_.begin(click::value_of<int>(text.substr(0, end)), std::string(click::trim(text.substr(end))));
               if (Conversation* client = Conversation::current(); client != nullptr)
                 client->at_end("trace", [this, trace] { tracer_.end_of(trace); });
             })
      .read("traced", [this] { return std::to_string(tracer_.finished()); })
      .read("tracing", [this] { return tracer_.active() ? "true" : "false"; });
  global.write("stop", [this](const std::string&) { broker_->stop(); });
}

}  // namespace heddle
