#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "core/element.h"

struct nlmsghdr;
struct mnl_socket;

namespace heddle {

/** An element that follows what the kernel knows (rtnetlink(7)) and tells it to another element by its handlers: reads
 *  all of it, then every change. When the kernel has had more changes than its socket holds, or changes of which it
 *  tells nobody, all of it is read again. A thread of its own does this. */
class KernelFollower : public Element {
 public:
  ~KernelFollower() override;
  const char* ports() const override { return "0/0"; }
  bool keeps_running() const override { return true; }
  void start(const Environment& environment) override;
  void run_cpu(Batch&) override {}
  std::string stop() override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

 protected:
  /** `groups`: RTMGRP_ bits; `what`: RTM_GET...; `family`: AF_INET or AF_INET6; `again_ms`: all is read again so often;
   *  0: only when needed. */
  KernelFollower(uint32_t groups, uint16_t what, uint8_t family, int again_ms)
      : groups_(groups), what_(what), family_(family), again_ms_(again_ms) {}

  // On the thread:
  /** A message of the kernel; true: changes may have gone unsaid, so all must be read again. */
  virtual bool take(const nlmsghdr& message) = 0;
  /** All is read from here on, and has been. */
  virtual void begin_all() = 0;
  virtual void end_all() = 0;
  /** Tells the element what has changed since. */
  virtual void tell() = 0;
  /** Calls a write handler; false if it fails, which `last_failure` tells if it `matters`, or over() is true. */
  bool write(const std::string& handler, const std::string& value, bool matters = true);

  /** Runs `work` while no handler runs on another thread and no configuration takes another one's place. */
  void exclusively(const std::function<void()>& work) { control_->exclusively(work); }

  /** The full name of a write handler that a name means here. Throws Error if there is none. */
  std::string handler_named(const Environment& environment, const std::string& text) const;
  bool stopping() const { return stopping_; }
  /** Whether the program ends, or this configuration does not come to run. */
  bool over() const { return over_(); }
  /** Whether all has been read, and nothing may have changed meanwhile. On the thread. */
  bool complete() const { return readings_ > 0 && !again_; }

 private:
  void open();
  void close();
  void follow();
  /** Reads all; false: it must be read again. */
  bool read_all();
  /** Takes the messages that are there. `until`: sequence number of the dump that ends it, or 0. */
  enum class Reading { idle, ended, lost };
  Reading read(uint32_t until);

  const uint32_t groups_;
  const uint16_t what_;
  const uint8_t family_;
  const int again_ms_;
  Control* control_ = nullptr;
  std::function<bool()> over_;
  mnl_socket* socket_ = nullptr;
  int wake_ = -1;
  uint32_t sequence_ = 0;
  bool again_ = false;  // all is to be read again
  std::atomic<bool> stopping_{false};
  std::atomic<uint64_t> readings_{0};
  std::mutex failing_;
  std::string failure_;  // the last
  std::thread thread_;
};

}  // namespace heddle
