#include "click/unparse.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "click/quoting.h"

namespace heddle::click {

namespace {

/** The text with every '$' quoted that parse() would take for the beginning of a variable. */
std::string quote_variables(std::string_view text) {
  std::string result;
  bool double_quoted = false;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    size_t end = i + 1;
    if (c == '$' && end < text.size() && (is_word_character(text[end]) || text[end] == '{')) {
      result += double_quoted ? "\\$" : "'$'";
      i = end;
      continue;
    }
    if (c == '"') double_quoted = !double_quoted;
    if (c == '\\' && double_quoted) end = i + 2;
    if (!double_quoted && (c == '\'' || c == '\\')) end = std::max(end_of_quoted(text, i), end);
    result += text.substr(i, end - i);
    i = std::min(end, text.size());
  }
  return result;
}

using Pin = std::pair<int, int>;  // element and port

/** For each connection the one that its chain goes on with, or -1: a connection into an input 0 is followed by one from
 *  output 0 of the same element, if there is a choice by one that enters an input 0 as well. */
std::vector<int> successors(const std::vector<Connection>& all) {
  std::map<Pin, int> leaving;
  for (size_t i = 0; i < all.size(); ++i) {
    const auto [other, is_new] = leaving.try_emplace({all[i].from, all[i].from_port}, static_cast<int>(i));
    // As Click does: the first one into an input 0, else the last one.
    if (!is_new && all[static_cast<size_t>(other->second)].to_port != 0) other->second = static_cast<int>(i);
  }
  std::vector<int> result(all.size(), -1);
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].to_port != 0) continue;
    const auto found = leaving.find({all[i].to, 0});
    if (found != leaving.end() && found->second != static_cast<int>(i)) result[i] = found->second;
  }
  return result;
}

}  // namespace

std::string unparse_arguments(const ElementDeclaration& element) {
  std::string result;
  for (size_t i = 0; i < element.arguments.size(); ++i) {
    const std::string& text = element.arguments[i].text;
    result += (i == 0 ? "" : ", ") + (keeps_variables(element.class_name) ? text : quote_variables(text));
  }
  if (!element.arguments.empty() && element.arguments.back().text.empty()) result += ", ";  // else it would be dropped
  return result;
}

std::string unparse_declarations(const Graph& graph) {
  std::string result;
  for (const ElementDeclaration& element : graph.elements) {
    result += element.name + " :: " + element.class_name;
    if (const std::string arguments = unparse_arguments(element); !arguments.empty()) result += "(" + arguments + ")";
    result += ";\n";
  }
  return result;
}

std::string unparse_connections(const Graph& graph) {
  const std::vector<Connection>& all = graph.connections;
  const std::vector<int> next = successors(all);
  std::vector<bool> starts(all.size(), true), written(all.size(), false);
  for (const int i : next)
    if (i >= 0) starts[static_cast<size_t>(i)] = false;
  std::string result;
  for (const bool cycles : {false, true}) {  // what no chain has reached lies on a cycle
    for (size_t start = 0; start < all.size(); ++start) {
      if (written[start] || !(starts[start] || cycles)) continue;
      result += graph.elements[static_cast<size_t>(all[start].from)].name;
      if (all[start].from_port != 0) result += " [" + std::to_string(all[start].from_port) + "]";
      for (int i = static_cast<int>(start); i >= 0 && !written[static_cast<size_t>(i)];
           i = next[static_cast<size_t>(i)]) {
        const Connection& connection = all[static_cast<size_t>(i)];
        result += i == static_cast<int>(start) ? " -> " : "\n    -> ";
        if (connection.to_port != 0) result += "[" + std::to_string(connection.to_port) + "] ";
        result += graph.elements[static_cast<size_t>(connection.to)].name;
        written[static_cast<size_t>(i)] = true;
      }
      result += ";\n";
    }
  }
  return result;
}

std::string unparse(const Graph& graph) {
  const std::string declarations = unparse_declarations(graph), connections = unparse_connections(graph);
  return declarations + (declarations.empty() ? "" : "\n") + connections;
}

}  // namespace heddle::click
