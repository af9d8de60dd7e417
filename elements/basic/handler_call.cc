#include "elements/basic/handler_call.h"

#include "click/quoting.h"
#include "core/clock.h"
#include "core/error.h"

namespace heddle {

bool parse(std::string_view text, CallText& call) {
  std::string all(text);
  if (click::split_words(text).size() == 1) all = click::unquote(text);  // quoted as a whole
  const auto words = click::split_words(all);
  if (words.empty()) return false;
  call.handler = click::unquote(words[0]);
  call.value = click::unquote(click::trim(std::string_view(all).substr(words[0].size())));
  return true;
}
std::string expectation(const CallText&) { return "a handler and a value, such as counter.reset or switch.switch 1"; }

std::string full_handler_name(Control& control, const std::string& element, const std::string& handler) {
  for (size_t end = element.rfind('/'); end != std::string::npos && end > 0; end = element.rfind('/', end - 1)) {
    const std::string full = element.substr(0, end + 1) + handler;
    try {
      control.find(full);
      return full;
    } catch (const Error&) {
      continue;  // no such handler there
    }
  }
  return handler;
}

void HandlerCall::set(CallText call) {
  if (control_ != nullptr && !call.handler.empty()) {
    call.handler = full_handler_name(*control_, element_, call.handler);
    if (!control_->find(call.handler).write) throw Error("handler '" + call.handler + "' cannot be written");
    if (!thread_.joinable()) thread_ = std::thread(&HandlerCall::serve, this);
  }
  const std::lock_guard lock(changing_);
  given_ = !call.handler.empty();
  call_ = std::move(call);
}

void HandlerCall::start(Control* control, const std::string& element, std::function<void()> afterwards) {
  control_ = control;
  element_ = element;
  afterwards_ = std::move(afterwards);
  if (given_) set(CallText(call_));
  if (afterwards_ && !thread_.joinable()) thread_ = std::thread(&HandlerCall::serve, this);
}

void HandlerCall::ask() {
  RouterClock::stand_still();
  wanted_.fetch_add(1);
  wanted_.notify_one();
}

void HandlerCall::serve() {
  for (uint32_t served = done_;; done_ = served) {
    wanted_.wait(served);
    if (finished_) return;
    const uint32_t wanted = wanted_, calls = wanted - served;
    served = wanted;
    CallText call;
    {
      const std::lock_guard lock(changing_);
      call = call_;
    }
    try {
      if (!call.handler.empty()) control_->write(call.handler, call.value);
    } catch (const Error& error) {
      failure_ = call.handler + ": " + error.what();
    }
    if (afterwards_) afterwards_();
    RouterClock::go_on(calls);
  }
}

std::string HandlerCall::finish() {
  if (thread_.joinable()) {
    finished_ = true;
    ask();
    thread_.join();
    RouterClock::go_on(wanted_ - done_);
    done_ = wanted_.load();
  }
  return std::move(failure_);
}

}  // namespace heddle
