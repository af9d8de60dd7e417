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
  /** "element.handler value", "" if there is none. */
  std::string text();

  /** `element`: whose call it is. `afterwards` runs on the same thread after each call; where no handler is given,
   *  each time that ask() would have had it called. */
  void start(Control* control, const std::string& element, std::function<void()> afterwards = {});
  /** Calls are made when what packet threads had done before they were asked for is in the counts that handlers read,
   *  see Control::await_counts(). */
  void after_counting() { after_counting_ = true; }
  /** From a packet thread; does not wait. Calls that are asked for while one is under way are made once. */
  void ask();
  bool asked() const { return (wanted_ & ~kLast) != 0; }
  /** A call has been asked for and not been made; false once finish() waits, which has it made. */
  bool under_way() const {
    const uint64_t wanted = wanted_;
    return (wanted & kLast) == 0 && done_ != wanted;
  }
  /** Ends the thread; returns what went wrong with the calls, "" = nothing. */
  std::string finish();

 private:
  void serve();

  static constexpr uint64_t kLast = uint64_t{1} << 63;
  std::mutex changing_;
  CallText call_;  // its handler by its full name, once started
  std::atomic<bool> given_{false};
  Control* control_ = nullptr;
  std::string element_;
  std::function<void()> afterwards_;
  bool after_counting_ = false;
  std::atomic<uint64_t> wanted_{0}, done_{0};  // calls; together with kLast: no more will be asked for
  std::string failure_;
  std::thread thread_;
};

}  // namespace heddle
