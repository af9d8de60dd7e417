#include <algorithm>
#include <charconv>

#include "click/flatten.h"
#include "click/statements.h"

namespace heddle::click {

namespace {

constexpr int kLastPort = 65535;

}  // namespace

/** Declarations and connections: `a, b :: Class(...)`, `a [1] -> [0] b :: Class -> c, d`, `a => b, c`,
 *  `a => ( ... )`. */
void StatementParser::chain() {
  std::vector<Item> left;
  if (!list(left, true)) return recover();
  if (!at_arrow()) declare_names(left);
  for (Item& item : left) resolve(item);
  for (const Item& item : left)
    if (item.in.given) error(item.where, "an input port that nothing is connected to; expected '->' before it");

  while (at_arrow()) {
    const Token arrow = token_;
    next();
    std::vector<Item> right;
    if (!list(right, false)) return recover();
    for (Item& item : right) resolve(item);
    connect(left, right, arrow.is("=>"), arrow.where);
    left = std::move(right);
  }
  for (const Item& item : left)
    if (item.out.given) return unexpected("'->' or '=>' after an output port");
}

bool StatementParser::list(std::vector<Item>& items, bool first) {
  do {
    items.emplace_back();
    if (item(items.back(), first, items.size() == 1)) continue;
    for (Item& declaration : items)
      if (declaration.type) resolve(declaration);  // so that its name is known
    return false;
  } while (accept(","));
  return true;
}

bool StatementParser::item(Item& result, bool first, bool alone) {
  result.where = token_.where;
  if (!ports(result.in)) return false;
  if (token_.is("(")) {
    result.where = token_.where;
    return group(result) && ports(result.out);
  }
  if (pseudo_element(result, first, alone)) return true;

  const Token name = token_;
  result.where = name.where;
  if (is_reserved(name) || (name.kind != Token::kName && !name.is("{"))) {
    unexpected("an element or an element class");
    return false;
  }
  if (name.kind == Token::kName) {
    next();
    if (accept("::")) {
      if (token_.is("(")) {
        if (!group(result) || !ports(result.out)) return false;
        name_group(name, result);
        return true;
      }
      result.name = name.text;
      result.type = type();
      if (!result.type) {
        result.type = ElementClass{result.name};
        return false;
      }
    } else if (token_.is("(")) {
      result.type = require_class(name);
      result.class_name = name.text;
    } else {
      result.name = name.text;
    }
  } else {
    result.type = type();
  }
  result.arguments = configuration();
  return ports(result.out);
}

/** Within a compound element or a group, a connection that begins or ends with an arrow begins at `input` or ends at
 *  `output`; in a list, a port without an element is one of theirs. */
bool StatementParser::pseudo_element(Item& result, bool first, bool alone) {
  const bool element = (token_.kind == Token::kName && !is_reserved(token_)) || token_.is("{") || token_.is("(");
  const bool comma = token_.is(",");
  if ((frames_.size() == 1 && frame().groups.empty()) || element || token_.is("::")) return false;
  if (comma ? !result.in.given : !(result.in.given || alone)) return false;
  if (!comma && first != at_arrow()) return false;
  result.name = first ? "input" : "output";
  if (first) std::swap(result.out, result.in);
  return true;
}

/** `( statements )`, `name :: ( statements )`: an element group. Its elements are those of the body around it; `input`
 *  and `output` are its own. */
bool StatementParser::group(Item& result) {
  const Location open = token_.where;
  const auto add_port = [&] { return add_node({"", ElementClass(), {}, open, Node::kGroupPort}); };
  Group group{add_port(), add_port(), open};
  const size_t first_wire = frame().body->wires.size();
  ++frame().numbered;  // Click numbers elements without names as if a group were three elements
  frame().groups.push_back(group);
  if (++nesting_ > kMaxCompoundDepth) {
    stop(open, "element groups nest more than " + std::to_string(kMaxCompoundDepth) + " deep");
  } else {
    next();
  }
  statements();
  if (!accept(")") && !lexer_.unterminated()) error(open, "unterminated '('; expected ')'");
  --nesting_;
  frame().groups.pop_back();
  frame().closed_groups.push_back(group);

  const std::vector<Wire>& wires = frame().body->wires;
  std::set<int> inputs, outputs;
  for (auto wire = wires.begin() + static_cast<std::ptrdiff_t>(first_wire); wire != wires.end(); ++wire) {
    if (wire->from == group.input) inputs.insert(wire->from_port);
    if (wire->to == group.output) outputs.insert(wire->to_port);
  }
  result.in_node = group.input;
  result.out_node = group.output;
  result.group_inputs.assign(inputs.begin(), inputs.end());
  result.group_outputs.assign(outputs.begin(), outputs.end());
  if (!result.in.given) result.in.list = result.group_inputs;
  result.out.list = result.group_outputs;  // unless ports follow the group
  return !stopped_;
}

/** At the end of a body: a group's ports are 0, 1, ..., and something is connected to each from inside and outside. */
void StatementParser::finish_groups() {
  const Body& body = *frame().body;
  if (frame().closed_groups.empty() || body.broken) return;
  std::map<int, std::set<int>> leaving, entering;  // ports of each node
  for (const Wire& wire : body.wires) {
    leaving[wire.from].insert(wire.from_port);
    entering[wire.to].insert(wire.to_port);
  }
  for (const Group& group : frame().closed_groups) {
    for (const bool input : {true, false}) {
      const std::set<int>& inside = input ? leaving[group.input] : entering[group.output];
      const std::set<int>& outside = input ? entering[group.input] : leaving[group.output];
      const std::string kind = input ? "input" : "output";
      check_sequence(inside, kind, group.where);
      for (const int port : inside)
        if (!outside.contains(port))
          error(group.where,
                kind + " " + std::to_string(port) +
                    " of the element group is not connected; expected a connection of it outside the group");
      for (const int port : outside)
        if (!inside.contains(port))
          error(group.where, "the element group has no " + kind + " " + std::to_string(port) +
                                 "; expected a connection of '" + kind + "' inside it");
    }
  }
}

/** The ports of `input` or `output` in use must be 0, 1, and so on. */
void StatementParser::check_sequence(const std::set<int>& ports, const std::string& kind, const Location& where) {
  int expected = 0;
  for (const int port : ports)
    if (port != expected++)
      return error(where, "'" + kind + "' has port " + std::to_string(port) + " in use but not port " +
                              std::to_string(expected - 1) + "; expected ports in sequence from 0");
}

/** `[1]`, `[0,2-4]`; `[]`, `[1-]` and `[1,]` stand for as many ports as the other side of the connection has. */
bool StatementParser::ports(Ports& result) {
  const Location open = token_.where;
  if (!accept("[")) return true;
  result = {{}, true, false};
  while (!token_.is("]") || result.list.empty()) {
    if (token_.is("]")) {
      result = {{0}, true, true};
      break;
    }
    result.open = false;
    const std::optional<int> low = port();
    if (!low) return false;
    std::optional<int> high = low;
    if (accept("-")) {
      result.open = token_.is("]");
      if (!result.open) high = port();
    }
    if (!high) return false;
    if (*low > *high)
      error(token_.where, "ports from " + std::to_string(*low) + " down to " + std::to_string(*high) +
                              "; expected the lower one first");
    for (int i = *low; i <= *high && port_budget_ > 0; ++i, --port_budget_) result.list.push_back(i);
    if (port_budget_ == 0) stop(token_.where, "more than " + std::to_string(kMaxConnections) + " connections");
    if (!accept(",")) break;
    result.open = true;  // if nothing follows the comma
  }
  if (accept("]")) return true;
  error(open, "unterminated '['; expected ']' before " + token_.description());
  return false;
}

std::optional<int> StatementParser::port() {
  int value = 0;
  const char* const end = token_.text.data() + token_.text.size();
  const auto [stop, failure] = std::from_chars(token_.text.data(), end, value);
  if (token_.kind != Token::kName || failure != std::errc() || stop != end || value > kLastPort) {
    unexpected("a port number from 0 to " + std::to_string(kLastPort));
    return std::nullopt;
  }
  next();
  return value;
}

/** `a, b :: Class(...)` without a connection declares every name. */
void StatementParser::declare_names(std::vector<Item>& items) {
  const Item* declaration = nullptr;
  for (auto item = items.rbegin(); item != items.rend(); ++item) {
    if (item->type) {
      declaration = &*item;
    } else if (declaration != nullptr && !declaration->name.empty() && item->in_node == kUnresolved) {
      item->type = declaration->type;
      item->arguments = declaration->arguments;
    }
  }
}

/** Click's rules: one to many, many to one, or with "=>" as many to as many. A side that stands for any number of ports
 *  (`[1-]`, or with "=>" a single element without ports) gets as many as the other side has. */
void StatementParser::connect(const std::vector<Item>& left, const std::vector<Item>& right, bool pairwise,
                              const Location& where) {
  Side from = side(left, true), to = side(right, false);
  if (from.open + to.open > 1) return error(where, "expected only one of '[...-]' or '[]' in a connection");
  if (pairwise && from.bare && to.ends.size() > 1) from.open = 1;
  if (pairwise && to.bare && from.ends.size() > 1) to.open = 1;
  const bool many = (from.open > 0 || from.ends.size() > 1) && (to.open > 0 || to.ends.size() > 1);
  from.fill(to.ends.size());
  to.fill(from.ends.size());
  const std::string counts =
      std::to_string(from.ends.size()) + " outputs to " + std::to_string(to.ends.size()) + " inputs";
  if (many && !pairwise)
    return error(where, "'->' connects " + counts + "; expected one of either, or '=>' to connect them in pairs");
  if (many && from.ends.size() != to.ends.size())
    return error(where, "'=>' connects " + counts + "; expected as many of one as of the other");

  Body& body = *frame().body;
  for (size_t i = 0; i < std::max(from.ends.size(), to.ends.size()); ++i) {
    const End& a = from.ends[from.ends.size() == 1 ? 0 : i];
    const End& b = to.ends[to.ends.size() == 1 ? 0 : i];
    if (a.node == kNowhere) return error(where, "'output' has no outputs; expected '-> output'");
    if (b.node == kNowhere) return error(where, "'input' has no inputs; expected 'input ->'");
    if (a.node == kInput) {
      body.inputs.insert(a.port);
    } else {
      Node& node = body.nodes[static_cast<size_t>(a.node)];
      node.outputs = std::max(node.outputs, a.port + 1);
    }
    if (b.node == kOutput) {
      body.outputs.insert(b.port);
    } else {
      Node& node = body.nodes[static_cast<size_t>(b.node)];
      node.inputs = std::max(node.inputs, b.port + 1);
    }
    body.wires.push_back({a.node, a.port, b.node, b.port, where});
  }
}

/** The ports that the items contribute to a connection. */
StatementParser::Side StatementParser::side(const std::vector<Item>& items, bool outputs) {
  Side result;
  for (const Item& item : items) {
    const Ports& ports = outputs ? item.out : item.in;
    const int node = outputs ? item.out_node : item.in_node;
    for (const int port : ports.list) result.ends.push_back({node, port});
    if (ports.list.empty()) result.ends.push_back({node, 0});
    result.bare = items.size() == 1 && ports.list.empty();
    if (ports.open) ++result.open;
    if (ports.open || result.bare) result.last = result.ends.size() - 1;
  }
  return result;
}

void StatementParser::Side::fill(size_t size) {
  if (open == 0 || ends.size() >= size) return;
  std::vector<End> more;
  for (int port = ends[last].port + 1; ends.size() + more.size() < size; ++port)
    more.push_back({ends[last].node, port});
  ends.insert(ends.begin() + static_cast<std::ptrdiff_t>(last) + 1, more.begin(), more.end());
}

}  // namespace heddle::click
