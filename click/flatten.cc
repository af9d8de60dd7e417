#include "click/flatten.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "click/quoting.h"
#include "click/variables.h"

namespace heddle::click {

namespace {

constexpr size_t kLongestName = 1024;
constexpr long kMaxHops = 10'000'000;
constexpr size_t kMaxDefinitions = 256;  // of one class that are tried
constexpr size_t kMaxCandidates = 8;     // of them that a message names

/** One more than the highest port. */
int count_ports(const std::set<int>& ports) { return ports.empty() ? 0 : *ports.rbegin() + 1; }

std::string counted(int n, const std::string& what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); }

/** What a definition takes: "($a, KEYWORD $b) with 1 input and 2 outputs". */
std::string signature(const Body& body) {
  std::string parameters;
  for (const Parameter& parameter : body.parameters) {
    parameters += parameters.empty() ? "" : ", ";
    parameters += (parameter.keyword.empty() ? "" : parameter.keyword + " ") + "$" + parameter.variable;
  }
  return "(" + parameters + ") with " + counted(count_ports(body.inputs), "input") + " and " +
         counted(count_ports(body.outputs), "output");
}

/** Whether the definition has the node's ports and takes its arguments. */
bool fits(const Node& node, const Body& body, const std::vector<Argument>& arguments) {
  if (count_ports(body.inputs) != node.inputs || count_ports(body.outputs) != node.outputs) return false;
  size_t positional = 0, keywords = 0;
  bool rest = false;
  for (const Parameter& parameter : body.parameters) {
    const auto has_keyword = [&](const Argument& a) { return leading_keyword(a.text) == parameter.keyword; };
    if (parameter.keyword.empty()) {
      ++positional;
    } else if (parameter.keyword == "__REST__") {
      rest = true;
    } else if (std::any_of(arguments.begin(), arguments.end(), has_keyword)) {
      ++keywords;
    } else {
      return false;
    }
  }
  const size_t wanted = positional + keywords;
  return rest ? arguments.size() >= wanted : arguments.size() == wanted;
}

/** Expansion gives every element a point, and every compound element one for its `input` and one for its `output`.
 *  Wires join ports of points; splice() then joins the elements directly. */
class Flattener {
 public:
  Flattener(const ParseOptions& options, Diagnostics& diagnostics)
      : options_(options), diagnostics_(diagnostics), substitution_(diagnostics) {}

  Graph flatten(const Program& program) {
    Scope top;
    for (const auto& [name, value] : options_.variables) top.variables[name] = {value, {}, Variable::kReady};
    expand(program.bodies.front(), top, "", 0, 0, 0);
    splice();
    return std::move(graph_);
  }

 private:
  struct Points {
    int input, output;           // the same for a plain element
    const Body* body = nullptr;  // of a compound element
  };

  int add_point(int element) {
    element_of_point_.push_back(element);
    return static_cast<int>(element_of_point_.size()) - 1;
  }

  /** Where the text was written that the user sees. */
  Location place(const Location& where) const { return where.file == kPrelude ? use_ : where; }

  bool stopped() const { return stopped_ || diagnostics_.full(); }

  void stop(const Location& where, const std::string& message) {
    if (!stopped_) diagnostics_.error(where, message);
    stopped_ = true;
  }

  void expand(const Body& body, Scope& scope, const std::string& prefix, int nesting, int input, int output);
  Points add(const Node& node, Scope& scope, const std::string& prefix, int nesting);
  ElementClass choose(const Node& node, const std::string& label, const std::vector<Argument>& arguments);
  void bind(const Body& body, const std::string& label, std::vector<Argument> arguments, Scope& inner);
  void check_port(const Node& node, const Body* body, const std::string& prefix, int port, bool input,
                  const Location& where);
  void splice();

  const ParseOptions& options_;
  Diagnostics& diagnostics_;
  Substitution substitution_;
  Graph graph_;
  Location use_;  // of what is being expanded and does not stand in the prelude
  bool stopped_ = false;
  int instances_ = 0;
  std::unordered_map<std::string, Location> names_;
  std::vector<int> element_of_point_;  // -1 for the input and output of compound elements
  std::vector<Connection> wires_;      // between points
};

void Flattener::expand(const Body& body, Scope& scope, const std::string& prefix, int nesting, int input, int output) {
  for (const Definition& definition : body.definitions) {
    substitution_.charge(definition.value.text.size() + sizeof(Variable));
    // Only the command line can be there already: the parser has reported every other repetition.
    scope.variables.try_emplace(definition.variable,
                                Variable{definition.value.text, definition.value.where, Variable::kWritten});
  }
  std::vector<Points> points;
  for (const Node& node : body.nodes) {
    if (stopped()) return;
    points.push_back(add(node, scope, prefix, nesting));
  }
  for (const Wire& wire : body.wires) {
    if (stopped()) return;
    if (static_cast<int>(wires_.size()) >= kMaxConnections)
      return stop(wire.where, "more than " + std::to_string(kMaxConnections) + " connections");
    if (wire.from != kInput)
      check_port(body.nodes[wire.from], points[wire.from].body, prefix, wire.from_port, false, place(wire.where));
    if (wire.to != kOutput)
      check_port(body.nodes[wire.to], points[wire.to].body, prefix, wire.to_port, true, place(wire.where));
    const int from = wire.from == kInput ? input : points[wire.from].output;
    const int to = wire.to == kOutput ? output : points[wire.to].input;
    wires_.push_back({from, wire.from_port, to, wire.to_port, place(wire.where)});
  }
}

Flattener::Points Flattener::add(const Node& node, Scope& scope, const std::string& prefix, int nesting) {
  if (node.state == Node::kGroupPort) {
    const int point = add_point(-1);
    return {point, point};
  }
  const std::string name = prefix + node.name;
  const std::string label = element_label(node.type.name, name);
  const Location outer = std::exchange(use_, place(node.where)), where = use_;
  if (++instances_ > kMaxElements) stop(where, "more than " + std::to_string(kMaxElements) + " elements");
  if (name.size() > kLongestName)
    stop(where, label + ": a name of more than " + std::to_string(kLongestName) + " characters");
  const auto [earlier, is_new] = names_.try_emplace(name, where);
  if (!is_new) {
    diagnostics_.error(where, "element " + in_quotes(name) + " is already declared at " + earlier->second.text());
  }
  const bool undefined_stay = keeps_variables(node.type.name);
  std::vector<Argument> arguments = substitution_.arguments(node.arguments, scope, label, undefined_stay);
  if (substitution_.exhausted()) stop(where, label + ": the configuration is too long after substitution");

  for (Argument& argument : arguments) argument.where = place(argument.where);
  const ElementClass type = choose(node, label, arguments);
  const Body* body = type.body;
  if (body == nullptr) {
    const int element = static_cast<int>(graph_.elements.size());
    graph_.elements.push_back({name, type.name, std::move(arguments), where});
    const int point = add_point(element);
    use_ = outer;
    return {point, point};
  }
  const Points points = {add_point(-1), add_point(-1), body};
  if (nesting >= kMaxCompoundDepth)
    stop(where, label + ": compound elements nest more than " + std::to_string(kMaxCompoundDepth) + " deep");
  if (stopped()) return points;

  Scope inner;
  inner.depth = body->depth;
  inner.parent = &scope;
  while (inner.parent->depth >= body->depth) inner.parent = inner.parent->parent;  // where the class was written
  bind(*body, label, std::move(arguments), inner);
  expand(*body, inner, name + "/", nesting + 1, points.input, points.output);
  use_ = outer;
  return points;
}

/** Of the definitions of a compound element, the first with exactly the ports in use that takes the arguments; of a
 *  single one, that one, for its mistakes are easier to name. */
ElementClass Flattener::choose(const Node& node, const std::string& label, const std::vector<Argument>& arguments) {
  const ElementClass* type = &node.type;
  if (type->body == nullptr || !type->body->otherwise) return *type;
  std::string candidates;
  for (size_t tried = 0; tried < kMaxDefinitions; ++tried) {
    const Body* body = type->body;
    if (body == nullptr || body->broken || fits(node, *body, arguments)) return *type;
    if (tried < kMaxCandidates) candidates += (tried == 0 ? "" : ", or ") + signature(*body);
    if (!body->otherwise) break;
    type = &*body->otherwise;
  }
  diagnostics_.error(use_, label + ": no definition takes " + counted(static_cast<int>(arguments.size()), "argument") +
                               ", " + counted(node.inputs, "input") + " and " + counted(node.outputs, "output") +
                               "; expected " + candidates);
  return {node.type.name, nullptr};
}

void Flattener::bind(const Body& body, const std::string& label, std::vector<Argument> arguments, Scope& inner) {
  const auto set = [&](const Parameter& parameter, const std::string& value, const Location& where) {
    inner.variables[parameter.variable] = {value, where, Variable::kReady};
  };
  const auto missing = [&](const Parameter& parameter) {
    const std::string what = parameter.keyword.empty() ? "" : parameter.keyword + " ";
    if (!body.broken)
      diagnostics_.error(use_, label + ": missing argument " + in_quotes(what + "$" + parameter.variable));
    set(parameter, "", use_);
  };
  const auto take = [&](const Parameter& parameter, size_t index) {
    const std::string_view value = std::string_view(arguments[index].text).substr(parameter.keyword.size());
    set(parameter, std::string(trim(value)), arguments[index].where);
    arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(index));
  };

  for (const Parameter& parameter : body.parameters) {
    if (parameter.keyword.empty() || parameter.keyword == "__REST__") continue;
    size_t index = 0;
    while (index < arguments.size() && leading_keyword(arguments[index].text) != parameter.keyword) ++index;
    index < arguments.size() ? take(parameter, index) : missing(parameter);
  }
  for (const Parameter& parameter : body.parameters) {
    if (parameter.keyword.empty()) arguments.empty() ? missing(parameter) : take(parameter, 0);
    if (parameter.keyword != "__REST__") continue;
    std::string rest;
    for (const Argument& argument : std::exchange(arguments, {})) rest += (rest.empty() ? "" : ", ") + argument.text;
    set(parameter, rest, use_);
  }
  if (arguments.empty() || body.broken) return;
  diagnostics_.error(arguments.front().where, label + ": " + in_quotes(arguments.front().text) +
                                                  " is one argument too many; expected " +
                                                  std::to_string(body.parameters.size()));
}

void Flattener::check_port(const Node& node, const Body* body, const std::string& prefix, int port, bool input,
                           const Location& where) {
  if (body == nullptr || body->broken || (input ? body->inputs : body->outputs).contains(port)) return;
  const std::string kind = input ? "input" : "output";
  diagnostics_.error(where, element_label(node.type.name, prefix + node.name) + " has no " + kind + " " +
                                std::to_string(port) + "; expected a connection of '" + kind + "' inside it");
}

void Flattener::splice() {
  if (stopped()) return;
  using Pin = std::pair<int, int>;  // point and port
  std::map<Pin, std::vector<Pin>> beyond;
  for (const Connection& wire : wires_)
    if (element_of_point_[wire.from] < 0) beyond[{wire.from, wire.from_port}].push_back({wire.to, wire.to_port});

  long hops = 0;
  for (const Connection& wire : wires_) {
    const int from = element_of_point_[wire.from];
    if (from < 0) continue;
    std::set<Pin> visited;
    std::vector<Pin> pending = {{wire.to, wire.to_port}};
    while (!pending.empty() && !stopped()) {
      const Pin pin = pending.back();
      pending.pop_back();
      if (++hops > kMaxHops || static_cast<int>(graph_.connections.size()) > kMaxConnections)
        return stop(wire.where,
                    "more than " + std::to_string(kMaxConnections) + " connections through 'input' and 'output'");
      const int to = element_of_point_[pin.first];
      if (to >= 0) {
        graph_.connections.push_back({from, wire.from_port, to, pin.second, wire.where});
      } else if (visited.insert(pin).second) {
        const auto next = beyond.find(pin);
        if (next != beyond.end()) pending.insert(pending.end(), next->second.rbegin(), next->second.rend());
      }
    }
  }

  const auto key = [](const Connection& c) { return std::tie(c.from, c.from_port, c.to, c.to_port); };
  std::vector<Connection>& all = graph_.connections;
  std::stable_sort(all.begin(), all.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  all.erase(std::unique(all.begin(), all.end(), [&](const auto& a, const auto& b) { return key(a) == key(b); }),
            all.end());
}

}  // namespace

Graph flatten(const Program& program, const ParseOptions& options, Diagnostics& diagnostics) {
  return Flattener(options, diagnostics).flatten(program);
}

}  // namespace heddle::click
