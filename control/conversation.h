#pragma once

#include <functional>
#include <map>
#include <string>

namespace heddle {

/** What handlers have begun for a client that ends with it. The handlers that a thread runs for a client find it. */
class Conversation {
 public:
  Conversation() = default;
  ~Conversation() {
    for (auto& [what, end] : ends_) end();
  }
  Conversation(Conversation&&) = default;
  Conversation& operator=(Conversation&&) = delete;

  /** That of the client for whom this thread runs a handler; null: for none (Script). */
  static Conversation*& current() {
    static thread_local Conversation* conversation = nullptr;
    return conversation;
  }

  /** `end` is called when the client has gone, on the thread that finds that out; it does not wait for handlers. What
   *  is of the same name takes the place of the one before, which is not called. */
  void at_end(const std::string& what, std::function<void()> end) { ends_[what] = std::move(end); }

 private:
  std::map<std::string, std::function<void()>> ends_;
};

}  // namespace heddle
