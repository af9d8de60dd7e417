#include "elements/basic/count_call.h"

#include "click/arguments.h"
#include "click/quoting.h"

namespace heddle {
namespace {

/** "N HANDLER [VALUE]"; as a handler's value the last two may be missing. */
struct NumberAndCall {
  uint64_t number = 0;
  CallText call;
};
bool parse(std::string_view text, NumberAndCall& value) {
  const auto words = click::split_words(text);
  if (words.empty() || !click::parse(words[0], value.number)) return false;
  const std::string_view rest =
      click::trim(text.substr(static_cast<size_t>(words[0].data() - text.data()) + words[0].size()));
  return rest.empty() || parse(rest, value.call);
}
std::string expectation(const NumberAndCall&) {
  return "a number and a handler, such as 1000 stop or 10 switch.switch 1";
}

}  // namespace

void CountCall::configure(click::Arguments& arguments, const char* keyword) {
  NumberAndCall value{UINT64_MAX, {}};
  arguments.keyword(keyword, value);
  if (value.number != UINT64_MAX && value.call.handler.empty()) arguments.error(keyword, expectation(value));
  keyword_ = keyword;
  number_ = value.number;
  call_.set(std::move(value.call));
  arm();
}

void CountCall::set(const std::string& text) {
  NumberAndCall value = click::value_of<NumberAndCall>(text);
  armed_ = false;
  call_.set(std::move(value.call));
  number_ = value.number;
  arm();
}

void CountCall::start(Control* control, const std::string& element) {
  started_ = true;
  call_.start(control, element);
}

std::string CountCall::finish() {
  const std::string problem = call_.finish();
  return problem.empty() ? problem : keyword_ + " " + problem;
}

}  // namespace heddle
