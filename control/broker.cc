#include "control/broker.h"

#include <algorithm>
#include <exception>

namespace heddle {
namespace {

// Click's list of handlers: a name a line with r, w or both.
std::string list(const Handlers& handlers) {
  std::string text;
  for (const Handler& handler : handlers.list())
    text += handler.name + "\t" + (handler.read ? "r" : "") + (handler.write ? "w" : "") +
            (handler.takes_argument ? "+" : "") + "\n";
  return text;
}

}  // namespace

Broker::Broker(Engine engine) : engine_(std::move(engine)) {
  global_.read("handlers", [this] { return list(global_); });
}

void Broker::add(Members& members, Element& element, const std::string& config,
                 const std::function<void(Handlers&)>& more) {
  Member& member = members.list.emplace_back(Member{&element, {}});
  Handlers& handlers = member.handlers;
  handlers.read("class", [&element] { return element.class_name; });
  handlers.read("name", [&element] { return element.name; });
  handlers.read("config", [config] { return config; });
  handlers.read("handlers", [&handlers] { return list(handlers); });
  if (more) more(handlers);
  element.handlers(handlers);
}

Broker::Found Broker::look_up(const std::string& name) const {
  // Names of handlers have no dot, those of elements may: "outer/inner.count".
  const size_t dot = name.rfind('.');
  const std::string element = dot == std::string::npos ? "" : name.substr(0, dot);
  const std::string handler = dot == std::string::npos ? name : name.substr(dot + 1);
  Found found{nullptr, nullptr};
  if (element.empty() || element == "0") {
    found.handler = global_.find(handler);
  } else {
    auto member =
        std::find_if(members_.list.begin(), members_.list.end(), [&](auto& m) { return m.element->name == element; });
    // Click lets elements be named by number as well: "2.config" is that of the second.
    if (member == members_.list.end() && element.find_first_not_of("0123456789") == std::string::npos &&
        element.size() < 9) {
      const size_t number = std::stoul(element);
      if (number >= 1 && number <= members_.list.size()) member = members_.list.begin() + static_cast<long>(number) - 1;
    }
    if (member == members_.list.end())
      throw HandlerError(HandlerError::no_element, "No element named '" + element.substr(0, 80) + "'");
    found = {member->element, member->handlers.find(handler)};
    if (found.handler == nullptr && !handler.empty()) found.handler = member->handlers.find("*"), found.name = handler;
  }
  if (found.handler == nullptr)
    throw HandlerError(HandlerError::no_handler, "No handler named '" + name.substr(0, 80) + "'");
  return found;
}

void Broker::replace(Members& members) {
  const std::lock_guard lock(calling_);
  members_.swap(members);
}

Handler Broker::find(const std::string& name) {
  const std::lock_guard lock(calling_);
  const Found found = look_up(name);
  if (found.name.empty()) return *found.handler;
  return {found.name, [=](const std::string& argument) { return found.handler->read(found.given(argument)); },
          [=](const std::string& value) { found.handler->write(found.given(value)); }, true};
}

void Broker::exclusively(const std::function<void()>& work) {
  const std::lock_guard lock(calling_);
  work();
}

void Broker::on_stop(std::function<void()> action) {
  const std::lock_guard lock(calling_);
  members_.on_stop = std::move(action);
}

void Broker::stop() {
  const std::lock_guard lock(calling_);
  if (const auto action = members_.on_stop)  // a copy: it may set another
    action();
  else
    engine_.stop();
}

std::string Broker::read(const std::string& name, const std::string& argument) {
  const std::lock_guard lock(calling_);
  const Found found = look_up(name);
  if (!found.handler->read) throw HandlerError(HandlerError::denied, "Handler '" + name + "' write-only");
  if (!argument.empty() && !found.handler->takes_argument)
    throw HandlerError(HandlerError::syntax, "Handler '" + name + "' takes no argument");
  try {
    return found.handler->read(found.given(argument));
  } catch (const HandlerError&) {
    throw;
  } catch (const std::exception& error) {
    throw HandlerError(HandlerError::read_failed, error.what());
  }
}

// While it cannot be told it is what it was, unless a handler has been written since, which may have given sources
// something to do.
bool Broker::exhausted() {
  const uint64_t writes = writes_;
  const std::optional<bool> now = engine_.exhausted();
  if (!now) return exhausted_after_ == writes_;
  exhausted_after_ = *now ? writes : 0;
  return *now;
}

void Broker::write(const std::string& name, const std::string& value) {
  const std::lock_guard lock(calling_);
  ++writes_;
  const Found found = look_up(name);
  if (!found.handler->write) {
    const std::string& remedy = found.handler->remedy;
    throw HandlerError(HandlerError::denied,
                       "Handler '" + name + "' read-only" + (remedy.empty() ? "" : "; " + remedy));
  }
  try {
    if (found.element == nullptr)
      found.handler->write(found.given(value));
    else
      engine_.update(*found.element, [&] { found.handler->write(found.given(value)); });
  } catch (const HandlerError&) {
    throw;
  } catch (const std::exception& error) {
    throw HandlerError(HandlerError::write_failed, error.what());
  }
}

}  // namespace heddle
