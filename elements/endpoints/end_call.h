#pragma once

#include <atomic>
#include <string>

#include "elements/basic/handler_call.h"

namespace heddle {

namespace click {
class Arguments;
}

/** What a source does when it has ended: STOP ends the program, END_CALL ("element.handler value") writes a handler. */
class EndCall {
 public:
  /** Reads the keywords END_CALL and STOP. */
  void configure(click::Arguments& arguments);
  /** `element`: the source. */
  void start(Control* control, const std::string& element);

  /** The source has ended. From a packet thread; does not wait. */
  void reached();
  /** The source goes on from a predecessor, which had `ended`: that one has called, or is about to. */
  void go_on(bool ended) { ended_before_ = ended; }
  /** Whether a call is to come or under way, so that the program must go on. */
  bool pending() const { return (call_.given() && !call_.asked() && !ended_before_) || call_.under_way(); }
  /** No call comes any more; returns what went wrong with those before, "" = nothing. */
  std::string finish();

 private:
  HandlerCall call_;
  bool stop_ = false;
  std::atomic<bool> ended_before_{false};
};

}  // namespace heddle
