#include "elements/ip/flow_trace.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "click/values.h"
#include "core/error.h"

namespace heddle {
namespace {

constexpr size_t kTracePieceBytes = 64 << 10;  // written when there is more

/** Seconds with six digits behind the point, or nine if it needs them. */
std::string seconds_text(uint64_t ns) {
  const uintmax_t seconds = ns / 1'000'000'000, rest = ns % 1'000'000'000;
  return rest % 1000 == 0 ? format("%ju.%06ju", seconds, rest / 1000) : format("%ju.%09ju", seconds, rest);
}

}  // namespace

FlowTrace::FlowTrace(const std::string& path, const std::string& owner, const std::function<bool()>& stopping)
    : path_(path), output_(path, owner, stopping), text_("<?xml version='1.0' standalone='yes'?>\n<trace>\n") {}

void FlowTrace::begin(uint32_t number, const Ends& ends, uint64_t now_ns) {
  flows_[number] = {ends, now_ns, now_ns, {}};
}

void FlowTrace::count(uint32_t number, uint32_t direction, uint64_t now_ns) {
  const auto found = flows_.find(number);
  if (found == flows_.end()) return;  // it has waited here, and the flow has ended meanwhile
  ++found->second.packets[direction];
  found->second.last_ns = std::max(found->second.last_ns, now_ns);
}

void FlowTrace::end(uint32_t number) {
  const auto found = flows_.find(number);
  if (found == flows_.end()) return;
  add(number, found->second);
  flows_.erase(found);
  if (text_.size() > kTracePieceBytes) write();
}

void FlowTrace::add(uint32_t number, const Flow& flow) {
  const auto end = [&](size_t i, const char* address, const char* port) {
    return format(" %s='", address) + click::to_text(click::Ipv4Address{ntohl(flow.ends.addresses[i])}) +
           format("' %s='%u'", port, ntohs(flow.ends.ports[i]));
  };
  text_ += format("<flow aggregate='%u'", number) + end(0, "src", "sport") + end(1, "dst", "dport") + " begin='" +
           seconds_text(flow.first_ns) + "' duration='" + seconds_text(flow.last_ns - flow.first_ns) + "'>\n ";
  for (size_t direction = 0; direction < 2; ++direction)
    text_ += format(" <stream dir='%zu' packets='%ju' />", direction, uintmax_t{flow.packets[direction]});
  text_ += "\n</flow>\n";
}

void FlowTrace::write() {
  output_.write(text_);
  text_.clear();
}

std::string FlowTrace::stop() {
  for (const auto& [number, flow] : flows_) add(number, flow);
  flows_.clear();
  text_ += "</trace>\n";
  write();
  const int error = output_.close();
  const std::string why = error != 0 && output_.failure().empty() ? std::strerror(error) : output_.failure();
  return why.empty() ? "" : "cannot write '" + path_ + "': " + why;
}

}  // namespace heddle
