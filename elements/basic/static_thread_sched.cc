#include "elements/basic/static_thread_sched.h"

#include <sstream>

#include "click/arguments.h"
#include "core/error.h"

namespace heddle {

void StaticThreadSched::configure(click::Arguments& arguments) {
  for (auto& argument : arguments.rest()) {
    std::istringstream words(argument.text);
    std::string element, thread, more;
    int number = 0;
    if (!(words >> element >> thread) || (words >> more) || !click::parse(thread, number, 0, kMaxThreads - 1))
      arguments.error(argument, format("ELEMENT THREAD, with a thread from 0 to %d", kMaxThreads - 1));
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
