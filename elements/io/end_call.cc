#include "elements/io/end_call.h"

#include "click/arguments.h"
#include "click/quoting.h"
#include "core/error.h"

namespace heddle {
namespace {

/** "element.handler value", taken as it is written. */
struct Call {
  std::string handler, value;
};
bool parse(std::string_view text, Call& call) {
  std::string all(text);
  if (click::split_words(text).size() == 1) all = click::unquote(text);  // quoted as a whole
  const auto words = click::split_words(all);
  if (words.empty()) return false;
  call.handler = click::unquote(words[0]);
  call.value = click::unquote(click::trim(std::string_view(all).substr(words[0].size())));
  return true;
}
std::string expectation(const Call&) { return "a handler and a value, such as counter.reset or switch.switch 1"; }

}  // namespace

void EndCall::configure(click::Arguments& arguments) {
  Call call;
  arguments.keyword("END_CALL", call).keyword("STOP", stop_);
  handler_ = call.handler, value_ = call.value;
}

void EndCall::start(Control* control) {
  control_ = control;
  if (!handler_.empty()) thread_ = std::thread(&EndCall::serve, this);
}

void EndCall::reached() {
  if (thread_.joinable()) {
    wanted_.fetch_add(1);
    wanted_.notify_one();
  } else if (stop_ && control_ != nullptr) {
    control_->stop();
  }
}

void EndCall::serve() {
  for (uint32_t called = 0;;) {
    wanted_.wait(called);
    if (finished_) return;
    if (wanted_ == called) continue;
    called = wanted_;
    try {
      control_->write(handler_, value_);
    } catch (const Error& error) {
      failure_ = std::string("END_CALL ") + handler_ + ": " + error.what();
    }
    done_ = called;
    if (stop_) control_->stop();
  }
}

std::string EndCall::finish() {
  if (thread_.joinable()) {
    finished_ = true;
    wanted_.fetch_add(1);
    wanted_.notify_one();
    thread_.join();
  }
  return std::move(failure_);
}

}  // namespace heddle
