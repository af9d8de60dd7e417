#include "click/unparse.h"

#include <algorithm>
#include <map>
#include <set>
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

const std::string kSecret = "SECRET", kDeviceSecret = "secret=";

/** "$SECRET", "$SECRET2", ...: the variable that stands in the place of that text. */
std::string variable_for(std::string_view secret, HiddenSecrets& hidden) {
  const std::string number = hidden.empty() ? "" : std::to_string(hidden.size() + 1);
  return "$" + hidden.try_emplace(std::string(secret), kSecret + number).first->second;
}

/** An argument for a DPDK device with variables in the place of what follows "secret="; as it is if nothing does. */
std::string hide_device_secrets(const std::string& argument, HiddenSecrets& hidden) {
  const std::string text = unquote(argument);
  std::string result = "\"";
  bool found = false;
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '"' || text[i] == '\\' || text[i] == '$') result += '\\';
    result += text[i++];
    if (!result.ends_with(kDeviceSecret)) continue;
    const size_t end = std::min(text.find_first_of(", \t\n", i), text.size());
    result += variable_for(text.substr(i, end - i), hidden);
    found = true, i = end;
  }
  return found ? result + '"' : argument;
}

/** An argument without its secret. */
std::string hide_secret(const std::string& text, const std::string& class_name, HiddenSecrets& hidden) {
  if (leading_keyword(text) == kSecret)
    return kSecret + " " + variable_for(trim(std::string_view(text).substr(kSecret.size())), hidden);
  return class_name.find("DPDK") == class_name.npos ? text : hide_device_secrets(text, hidden);
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

std::string unparse_arguments(const ElementDeclaration& element, HiddenSecrets* hidden) {
  std::string result;
  for (size_t i = 0; i < element.arguments.size(); ++i) {
    const std::string& text = element.arguments[i].text;
    const std::string quoted = keeps_variables(element.class_name) ? text : quote_variables(text);
    result += i == 0 ? "" : ", ";
    result += hidden != nullptr ? hide_secret(quoted, element.class_name, *hidden) : quoted;
  }
  if (!element.arguments.empty() && element.arguments.back().text.empty()) result += ", ";  // else it would be dropped
  return result;
}

bool has_secret(const ElementDeclaration& element) {
  HiddenSecrets hidden;
  unparse_arguments(element, &hidden);
  return !hidden.empty();
}

std::string unparse_declarations(const Graph& graph, HiddenSecrets* hidden) {
  std::string result;
  for (const ElementDeclaration& element : graph.elements) {
    result += element.name + " :: " + element.class_name;
    if (const std::string arguments = unparse_arguments(element, hidden); !arguments.empty())
      result += "(" + arguments + ")";
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

std::string unparse(const Graph& graph, HiddenSecrets* hidden) {
  const std::string declarations = unparse_declarations(graph, hidden), connections = unparse_connections(graph);
  return declarations + (declarations.empty() ? "" : "\n") + connections;
}

std::string unparse_without_secrets(const Graph& graph) {
  HiddenSecrets hidden;
  const std::string text = unparse(graph, &hidden);
  std::set<std::string> names;
  for (auto& [secret, name] : hidden) names.insert(name);
  std::string notes;
  for (auto& name : names)
    notes += "// $" + name + " is a secret that is not printed; give it with the chain: " + name + "=...\n";
  return notes + text;
}

}  // namespace heddle::click
