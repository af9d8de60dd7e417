// -h and -x: handlers that are read when a run has ended.

#include <fnmatch.h>

#include <cstdio>

#include "apps/heddle/commands.h"
#include "click/diagnostics.h"
#include "click/quoting.h"
#include "click/values.h"
#include "core/error.h"

namespace heddle {
namespace {

using click::suggestion;

// "name.handler" of every element that `pattern` means: a name, else a glob pattern or a class.
std::vector<std::string> expand(Engine& engine, const std::string& pattern, const std::string& handler) {
  const bool glob = pattern.find_first_of("*?[") != std::string::npos;
  std::vector<std::string> names, known;
  bool any = false;
  for (auto& member : engine.handlers().members()) {
    const Element& element = *member.element;
    known.push_back(element.name);
    if (element.name == pattern) return {pattern + "." + handler};
    if (glob ? fnmatch(pattern.c_str(), element.name.c_str(), 0) != 0 : element.class_name != pattern) continue;
    any = true;
    if (const Handler* found = member.handlers.find(handler); found != nullptr && found->read)
      names.push_back(element.name + "." + handler);
  }
  if (!any) throw Error((glob ? "no element matching '" : "no element '") + pattern + "'" + suggestion(pattern, known));
  return names;
}

std::string nearest_handler(const std::string& name, const Handlers& handlers) {
  std::vector<std::string> known;
  for (const Handler& handler : handlers.list()) known.push_back(handler.name);
  return suggestion(name, known);
}

// Throws Error if nothing can be read by this name; says what else might have been meant.
void check_handler(Engine& engine, const std::string& name) {
  const size_t dot = name.rfind('.');
  const std::string element = dot == std::string::npos ? "" : name.substr(0, dot), handler = name.substr(dot + 1);
  std::string near = element.empty() ? nearest_handler(handler, engine.handlers().global()) : "";
  std::vector<std::string> elements;
  for (auto& member : engine.handlers().members()) {
    elements.push_back(member.element->name);
    if (member.element->name == element) near = nearest_handler(handler, member.handlers);
  }
  try {
    if (!engine.handlers().find(name).read) throw Error("Handler '" + name + "' write-only");
  } catch (const HandlerError& error) {
    throw Error(error.what() + (error.code == HandlerError::no_element ? suggestion(element, elements) : near));
  }
}

void print_handler(Engine& engine, const std::string& name, bool with_name) {
  std::string value = engine.handlers().read(name);
  if (!value.empty() && !value.ends_with('\n')) value += '\n';
  if (with_name) std::printf("%s:\n", name.c_str());
  std::fwrite(value.data(), 1, value.size(), stdout);
  if (with_name) std::fputc('\n', stdout);
}

}  // namespace

void check_handlers(Engine& engine, const std::vector<std::string>& names, const std::string& exit_handler) {
  for (const std::string& name : names) {
    const size_t dot = name.rfind('.');
    const bool of_element = dot != std::string::npos && dot > 0;
    const std::string element = of_element ? name.substr(0, dot) : "";
    const auto found = of_element ? expand(engine, element, name.substr(dot + 1)) : std::vector{name.substr(dot + 1)};
    if (found.empty())
      throw Error("no element that '" + element + "' means has a handler '" + name.substr(dot + 1) + "' to read");
    for (const std::string& each : found) check_handler(engine, each);
  }
  if (!exit_handler.empty()) check_handler(engine, exit_handler);
}

bool print_handlers(Engine& engine, const std::vector<std::string>& names) {
  bool good = true;
  for (auto& name : names) {
    try {
      const size_t dot = name.rfind('.');
      if (dot == std::string::npos || dot == 0) {
        print_handler(engine, name.substr(dot == 0), names.size() > 1);
        continue;
      }
      const std::string element = name.substr(0, dot);
      const auto found = expand(engine, element, name.substr(dot + 1));
      const bool several = names.size() > 1 || found.empty() || found[0] != name;
      for (auto& each : found) print_handler(engine, each, several);
    } catch (const Error& error) {
      std::fprintf(stderr, "heddle: %s\n", error.what());
      good = false;
    }
  }
  std::fflush(stdout);
  return good;
}

int exit_code(Engine& engine, const std::string& handler) {
  try {
    const std::string text = engine.handlers().read(handler);
    const std::string_view value = click::trim(text);
    int code = 0;
    if (click::parse(value, code)) return code;
    bool truth = false;
    if (click::parse(value, truth)) return truth ? 0 : 1;
    std::fprintf(stderr, "heddle: exit handler value should be integer\n");
  } catch (const Error& error) {
    std::fprintf(stderr, "heddle: %s\n", error.what());
  }
  return -1;
}

}  // namespace heddle
