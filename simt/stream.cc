#include "simt/stream.h"

#include <algorithm>
#include <thread>

namespace heddle::simt {

std::shared_ptr<Stream> Stream::start(bool blocking) {
  auto stream = std::make_shared<Stream>(blocking);
  std::thread([stream] { stream->serve(); }).detach();
  return stream;
}

void Stream::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return closed_ || !operations_.empty(); });
    if (operations_.empty()) return;
    std::function<void()> operation = std::move(operations_.front());
    operations_.pop_front();
    lock.unlock();
    operation();
    operation = nullptr;
    lock.lock();
    ++ended_;
    changed_.notify_all();
  }
}

void Stream::add(std::function<void()> operation) {
  std::lock_guard lock(mutex_);
  operations_.push_back(std::move(operation));
  ++added_;
  changed_.notify_all();
}

void Stream::close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

uint64_t Stream::added() {
  std::lock_guard lock(mutex_);
  return added_;
}

bool Stream::ended(uint64_t count) {
  std::lock_guard lock(mutex_);
  return ended_ >= count;
}

bool Stream::empty() {
  std::lock_guard lock(mutex_);
  return ended_ == added_;
}

void Stream::wait_for(uint64_t count) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ended_ >= count; });
}

bool Stream::wait_for(uint64_t count, Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  // In system time: ThreadSanitizer does not know of waits by the steady clock.
  const auto until = std::chrono::system_clock::now() + (deadline - Clock::now());
  return changed_.wait_until(lock, until, [&] { return ended_ >= count; });
}

uint64_t Event::announce() {
  std::lock_guard lock(mutex_);
  return ++announced_;
}

void Event::complete(uint64_t recording) {
  std::lock_guard lock(mutex_);
  completed_ = std::max(completed_, recording);
  time_ = Clock::now();
  changed_.notify_all();
}

uint64_t Event::announced() {
  std::lock_guard lock(mutex_);
  return announced_;
}

bool Event::completed(uint64_t recording) {
  std::lock_guard lock(mutex_);
  return completed_ >= recording;
}

void Event::wait_for(uint64_t recording) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return completed_ >= recording; });
}

Clock::time_point Event::time() {
  std::lock_guard lock(mutex_);
  return time_;
}

}  // namespace heddle::simt
