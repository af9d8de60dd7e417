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

std::string HandlerCall::text() {
  const std::lock_guard lock(changing_);
  return call_.value.empty() ? call_.handler : call_.handler + " " + call_.value;
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
  for (uint64_t served = done_;; done_ = served) {
    wanted_.wait(served);
    const uint64_t wanted = wanted_ & ~kLast, calls = wanted - served;
    if (calls == 0) return;  // all are made, and finish() waits
    served = wanted;
    if (after_counting_) control_->await_counts();
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
    RouterClock::go_on(static_cast<uint32_t>(calls));
  }
}

std::string HandlerCall::finish() {
  if (thread_.joinable()) {
    wanted_.fetch_or(kLast);
    wanted_.notify_one();
    thread_.join();
    const uint64_t wanted = wanted_.fetch_and(~kLast) & ~kLast;
    RouterClock::go_on(static_cast<uint32_t>(wanted - done_));
    done_ = wanted;
  }
  return std::move(failure_);
}

}  // namespace heddle
