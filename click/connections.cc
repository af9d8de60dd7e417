#include <algorithm>
#include <charconv>

#include "click/flatten.h"
#include "click/statements.h"

namespace heddle::click {

namespace {

constexpr int kLastPort = 65535;

}  // namespace

/** Declarations and connections: `a, b :: Class(...)`, `a [1] -> [0] b :: Class -> c, d`, `a => b, c`. */
void StatementParser::chain() {
  std::vector<Item> left;
  if (!list(left, true)) return recover();
  if (!at_arrow()) declare_names(left);
  for (Item& item : left) resolve(item);
  for (const Item& item : left)
    if (!item.in_ports.empty())
      error(item.where, "an input port that nothing is connected to; expected '->' before it");

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
    if (!item.out_ports.empty()) return unexpected("'->' or '=>' after an output port");
}

bool StatementParser::list(std::vector<Item>& items, bool first) {
  do {
    items.emplace_back();
    if (item(items.back(), first)) continue;
    for (Item& declaration : items)
      if (declaration.type) resolve(declaration);  // so that its name is known
    return false;
  } while (accept(","));
  return true;
}

bool StatementParser::item(Item& result, bool first) {
  result.where = token_.where;
  if (!ports(result.in_ports)) return false;
  if (token_.is("(")) {
    error(token_.where, "element groups '( ... )' are not supported yet; expected a compound element '{ ... }'");
    return false;
  }
  if (pseudo_element(result, first)) return true;

  const Token name = token_;
  result.where = name.where;
  if (is_reserved(name) || (name.kind != Token::kName && !name.is("{"))) {
    unexpected("an element or an element class");
    return false;
  }
  if (name.kind == Token::kName) {
    next();
    if (accept("::")) {
      result.name = name.text;
      result.type = type();
      if (!result.type) {
        result.type = ElementClass{result.name};
        return false;
      }
    } else if (token_.is("(")) {
      result.type = require_class(name);
    } else {
      result.name = name.text;
    }
  } else {
    result.type = type();
  }
  result.arguments = configuration();
  return ports(result.out_ports);
}

/** Within a compound element, a connection that begins or ends with an arrow begins at `input` or ends at `output`. */
bool StatementParser::pseudo_element(Item& result, bool first) {
  const bool at_end = token_.is(";") || token_.is("}") || token_.is("||");
  if (frames_.size() == 1 || !(first ? at_arrow() : at_end)) return false;
  result.name = first ? "input" : "output";
  if (first) result.out_ports.swap(result.in_ports);
  return true;
}

bool StatementParser::ports(std::vector<int>& result) {
  const Location open = token_.where;
  if (!accept("[")) return true;
  do {
    const std::optional<int> low = port();
    if (!low) return false;
    const std::optional<int> high = accept("-") ? port() : low;
    if (!high) return false;
    if (*low > *high)
      error(token_.where, "ports from " + std::to_string(*low) + " down to " + std::to_string(*high) +
                              "; expected the lower one first");
    for (int i = *low; i <= *high && port_budget_ > 0; ++i, --port_budget_) result.push_back(i);
    if (port_budget_ == 0) stop(token_.where, "more than " + std::to_string(kMaxConnections) + " connections");
  } while (accept(","));
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
    } else if (declaration != nullptr && !declaration->name.empty()) {
      item->type = declaration->type;
      item->arguments = declaration->arguments;
    }
  }
}

void StatementParser::connect(const std::vector<Item>& left, const std::vector<Item>& right, bool pairwise,
                              const Location& where) {
  std::vector<End> from = ends(left, true, 1), to = ends(right, false, 1);
  if (pairwise) {
    const size_t sources = from.size();
    from = ends(left, true, to.size());
    to = ends(right, false, sources);
  }
  const std::string counts = std::to_string(from.size()) + " outputs to " + std::to_string(to.size()) + " inputs";
  if (pairwise && from.size() != to.size())
    return error(where, "'=>' connects " + counts + "; expected as many of one as of the other");
  if (!pairwise && from.size() != 1 && to.size() != 1)
    return error(where, "'->' connects " + counts + "; expected one of either, or '=>' to connect them in pairs");

  Body& body = *frame().body;
  for (size_t i = 0; i < std::max(from.size(), to.size()); ++i) {
    const End& a = from[from.size() == 1 ? 0 : i];
    const End& b = to[to.size() == 1 ? 0 : i];
    if (a.node == kOutput) return error(where, "'output' has no outputs; expected '-> output'");
    if (b.node == kInput) return error(where, "'input' has no inputs; expected 'input ->'");
    if (a.node == kInput) body.inputs.insert(a.port);
    if (b.node == kOutput) body.outputs.insert(b.port);
    body.wires.push_back({a.node, a.port, b.node, b.port, where});
  }
}

/** The ports that the items contribute to a connection. A single item without ports has as many as its partners. */
std::vector<StatementParser::End> StatementParser::ends(const std::vector<Item>& items, bool outputs,
                                                        size_t partners) const {
  std::vector<End> result;
  for (const Item& item : items) {
    const std::vector<int>& ports = outputs ? item.out_ports : item.in_ports;
    for (const int port : ports) result.push_back({item.node, port});
    if (!ports.empty()) continue;
    const int count = items.size() == 1 ? static_cast<int>(partners) : 1;
    for (int port = 0; port < count; ++port) result.push_back({item.node, port});
  }
  return result;
}

}  // namespace heddle::click
