#include "elements/basic/handler_call.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

TEST(HandlerCall, MakesWhatIsAskedForJustBeforeItsEnd) {
  for (int round = 0; round < 5000; ++round) {
    HandlerCall call;
    int made = 0;  // by the object's thread, which has ended when it is read
    call.start(nullptr, "it", [&made] { ++made; });
    if (round % 2 == 1) std::this_thread::yield();  // the thread may wait for a call already
    call.ask();
    EXPECT_EQ(call.finish(), "");
    ASSERT_EQ(made, 1) << "in round " << round;
    EXPECT_TRUE(call.asked());
    EXPECT_FALSE(call.under_way());
  }
}

TEST(HandlerCall, EndsWithoutACall) {
  for (int round = 0; round < 1000; ++round) {
    HandlerCall call;
    int made = 0;
    call.start(nullptr, "it", [&made] { ++made; });
    EXPECT_EQ(call.finish(), "");
    ASSERT_EQ(made, 0) << "in round " << round;
  }
}

}  // namespace
}  // namespace heddle
