#include "control/protocol.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <utility>

#include "click/quoting.h"
#include "click/values.h"
#include "control/broker.h"

namespace heddle {
namespace {

constexpr int kOk = 200, kSyntax = 500, kUnimplemented = 501, kTooBig = 521;

constexpr const char* kHelp[] = {
    "Commands supported:",
    "READ handler [arg...]   call read handler, return DATA",
    "READDATA handler len    call read handler with len data bytes, return DATA",
    "READUNTIL handler term  call read handler, take data until term, return DATA",
    "WRITE handler [arg...]  call write handler",
    "WRITEDATA handler len   call write handler, pass len data bytes",
    "WRITEUNTIL handler term call write handler, take data until term",
    "CHECKREAD handler       check if read handler is valid",
    "CHECKWRITE handler      check if write handler is valid",
    "QUIT                    close connection",
};

// A reply is one line whatever a client has sent: control characters become octal escapes.
std::string printable(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    result += byte < 32 || byte == 127 ? format("\\%03o", byte) : std::string(1, c);
  }
  return result;
}

void say(std::string& reply, int code, std::string_view message, bool more = false) {
  reply += std::to_string(code) + (more ? "-" : " ") + printable(message) + "\r\n";
}

// A first line, then what went wrong, line by line.
void say_all(std::string& reply, int code, const std::string& first, std::string_view details) {
  while (details.ends_with('\n')) details.remove_suffix(1);
  say(reply, code, first + (details.empty() ? "" : ":"), !details.empty());
  while (!details.empty()) {
    const size_t end = std::min(details.find('\n'), details.size());
    const std::string_view line = details.substr(0, end);
    details.remove_prefix(std::min(end + 1, details.size()));
    say(reply, code, line, !details.empty());
  }
}

// Words at white space; quotes have no meaning here.
std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (size_t i = 0; i < line.size();) {
    if (click::is_space(line[i])) {
      ++i;
      continue;
    }
    const size_t start = i;
    while (i < line.size() && !click::is_space(line[i])) ++i;
    words.push_back(line.substr(start, i - start));
  }
  return words;
}

// From the third word to the end of the last one.
std::string_view rest_of(const std::vector<std::string_view>& words) {
  if (words.size() < 3) return {};
  return {words[2].data(), static_cast<size_t>(words.back().data() + words.back().size() - words[2].data())};
}

}  // namespace

void Protocol::receive(std::string_view bytes) {
  const size_t unwanted = std::min(skip_, bytes.size());
  skip_ -= unwanted;
  bytes.remove_prefix(unwanted);
  if (!bytes.empty() && !closed_) input_ += bytes;
}

void Protocol::skip(size_t bytes) {
  skip_ = bytes - std::min(bytes, input_.size());
  input_.erase(0, bytes);
}

void Protocol::give_up(std::string& reply, int code, const std::string& why) {
  say(reply, code, why);
  input_.clear();
  closed_ = true;
}

// Removes the line that ends at `end` of input_ together with what ends it.
std::string_view Protocol::take_line(size_t end) {
  line_ = input_.substr(0, end);
  size_t next = end;
  if (next < input_.size()) {
    after_cr_ = input_[next] == '\r' && next + 1 == input_.size();
    next += input_.compare(next, 2, "\r\n") == 0 ? 2 : 1;
  }
  input_.erase(0, next);
  scanned_ = 0;
  return line_;
}

bool Protocol::step(std::string& reply) {
  if (closed_) return false;
  if (after_cr_ && !input_.empty()) {
    after_cr_ = false;
    if (input_[0] == '\n') input_.erase(0, 1);
  }
  if (!pending_.command.empty()) return pending_.command.ends_with("DATA") ? take_data(reply) : take_until(reply);
  const size_t end = input_.find_first_of("\r\n", scanned_);
  if (std::min(end, input_.size()) > kMaxBytes) {
    give_up(reply, kSyntax, "Line too long");
    return false;
  }
  if (end == std::string::npos && (!ended_ || input_.empty())) {
    scanned_ = input_.size();
    closed_ = ended_;
    return false;
  }
  execute(take_line(std::min(end, input_.size())), reply);
  return !closed_;
}

void Protocol::execute(std::string_view line, std::string& reply) {
  const auto words = words_of(line);
  if (words.empty()) return;
  std::string command(words[0].substr(0, 80));
  std::transform(command.begin(), command.end(), command.begin(), [](unsigned char c) { return std::toupper(c); });
  if (command == "GET" || command == "SET" || command == "SETDATA")
    command = (command == "GET" ? "READ" : "WRITE") + command.substr(3);
  const std::string handler(words.size() > 1 ? words[1] : "");

  if (command == "READ" || command == "WRITE") {
    if (words.size() < 2) return say(reply, kSyntax, "Wrong number of arguments");
    call(command, handler, std::string(rest_of(words)), reply);
  } else if (command == "READDATA" || command == "WRITEDATA") {
    if (words.size() != 3) return say(reply, kSyntax, "Wrong number of arguments");
    size_t length = 0;
    if (!click::parse(words[2], length, size_t{0}, size_t{INT32_MAX}))
      return say(reply, kSyntax, "Syntax error in '" + command + "'");
    if (length <= kMaxBytes) {
      pending_ = {command, handler, length, {}};
      return;
    }
    say(reply, kTooBig, "Data too large; at most " + std::to_string(kMaxBytes) + " bytes");
    skip(length);
  } else if (command == "READUNTIL" || command == "WRITEUNTIL") {
    if (words.size() < 2) return say(reply, kSyntax, "Wrong number of arguments");
    pending_ = {command, handler, 0, std::string(rest_of(words))};
  } else if (command == "CHECKREAD" || command == "CHECKWRITE") {
    if (words.size() != 2) return say(reply, kSyntax, "Wrong number of arguments");
    check(handler, command == "CHECKWRITE", reply);
  } else if (command == "LLRPC") {
    size_t length = 0;  // of data that follow, and are no commands
    if (words.size() == 3 && !click::parse(words[2], length, size_t{0}, size_t{INT32_MAX}))
      return say(reply, kSyntax, "Syntax error in 'LLRPC'");
    say(reply, kUnimplemented, "Command 'LLRPC' unimplemented");
    skip(length);
  } else if (command == "QUIT" || command == "CLOSE") {
    if (words.size() != 1) say(reply, kSyntax, "Bad command syntax");
    give_up(reply, kOk, "Goodbye!");
  } else if (command == "HELP") {
    for (auto& text : kHelp) say(reply, kOk, text, &text != std::end(kHelp) - 1);
  } else {
    say(reply, kUnimplemented, "Command '" + command + "' unimplemented");
  }
}

bool Protocol::end_pending(std::string& reply, const char* why) {
  if (!ended_) return false;
  give_up(reply, kSyntax, why);
  return false;
}

bool Protocol::take_data(std::string& reply) {
  if (input_.size() < pending_.length) return end_pending(reply, "Not enough data");
  const std::string data = input_.substr(0, pending_.length);
  input_.erase(0, pending_.length);
  const Pending done = std::exchange(pending_, {});
  call(done.command, done.handler, data, reply);
  return true;
}

bool Protocol::take_until(std::string& reply) {
  // scanned_ is at the beginning of a line; trailing spaces do not count.
  for (size_t begin = scanned_;;) {
    const size_t end = input_.find_first_of("\r\n", begin);
    // A carriage return at the very end may be half of a line's end.
    if (end == std::string::npos || (input_[end] == '\r' && end + 1 == input_.size() && !ended_)) {
      scanned_ = begin;
      if (input_.size() > kMaxBytes) return give_up(reply, kTooBig, "Data too large"), false;
      return end_pending(reply, "Connection closed");
    }
    std::string_view line = std::string_view(input_).substr(begin, end - begin);
    while (!line.empty() && click::is_space(line.back())) line.remove_suffix(1);
    const size_t next = end + (input_.compare(end, 2, "\r\n") == 0 ? 2 : 1);
    if (line == pending_.terminator) {
      const std::string data = input_.substr(0, begin);
      input_.erase(0, next);
      scanned_ = 0;
      const Pending done = std::exchange(pending_, {});
      call(done.command, done.handler, data, reply);
      return true;
    }
    begin = next;
  }
}

void Protocol::call(const std::string& command, const std::string& handler, const std::string& data,
                    std::string& reply) {
  Conversation::current() = &conversation_;
  if (command[0] == 'R')
    read(handler, data, reply);
  else
    write(handler, data, reply);
  Conversation::current() = nullptr;
}

Protocol::Target Protocol::target(const std::string& handler, const std::string& argument) const {
  const size_t dot = handler.rfind('.');
  const std::string proxy = manners_.proxy();
  if (proxy.empty() || dot == std::string::npos || dot == 0) return {handler, argument};
  return {proxy, argument.empty() ? handler : handler + " " + argument};
}

void Protocol::read(const std::string& handler, const std::string& argument, std::string& reply) {
  try {
    const Target called = target(handler, argument);
    const std::string data = control_.read(called.handler, called.argument);
    say(reply, kOk, "Read handler '" + handler + "' OK");
    reply += "DATA " + std::to_string(data.size()) + "\r\n" + data;
  } catch (const HandlerError& error) {
    if (error.code == HandlerError::read_failed)
      say_all(reply, error.code, "Read handler '" + handler + "' error", error.what());
    else
      say(reply, error.code, error.what());
  }
}

void Protocol::write(const std::string& handler, const std::string& value, std::string& reply) {
  try {
    const Target called = target(handler, value);
    if (manners_.read_only() && control_.find(called.handler).write)
      return say(reply, HandlerError::denied, "Permission denied for '" + handler + "'");
    control_.write(called.handler, called.argument);
    say(reply, kOk, "Write handler '" + handler + "' OK");
  } catch (const HandlerError& error) {
    if (error.code == HandlerError::write_failed)
      say_all(reply, error.code, "Write handler '" + handler + "' error", error.what());
    else
      say(reply, error.code, error.what());
  }
}

void Protocol::check(const std::string& name, bool write, std::string& reply) {
  try {
    const Handler handler = control_.find(target(name).handler);
    const bool ok = write ? bool(handler.write) : bool(handler.read);
    if (write && manners_.read_only() && ok)
      say(reply, HandlerError::denied, "Permission denied for '" + name + "'");
    else if (ok)
      say(reply, kOk, std::string(write ? "Write" : "Read") + " handler '" + name + "' OK");
    else
      say(reply, HandlerError::no_handler, "Handler '" + name + (write ? "' not writable" : "' not readable"));
  } catch (const HandlerError& error) {
    say(reply, error.code, error.what());
  }
}

}  // namespace heddle
