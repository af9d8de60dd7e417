#include <algorithm>

#include "click/statements.h"

namespace heddle::click {

namespace {

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/** Some part between slashes consists of digits only, as port numbers do. */
bool has_number_part(std::string_view name) {
  while (!name.empty()) {
    const size_t length = std::min(name.find('/'), name.size());
    if (std::all_of(name.begin(), name.begin() + static_cast<std::ptrdiff_t>(length), is_digit)) return true;
    name.remove_prefix(std::min(length + 1, name.size()));
  }
  return false;
}

}  // namespace

/** An element class after "::", or a compound element between braces. */
std::optional<ElementClass> StatementParser::type() {
  if (token_.is("{")) return ElementClass{"", compound("")};
  if (token_.kind != Token::kName || is_reserved(token_)) {
    unexpected("an element class");
    return std::nullopt;
  }
  const ElementClass found = require_class(token_);
  next();
  return found;
}

std::optional<ElementClass> StatementParser::find_class(const std::string& name) const {
  for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) {
    const auto found = frame->classes.find(name);
    if (found != frame->classes.end()) return found->second;
  }
  const auto& known = options_.known_classes;
  if (std::find(known.begin(), known.end(), name) != known.end()) return ElementClass{name};
  return std::nullopt;
}

ElementClass StatementParser::require_class(const Token& name) {
  const std::string text(name.text);
  if (const auto found = find_class(text)) return *found;
  report_unknown(text, name.where, true);
  return {text};
}

void StatementParser::report_unknown(const std::string& name, const Location& where, bool is_class) {
  if (stopped_) return;
  const auto defining = [&](const Frame& frame) { return frame.class_name == name; };
  if (std::any_of(frames_.begin(), frames_.end(), defining))
    return error(where, "element class " + in_quotes(name) + " is used in its own definition; expected another class");
  if (frames_.size() == 1 && (name == "input" || name == "output"))
    return error(where, in_quotes(name) + " has a meaning only within a compound element; expected an element");

  std::vector<std::string> known = options_.known_classes;
  for (const Frame& frame : frames_)
    for (const auto& [other, type] : frame.classes) known.push_back(other);
  if (!is_class)
    for (const Node& node : frame().body->nodes)
      if (node.state == Node::kDeclared) known.push_back(node.name);
  is_class |= is_upper(name[0]);
  const std::string hint = suggestion(name, known);
  if (is_class) {
    error(where, "unknown element class " + in_quotes(name) +
                     (hint.empty() ? "; expected a known class or an elementclass statement before" : hint));
  } else {
    error(where, "undeclared element " + in_quotes(name) + (hint.empty() ? "; expected a declaration of it" : hint));
  }
}

/** Finds or makes the node that an item of a connection or declaration means. */
void StatementParser::resolve(Item& item) {
  const bool pseudo = frames_.size() > 1 && (item.name == "input" || item.name == "output");
  if (pseudo && item.type) error(item.where, in_quotes(item.name) + " cannot be declared; expected another name");
  if (pseudo) {
    item.node = item.name == "input" ? kInput : kOutput;
  } else if (item.type) {
    item.node = item.name.empty()
                    ? add_node({item.type->name + "@", *item.type, item.arguments, item.where, Node::kAnonymous})
                    : declare(item);
  } else {
    item.node = reference(item.name, item.where);
  }
}

/** A bare name: an element declared before, else an element class, else an element declared later. */
int StatementParser::reference(const std::string& name, const Location& where) {
  const auto found = frame().nodes.find(name);
  if (found != frame().nodes.end()) return found->second;
  if (const auto type = find_class(name)) return add_node({type->name + "@", *type, {}, where, Node::kAnonymous});
  const int node = add_node({name, {name}, {}, where, Node::kUsed});
  frame().nodes.emplace(name, node);
  return node;
}

int StatementParser::declare(const Item& item) {
  if (has_number_part(item.name))
    error(item.where, "element name " + in_quotes(item.name) + " has a part of digits only; expected a letter in it");
  if (find_class(item.name))
    error(item.where, in_quotes(item.name) + " is an element class; expected another name for the element");
  const auto found = frame().nodes.find(item.name);
  if (found == frame().nodes.end()) {
    const int index = add_node({item.name, *item.type, item.arguments, item.where});
    frame().nodes.emplace(item.name, index);
    return index;
  }
  Node& node = frame().body->nodes[static_cast<size_t>(found->second)];
  if (node.state == Node::kDeclared) {
    error(item.where, "element " + in_quotes(item.name) + " is already declared at " + node.where.text());
  } else {
    node = {item.name, *item.type, item.arguments, item.where};
  }
  return found->second;
}

int StatementParser::add_node(Node node) {
  frame().body->nodes.push_back(std::move(node));
  return static_cast<int>(frame().body->nodes.size()) - 1;
}

/** At the end of a body: reports names never declared and completes those of the elements without a name. */
void StatementParser::finish_names() {
  std::vector<Node>& nodes = frame().body->nodes;
  size_t spare = nodes.size();
  for (size_t i = 0; i < nodes.size(); ++i) {
    Node& node = nodes[i];
    if (node.state == Node::kUsed) report_unknown(node.name, node.where, false);
    if (node.state != Node::kAnonymous) continue;
    const std::string prefix = node.name;
    node.name += std::to_string(i + 1);
    while (frame().nodes.contains(node.name)) node.name = prefix + std::to_string(++spare);
  }
}

}  // namespace heddle::click
