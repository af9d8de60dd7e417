#pragma once

#include <cstdint>
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

/** Sends signal `number` (0: asks whether there is such a process) to a process; the own one has got it when this
 *  returns. Throws Error. */
void send_signal(int number, int process);

/** Whether signals have come that watch_signal() has still to tell of, or that have been told of and not answered. */
bool signals_untaken();
bool signals_unanswered();
/** What takes a signal will answer it later, on another thread; returns its turn. */
uint64_t answer_later();
/** Whether as many have been answered as were taken before that turn, so that signals are answered in order. */
bool has_turn(uint64_t turn);
/** One has been answered. */
void answered();

}  // namespace heddle::script
