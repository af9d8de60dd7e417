#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "elements/basic/handler_call.h"

namespace heddle {

namespace click {
class Arguments;
}

/** Counter's COUNT_CALL: "N HANDLER [VALUE]", a handler that is written once when a count reaches N. */
class CountCall {
 public:
  void configure(click::Arguments& arguments, const char* keyword);
  /** While packets flow. Throws Error, and changes nothing then. */
  void set(const std::string& text);
  void start(Control* control, const std::string& element);
  std::string finish();

  bool given() const { return call_.given(); }
  uint64_t number() const { return number_; }
  /** "N HANDLER VALUE" of the call that is to come, "" = none. From control threads. */
  std::string text() { return armed_ ? std::to_string(number_) + " " + call_.text() : std::string(); }
  /** Whether the program must not end now, or, before the start, whether that may be so one day. */
  bool pending() const { return started_ ? call_.under_way() : given(); }

  /** Whether the call has been asked for and not been made. */
  bool under_way() const { return call_.under_way(); }

  /** From packet threads, each time that the count has changed. */
  void look_at(uint64_t count) {
    if (count >= number_.load(std::memory_order_relaxed) && armed_.load(std::memory_order_relaxed) &&
        armed_.exchange(false))
      call_.ask();
  }
  /** The count goes on from that of a predecessor, which may have made the same call. */
  void go_on(const CountCall& old) {
    if (number_ == old.number_ && old.given() && !old.armed_) armed_ = false;
  }
  /** The count begins again. */
  void arm() { armed_ = given(); }

 private:
  std::string keyword_;
  std::atomic<uint64_t> number_{UINT64_MAX};
  std::atomic<bool> armed_{false};
  bool started_ = false;
  HandlerCall call_;
};

}  // namespace heddle
