#pragma once

#include <functional>
#include <string_view>

namespace heddle::script {

/** The number of a signal that is given by name (INT, SIGHUP) or number and that a program may take; 0: none. */
int signal_number(std::string_view text);

/** From now on calls `take` on a thread of its own when the program gets signal `number`. False: the signal is not
 *  taken, and if nobody takes it, it does what it did before, as far as that is a function of the program. */
void watch_signal(const void* owner, int number, std::function<bool()> take);
/** No more; when the last one goes, the signal is as it was before. Waits for a call under way. */
void forget_signals(const void* owner);

}  // namespace heddle::script
