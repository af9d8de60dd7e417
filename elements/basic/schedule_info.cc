#include "elements/basic/schedule_info.h"

#include "click/arguments.h"
#include "click/quoting.h"
#include "core/error.h"

namespace heddle {

void ScheduleInfo::configure(click::Arguments& arguments) {
  for (const click::Argument& argument : arguments.rest_with_keywords()) {
    const auto words = click::split_words(argument.text);
    double factor = 0;
    if (words.size() != 2 || !click::parse(words[1], factor, 0.0, 32.0))
      arguments.error(argument, "ELEMENT PARAM, with a number from 0 to 32");
    else
      named_.emplace_back(words[0], factor);
  }
}

void ScheduleInfo::link(const Directory& elements) {
  for (const auto& [name, factor] : named_) {
    const std::vector<Element*> found = elements(name);
    if (found.empty()) throw Error("there is no element '" + name + "'");
    for (const Element* element : found) factors_.emplace_back(element, factor);
  }
}

HEDDLE_ELEMENT(ScheduleInfo);

}  // namespace heddle
