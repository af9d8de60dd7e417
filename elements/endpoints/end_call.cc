#include "elements/endpoints/end_call.h"

#include "click/arguments.h"

namespace heddle {

void EndCall::configure(click::Arguments& arguments) {
  CallText call;
  arguments.keyword("END_CALL", call).keyword("STOP", stop_);
  call_.set(std::move(call));
}

void EndCall::start(Control* control, const std::string& element) {
  control_ = control;
  call_.start(control, element, [this] {
    if (stop_) control_->stop();
  });
}

void EndCall::reached() {
  if (call_.given())
    call_.ask();
  else if (stop_ && control_ != nullptr)
    control_->stop();
}

std::string EndCall::finish() {
  const std::string problem = call_.finish();
  return problem.empty() ? problem : "END_CALL " + problem;
}

}  // namespace heddle
