#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace heddle::capture {

/** How long a reader that takes nothing is waited for, and any in all, once the program is to end or others wait. */
constexpr std::chrono::seconds kPatience{2}, kPatienceInAll{10};

/** While it lives, Outputs that its thread makes wait for the reader of a named pipe no longer than kPatience: others
 *  wait for that thread. */
class OpensInTime {
 public:
  OpensInTime() { ++alive_; }
  ~OpensInTime() { --alive_; }
  OpensInTime(const OpensInTime&) = delete;
  OpensInTime& operator=(const OpensInTime&) = delete;
  static bool any() { return alive_ > 0; }

 private:
  static inline thread_local int alive_ = 0;
};

/** A file that this program writes, or its standard output. Two at a time never mean the same one: what they write
 *  would lie between each other's. (Devices such as /dev/null may be opened several times.) */
class Output {
 public:
  /** Opens `path` for writing, new or emptied; "-": standard output, which is left as it is. Throws Error, and leaves
   *  the file alone, when it is a capture that a Reader has mapped (which would lose its packets under the Reader's
   *  hands), or when another Output writes there, whose `owner` the message names. Waits until somebody opens a named
   *  pipe to read, or `stopping` says, from any thread, that the program is to end, which is an error then, as it is
   *  when an OpensInTime has waited long enough. */
  Output(const std::string& path, const std::string& owner, std::function<bool()> stopping = {});
  ~Output() { close(); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  int descriptor() const { return descriptor_; }  ///< -1: closed; writes to it may fail with EAGAIN

  /** Writes `text`, and waits where whoever reads a pipe, a socket or a terminal has no room for more, or, with `waits`
   *  false, returns. (Standard output that is another user's terminal, which this program may not open anew, may keep
   *  it waiting without end.) Once the program is to end, a reader that takes nothing for 2 seconds, or not all within
   *  10, is waited for no longer, which is a failure. Returns how many bytes have been written, all if there is no
   *  failure and it `waits`. After a failure nothing is written. One thread at a time. */
  size_t write(std::string_view text, bool waits = true);
  /** What went wrong in write(), "": nothing. */
  const std::string& failure() const { return failure_; }

  /** Whether its path still leads to it: a file may have been moved away. From any thread. */
  bool is_at_path() const;

  /** Another function in place of the constructor's `stopping`. From any thread. */
  void set_stopping(std::function<bool()> stopping);

  /** Closes the file, but not standard output. Returns 0 or what went wrong (errno). */
  int close();

 private:
  friend std::string waits_in_vain(std::chrono::steady_clock::time_point since);
  class Wait;
  using Clock = std::chrono::steady_clock;

  bool is_standard() const { return path_ == "-"; }
  void open();
  void open_anew(mode_t mode);
  void claim();
  void give_up_claim() const;
  ssize_t write_some(std::string_view text) const;
  bool wait_for_room();

  std::string path_, owner_;
  int descriptor_ = -1;
  unsigned long device_ = 0, file_ = 0;
  bool shareable_ = false;
  bool is_socket_ = false;
  bool may_block_ = false;  // a pipe or terminal with which other processes share O_NONBLOCK
  std::string failure_;
  std::mutex asking_;  // for what follows
  std::function<bool()> stopping_;
  std::optional<Clock::time_point> stopping_since_;
  Clock::time_point last_taken_{};  // the writing thread's
};

/** Who waits in vain for a reader, for people: "'dump' waits for whoever reads '/tmp/pipe'". That is one that has taken
 *  nothing for 2 seconds, or has not taken all within 10 seconds of `since`. "": nobody does, or `since` is less than 2
 *  seconds ago. */
std::string waits_in_vain(std::chrono::steady_clock::time_point since);

/** Writes all of `text`, and waits where the other end has no room. Returns 0 or what went wrong (errno). */
int write_all(int descriptor, std::string_view text);

}  // namespace heddle::capture
