// The passes of GPU ports: which segments a GPU serves from one port's rings to another's, by itself.
#include <algorithm>
#include <filesystem>
#include <map>
#include <tuple>

#include "core/error.h"
#include "elements/endpoints/from_gpu_port.h"
#include "elements/endpoints/to_gpu_port.h"
#include "engine/gpu_ports.h"
#include "engine/plan.h"
#include "gpu/functions.h"

namespace heddle::passes {
namespace {

constexpr int kMostMemifRings = 256;  // each way, of DPDK's driver and VPP's

template <class Port>
bool is(const Node& node) {
  return dynamic_cast<const Port*>(node.element.get()) != nullptr;
}

std::string called(const Node& node) { return node.element->class_name + " '" + node.element->name + "'"; }

/** What a node cannot have beside it in a chain of GPU ports, and what to do. */
std::string remedy(const Node& node, const NodePlan& plan) {
  if (gpu::function_id(node.element->class_name) >= 0 && !plan.processor.is_gpu())
    return "give " + node.element->name + " DEVICE gpu" +
           (node.element->follows_device() ? ", or run with --device gpu" : "");
  if (node.element->neutral().has_value() && node.element->moves_head() < 0)
    return "put a Strip of as many bytes before it, or take it out: it puts back what has been stripped";
  if (gpu::function_id(node.element->class_name) >= 0 || node.element->neutral().has_value())
    return "place all functions between the ports on one GPU, with nothing but FromGPUPorts before them";
  return "take it out, or use FromDPDKDevice and ToDPDKDevice, whose packets the CPU sees";
}

/** Between GPU ports all functions are one segment, so none can be isolated from the others. */
void refuse_isolated(const Router& router, click::Diagnostics& diagnostics) {
  for (const Node& node : router.nodes)
    if (is<GPUPort>(node))
      diagnostics.error(node.where,
                        called(node) +
                            ": with --isolate each function on a GPU gets its packets from the CPU and gives "
                            "them back to it, but between GPU ports the CPU sees no packets; leave "
                            "--isolate out, or use FromDPDKDevice and ToDPDKDevice");
}

/** Makes one segment of those that FromGPUPorts begin where their ways meet, with these ports as its first nodes. */
void join_ways(const Router& router, Plan& plan) {
  const auto segment_of = [&](int node) -> int& { return plan.nodes[static_cast<size_t>(node)].segment; };
  const auto begins_at_port = [&](int segment) {
    return is<FromGPUPort>(router.nodes[static_cast<size_t>(plan.segments[static_cast<size_t>(segment)].nodes[0])]);
  };
  for (size_t i = 0; i < router.nodes.size(); ++i) {
    const Placement& here = plan.nodes[i];
    const std::vector<int>& back = router.nodes[i].predecessors;
    if (back.size() < 2 || !here.processor.is_gpu() || !std::ranges::all_of(back, [&](int before) {
          return begins_at_port(segment_of(before)) &&
                 static_cast<const Placement&>(plan.nodes[static_cast<size_t>(before)]) == here;
        }))
      continue;
    const int joined = segment_of(back[0]);
    std::vector<int>& nodes = plan.segments[static_cast<size_t>(joined)].nodes;
    const auto take = [&](int segment) {
      if (segment == joined) return;
      std::vector<int>& others = plan.segments[static_cast<size_t>(segment)].nodes;
      for (const int node : others) segment_of(node) = joined;
      nodes.insert(nodes.end(), others.begin(), others.end());
      others.clear();
    };
    for (const int before : back) take(segment_of(before));
    take(plan.nodes[i].segment);
    std::ranges::sort(nodes);
    std::stable_partition(nodes.begin(), nodes.end(),
                          [&](int n) { return is<FromGPUPort>(router.nodes[static_cast<size_t>(n)]); });
  }
  std::erase_if(plan.segments, [](const Segment& segment) { return segment.nodes.empty(); });
  for (size_t s = 0; s < plan.segments.size(); ++s)
    for (const int node : plan.segments[s].nodes) segment_of(node) = static_cast<int>(s);
}

class Finder {
 public:
  Finder(const Router& router, Plan& plan, click::Diagnostics& diagnostics)
      : router_(router), plan_(plan), diagnostics_(diagnostics) {}

  void find() {
    for (const Node& node : router_.nodes)
      for (const int target : node.targets)
        if (const Node& there = router_.nodes[static_cast<size_t>(target)];
            is<FromGPUPort>(node) && is<ToGPUPort>(there))
          error(node, format("its packets go to %s at once; put a function between the two ports, such as EtherMirror "
                             "with DEVICE gpu",
                             called(there).c_str()));
    if (!diagnostics_.ok()) return;
    for (Segment& segment : plan_.segments)
      if (is<FromGPUPort>(router_.nodes[static_cast<size_t>(segment.nodes[0])])) follow(segment);
    for (size_t i = 0; i < router_.nodes.size(); ++i) {
      const Node& node = router_.nodes[i];
      if (!is<ToGPUPort>(node) || leaves_by(static_cast<int>(i)) || !diagnostics_.ok()) continue;
      const auto before = static_cast<size_t>(node.predecessors.empty() ? 0 : node.predecessors[0]);
      error(node,
            format("packets come to it from %s, not from a FromGPUPort on its GPU; use ToDPDKDevice, or %s",
                   called(router_.nodes[before]).c_str(), remedy(router_.nodes[before], plan_.nodes[before]).c_str()));
    }
    check_turns();
    if (diagnostics_.ok()) check_ports();
  }

 private:
  Segment& segment_of(int node) const {
    return plan_.segments[static_cast<size_t>(plan_.nodes[static_cast<size_t>(node)].segment)];
  }
  bool leaves_by(int node) const { return std::ranges::find(segment_of(node).to, node) != segment_of(node).to.end(); }
  void error(const Node& node, const std::string& message) {
    diagnostics_.error(node.where, called(node) + ": " + message);
  }

  void follow(Segment& segment) {
    const Node& port = router_.nodes[static_cast<size_t>(segment.nodes[0])];
    std::vector<int> to;
    if (segment.has_both())
      return error(port, format("what it receives stays on its GPU, and the functions behind it may be on the CPU as "
                                "well; give them DEVICE gpu%s",
                                segment.cpu_after_failure ? " and ON_GPU_ERROR stop" : ""));
    for (const int n : segment.nodes) {
      const Node& node = router_.nodes[static_cast<size_t>(n)];
      const int function = gpu::function_id(node.element->class_name);
      if (function >= 0 && !gpu::functions()[static_cast<size_t>(function)].on_rings)
        return error(port, format("%s, on the way of its packets, cannot run between GPU ports; use FromDPDKDevice and "
                                  "ToDPDKDevice, or put it into another chain",
                                  called(node).c_str()));
      for (const int target : router_.nodes[static_cast<size_t>(n)].targets) {
        const Node& there = router_.nodes[static_cast<size_t>(target)];
        const NodePlan& here = plan_.nodes[static_cast<size_t>(target)];
        if (&segment_of(target) != &segment || !segment.processor.is_gpu())
          return error(port,
                       format("what it receives stays on a GPU up to a ToGPUPort, but %s, on its way, does not run "
                              "with it there; %s",
                              called(there).c_str(), remedy(there, here).c_str()));
        if (is<ToGPUPort>(there) && std::ranges::find(to, target) == to.end()) to.push_back(target);
      }
    }
    if (to.empty()) return error(port, "its packets never leave; put a ToGPUPort at the end of its chain");
    if (to.size() > gpu::kMaxOutputs)
      return error(port, format("its packets%s leave by %zu ToGPUPorts, and %d can be; take some out",
                                is<FromGPUPort>(router_.nodes[static_cast<size_t>(segment.nodes[1])])
                                    ? ", and those that meet them,"
                                    : "",
                                to.size(), gpu::kMaxOutputs));
    segment.to = std::move(to);
    for (const int n : segment.nodes)
      if (is<FromGPUPort>(router_.nodes[static_cast<size_t>(n)])) segment.from.push_back({n, leaves_by(n, segment)});
  }

  /** By node: whether packets of a segment that are received by `port` may come there. */
  std::vector<bool> nodes_behind(int port, const Segment& segment) const {
    std::vector<bool> is_behind(router_.nodes.size(), false);
    is_behind[static_cast<size_t>(port)] = true;
    for (const int n : segment.nodes)
      for (const int target : router_.nodes[static_cast<size_t>(n)].targets)
        if (is_behind[static_cast<size_t>(n)]) is_behind[static_cast<size_t>(target)] = true;
    return is_behind;
  }
  /** By which ports of a segment they may leave. */
  std::vector<bool> leaves_by(int port, const Segment& segment) const {
    const std::vector<bool> is_behind = nodes_behind(port, segment);
    std::vector<bool> leaves;
    for (const int to : segment.to) leaves.push_back(is_behind[static_cast<size_t>(to)]);
    return leaves;
  }

  /** Only rings give functions packets in the order of arrival, and to a few of them. */
  void check_turns() {
    for (const Segment& segment : plan_.segments) {
      if (!segment.processor.is_gpu()) continue;
      int turns = 0;
      for (const int n : segment.nodes) {
        const Node& node = router_.nodes[static_cast<size_t>(n)];
        const int function = gpu::function_id(node.element->class_name);
        if (function < 0 || !gpu::functions()[static_cast<size_t>(function)].in_turn) continue;
        if (!segment.has_rings())
          error(node,
                "DEVICE: it wants packets in the order of arrival, which a GPU gives it between GPU ports only; leave "
                "DEVICE out, or put it between FromGPUPort and ToGPUPort");
        else if (++turns > gpu::kMaxTurns)
          error(node,
                format("there are %d elements before it, between the same GPU ports, that want packets in the order of "
                       "arrival, and no more can be; take one out",
                       gpu::kMaxTurns));
      }
    }
  }

  void check_ports() {
    std::map<std::string, const Node*> from, to, configured;
    for (const Node& node : router_.nodes) {
      const auto* port = dynamic_cast<const GPUPort*>(node.element.get());
      if (port == nullptr) continue;
      auto& seen = is<FromGPUPort>(node) ? from : to;
      if (const Node*& other = seen[port->port()]; other == nullptr)
        other = &node;
      else
        error(node, format("%s is there already for port %s; a port has one of each", called(*other).c_str(),
                           port->port().c_str()));
      if (!port->config()) continue;
      if (const Node*& other = configured[port->port()]; other == nullptr)
        other = &node;
      else
        error(node, (!port->config()->is_nic()             ? "SOCKET: "
                     : !port->config()->nic_socket.empty() ? "NIC_SOCKET: "
                                                           : "SOFTNIC: ") +
                        called(*other) + " gives the arguments of port " + port->port() + " already");
    }
    for (const auto* seen : {&from, &to})
      for (const auto& [name, node] : *seen)
        if (!configured.contains(name))
          error(*node, format("SOCKET is missing: where is the peer of port %s found? For example: %s(%s, SOCKET "
                              "/run/%s.sock); or SOFTNIC and a DPDK device",
                              name.c_str(), node->element->class_name.c_str(), name.c_str(), name.c_str()));
    if (!diagnostics_.ok()) return;
    const auto configs = gpu_ports(router_, plan_);
    check_devices(configs);
    check_sockets();
    check_processes();
    check_rings(configs, from);
    for (Segment& segment : plan_.segments) {
      const auto node_of = [&](int port) -> const Node& { return router_.nodes[static_cast<size_t>(port)]; };
      const auto config_of = [&](int port) -> const GPUPort::Config& { return configs.at(port_of(node_of(port))); };
      segment.routed = segment.to.size() > 1;
      for (const Segment::Entrance& from : segment.from)
        for (const int to : segment.to)
          segment.routed = segment.routed || config_of(from.port).is_nic() != config_of(to).is_nic();
      for (const auto& [port, leaves_by] : segment.from) {
        const Node &in = node_of(port), &first = node_of(segment.from[0].port);
        if (config_of(port).split != config_of(segment.from[0].port).split)
          error(in, format("KERNELS: its packets meet those of %s, which has another; give both the same",
                           called(first).c_str()));
        if (segment.routed) check_one_block(in, segment, std::ranges::count(leaves_by, true), config_of(port));
        check_room(segment, port, config_of(port));
      }
    }
  }
  void check_one_block(const Node& in, const Segment& segment, ptrdiff_t exits, const GPUPort::Config& from) {
    const std::string why = exits > 1 ? format("its packets leave by %td ToGPUPorts", exits)
                            : segment.to.size() > 1
                                ? format("its packets meet others, which leave by %zu ToGPUPorts", segment.to.size())
                                : std::string("packets go from a memif to a soft NIC, or the other way");
    if (from.split) error(in, "KERNELS: " + why + ", which one kernel takes them to; leave split out");
    if (from.warp_batch > gpu::kMaxRingWorkers * gpu::kSlotPackets)
      error(in, format("WARP_BATCH: %s, which one multiprocessor takes them to; give it %d at most", why.c_str(),
                       gpu::kMaxRingWorkers * gpu::kSlotPackets));
  }
  /** Functions work on packets where they lie, and in a peer's buffers nothing is kept free around them. */
  void check_room(const Segment& segment, int port, const GPUPort::Config& from) {
    if (from.is_nic() || from.memif.role != memif::Role::server) return;
    const std::vector<bool> is_behind = nodes_behind(port, segment);
    for (const int n : segment.nodes) {
      const Node& node = router_.nodes[static_cast<size_t>(n)];
      if (is_behind[static_cast<size_t>(n)] && node.element->prepends() + node.element->appends() > 0)
        error(router_.nodes[static_cast<size_t>(port)],
              format("ROLE: packets of a client lie in its buffers, which have no room for what %s, on their way, puts "
                     "around them; let it be a client itself (ROLE client), or take a soft NIC",
                     called(node).c_str()));
    }
  }
  /** QUEUES says how many rings a port receives from, and the way how many it transmits by. A soft NIC has a thread for
   *  each, and one that a process plays has as many each way. `from`: the ports that are received from. */
  void check_rings(const std::map<std::string, GPUPort::Config>& configs,
                   const std::map<std::string, const Node*>& from) {
    for (const Node& node : router_.nodes) {
      if (!is<ToGPUPort>(node)) continue;
      const GPUPort::Config& config = configs.at(port_of(node));
      const int receiving = config.memif.interface.receiving, transmitting = config.memif.interface.transmitting;
      if (!from.contains(port_of(node)) && receiving != 1 && receiving != transmitting)
        error(node, format("QUEUES: it has %d ring pairs, and packets of %d leave by it; leave QUEUES out", receiving,
                           transmitting));
      else if (!config.nic_socket.empty() && transmitting != receiving)
        error(node,
              format("NIC_SOCKET: packets of %d ring pairs leave by it, and a NIC that a process plays has as many "
                     "rings each way, QUEUES %d; let as many ring pairs send to it, or take SOFTNIC",
                     transmitting, receiving));
      else if (const int most = config.is_nic() ? static_cast<int>(softnic::kMaxQueues) : kMostMemifRings;
               transmitting > most)
        error(node,
              format("packets of %d ring pairs leave by it, and a %s has at most %d rings each way; give the ports "
                     "before it fewer QUEUES",
                     transmitting, config.is_nic() ? "soft NIC" : "memif", most));
    }
  }
  /** A process plays the NIC of one port. */
  void check_processes() {
    std::map<std::filesystem::path, const Node*> users;
    for (const Node& node : router_.nodes) {
      const auto* port = dynamic_cast<const GPUPort*>(node.element.get());
      if (port == nullptr || !port->config() || port->config()->nic_socket.empty()) continue;
      const auto path = std::filesystem::absolute(port->config()->nic_socket).lexically_normal();
      if (const auto [user, is_first] = users.try_emplace(path, &node); !is_first)
        error(node, "NIC_SOCKET: " + called(*user->second) + " has the NIC there; start one for each port");
    }
  }
  /** One program listens at a path, and a server that knows a memif by its ID has one client for it. */
  void check_sockets() {
    std::map<std::tuple<std::filesystem::path, memif::Role, uint32_t>, const Node*> users;
    for (const Node& node : router_.nodes) {
      const auto* port = dynamic_cast<const GPUPort*>(node.element.get());
      if (port == nullptr || !port->config() || port->config()->is_nic()) continue;
      const memif::PortConfig& config = port->config()->memif;
      const bool listens = config.role == memif::Role::server;
      const auto path = std::filesystem::absolute(config.socket).lexically_normal();
      const auto [user, is_first] = users.try_emplace({path, config.role, listens ? 0 : config.interface.id}, &node);
      if (is_first) continue;
      const std::string other = called(*user->second) + format(" at %s", user->second->where.text().c_str());
      error(node, "SOCKET: " + (listens ? other + " listens there already; give each server a path of its own"
                                        : other + " is the client there with this ID already; give it another ID, or "
                                                  "another path"));
    }
  }
  /** Nobody else may take frames from a soft NIC's device. */
  void check_devices(const std::map<std::string, GPUPort::Config>& configs) {
    std::map<const dpdk::Port*, std::string> users;
    for (const auto& [name, config] : configs) {
      if (config.soft_nic == nullptr) continue;
      const auto& [other, is_first] = users.emplace(config.soft_nic, name);
      const std::string user = !is_first                                                 ? "port " + other->second
                               : config.soft_nic->receives || config.soft_nic->transmits ? "a From- or ToDPDKDevice"
                                                                                         : "";
      for (const Node& node : router_.nodes)
        if (const auto* port = dynamic_cast<const GPUPort*>(node.element.get());
            !user.empty() && port != nullptr && port->port() == name && port->config())
          error(node, "SOFTNIC: " + user + " has this device already; a soft NIC has one of its own");
    }
  }
  static std::string port_of(const Node& node) { return dynamic_cast<const GPUPort&>(*node.element).port(); }

  const Router& router_;
  Plan& plan_;
  click::Diagnostics& diagnostics_;
};

}  // namespace

void place_ports(const Router& router, Plan& plan) {
  const auto on_gpu = [&](int node) { return plan.nodes[static_cast<size_t>(node)].processor.is_gpu(); };
  // The nearest function on a GPU, behind or before, with neutral elements between.
  const auto look = [&](size_t i, auto&& next) {
    for (int at = static_cast<int>(i);;) {
      const std::vector<int>& list = next(router.nodes[static_cast<size_t>(at)]);
      if (list.empty()) return;
      at = list[0];
      if (on_gpu(at)) {
        static_cast<Placement&>(plan.nodes[i]) = plan.nodes[static_cast<size_t>(at)];
        return;
      }
      if (!router.nodes[static_cast<size_t>(at)].element->neutral().has_value()) return;
    }
  };
  for (size_t i = 0; i < router.nodes.size(); ++i) {
    if (is<FromGPUPort>(router.nodes[i]))
      look(
          i, [](const Node& node) -> auto& { return node.targets; });
    if (is<ToGPUPort>(router.nodes[i]))
      look(
          i, [](const Node& node) -> auto& { return node.predecessors; });
  }
}

void find_rings(const Router& router, Plan& plan, click::Diagnostics& diagnostics) {
  if (plan.options.isolate) refuse_isolated(router, diagnostics);
  if (!diagnostics.ok()) return;
  join_ways(router, plan);
  Finder(router, plan, diagnostics).find();
}

}  // namespace heddle::passes
