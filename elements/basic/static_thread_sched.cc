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
    Element* element = elements(name);
    if (element == nullptr) throw Error("there is no element '" + name + "'");
    element->home = thread;
  }
}

HEDDLE_ELEMENT(StaticThreadSched);

}  // namespace heddle
