#include "elements/ip6/dec_ip6_hlim.h"

#include "click/arguments.h"
#include "elements/ip/marked_header.h"
#include "elements/ip6/header.h"

namespace heddle {
namespace {

constexpr int kHopLimit = 7;

}  // namespace

void DecIP6HLIM::configure(click::Arguments& arguments) {
  bool active = true;
  arguments.keyword("ACTIVE", active);
  active_ = active;
}

Access DecIP6HLIM::access(Processor) const {
  const Interval hop_limit{Base::l3, kHopLimit, kHopLimit + 1};
  return {.reads = {hop_limit}, .writes = {hop_limit}, .column_reads = columns(Column::l3)};
}

std::span<const char* const> DecIP6HLIM::drop_reasons() const {
  static constexpr const char* kReasons[] = {"hop_limit_expired", "no_header"};
  return kReasons;
}

void DecIP6HLIM::run_cpu(Batch& batch) {
  if (!active_.load(std::memory_order_relaxed)) return;
  const uint32_t* l3 = batch.column(Column::l3);
  uint64_t expired = 0;
  for (int i = 0; i < batch.size(); ++i) {
    if (bytes_from(batch.packet(i), l3[i]) < kIp6HeaderBytes) [[unlikely]] {
      batch.drop(i, kNoHeader);
      continue;
    }
    uint8_t& hop_limit = marked_header(batch.packet(i), l3[i])[kHopLimit];
    if (hop_limit > 1) [[likely]] {
      --hop_limit;
      continue;
    }
    ++expired;
    if (outputs > 1)
      batch.next()[i] = 1;
    else
      batch.drop(i, kExpired);
  }
  if (expired != 0) expired_[batch.thread].add(expired, 0);
}

void DecIP6HLIM::handlers(Handlers& list) {
  list.read("drops", [this] { return std::to_string(expired_.packets()); })
      .read("active", [this] { return std::string(active_ ? "true" : "false"); })
      .write("active", [this](const std::string& value) { active_ = click::value_of<bool>(value); });
}

HEDDLE_ELEMENT(DecIP6HLIM);

}  // namespace heddle
