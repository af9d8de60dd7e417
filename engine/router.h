#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "click/diagnostics.h"
#include "click/graph.h"
#include "click/parser.h"
#include "core/element.h"
#include "engine/modes.h"
#include "engine/processing.h"

namespace heddle {

constexpr int kOnCpu = -1, kDefaultGpu = -2;

/** How often packet threads run a task: handlers of its element set it. */
struct TaskShare {
  static constexpr int kUsualTickets = 1024, kMaxTickets = 1 << 15;  ///< Click's
  static constexpr uint32_t kAlways = 1 << 16;
  std::atomic<uint32_t> rounds{kAlways};  ///< of 65536 rounds of its thread, in so many it runs; 0: not scheduled

  // Handlers only.
  bool scheduled = true;
  int tickets = kUsualTickets;
};

/** One element of a chain and where its packets go. */
struct Node {
  std::unique_ptr<Element> element;
  click::Location where;
  std::vector<int> targets;               ///< node behind each output port, then further ones that pull from one
  std::vector<int> predecessors;          ///< nodes that lead here, each once
  std::vector<int> pulls_from;            ///< by input: the node before it, or the last of several
  std::vector<int> pulls_from_port;       ///< by input: the output there
  std::vector<int> more_pull;             ///< by target behind those of the output ports: the port that it pulls from
  std::optional<int> device;              ///< from the argument DEVICE: kOnCpu, kDefaultGpu, or the number of a GPU
  bool by_load = false;                   ///< DEVICE auto: kDefaultGpu or the CPU
  std::optional<bool> cpu_after_failure;  ///< from ON_GPU_ERROR
  std::optional<Transport> transport;     ///< from TRANSPORT
  bool gets_lists = false;                ///< TRANSPORT commlist was asked for
  std::optional<LaunchMode> launch;       ///< from LAUNCH
  LaunchLimits limits;                    ///< from MAX_BATCH, CAPACITY, LISTS_PER_CORE
  uint64_t latency_us = 0;                ///< from LATENCY; 0: none
  bool blocking = true;                   ///< from BLOCKING: wait for a free slot, or drop and count
  bool on_cycle = false;                  ///< a buffer whose packets may come back to it
  bool pulled = false;                    ///< packets come to it because something behind it (or itself) pulls
  PortKinds kinds;                        ///< of its ports, resolved
  std::string config;                     ///< its arguments, as text
  std::string own_config;                 ///< those that are not about where and how it runs (DEVICE, LAUNCH, ...)
  std::shared_ptr<TaskShare> share = std::make_shared<TaskShare>();  ///< of the tasks that it drives

  /** Whether packets that come from `before`, a node of the router, may leave for the `target`-th of the targets. */
  bool leads_from(int before, size_t target) const {
    const size_t ports = targets.size() - more_pull.size();
    const int output = target < ports ? static_cast<int>(target) : more_pull[target - ports];
    if (!element->tells_inputs()) return element->inputs > 1 || element->leads(0, output);
    for (size_t input = 0; input < pulls_from.size(); ++input)
      if (pulls_from[input] == before && element->leads(static_cast<int>(input), output)) return true;
    return false;
  }

  /** The element, if it is where packets come from: a source, or a buffer. Else null. */
  Source* source() const {
    auto* const found = dynamic_cast<Source*>(element.get());
    return found == nullptr || found->passes() ? nullptr : found;
  }
  /** A source with inputs: packets wait in it. */
  bool is_buffer() const { return element->inputs > 0 && source() != nullptr; }
};

/** Where pulled packets come from: a source, or a PullScheduler with several inputs. */
struct PullPoint {
  struct Limit {
    int node, way;  // as of Element::lets_through()
  };
  /** Packets leave `node` by output `port` for `target`, one of several that pull there, by number `way` of all that
   *  are behind it (Node::targets). */
  struct Fork {
    int node, port, target, way;
  };
  int node;
  int target;                     ///< of a source: where its packets go
  std::vector<Limit> limits;      ///< nodes between it and what pulls that may let fewer through
  std::vector<Fork> forks;        ///< of a source: where its packets part from those that others pull
  std::vector<PullPoint> inputs;  ///< of a scheduler, by input
};

/** What packet threads do over and over: take packets from a source and run them from `target` on. */
struct Task {
  int source;  ///< if it pulls from several, the first
  int target;
  int driver;           ///< the node that pulls, or -1: the source pushes
  PullPoint pull = {};  ///< what it pulls from
};

/** How the names of elements begin that the command line adds to a chain. */
constexpr const char* kDriverPrefix = "click_driver@@";

/** The class of the nodes that the engine puts before each input of an element that tells its inputs
 *  (core/element.h). */
constexpr const char* kInputMark = "Input@";

/** What chains may refer to: the element classes of this program. */
click::ParseOptions language();

/** A chain that has been read, resolved and checked: the first pass of the plan. */
struct Router {
  std::vector<Node> nodes;  ///< topologically sorted: packets only go to higher indices, or into a buffer
  std::vector<Task> tasks;
  click::Graph graph;  ///< what it has been made from
  std::string text;    ///< that as written, if whoever built it has set it

  /** Makes and configures the elements of `graph` and checks ports and cycles. Every mistake goes to `diagnostics`; the
   *  result is usable only if there is none. */
  static Router build(const click::Graph& graph, click::Diagnostics& diagnostics);
  int find(std::string_view name) const;  ///< -1 = none
  /** What `name` means to the element called `context`. */
  std::vector<Element*> named(std::string_view name, std::string_view context) const;
};

}  // namespace heddle
