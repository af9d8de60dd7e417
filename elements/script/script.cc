#include "elements/script/script.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>

#include "click/quoting.h"
#include "click/values.h"
#include "control/broker.h"
#include "elements/basic/handler_call.h"
#include "elements/script/functions.h"
#include "elements/script/signals.h"
#include "elements/script/text.h"

namespace heddle {
namespace {

constexpr int kMaxJumps = 1000;
constexpr auto kSimulatedLook = std::chrono::microseconds(100);  // how often at the simulated time
constexpr auto kLook = std::chrono::milliseconds(10);  // how often a driver looks whether the sources are exhausted

// Writes to a file, "-" is standard output. Throws Error.
void write_file(const std::string& path, bool append, const std::string& text) {
  const bool standard = path.empty() || path == "-";
  FILE* file = standard ? stdout : std::fopen(path.c_str(), append ? "ab" : "wb");
  bool good = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file != nullptr) good = (standard ? std::fflush(file) : std::fclose(file)) == 0 && good;
  if (!good) throw Error(path + ": " + std::strerror(errno));
}

}  // namespace

Script::~Script() { stop(); }

void Script::start(const Environment& environment) {
  control_ = environment.control;
  if (thread_.joinable()) {  // it goes on in another configuration
    if (type_ == Type::driver) control_->on_stop([this] { step(1); });
    return;
  }
  stopping_ = false;
  if (environment.random_seed) script::seed_random(*environment.random_seed);
  for (auto& instruction : instructions_) {
    if (instruction.op != Op::init && instruction.op != Op::export_) continue;
    variables_[instruction.name] = value(instruction);
  }
  if (waits_to_be_called()) position_ = instructions_.size();
  start_type(environment);
  if (type_ == Type::driver) control_->on_stop([this] { step(1); });
  if (!waits_to_be_called()) sleeper_.sleep_until(Clock::now());  // until it has begun
  thread_ = std::thread([this] { serve(); });
}

std::string Script::stop() {
  stop_type();
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  return {};
}

// The script's own thread: begins, and goes on when a time has come. Handlers may do so meanwhile.
void Script::serve() {
  control_->exclusively([this] { execute(); });
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    wait_for_work(lock);
    if (stopping_) return;
    const bool timed = wake_at_ != Clock::time_point::max();
    lock.unlock();
    if (type_ == Type::signal) answer_signals();
    if (type_ == Type::packet) answer_packets();
    if (type_ != Type::signal) await_signals();
    if (type_ == Type::driver && !timed) {
      // What it writes may let sources go on, and these may be done again before anybody looks.
      const bool wrote = has_written_.exchange(false);
      const bool before = exhausted_ && !wrote;
      exhausted_ = control_->exhausted();
      if (exhausted_ && !before) control_->stop();
    }
    control_->exclusively([this] { execute(); });
    lock.lock();
  }
}

// What a signal does is done when other scripts go on, as when one thread runs everything.
void Script::await_signals() const {
  while (script::signals_unanswered() && !stopping_) std::this_thread::sleep_for(kLookForSignals);
}

void Script::wait_for_work(std::unique_lock<std::mutex>& lock) {
  if (signals_come_ != 0 || unanswered_ > 0) return;
  const bool timed = wake_at_ != Clock::time_point::max();
  if (Clock::simulated() && (timed || type_ == Type::driver))
    changed_.wait_for(lock, kSimulatedLook);
  else if (type_ == Type::driver)
    changed_.wait_for(lock, kLook);
  else if (timed)
    changed_.wait_until(lock, wake_at_);
  else
    changed_.wait(lock);
}

// Goes on until the script waits or ends; may be called at any time.
void Script::execute() {
  if (executing_) return;  // by one of its own instructions: the loop below goes on with what has changed
  executing_ = true;
  jumps_ = 0;
  while (!stopping_ && position_ < instructions_.size()) {
    const size_t at = position_++;
    bool goes_on = true;
    try {
      goes_on = execute_one(instructions_[at]);
    } catch (const Error& error) {
      report(error.what());
      const Op op = instructions_[at].op;
      if (op == Op::return_ || op == Op::error) finish(op == Op::error ? op : Op::end), goes_on = false;
    }
    if (!goes_on) break;
    if (position_ != at + 1 && ++jumps_ >= kMaxJumps) {
      report("too many jumps, giving up");
      finish(Op::end);
    }
  }
  if (position_ >= instructions_.size()) steps_ = 0;
  executing_ = false;
  keeps_running_ = position_ < instructions_.size() && !waits_to_be_called();
  const bool timed = position_ < instructions_.size() && instructions_[position_].op == Op::wait;
  const std::lock_guard lock(mutex_);
  wake_at_ = timed ? deadline_ : Clock::time_point::max();
  const bool knows_of_end = exhausted_ && !has_written_;
  if (keeps_running_ && !timed && type_ == Type::driver && !knows_of_end)
    sleeper_.sleep_until_exhausted();
  else
    sleeper_.sleep_until(wake_at_);
  changed_.notify_all();
}

bool Script::execute_one(const Instruction& instruction) {
  switch (instruction.op) {
    case Op::init:
    case Op::export_:
    case Op::label:
      return true;
    case Op::pause:
    case Op::wait:
      return wait_for(instruction);
    case Op::set:
      variables_[instruction.name] = value(instruction);
      return true;
    case Op::print:
      print(instruction);
      return true;
    case Op::save:
    case Op::append:
      save(instruction);
      return true;
    case Op::read: {
      const auto [name, argument] = call_of(expand(instruction.text), instruction.unquote);
      const std::string handler = resolve(name);
      std::fprintf(stderr, "%s:\n%s\n", handler.c_str(), control_->read(handler, argument).c_str());
      return true;
    }
    case Op::write: {
      const auto [handler, argument] = call_of(expand(instruction.text), instruction.unquote);
      write_status_ = -EINVAL;
      control_->write(resolve(handler), argument);
      has_written_ = true;
      write_status_ = 0;
      return true;
    }
    case Op::goto_: {
      const std::string condition = expand(instruction.text);
      if (!condition.empty() && !script::truth(condition)) return true;
      return jump(instruction.target);
    }
    case Op::return_:
      result_ = value(instruction);
      finish(Op::end);
      return false;
    case Op::error:
      if (const std::string text = value(instruction); !text.empty()) report(text);
      finish(Op::error);
      return false;
    case Op::exit:
      exited_ = true;
      finish(Op::end);
      return false;
    case Op::end:
    case Op::stop:
      finish(instruction.op);
      return false;
  }
  return true;
}

// Whether what it waits for has come; else the script stays where it is.
bool Script::wait_for(const Instruction& instruction) {
  const auto now = Clock::now();
  if (!blocked_) {
    blocked_ = true;
    left_ = instruction.count;
    click::Duration time;
    if (instruction.op == Op::wait) {
      const std::string text = expand(instruction.text);
      if (!script::parse_time(text, time)) {
        blocked_ = false;
        throw Error("wait: '" + text.substr(0, 80) + "' is not a time such as 1.5s");
      }
    }
    deadline_ = now + std::chrono::microseconds(time.microseconds);
  }
  bool over;
  if (instruction.op == Op::pause) {
    const int taken = std::min(left_, steps_);
    left_ -= taken, steps_ -= taken;
    over = left_ == 0;
  } else {
    over = steps_ > 0 || now >= deadline_;
    if (steps_ > 0) --steps_;
  }
  if (over)
    blocked_ = false;
  else
    --position_;
  return over;
}

bool Script::jump(int target) {
  if (target >= 0) {
    go_to(static_cast<size_t>(target));
    return true;
  }
  const Op how = static_cast<Op>(-1 - target);
  if (how == Op::exit) exited_ = true;
  finish(how == Op::exit ? Op::end : how);
  return false;
}

void Script::go_to(size_t position) {
  position_ = position;
  blocked_ = false;
}

void Script::finish(Op how) {
  go_to(instructions_.size());
  if (how == Op::error && collecting_ && errors_.empty()) errors_ = "error";
  if (type_ == Type::driver) {
    control_->on_stop({});
    control_->end();
  } else if (how == Op::stop) {
    control_->stop();
  }
}

void Script::step(int count) {
  if (position_ >= instructions_.size()) return;
  steps_ = static_cast<int>(std::min<int64_t>(int64_t{steps_} + count, INT32_MAX));
  execute();
}

std::string Script::run(const std::string& arguments) {
  go_to(0);
  arguments_ = arguments;
  result_.clear();
  if (executing_) return {};
  errors_.clear();
  collecting_ = true;
  execute();
  collecting_ = false;
  if (!errors_.empty()) throw Error(errors_);
  return result_;
}

void Script::report(const std::string& problem) {
  if (collecting_)
    errors_ += (errors_.empty() ? "" : "\n") + problem;
  else
    std::fprintf(stderr, "While executing '%s :: %s':\n  %s\n", name.c_str(), class_name.c_str(), problem.c_str());
}

void Script::print(const Instruction& instruction) {
  std::string_view text = instruction.text;
  std::string path;
  const bool to_file = text.starts_with('>'), append = text.starts_with(">>");
  if (to_file) {
    text.remove_prefix(append ? 2 : 1);
    path = click::unquote(expand(script::take_word(text), true));
  }
  const char first = text.empty() ? '\0' : text[0];
  std::string result;
  if (std::isalpha(static_cast<unsigned char>(first)) || first == '@' || first == '_') {
    result = call(expand(text), instruction.unquote);
  } else {
    result = click::unquote(expand(text, true));
  }
  if (instruction.newline && !result.ends_with('\n')) result += '\n';
  write_file(path, append, result);
}

void Script::save(const Instruction& instruction) {
  const std::string path = click::unquote(expand(instruction.text, true));
  std::string value = call(expand(instruction.name));
  if (path == "-" && !value.ends_with('\n')) value += '\n';
  write_file(path, instruction.op == Op::append, value);
}

std::string Script::expand(std::string_view text, bool quote) {
  return script::expand(
      text, [this](const std::string& reference, bool call) { return meaning(reference, call); }, quote);
}

std::string Script::value(const Instruction& instruction) {
  std::string text = expand(instruction.text);
  return instruction.unquote ? click::unquote(text) : text;
}

std::optional<std::string> Script::meaning(const std::string& reference, bool is_call) {
  if (is_call) return call(reference);
  if (const auto found = variables_.find(reference); found != variables_.end()) return found->second;
  if (reference == "$") return std::to_string(getpid());
  if (reference == "?") return std::to_string(write_status_);
  if (reference == "args" || (type_ == Type::packet && reference == "input")) return arguments_;
  if (type_ == Type::proxy && reference == "0") return called_;
  if (type_ == Type::proxy && reference == "write") return called_to_write_ ? "true" : "false";
  const auto words = click::split_words(arguments_);
  if (reference == "#") return std::to_string(words.size());
  size_t number = 0;
  if (!click::parse(reference, number, size_t{1}, size_t{1} << 20)) return std::nullopt;
  return number <= words.size() ? std::string(words[number - 1]) : "";
}

// The handler's name is taken off before quotes go: white space within them belongs to the argument.
std::pair<std::string, std::string> Script::call_of(std::string_view text, bool unquote) {
  const std::string handler = script::take_word(text);
  return {handler, unquote ? click::unquote(text) : std::string(text)};
}

std::string Script::call(std::string_view text, bool unquote) {
  const auto [handler, argument] = call_of(text, unquote);
  if (const auto* function = script::find_function(handler); function != nullptr) return function->call(argument);
  return control_->read(resolve(handler), argument);
}

// The full name: without an element, one of the script's own handlers if it has such.
std::string Script::resolve(const std::string& handler) const {
  if (handler.find('.') != std::string::npos) return full_handler_name(*control_, name, handler);
  try {
    control_->find(name + "." + handler);
    return name + "." + handler;
  } catch (const Error&) {
    return handler;  // one of the router's
  }
}

}  // namespace heddle
