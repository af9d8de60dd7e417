#include "engine/router.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>

#include "click/address_book.h"
#include "click/arguments.h"
#include "core/compound.h"
#include "core/error.h"
#include "elements/basic/bypass.h"
#include "elements/basic/schedule_info.h"
#include "elements/endpoints/dpdk_info.h"
#include "engine/copies.h"
#include "engine/loops.h"
#include "engine/processing.h"
#include "engine/tasks.h"
#include "gpu/device.h"
#include "gpu/functions.h"
#include "io/dpdk/dpdk.h"

namespace heddle {
namespace {

struct PortCount {
  int least = 0, most = 0;
};

// "1", "1-2", "-", "1-": Click's notation for one side of ports().
PortCount parse_ports(std::string_view text) {
  PortCount count;
  const size_t dash = text.find('-');
  count.least = std::atoi(std::string(text.substr(0, dash)).c_str());
  if (dash == std::string_view::npos) {
    count.most = count.least;
  } else {
    count.most = dash + 1 < text.size() ? std::atoi(std::string(text.substr(dash + 1)).c_str()) : INT_MAX;
  }
  return count;
}

// Ports in use must be 0, 1, ... without a gap, as many as the element wants. Where there is one that it has not,
// nothing is said of others: they may be what was meant.
void check_ports(const Element& element, const click::Location& where, std::vector<bool> used, const char* side,
                 PortCount count, click::Diagnostics& diagnostics) {
  const int n = static_cast<int>(used.size());
  const std::string who = element.class_name + " '" + element.name + "'";
  if (n > count.most) {
    const std::string none = format("%s: has no %s ports", who.c_str(), side);
    const std::string those = count.most == 1 ? "port 0 only" : format("ports 0 to %d", count.most - 1);
    const std::string fewer = format("%s: has no %s port %d; it has %s", who.c_str(), side, n - 1, those.c_str());
    return diagnostics.error(where, count.most == 0 ? none : fewer);
  }
  for (int port = 0; port < std::max(n, count.least); ++port) {
    if (port < n && used[static_cast<size_t>(port)]) continue;
    const bool output = side[0] == 'o';
    diagnostics.error(
        where, format("%s: %s port %d is not connected; connect it%s", who.c_str(), side, port,
                      output ? format(", for example '%s[%d] -> Discard'", element.name.c_str(), port).c_str() : ""));
  }
}

// How a GPU segment is launched, and how much waits for it, also in the words of the thesis's elements
// (functions/*/gpu_forms.h): PERSISTENT and ZEROCOPY say in yes and no what LAUNCH and TRANSPORT say by name. These
// elements have LAUNCH async, over which PERSISTENT true wins, and may have TRANSPORT coalescent, over which ZEROCOPY
// true does; otherwise both must agree. The copy engine only works beside launches, so what is persistent works in host
// memory.
void read_launch(Node& node, click::Arguments& arguments) {
  std::string launch;
  arguments.keyword("LAUNCH", launch);
  node.launch = mode_named<LaunchMode>(launch, kLaunchModes);
  if (!launch.empty() && !node.launch) arguments.error("LAUNCH", "sync, async, graph or persistent");
  const auto yes_or_no = [&](const char* keyword) -> std::optional<bool> {
    std::string text;
    bool value = false;
    arguments.keyword(keyword, text);
    if (text.empty()) return std::nullopt;
    if (!click::parse(text, value)) arguments.error(keyword, "true or false");
    return value;
  };
  const auto persistent = yes_or_no("PERSISTENT");
  if (persistent && node.launch && node.launch != LaunchMode::async &&
      *persistent != (node.launch == LaunchMode::persistent))
    arguments.error(format("PERSISTENT %s is at odds with LAUNCH %s; leave one of the two out",
                           *persistent ? "true" : "false", launch.c_str()));
  if (persistent == true)
    node.launch = LaunchMode::persistent;
  else if (persistent == false && !node.launch)
    node.launch = LaunchMode::async;
  if (const auto zerocopy = yes_or_no("ZEROCOPY")) {
    const auto wanted = *zerocopy ? Transport::zerocopy : Transport::coalescent;
    if (node.transport && node.transport != Transport::coalescent && node.transport != wanted)
      arguments.error(format("ZEROCOPY is at odds with TRANSPORT %s; leave one of the two out", name(*node.transport)));
    node.transport = wanted;
  }
  node.gets_lists = node.transport == Transport::commlist;
  if (persistent == true && node.gets_lists) node.transport = Transport::direct;
  if (persistent == true && node.transport == Transport::coalescent) node.transport = Transport::zerocopy;
  constexpr int kMaxBatch = 1 << 16;
  arguments.keyword("MAX_BATCH", node.limits.batch, 1, kMaxBatch);
  arguments.keyword("LISTS_PER_CORE", node.limits.lists, 1, gpu::kMaxStreams);
  arguments.keyword("QUEUES_PER_CORE", node.limits.lists, 1, gpu::kMaxStreams);
}

// DPDKInfo's POOL, which stands anywhere in the chain.
void place_lists(std::vector<Node>& nodes) {
  const std::optional<bool> on_gpu = dpdk::settings().lists_on_gpu;
  if (!on_gpu) return;
  for (Node& node : nodes)
    if (node.gets_lists)
      node.transport = !*on_gpu                                ? Transport::direct
                       : node.launch == LaunchMode::persistent ? Transport::gather
                                                               : Transport::commlist;
}

void read_latency(Node& node, click::Arguments& arguments) {
  std::string text;
  arguments.keyword("LATENCY", text);
  click::Duration latency;
  constexpr uint64_t kLongestUs = 10000000;
  if (!text.empty() &&
      (!arguments.read(text, latency) || latency.microseconds == 0 || latency.microseconds > kLongestUs))
    arguments.error("LATENCY", "a time from 1us to 10s, such as 200us");
  node.latency_us = latency.microseconds;
}

void read_placement(Node& node, click::Arguments& arguments) {
  if (gpu::function_id(node.element->class_name) < 0) return;
  std::string device;
  arguments.keyword("DEVICE", device);
  int number = kDefaultGpu;
  const bool numbered = device.size() > 3 && device.starts_with("gpu") && click::parse(device.substr(3), number, 0, 15);
  if (device == "cpu")
    node.device = kOnCpu;
  else if (device == "gpu" || device == "auto" || numbered)
    node.device = number;
  else if (!device.empty())
    arguments.error("DEVICE", "cpu, auto, gpu, gpu0, gpu1, ... or gpu15");
  node.by_load = device == "auto";
  std::string on_error;
  arguments.keyword("ON_GPU_ERROR", on_error);
  if (on_error == "cpu" || on_error == "stop")
    node.cpu_after_failure = on_error == "cpu";
  else if (!on_error.empty())
    arguments.error("ON_GPU_ERROR", "cpu or stop");
  std::string transport;
  arguments.keyword("TRANSPORT", transport);
  node.transport = mode_named<Transport>(transport, kTransports);
  if (!transport.empty() && !node.transport)
    arguments.error("TRANSPORT", "direct, gather, coalescent, zerocopy, commlist or landing");
  read_launch(node, arguments);
  read_latency(node, arguments);
  arguments.keyword("BLOCKING", node.blocking);
}

std::string text_of(const std::vector<click::Argument>& arguments) {
  std::string text;
  for (const click::Argument& argument : arguments) text += (text.empty() ? "" : ", ") + argument.text;
  return text;
}

/** There is one packet memory. */
void check_infos(const std::vector<Node>& nodes, click::Diagnostics& diagnostics) {
  const Node* first = nullptr;
  for (auto& node : nodes) {
    if (dynamic_cast<const DPDKInfo*>(node.element.get()) == nullptr) continue;
    if (first != nullptr)
      diagnostics.error(node.where, format("%s '%s': '%s' at %s says already how much memory packets get; a chain has "
                                           "at most one DPDKInfo",
                                           node.element->class_name.c_str(), node.element->name.c_str(),
                                           first->element->name.c_str(), first->where.text().c_str()));
    else
      first = &node;
  }
}

void check_who_decides(const std::vector<Node>& nodes, click::Diagnostics& diagnostics) {
  const Node* first = nullptr;
  for (auto& node : nodes) {
    if (!node.element || !node.element->decides_end()) continue;
    if (first != nullptr)
      diagnostics.error(
          node.where,
          format("%s '%s': '%s' decides already when the program ends; a chain has at most one "
                 "such element",
                 node.element->class_name.c_str(), node.element->name.c_str(), first->element->name.c_str()));
    else
      first = &node;
  }
}

}  // namespace

namespace {

/** Says by which input packets come. */
class InputMark : public Element {
 public:
  void configure(click::Arguments& arguments) override {
    arguments.required("PORT", port_, 0, 255).required("CLEARED", cleared_);
  }
  Access access(Processor) const override { return {.column_writes = columns(Column::input) | cleared_}; }
  void run_cpu(Batch& batch) override {
    std::fill_n(batch.column(Column::input), batch.size(), static_cast<uint32_t>(port_));
    each_column(cleared_, [&](Column which) {
      const auto size = static_cast<size_t>(words(which)) * sizeof(uint32_t);
      std::memset(batch.column(which), 0, size * static_cast<size_t>(batch.size()));
    });
  }

 private:
  int port_ = 0;
  ColumnSet cleared_ = 0;
};

std::unique_ptr<Element> make_element(const std::string& class_name) {
  if (class_name == kInputMark) return std::make_unique<InputMark>();
  const auto* entry = Catalog::instance().find(class_name);
  return entry == nullptr ? nullptr : entry->make();
}

/** The graph with an InputMark before each input of an element that wants to know by which input packets come. */
click::Graph with_input_marks(click::Graph graph) {
  const size_t elements = graph.elements.size(), connections = graph.connections.size();
  std::vector<std::unique_ptr<Element>> samples(elements);  // of those that want to know
  std::vector<std::vector<int>> marks(elements);            // by input
  for (size_t i = 0; i < elements; ++i) {
    samples[i] = make_element(graph.elements[i].class_name);
    if (samples[i] && samples[i]->tells_inputs()) marks[i].assign(256, -1);
  }
  for (size_t k = 0; k < connections; ++k) {
    const click::Connection c = graph.connections[k];
    auto& own = marks[static_cast<size_t>(c.to)];
    if (own.empty() || c.to_port < 0 || c.to_port > 255) continue;
    int& mark = own[static_cast<size_t>(c.to_port)];
    if (mark < 0) {
      mark = static_cast<int>(graph.elements.size());
      click::ElementDeclaration declaration = graph.elements[static_cast<size_t>(c.to)];
      declaration.name += format("[%d]", c.to_port);
      declaration.class_name = kInputMark;
      declaration.arguments = {
          {std::to_string(c.to_port), declaration.where},
          {std::to_string(samples[static_cast<size_t>(c.to)]->unread_at(c.to_port)), declaration.where}};
      graph.elements.push_back(std::move(declaration));
      graph.connections.push_back({mark, 0, c.to, c.to_port, c.where});
    }
    graph.connections[k].to = mark, graph.connections[k].to_port = 0;
  }
  return graph;
}

/** Takes the ways round Bypasses past them: what is pushed to the second input goes where the first output leads, and
 *  what pulls from the second output pulls from where the first input does. */
void take_bypasses(click::Graph& graph, const std::vector<Element*>& elements, const std::vector<PortKinds>& kinds) {
  const auto pulls = [&](int i) { return kinds[static_cast<size_t>(i)].inputs[0] == PortKind::pull; };
  const auto is_bypass = [&](int i) { return dynamic_cast<Bypass*>(elements[static_cast<size_t>(i)]) != nullptr; };
  // A way round that leads from itself to itself ends when all have been passed, and is a loop like any other.
  for (size_t times = 0; times < graph.connections.size(); ++times) {
    bool changed = false;
    for (click::Connection& c : graph.connections) {
      const auto first = [&](auto member, auto port, int bypass) {
        return std::ranges::find_if(graph.connections, [&](const click::Connection& other) {
          return other.*member == bypass && other.*port == 0;
        });
      };
      using C = click::Connection;
      if (is_bypass(c.to) && c.to_port == 1 && !pulls(c.to)) {
        const auto onward = first(&C::from, &C::from_port, c.to);
        if (&*onward != &c) c.to_port = onward->to_port, c.to = onward->to, changed = true;
      } else if (is_bypass(c.from) && c.from_port == 1 && pulls(c.from)) {
        const auto origin = first(&C::to, &C::to_port, c.from);
        if (&*origin != &c) c.from_port = origin->from_port, c.from = origin->from, changed = true;
      }
    }
    if (!changed) return;
  }
}

/** What is behind each node's outputs. */
void set_targets(const click::Graph& graph, std::vector<Node>& nodes) {
  std::vector<const click::Connection*> more;
  for (const click::Connection& c : graph.connections) {
    auto& targets = nodes[static_cast<size_t>(c.from)].targets;
    const auto port = static_cast<size_t>(c.from_port);
    if (targets.size() <= port) targets.resize(port + 1, -1);
    if (targets[port] < 0)
      targets[port] = c.to;
    else
      more.push_back(&c);
  }
  for (const click::Connection* c : more) {
    Node& node = nodes[static_cast<size_t>(c->from)];
    node.targets.push_back(c->to), node.more_pull.push_back(c->from_port);
  }
}

void visit_forks(const PullPoint& point, const auto& visit) {
  for (const PullPoint::Fork& fork : point.forks) visit(fork.node);
  for (const PullPoint& input : point.inputs) visit_forks(input, visit);
}

/** Elements that packets are pulled through by several are run by one thread. */
void check_homes(const Router& router, click::Diagnostics& diagnostics) {
  std::map<int, const Node*> pullers;  // the first one, by node that several pull through
  for (const Task& task : router.tasks) {
    if (task.driver < 0) continue;
    const Node& driver = router.nodes[static_cast<size_t>(task.driver)];
    visit_forks(task.pull, [&](int node) {
      const Node* first = pullers.try_emplace(node, &driver).first->second;
      if (std::max(first->element->home, 0) == std::max(driver.element->home, 0)) return;
      diagnostics.error(driver.where, format("'%s' and '%s' pull through '%s', so one thread runs both; let "
                                             "StaticThreadSched put them on the same, or a Queue stand between",
                                             first->element->name.c_str(), driver.element->name.c_str(),
                                             router.nodes[static_cast<size_t>(node)].element->name.c_str()));
    });
  }
}

/** As ScheduleInfos say. */
void set_tickets(Router& router) {
  std::map<const Element*, double> factors;
  for (auto& node : router.nodes)
    if (const auto* info = dynamic_cast<const ScheduleInfo*>(node.element.get()))
      for (const auto& [element, factor] : info->factors()) factors.try_emplace(element, 1.0).first->second *= factor;
  for (auto& node : router.nodes)
    if (const auto found = factors.find(node.element.get()); found != factors.end())
      node.share->tickets = static_cast<int>(
          std::clamp(std::round(found->second * TaskShare::kUsualTickets), 1.0, double{TaskShare::kMaxTickets}));
}

}  // namespace

click::ParseOptions language() {
  click::ParseOptions options;
  options.known_classes = Catalog::instance().names();
  options.prelude = Compound::prelude();
  return options;
}

Router Router::build(const click::Graph& written, click::Diagnostics& diagnostics) {
  click::Graph graph = with_input_marks(written);
  std::vector<Node> nodes(graph.elements.size());
  std::vector<std::vector<bool>> in_use(nodes.size()), out_use(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto& declaration = graph.elements[i];
    nodes[i].where = declaration.where;
    nodes[i].config = text_of(declaration.arguments);
    nodes[i].element = make_element(declaration.class_name);
    if (!nodes[i].element) continue;  // the parser has reported it
    nodes[i].element->name = declaration.name;
    nodes[i].element->class_name = declaration.class_name;
  }
  for (auto& c : graph.connections) {
    const auto from = static_cast<size_t>(c.from), to = static_cast<size_t>(c.to);
    const auto from_port = static_cast<size_t>(c.from_port), to_port = static_cast<size_t>(c.to_port);
    if (from_port > 255 || to_port > 255) {
      diagnostics.error(c.where, "an element has at most 256 ports, 0 to 255");
      continue;
    }
    if (out_use[from].size() <= from_port) out_use[from].resize(from_port + 1);
    if (in_use[to].size() <= to_port) in_use[to].resize(to_port + 1);
    out_use[from][from_port] = in_use[to][to_port] = true;
  }
  // Arguments after connections: an element such as Tee or Classifier may ask how many outputs it has.
  const click::AddressBook addresses(graph);
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].element) continue;
    click::Arguments arguments(graph.elements[i], diagnostics, &addresses);
    nodes[i].element->inputs = static_cast<int>(in_use[i].size());
    nodes[i].element->outputs = static_cast<int>(out_use[i].size());
    read_placement(nodes[i], arguments);
    std::vector<click::Argument> own = click::Arguments(arguments).rest_with_keywords();
    try {
      nodes[i].element->configure(arguments);
      // Behind the element's own CAPACITY, which some have.
      constexpr int kMaxBatches = 1 << 12;
      if (gpu::function_id(nodes[i].element->class_name) >= 0)
        arguments.keyword("CAPACITY", nodes[i].limits.capacity, 1, kMaxBatches);
      if (nodes[i].limits.capacity > 0)
        std::erase_if(own, [](const auto& one) { return click::leading_keyword(one.text) == "CAPACITY"; });
    } catch (const Error& error) {
      diagnostics.error(nodes[i].where,
                        nodes[i].element->class_name + " '" + nodes[i].element->name + "': " + error.what());
    }
    arguments.finish();
    nodes[i].own_config = text_of(own);
    const std::string_view ports = nodes[i].element->ports();
    const size_t slash = ports.find('/');
    check_ports(*nodes[i].element, nodes[i].where, in_use[i], "input", parse_ports(ports.substr(0, slash)),
                diagnostics);
    check_ports(*nodes[i].element, nodes[i].where, out_use[i], "output", parse_ports(ports.substr(slash + 1)),
                diagnostics);
  }
  place_lists(nodes);
  check_who_decides(nodes, diagnostics);
  check_infos(nodes, diagnostics);
  std::vector<Element*> elements;
  for (auto& node : nodes) elements.push_back(node.element.get());
  std::vector<PortKinds> kinds = resolve_ports(graph, elements, diagnostics);
  Router router;
  router.graph = written;
  if (!diagnostics.ok()) return router;
  take_bypasses(graph, elements, kinds);
  set_targets(graph, nodes);
  for (size_t i = 0; i < nodes.size(); ++i)
    for (const PortKind kind : kinds[i].inputs) nodes[i].element->pulled.push_back(kind == PortKind::pull);

  std::vector<int> on_cycle;
  const std::vector<int> order = order_of(nodes, kinds, graph, on_cycle, diagnostics);
  if (!on_cycle.empty()) {
    const auto& node = nodes[static_cast<size_t>(on_cycle[0])];
    diagnostics.error(
        node.where,
        "'" + node.element->name + "' is on a cycle; packets would never leave it. Put a Queue and an Unqueue on it");
    return router;
  }
  for (auto& c : graph.connections) {
    Node& node = nodes[static_cast<size_t>(c.to)];
    const auto input = static_cast<size_t>(c.to_port);
    if (node.pulls_from.size() <= input) node.pulls_from.resize(input + 1), node.pulls_from_port.resize(input + 1);
    node.pulls_from[input] = c.from, node.pulls_from_port[input] = c.from_port;
  }
  std::vector<int> index(nodes.size());
  for (size_t k = 0; k < order.size(); ++k) index[static_cast<size_t>(order[k])] = static_cast<int>(k);
  for (int old : order) {
    router.nodes.push_back(std::move(nodes[static_cast<size_t>(old)]));
    router.nodes.back().kinds = std::move(kinds[static_cast<size_t>(old)]);
  }
  for (size_t k = 0; k < router.nodes.size(); ++k) {
    for (int& from : router.nodes[k].pulls_from) from = index[static_cast<size_t>(from)];
    for (int& target : router.nodes[k].targets) {
      target = index[static_cast<size_t>(target)];
      auto& back = router.nodes[static_cast<size_t>(target)].predecessors;
      if (std::find(back.begin(), back.end(), static_cast<int>(k)) == back.end()) back.push_back(static_cast<int>(k));
    }
  }
  for (size_t k = 0; k < router.nodes.size(); ++k)
    router.nodes[k].on_cycle = router.nodes[k].is_buffer() && comes_back(router.nodes, static_cast<int>(k));
  for (auto& node : router.nodes) {
    const auto element = [&](int i) { return router.nodes[static_cast<size_t>(i)].element.get(); };
    for (int target : node.targets) node.element->behind.push_back(element(target));
    for (int from : node.predecessors) node.element->before.push_back(element(from));
  }
  find_tasks(router);
  check_copies(router, diagnostics);
  for (auto& node : router.nodes) {
    try {
      node.element->link([&](std::string_view name) { return router.named(name, node.element->name); });
    } catch (const Error& error) {
      diagnostics.error(node.where, node.element->class_name + " '" + node.element->name + "': " + error.what());
    }
  }
  check_homes(router, diagnostics);
  set_tickets(router);
  if (router.nodes.empty())
    diagnostics.error(written.where, "the chain has no source of packets, such as FromDump or FromDPDKDevice");
  return router;
}

std::vector<Element*> Router::named(std::string_view name, std::string_view context) const {
  std::vector<Element*> found;
  if (name == "*")
    for (auto& node : nodes) found.push_back(node.element.get());
  if (name == "*") return found;
  do {
    // "a/b/" of "a/b/c", then "a/", then "".
    context = context.substr(0, context.rfind('/', context.size() - (context.ends_with('/') ? 2 : 1)) + 1);
    const std::string full = std::string(context) + std::string(name), inside = full + "/";
    for (auto& node : nodes)
      if (node.element->name == full || node.element->name.starts_with(inside)) found.push_back(node.element.get());
  } while (found.empty() && !context.empty());
  return found;
}

int Router::find(std::string_view name) const {
  for (size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].element->name == name) return static_cast<int>(i);
  return -1;
}

}  // namespace heddle
