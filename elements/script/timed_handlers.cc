#include "elements/script/timed_handlers.h"

#include "click/arguments.h"
#include "click/quoting.h"
#include "elements/script/text.h"

namespace heddle {
namespace {

/** The arguments as instructions of a Script, `call` before each handler; `takes_value`: more may follow it. Reports
 *  what is neither a time nor a handler, quit or loop. */
std::vector<click::Argument> as_instructions(click::Arguments& arguments, const std::string& call, bool takes_value) {
  std::vector<click::Argument> instructions;
  for (click::Argument& argument : arguments.rest_with_keywords()) {
    std::string_view rest = click::trim(argument.text);
    const std::string text(rest), word = script::take_word(rest);
    click::Duration time;
    if (text.empty()) continue;
    if (script::parse_time(text, time))
      argument.text = "wait " + text;
    else if (text == "quit" || text == "loop")
      argument.text = text == "quit" ? "stop" : text;
    else if (word.find('.') != word.npos && (takes_value || rest.empty()))
      argument.text = call + " " + text;
    else {
      arguments.error(argument, takes_value ? "a time such as 1.5s, ELEMENT.HANDLER VALUE, quit or loop"
                                            : "a time such as 1.5s, ELEMENT.HANDLER, quit or loop");
      continue;
    }
    instructions.push_back(argument);
  }
  return instructions;
}

}  // namespace

void PokeHandlers::configure(click::Arguments& arguments) {
  configure_instructions(arguments, as_instructions(arguments, "write", true));
}

void PeekHandlers::configure(click::Arguments& arguments) {
  configure_instructions(arguments, as_instructions(arguments, "read", false));
}

HEDDLE_ELEMENT(PokeHandlers);
HEDDLE_ELEMENT(PeekHandlers);

}  // namespace heddle
