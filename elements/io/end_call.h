#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "core/handlers.h"

namespace heddle {

namespace click {
class Arguments;
}

/** What a source does when it has ended: STOP ends the program, END_CALL ("element.handler value") writes a handler. A
 *  packet thread says that the end has come; a thread of this object's own makes the call, because handlers may wait for
 *  packet threads. */
class EndCall {
 public:
  ~EndCall() { finish(); }

  /** Reads the keywords END_CALL and STOP. */
  void configure(click::Arguments& arguments);
  void start(Control* control);

  /** The source has ended. From a packet thread; does not wait. */
  void reached();
  /** Whether a call is to come or under way, so that the program must go on. */
  bool pending() const { return !handler_.empty() && !finished_ && (wanted_ == 0 || done_ < wanted_); }
  /** Ends the thread; returns what went wrong with the calls, "" = nothing. */
  std::string finish();

 private:
  void serve();

  std::string handler_, value_;
  bool stop_ = false;
  Control* control_ = nullptr;
  std::atomic<uint32_t> wanted_{0}, done_{0};
  std::atomic<bool> finished_{false};
  std::string failure_;
  std::thread thread_;
};

}  // namespace heddle
