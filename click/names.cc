#include <algorithm>

#include "click/statements.h"

namespace heddle::click {

namespace {

constexpr size_t kMaxPlaces = 10;  // of an unknown class, that are named

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
    return error(where,
                 in_quotes(name) + " has a meaning only within a compound element or group; expected an element");

  std::vector<std::string> known = options_.known_classes;
  for (const Frame& frame : frames_)
    for (const auto& [other, type] : frame.classes) known.push_back(other);
  if (!is_class)
    for (const Node& node : frame().body->nodes)
      if (node.state == Node::kDeclared) known.push_back(node.name);
  is_class |= is_upper(name[0]);
  const std::string hint = suggestion(name, known);
  if (is_class) {
    add_unknown_class(name, where, hint);
  } else {
    error(where, "undeclared element " + in_quotes(name) + (hint.empty() ? "; expected a declaration of it" : hint));
  }
}

void StatementParser::add_unknown_class(const std::string& name, const Location& found_at, const std::string& hint) {
  constexpr size_t kMaxClasses = 100;
  frame().body->broken = true;
  const auto [known, fresh] = unknown_.try_emplace(name, UnknownClass{found_at, hint});
  if (unknown_.size() == kMaxClasses) {
    stopped_ = true;
    lexer_.stop();
  }
  if (fresh || ++known->second.places > kMaxPlaces) return;
  UnknownClass& unknown = known->second;
  Location where = found_at;
  if (where.file == unknown.where.file && where < unknown.where)
    std::swap(where, unknown.where);  // the first is told first
  const std::string place = std::to_string(where.line) + ":" + std::to_string(where.column);
  unknown.also += (unknown.also.empty() ? "" : ", ") + (where.file == unknown.where.file ? place : where.text());
}

void StatementParser::report_unknown_classes() {
  for (const auto& [name, unknown] : unknown_) {
    std::string text =
        "unknown element class " + in_quotes(name) +
        (unknown.hint.empty() ? "; expected a known class or an elementclass statement before" : unknown.hint);
    if (!unknown.also.empty()) text += " (also at " + unknown.also;
    if (unknown.places > kMaxPlaces) text += " and " + std::to_string(unknown.places - kMaxPlaces) + " more places";
    diagnostics_.error(unknown.where, text + (unknown.also.empty() ? "" : ")"));
  }
}

/** Finds or makes the node that an item of a connection or declaration means. */
void StatementParser::resolve(Item& item) {
  if (item.in_node != kUnresolved) return;  // a group
  const std::vector<Group>& groups = frame().groups;
  const bool nested = frames_.size() > 1 || !groups.empty();
  const bool pseudo = nested && (item.name == "input" || item.name == "output");
  if (pseudo && item.type) error(item.where, in_quotes(item.name) + " cannot be declared; expected another name");
  if (pseudo && item.name == "input") {
    item.in_node = kNowhere;
    item.out_node = groups.empty() ? kInput : groups.back().input;
  } else if (pseudo) {
    item.in_node = groups.empty() ? kOutput : groups.back().output;
    item.out_node = kNowhere;
  } else if (const auto found = frame().named_groups.find(item.name); found != frame().named_groups.end()) {
    const Item& group = found->second;
    if (item.type)
      error(item.where, "element group " + in_quotes(item.name) + " is already declared at " + group.where.text());
    item.in_node = group.in_node, item.out_node = group.out_node;
    if (!item.in.given) item.in.list = group.group_inputs;
    if (!item.out.given) item.out.list = group.group_outputs;
  } else if (!item.type) {
    item.in_node = item.out_node = reference(item.name, item.where);
  } else if (item.name.empty()) {
    item.in_node = item.out_node = add_anonymous(item.class_name, *item.type, item.arguments, item.where);
  } else {
    item.in_node = item.out_node = declare(item);
  }
}

/** A bare name: an element declared before, else an element class, else an element declared later. */
int StatementParser::reference(const std::string& name, const Location& where) {
  const auto found = frame().nodes.find(name);
  if (found != frame().nodes.end()) {
    const Node& node = frame().body->nodes[static_cast<size_t>(found->second)];
    if (node.state == Node::kUsed) again_[{frame().body, name}].push_back(where);
    return found->second;
  }
  if (const auto type = find_class(name)) return add_anonymous(name, *type, {}, where);
  const int node = add_node({name, ElementClass{name}, {}, where, Node::kUsed});
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
    node = {item.name, *item.type, item.arguments, item.where, Node::kDeclared, 0, node.inputs, node.outputs};
  }
  return found->second;
}

/** From here on `name` means the group. */
void StatementParser::name_group(const Token& name, const Item& group) {
  const std::string text(name.text);
  const bool nested = frames_.size() > 1 || !frame().groups.empty();
  if (nested && (text == "input" || text == "output"))
    return error(name.where, in_quotes(text) + " cannot be declared; expected another name");
  if (has_number_part(text))
    return error(name.where, "element name " + in_quotes(text) + " has a part of digits only; expected a letter in it");
  if (find_class(text))
    return error(name.where, in_quotes(text) + " is an element class; expected another name for the element group");
  if (const auto found = frame().nodes.find(text); found != frame().nodes.end()) {
    Node& node = frame().body->nodes[static_cast<size_t>(found->second)];
    const bool declared = node.state == Node::kDeclared;
    node.state = Node::kDeclared;  // one mistake is enough
    return error(name.where, declared ? "element " + in_quotes(text) + " is already declared at " + node.where.text()
                                      : "element group " + in_quotes(text) + " is used before, at " +
                                            node.where.text() + "; expected its declaration first");
  }
  const auto [known, fresh] = frame().named_groups.emplace(text, group);
  if (!fresh)
    error(name.where, "element group " + in_quotes(text) + " is already declared at " + known->second.where.text());
}

int StatementParser::add_node(Node node) {
  frame().body->nodes.push_back(std::move(node));
  return static_cast<int>(frame().body->nodes.size()) - 1;
}

int StatementParser::add_anonymous(const std::string& class_name, const ElementClass& type,
                                   std::vector<Argument> arguments, const Location& where) {
  const int number = static_cast<int>(frame().body->nodes.size()) + frame().numbered + 1;
  return add_node({class_name + "@", type, std::move(arguments), where, Node::kAnonymous, number});
}

/** At the end of a body: reports names never declared and completes those of the elements without a name by their
 *  number; where the result is somebody's name, the next number that is free. */
void StatementParser::finish_names() {
  std::unordered_map<std::string, int> last_taken;  // up to here, the numbers after the first one tried are taken
  std::unordered_map<std::string, int>& names = frame().nodes;
  std::vector<Node>& nodes = frame().body->nodes;
  for (size_t i = 0; i < nodes.size(); ++i) {
    Node& node = nodes[i];
    if (node.state == Node::kUsed) {
      report_unknown(node.name, node.where, false);
      if (unknown_.contains(node.name))
        for (const Location& place : again_[{frame().body, node.name}]) add_unknown_class(node.name, place, "");
    }
    if (node.state != Node::kAnonymous) continue;
    const std::string prefix = node.name;
    node.name += std::to_string(node.number);
    if (names.contains(node.name)) {
      int& taken = last_taken[prefix];
      taken = std::max(taken, node.number);
      do {
        node.name = prefix + std::to_string(++taken);
      } while (names.contains(node.name));
    }
    names.emplace(node.name, static_cast<int>(i));
  }
}

}  // namespace heddle::click
