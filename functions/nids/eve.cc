#include "functions/nids/eve.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "io/capture/output_file.h"

namespace heddle::nids {
namespace {

constexpr size_t kTextBytes = 64 << 10;        // written when there is more
constexpr size_t kMostWaitingBytes = 4 << 20;  // alerts are lost when there is more
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
                                        {"severity", rule.priority.value_or(kUsualPriority)}};
  return alert.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
}

EveFile::EveFile(const std::string& path, const std::string& owner, bool shared, const Manners& manners)
    : path_(path),
      owner_(owner),
      output_(std::make_unique<capture::Output>(path, owner, manners.stopping)),
      shared_(shared),
      waits_(manners.waits) {
  text_.reserve(kMostWaitingBytes / 2 * 3 + kLongestLineBytes);
}

EveFile::~EveFile() = default;

bool EveFile::can_go_on() const { return !failed_.load(std::memory_order_relaxed) && output_->is_at_path(); }

void EveFile::set(const Manners& manners) {
  waits_ = manners.waits;
  output_->set_stopping(manners.stopping);
}

void EveFile::add(uint64_t timestamp_ns, const View& view, const std::string& alert) {
  std::unique_lock lock(writing_, std::defer_lock);
  if (shared_) lock.lock();
  if (waiting() >= kMostWaitingBytes) write_out(waits_);
  if (output_->failure().empty() && waiting() < kMostWaitingBytes) {
    append(timestamp_ns, view, alert);
    if (waiting() > kTextBytes) write_out(waits_);
  } else if (lost_.fetch_add(1, std::memory_order_relaxed) == 0 && output_->failure().empty()) {
    std::fprintf(stderr, "heddle: %s: alerts come faster than they are read from '%s'; some are lost from now on\n",
                 owner_.c_str(), path_.c_str());
  }
}

void EveFile::append(uint64_t timestamp_ns, const View& view, const std::string& alert) {
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
}

void EveFile::flush() {
  std::unique_lock lock(writing_, std::defer_lock);
  if (!shared_ || lock.try_lock()) write_out(false);
}

void EveFile::write_out(bool waits) {
  written_ += output_->write(std::string_view(text_).substr(written_), waits);
  if (!output_->failure().empty()) {
    if (!failed_.exchange(true, std::memory_order_relaxed))
      std::fprintf(stderr, "heddle: %s: cannot write '%s': %s; alerts are lost from now on\n", owner_.c_str(),
                   path_.c_str(), output_->failure().c_str());
    lost_ += static_cast<uint64_t>(std::count(text_.begin() + static_cast<ptrdiff_t>(written_), text_.end(), '\n'));
    text_.clear();
    written_ = 0;
  } else if (written_ == text_.size() || written_ >= kMostWaitingBytes / 2) {  // rarely: what is left moves
    text_.erase(0, written_);
    written_ = 0;
  }
}

std::string EveFile::close() {
  failed_ = true;  // who closes it says what has gone wrong
  write_out(true);
  const int error = output_->close();
  const std::string why = error != 0 && output_->failure().empty() ? std::strerror(error) : output_->failure();
  const auto lost = static_cast<unsigned long long>(lost_);
  if (!why.empty())
    return format("cannot write '%s': %s", path_.c_str(), why.c_str()) +
           (lost == 0 ? "" : format("; alerts lost: %llu", lost));
  if (lost > 0)
    std::fprintf(stderr, "heddle: %s: alerts lost, as they came faster than they were read from '%s': %llu\n",
                 owner_.c_str(), path_.c_str(), lost);
  return {};
}

}  // namespace heddle::nids
