#include "elements/basic/static_thread_sched.h"

#include <sstream>

#include "click/arguments.h"
#include "core/cores.h"
#include "core/error.h"

namespace heddle {

namespace {

/** The number of the thread that "2" or "0/1", the second one on NUMA node 0, means; -1: none; -2: the machine has
 *  none. */
int thread_named(const std::string& text) {
  const size_t slash = std::min(text.find('/'), text.size());
  int node = 0, number = 0;
  if (slash == text.size()) return click::parse(text, number, 0, kMaxThreads - 1) ? number : -1;
  if (!click::parse(text.substr(0, slash), node, 0, 1023) ||
      !click::parse(text.substr(slash + 1), number, 0, kMaxThreads - 1))
    return -1;
  const int place = core_of_node(node, number);
  return place < 0 || place >= kMaxThreads ? -2 : place;
}

}  // namespace

void StaticThreadSched::configure(click::Arguments& arguments) {
  for (auto& argument : arguments.rest()) {
    std::istringstream words(argument.text);
    std::string element, thread, more;
    if (!(words >> element >> thread) || (words >> more)) thread.clear();
    const int number = thread_named(thread);
    if (number == -1)
      arguments.error(argument,
                      format("ELEMENT THREAD or ELEMENT NODE/THREAD, with a thread from 0 to %d", kMaxThreads - 1));
    else if (number < 0)
      arguments.error(argument,
                      "a thread of this machine: that NUMA node has not so many cores that the program may use");
    else
      homes_.emplace_back(element, number);
  }
}

void StaticThreadSched::link(const Directory& elements) {
  for (auto& [name, thread] : homes_) {
    const std::vector<Element*> named = elements(name);
    if (named.empty()) throw Error("there is no element '" + name + "'");
    for (Element* element : named) {
      // Of a compound element's, those that have no thread of their own are not meant.
      const auto* source = dynamic_cast<const Source*>(element);
      const bool runs_where_pushed = source != nullptr && source->inputs > 0 && source->every_thread();
      if (named.size() == 1 || !runs_where_pushed) element->home = thread;
    }
  }
}

HEDDLE_ELEMENT(StaticThreadSched);

}  // namespace heddle
