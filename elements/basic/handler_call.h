#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "core/handlers.h"

namespace heddle {

/** "element.handler value" as an argument, taken as it is written; the value may be left out. */
struct CallText {
  std::string handler, value;
};
bool parse(std::string_view text, CallText& call);
std::string expectation(const CallText&);

/** What `handler` means to the element named `element`: a handler of an element beside it within the same compound
 *  element if there is such, of an outer one after that. */
std::string full_handler_name(Control& control, const std::string& element, const std::string& handler);

/** A write handler that an element has been told to call. Packet threads ask for the call; a thread of this object's
 *  own makes it, because handlers may wait for packet threads. */
class HandlerCall {
 public:
  ~HandlerCall() { finish(); }

  /** Sets what is called; no handler: nothing. Throws Error if there is no such handler, once it has started. */
  void set(CallText call);
  bool given() const { return given_; }

  /** `element`: whose call it is. `afterwards` runs on the same thread after each call; where no handler is given,
   *  each time that ask() would have had it called. */
  void start(Control* control, const std::string& element, std::function<void()> afterwards = {});
  /** From a packet thread; does not wait. Calls that are asked for while one is under way are made once. */
  void ask();
  bool asked() const { return wanted_ != 0; }
  bool under_way() const { return !finished_ && done_ != wanted_; }
  /** Ends the thread; returns what went wrong with the calls, "" = nothing. */
  std::string finish();

 private:
  void serve();

  std::mutex changing_;
  CallText call_;  // its handler by its full name, once started
  std::atomic<bool> given_{false};
  Control* control_ = nullptr;
  std::string element_;
  std::function<void()> afterwards_;
  std::atomic<uint32_t> wanted_{0}, done_{0};
  std::atomic<bool> finished_{false};
  std::string failure_;
  std::thread thread_;
};

}  // namespace heddle
