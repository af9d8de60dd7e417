#include "elements/endpoints/end_call.h"

#include "click/arguments.h"

namespace heddle {

void EndCall::configure(click::Arguments& arguments) {
  CallText call;
  arguments.keyword("END_CALL", call).keyword("STOP", stop_);
  call_.set(std::move(call));
}

void EndCall::start(Control* control, const std::string& element) {
  stop_ = stop_ && control != nullptr;
  call_.after_counting();  // scripts read counts when sources have ended
  // Not by the packet thread: what waits for the program to stop may write handlers, which wait for packet threads.
  call_.start(control, element, stop_ ? [=] { control->stop(); } : std::function<void()>());
}

void EndCall::reached() {
  if (call_.given() || stop_) call_.ask();
}

std::string EndCall::finish() {
  const std::string problem = call_.finish();
  return problem.empty() ? problem : "END_CALL " + problem;
}

}  // namespace heddle
