#include "functions/nids/eve.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "io/capture/output_file.h"

namespace heddle::nids {
namespace {

constexpr size_t kTextBytes = 64 << 10;        // written when there is more
constexpr size_t kLongestLineBytes = 1 << 20;  // messages come from rule files, and have no bound

void append_number(std::string& text, uint64_t number) {
  char digits[24];
  text.append(digits, static_cast<size_t>(
                          std::snprintf(digits, sizeof digits, "%llu", static_cast<unsigned long long>(number))));
}

/** 10.0.0.1, or, of IPv6, all digits, as Suricata writes them: 2001:0db8:0000:0000:0000:0000:0000:0001. */
void append_address(std::string& text, bool is_ip6, Wide address) {
  if (is_ip6) {
    for (int shift = 112; shift >= 0; shift -= 16) {
      char group[8];
      text.append(group, static_cast<size_t>(std::snprintf(group, sizeof group, shift > 0 ? "%04x:" : "%04x",
                                                           static_cast<unsigned>(address >> shift) & 0xffff)));
    }
    return;
  }
  for (int shift = 24; shift >= 0; shift -= 8) {
    append_number(text, static_cast<uint64_t>(address >> shift) & 255);
    if (shift > 0) text += '.';
  }
}

/** 2026-11-22T05:02:56.000001+0000, as Suricata writes it. */
void append_time(std::string& text, uint64_t timestamp_ns) {
  const auto seconds = static_cast<time_t>(timestamp_ns / 1000000000);
  tm parts{};
  gmtime_r(&seconds, &parts);
  char when[48];
  const size_t length = std::strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &parts);
  text.append(when, length);
  const int rest = std::snprintf(when, sizeof when, ".%06u+0000", static_cast<unsigned>(timestamp_ns / 1000 % 1000000));
  text.append(when, static_cast<size_t>(rest));
}

}  // namespace

std::string eve_alert(const Signature& rule, bool blocked) {
  const nlohmann::ordered_json alert = {{"action", blocked ? "blocked" : "allowed"},
                                        {"gid", rule.generator},
                                        {"signature_id", rule.sid},
                                        {"rev", rule.revision},
                                        {"signature", rule.message},
                                        {"category", rule.category},
                                        {"severity", rule.priority != 0 ? rule.priority : kUsualPriority}};
  return alert.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
}

EveFile::EveFile(const std::string& path, const std::string& owner, bool shared)
    : path_(path), output_(std::make_unique<capture::Output>(path, owner)), shared_(shared) {
  text_.reserve(kTextBytes + kLongestLineBytes);
}

EveFile::~EveFile() = default;

void EveFile::add(uint64_t timestamp_ns, const View& view, const std::string& alert) {
  std::unique_lock lock(writing_, std::defer_lock);
  if (shared_) lock.lock();
  text_ += R"({"timestamp":")";
  append_time(text_, timestamp_ns);
  text_ += R"(","event_type":"alert","src_ip":")";
  append_address(text_, view.is_ip6, view.source);
  if (view.has_ports) text_ += R"(","src_port":)", append_number(text_, view.source_port);
  text_ += view.has_ports ? R"(,"dest_ip":")" : R"(","dest_ip":")";
  append_address(text_, view.is_ip6, view.destination);
  if (view.has_ports) text_ += R"(","dest_port":)", append_number(text_, view.destination_port);
  text_ += view.has_ports ? R"(,"proto":")" : R"(","proto":")";
  constexpr const char* kNames[] = {"", "TCP", "UDP", "ICMP"};
  if (view.protocol == Protocol::ip)
    append_number(text_, view.number);
  else
    text_ += view.number == kIcmp6Number ? "IPv6-ICMP" : kNames[static_cast<size_t>(view.protocol)];
  text_ += R"(","alert":)";
  text_ += alert;
  text_ += "}\n";
  ++lines_;
  if (text_.size() > kTextBytes) write_out();
}

void EveFile::flush() {
  std::unique_lock lock(writing_, std::defer_lock);
  if (shared_) lock.lock();
  write_out();
}

void EveFile::write_out() {
  size_t done = 0;
  while (done < text_.size() && failure_ == 0) {
    const ssize_t written = ::write(output_->descriptor(), text_.data() + done, text_.size() - done);
    if (written >= 0) {
      done += static_cast<size_t>(written);
    } else if (errno == EAGAIN) {
      pollfd waiting{output_->descriptor(), POLLOUT, 0};
      poll(&waiting, 1, -1);
    } else if (errno != EINTR) {
      failure_ = errno;
    }
  }
  if (failure_ != 0) lost_ += lines_;
  text_.clear();
  lines_ = 0;
}

std::string EveFile::close() {
  flush();
  if (const int error = output_->close(); error != 0 && failure_ == 0) failure_ = error;
  return failure_ == 0 ? "" : format("cannot write '%s': %s", path_.c_str(), std::strerror(failure_));
}

}  // namespace heddle::nids
