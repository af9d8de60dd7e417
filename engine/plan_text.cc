// The plan for people and for programs.
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "engine/plan.h"

namespace heddle {
namespace {

std::string bytes_text(Atoms::Size size) {
  if (size.open) return size.bytes > 0 ? format("%d B + the rest of the packet", size.bytes) : "the whole packet";
  return format("%d B", size.bytes);
}

std::string where(const Plan& plan, Processor processor) {
  if (processor == Processor::cpu) return "cpu";
  return plan.options.device == "cpu" || plan.options.device == "gpu" ? "gpu0" : plan.options.device;
}

}  // namespace

std::string Plan::text(const Router& router) const {
  std::string text;
  for (size_t s = 0; s < segments.size(); ++s) {
    const Segment& segment = segments[s];
    text += format("segment %zu on %s", s, where(*this, segment.processor).c_str());
    if (segment.processor == Processor::gpu)
      text += format(" (transport direct, launch %s)", heddle::name(options.launch));
    text += "\n";
    if (segment.processor == Processor::gpu) {
      const auto in = atoms.size(segment.in), out = atoms.size(segment.out);
      text += format("  to the gpu  %s%s%s\n", bytes_text(in).c_str(), segment.in ? ": " : "",
                     atoms.text(segment.in).c_str());
      text += format("  back        %s%s%s\n", bytes_text(out).c_str(), segment.out ? ": " : "",
                     atoms.text(segment.out).c_str());
    }
    for (int i : segment.nodes) {
      const Node& node = router.nodes[static_cast<size_t>(i)];
      const NodePlan& here = nodes[static_cast<size_t>(i)];
      text += format("  %-16s %-18s", node.element->name.c_str(), node.element->class_name.c_str());
      if (here.access.reads) text += " reads " + atoms.text(here.access.reads);
      if (here.access.writes) text += " writes " + atoms.text(here.access.writes);
      if (here.prefetch_for >= 0)
        text += " prefetches for " + router.nodes[static_cast<size_t>(here.prefetch_for)].element->name;
      if (here.copy_first) text += " (copies shared packets first)";
      for (size_t port = 0; port < node.targets.size(); ++port) {
        const auto target = static_cast<size_t>(node.targets[port]);
        text += format(" %s-> %s", node.targets.size() > 1 ? format("[%zu]", port).c_str() : "",
                       router.nodes[target].element->name.c_str());
      }
      text += "\n";
    }
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
    nlohmann::json entry{{"processor", where(*this, segment.processor)}, {"elements", nlohmann::json::array()}};
    if (segment.processor == Processor::gpu) {
      entry["transport"] = "direct";
      entry["launch"] = heddle::name(options.launch);
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
                                   {"outputs", targets}});
    }
    list.push_back(std::move(entry));
  }
  return nlohmann::json{{"segments", list}}.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace heddle
