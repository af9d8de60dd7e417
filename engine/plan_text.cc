// The plan for people and for programs.
#include <nlohmann/json.hpp>

#include "core/chooses.h"
#include "core/error.h"
#include "engine/device_choice.h"
#include "engine/gpu_ports.h"
#include "engine/plan.h"

namespace heddle {
namespace {

std::string bytes_text(Atoms::Size size) {
  if (size.open) return size.bytes > 0 ? format("%d B + the rest of the packet", size.bytes) : "the whole packet";
  return format("%d B", size.bytes);
}

std::string names(ColumnSet set) {
  std::string text;
  each_column(set, [&](Column which) {
    text += (text.empty() ? "" : " ") + std::string(kColumnNames[static_cast<int>(which)]);
  });
  return text;
}

// "a, b"
std::string port_names(const Router& router, const std::vector<int>& nodes) {
  std::string text;
  for (const int node : nodes) text += (text.empty() ? "" : ", ") + port_name(router, node);
  return text;
}

std::string entrance_names(const Router& router, const Segment& segment) {
  std::vector<int> ports;
  for (const Segment::Entrance& from : segment.from) ports.push_back(from.port);
  return port_names(router, ports);
}

std::string choice_of(const Element& element) {
  const auto* chooses = dynamic_cast<const Chooses*>(&element);
  return chooses == nullptr ? "" : chooses->choice();
}

// What a slot carries beside one word a packet.
std::string slot_text(const Segment& segment) {
  std::string text = segment.wide_results ? "64-bit results" : "32-bit results";
  if (segment.word_column)
    text += std::string(", ") + kColumnNames[static_cast<int>(*segment.word_column)] + " in the words";
  if (segment.columns_in != 0) text += ", columns in " + names(segment.columns_in);
  if (segment.columns_out != 0) text += ", columns back " + names(segment.columns_out);
  if (segment.columns_kept != 0) text += ", columns waiting " + names(segment.columns_kept);
  if (segment.prepends + segment.appends > 0)
    text += format(", room for %d B before and %d B behind", segment.prepends, segment.appends);
  return text;
}

// What a packet thread has in flight at a time, at most.
std::string batches_text(const Plan& plan, const Segment& segment) {
  std::string text = segment.limits.batch > 0
                         ? format("of at most %d packets (MAX_BATCH)", segment.limits.batch)
                         : format("of as many packets as --batch says (default %d)", kDefaultBatch);
  const int slots = segment.slots(kDefaultBatch, plan.default_slots());
  if (segment.launch == LaunchMode::sync) return text + format(", one in flight: %d slots a thread", slots);
  if (segment.limits.capacity > 0)
    return text + format(", %d (CAPACITY) in each of %d lists (LISTS_PER_CORE): %d slots a thread",
                         segment.limits.capacity, segment.lists(), slots);
  if (segment.launch == LaunchMode::persistent)
    return text + format("; as many slots over all threads as --slots says (default %d)", slots);
  return text + format(", one in each of %d lists (LISTS_PER_CORE): %d slots a thread", segment.lists(), slots);
}

std::string reason_of(const Element& element, int reason) {
  return element.drop_reasons()[static_cast<size_t>(reason)];
}

// Where packets leave, and by how many bytes the exit says that their start has moved; and how many exits are drops.
std::string exits_text(const Router& router, const Segment& segment) {
  std::string text;
  const auto ways = static_cast<size_t>(segment.drop_exits_from);
  for (size_t i = 0; i < ways; ++i) {
    const LaneExit& exit = segment.exits[i];
    text += (text.empty() ? "to " : ", ") + router.nodes[static_cast<size_t>(exit.target)].element->name;
    if (exit.head != 0) text += format(" (start moved by %+d B)", exit.head);
  }
  if (const size_t drops = segment.exits.size() - ways; drops > 0)
    text += format("%s%zu for drops", text.empty() ? "" : "; ", drops);
  return text;
}

}  // namespace

std::string Plan::text(const Router& router) const {
  std::string text;
  for (size_t s = 0; s < segments.size(); ++s) {
    const Segment& segment = segments[s];
    text += format("segment %zu on %s%s", s, name_of(segment.processor).c_str(),
                   segment.by_load             ? " or cpu, by load"
                   : segment.cpu_after_failure ? ", on cpu after a failure"
                                               : "");
    if (segment.has_rings())
      text += format(" (rings of %s and %s, driven by the GPU)", entrance_names(router, segment).c_str(),
                     port_names(router, segment.to).c_str());
    else if (segment.processor.is_gpu())
      text += format(" (transport %s, launch %s, %d warp%s a tile)", heddle::name(segment.transport),
                     heddle::name(segment.launch), segment.warps, segment.warps == 1 ? "" : "s");
    text += "\n";
    if (segment.processor.is_gpu()) {
      const auto in = atoms.size(segment.in), out = atoms.size(segment.out);
      text += format("  to the gpu  %s%s%s\n", bytes_text(in).c_str(), segment.in ? ": " : "",
                     atoms.text(segment.in).c_str());
      text += format("  back        %s%s%s\n", bytes_text(out).c_str(), segment.out ? ": " : "",
                     atoms.text(segment.out).c_str());
      if (!segment.has_rings()) text += "  slots       " + slot_text(segment) + "\n";
      if (!segment.has_rings()) text += "  batches     " + batches_text(*this, segment) + "\n";
      if (segment.by_load)
        text += format(
            "  by load     the GPU gets packets once a source has given %d or more at a time, %d times in a row: one "
            "with "
            "a smaller BURST leaves them to the CPU\n",
            DeviceChoice::kFullBatch, DeviceChoice::kStreak);
      text += "  exits       " + exits_text(router, segment) + "\n";
      text += format("  transport   %s: %s%s\n", heddle::name(segment.transport), segment.why_transport.c_str(),
                     segment.copies.kept ? "; packets are in GPU memory already, from a segment before" : "");
    }
    if (segment.spread)
      text +=
          "  rings       functions go over whole packets, so several multiprocessors serve a pair (WARP_BATCH changes "
          "that)\n";
    if (segment.routed && segment.to.size() > 1)
      text +=
          "  rings       one multiprocessor serves a pair, and packets for a port whose ring is full, or that has no "
          "peer, are dropped there\n";
    if (segment.split)
      text +=
          "  rings       three kernels serve a pair: one receives, one runs the functions, one transmits (KERNELS "
          "split)\n";
    if (segment.in_order)
      text +=
          "  rings       fewer than 32 packets wait until those before them are done, for functions that want them in "
          "order\n";
    if (segment.processor.is_gpu() && !segment.has_rings() && options.workers)
      text += "  driven by   the last packet thread (--workers): others hand packets over to it, and take them back\n";
    if (segment.latency_us > 0)
      text += format("  latency     packets wait for others while they can be back within %llu us\n",
                     static_cast<unsigned long long>(segment.latency_us));
    for (int i : segment.nodes) {
      const Node& node = router.nodes[static_cast<size_t>(i)];
      const NodePlan& here = nodes[static_cast<size_t>(i)];
      text += format("  %-16s %-18s", node.element->name.c_str(), node.element->class_name.c_str());
      if (here.access.reads) text += " reads " + atoms.text(here.access.reads);
      if (here.access.writes) text += " writes " + atoms.text(here.access.writes);
      if (here.prefetch_for >= 0)
        text += " can prefetch for " + router.nodes[static_cast<size_t>(here.prefetch_for)].element->name;
      if (here.parser >= 0)
        text += " (headers are parsed again first, as by " +
                router.nodes[static_cast<size_t>(here.parser)].element->name + ")";
      if (here.copy_first) text += " (copies shared packets first)";
      for (size_t port = 0; port < node.targets.size(); ++port) {
        const auto target = static_cast<size_t>(node.targets[port]);
        text += format(" %s-> %s", node.targets.size() > 1 ? format("[%zu]", port).c_str() : "",
                       router.nodes[target].element->name.c_str());
      }
      text += "\n";
      if (const std::string choice = choice_of(*node.element); !choice.empty()) text += "    chosen: " + choice + "\n";
    }
  }
  if (options.workers && !has_lanes())
    text += "workers   no segment is fed by packet threads: the last one (--workers) has nothing to drive\n";
  if (options.isolate)
    text +=
        uses_gpu()
            ? "isolated  each function on a GPU is a segment of its own, headers are parsed for each, and no packet "
              "stays in GPU memory for the next one (--isolate)\n"
            : "isolated  no function runs on a GPU: --isolate changes nothing\n";
  for (const Join& join : joins.list) {
    const char* name = router.nodes[static_cast<size_t>(join.node)].element->name.c_str();
    if (join.ordered) text += format("order   packets that meet at '%s' go on in their order of arrival\n", name);
    if (!join.ends.empty()) text += format("order   ends at '%s': %s\n", name, join.ends.c_str());
  }
  return text;
}

std::string Plan::json(const Router& router) const {
  auto moved = [&](AtomSet set) {
    const auto size = atoms.size(set);
    return nlohmann::json{{"bytes", size.bytes}, {"rest_of_packet", size.open}, {"fields", atoms.text(set)}};
  };
  nlohmann::json list = nlohmann::json::array();
  for (const Segment& segment : segments) {
    nlohmann::json entry{{"processor", name_of(segment.processor)}, {"elements", nlohmann::json::array()}};
    if (segment.processor.is_gpu()) {
      entry["transport"] = heddle::name(segment.transport);
      entry["why_transport"] = segment.why_transport;
      entry["shares_packets"] = segment.copies.kept;
      entry["launch"] = segment.has_rings() ? "rings" : heddle::name(segment.launch);
      entry["driven_by"] = segment.has_rings() ? "gpu" : options.workers ? "last packet thread" : "each packet thread";
      if (segment.latency_us > 0) entry["latency_us"] = segment.latency_us;
      entry["warps"] = segment.warps;
      entry["rings_spread"] = segment.spread;
      entry["rings_split"] = segment.split;
      entry["rings_routed"] = segment.routed;
      entry["rings_in_order"] = segment.in_order;
      if (!segment.has_rings()) {
        entry["max_batch"] = segment.limits.batch;
        entry["capacity"] = segment.limits.capacity;
        entry["lists"] = segment.streams();
        entry["slots"] = segment.slots(kDefaultBatch, default_slots());
      }
      entry["by_load"] = segment.by_load;
      entry["cpu_after_failure"] = segment.cpu_after_failure;
      entry["wide_results"] = segment.wide_results;
      entry["word_column"] = segment.word_column ? kColumnNames[static_cast<int>(*segment.word_column)] : "";
      entry["columns_in"] = names(segment.columns_in);
      entry["columns_out"] = names(segment.columns_out);
      entry["columns_kept"] = names(segment.columns_kept);
      entry["prepends"] = segment.prepends;
      entry["appends"] = segment.appends;
      entry["exits"] = nlohmann::json::array();
      for (const LaneExit& exit : segment.exits) {
        const Element& from = *router.nodes[static_cast<size_t>(exit.node)].element;
        nlohmann::json way{{"from", from.name}, {"head", exit.head}};
        if (exit.target >= 0)
          way["to"] = router.nodes[static_cast<size_t>(exit.target)].element->name;
        else
          way["dropped"] = reason_of(from, exit.reason);
        entry["exits"].push_back(std::move(way));
      }
      entry["to_gpu"] = moved(segment.in);
      entry["to_cpu"] = moved(segment.out);
    }
    for (int i : segment.nodes) {
      const Node& node = router.nodes[static_cast<size_t>(i)];
      const NodePlan& here = nodes[static_cast<size_t>(i)];
      nlohmann::json targets = nlohmann::json::array();
      for (int target : node.targets) targets.push_back(router.nodes[static_cast<size_t>(target)].element->name);
      entry["elements"].push_back({{"name", node.element->name},
                                   {"class", node.element->class_name},
                                   {"reads", atoms.text(here.access.reads)},
                                   {"writes", atoms.text(here.access.writes)},
                                   {"copies_shared_packets", here.copy_first},
                                   {"parses_headers_again", here.parser >= 0},
                                   {"chosen", choice_of(*node.element)},
                                   {"outputs", targets}});
    }
    list.push_back(std::move(entry));
  }
  nlohmann::json meet = nlohmann::json::array();
  for (const Join& join : joins.list)
    meet.push_back({{"element", router.nodes[static_cast<size_t>(join.node)].element->name},
                    {"restores_order", join.ordered},
                    {"order_ends", join.ends}});
  return nlohmann::json{{"isolate", options.isolate}, {"segments", list}, {"joins", meet}}.dump(
             2, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

}  // namespace heddle
