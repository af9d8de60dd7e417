#include "engine/processing.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string_view>

#include "core/error.h"

namespace heddle {
namespace {

PortKind kind_of(char letter) {
  return letter == 'h' ? PortKind::push : letter == 'l' ? PortKind::pull : PortKind::agnostic;
}

// "ah": a letter a port, the last one for the rest.
std::vector<PortKind> one_side(std::string_view letters, int ports) {
  std::vector<PortKind> kinds;
  for (size_t port = 0; port < static_cast<size_t>(ports); ++port)
    kinds.push_back(letters.empty() ? PortKind::agnostic : kind_of(letters[std::min(port, letters.size() - 1)]));
  return kinds;
}

PortKinds declared(const Element& element) {
  const std::string_view letters = element.processing();
  const size_t slash = letters.find('/');
  return {one_side(letters.substr(0, slash), element.inputs), one_side(letters.substr(slash + 1), element.outputs)};
}

const char* word(PortKind kind) { return kind == PortKind::push ? "push" : "pull"; }

/** A port of an element. */
struct Port {
  bool output;
  int number;
  PortKind& kind(PortKinds& kinds) const {
    return (output ? kinds.outputs : kinds.inputs)[static_cast<size_t>(number)];
  }
};

// The agnostic ports of an element that are all of one kind: those between which packets pass.
std::vector<std::vector<Port>> alike(const Element& element) {
  if (std::string_view(element.processing()).find('x') != std::string_view::npos) return {};
  PortKinds own = declared(element);
  std::vector<Port> open;
  for (const bool output : {false, true})
    for (int number = 0; number < (output ? element.outputs : element.inputs); ++number)
      if (Port port{output, number}; port.kind(own) == PortKind::agnostic) open.push_back(port);
  const bool one_side = element.inputs == 0 || element.outputs == 0;
  const auto linked = [&](const Port& a, const Port& b) {
    return one_side ||
           (a.output != b.output && (a.output ? element.leads(b.number, a.number) : element.leads(a.number, b.number)));
  };
  std::vector<std::vector<Port>> groups;
  while (!open.empty()) {
    std::vector<Port>& group = groups.emplace_back(1, open.front());
    open.erase(open.begin());
    for (size_t i = 0; i < group.size(); ++i) {
      const Port at = group[i];
      std::erase_if(open, [&](const Port& other) {
        if (!linked(at, other)) return false;
        group.push_back(other);
        return true;
      });
    }
  }
  return groups;
}

// Gives the agnostic ports of one element the kind that some of them have got.
void spread(const Element& element, PortKinds& kinds) {
  for (const auto& group : alike(element)) {
    PortKind found = PortKind::agnostic;
    for (const Port& port : group)
      if (port.kind(kinds) != PortKind::agnostic) found = port.kind(kinds);
    for (const Port& port : group)
      if (port.kind(kinds) == PortKind::agnostic) port.kind(kinds) = found;
  }
}

// Agnostic ports between which packets pass are of one kind.
void check_agnostic(const click::ElementDeclaration& declaration, const Element& element, PortKinds& kinds,
                    click::Diagnostics& diagnostics) {
  for (const auto& group : alike(element)) {
    std::string push, pull;
    for (const Port& port : group) {
      std::string& first = port.kind(kinds) == PortKind::push ? push : pull;
      if (first.empty()) first = format("%s %d", port.output ? "output" : "input", port.number);
    }
    if (push.empty() || pull.empty()) continue;
    diagnostics.error(declaration.where, format("'%s' is pushed at %s and pulled at %s; put %s before it or behind it",
                                                declaration.name.c_str(), push.c_str(), pull.c_str(),
                                                push.starts_with("input") ? "a Queue" : "an Unqueue"));
  }
}

}  // namespace

std::vector<PortKinds> resolve_ports(const click::Graph& graph, const std::vector<Element*>& elements,
                                     click::Diagnostics& diagnostics) {
  std::vector<PortKinds> kinds(elements.size());
  for (size_t i = 0; i < elements.size(); ++i)
    if (elements[i] != nullptr) kinds[i] = declared(*elements[i]);
  const auto ends = [&](const click::Connection& c) {
    auto& from = kinds[static_cast<size_t>(c.from)].outputs;
    auto& to = kinds[static_cast<size_t>(c.to)].inputs;
    const auto from_port = static_cast<size_t>(c.from_port), to_port = static_cast<size_t>(c.to_port);
    const bool exist = from_port < from.size() && to_port < to.size();  // else reported with the numbers of ports
    return std::pair(exist ? &from[from_port] : nullptr, exist ? &to[to_port] : nullptr);
  };
  std::vector<std::vector<const click::Connection*>> connections(elements.size());
  for (const auto& c : graph.connections)
    for (const int end : {c.from, c.to}) connections[static_cast<size_t>(end)].push_back(&c);
  // What `news`, elements with ports whose kinds are new, tell their neighbours, these theirs, and so on, all at the
  // same pace.
  const auto settle = [&](std::vector<size_t> news) {
    for (std::vector<size_t> told; !news.empty(); news.swap(told)) {
      told.clear();
      for (const size_t i : news)
        for (const click::Connection* c : connections[i]) {
          const auto [from, to] = ends(*c);
          if (from == nullptr || (*from == PortKind::agnostic) == (*to == PortKind::agnostic)) continue;
          const bool forwards = *to == PortKind::agnostic;
          (forwards ? *to : *from) = forwards ? *from : *to;
          told.push_back(static_cast<size_t>(forwards ? c->to : c->from));
        }
      for (const size_t i : told)
        if (elements[i] != nullptr) spread(*elements[i], kinds[i]);
    }
  };
  std::vector<size_t> all(elements.size());
  std::iota(all.begin(), all.end(), 0);
  settle(all);
  // Nothing decides the rest: push, from the first open port on.
  for (const size_t i : all) {
    for (auto* side : {&kinds[i].outputs, &kinds[i].inputs})
      for (PortKind& kind : *side)
        if (kind == PortKind::agnostic) kind = PortKind::push;
    settle({i});
  }
  for (size_t i = 0; i < elements.size(); ++i)
    if (elements[i] != nullptr) check_agnostic(graph.elements[i], *elements[i], kinds[i], diagnostics);
  std::set<std::pair<int, int>> pushed, pulled;
  for (const auto& c : graph.connections) {
    const auto [from, to] = ends(c);
    if (from == nullptr) continue;
    const std::string a = graph.elements[static_cast<size_t>(c.from)].name;
    const std::string b = graph.elements[static_cast<size_t>(c.to)].name;
    if (*from != *to) {
      diagnostics.error(c.where, format("'%s' %s output %d is connected to '%s' %s input %d; put %s between", a.c_str(),
                                        word(*from), c.from_port, b.c_str(), word(*to), c.to_port,
                                        *from == PortKind::push ? "a Queue" : "an Unqueue"));
    } else if (*from == PortKind::push && !pushed.emplace(c.from, c.from_port).second) {
      diagnostics.error(
          c.where, format("output %d of '%s' is connected twice; use Tee to copy packets", c.from_port, a.c_str()));
    } else if (*from == PortKind::pull && !pulled.emplace(c.to, c.to_port).second) {
      diagnostics.error(
          c.where, format("input %d of '%s' pulls from two places; it can pull from one only", c.to_port, b.c_str()));
    }
  }
  return kinds;
}

}  // namespace heddle
