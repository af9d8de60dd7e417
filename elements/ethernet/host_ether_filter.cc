#include "elements/ethernet/host_ether_filter.h"

#include <algorithm>

#include "click/arguments.h"
#include "elements/ethernet/link_type.h"

namespace heddle {
void HostEtherFilter::configure(click::Arguments& arguments) {
  arguments.required("ETHER", address_).optional("DROP_OWN", drop_own_).optional("DROP_OTHER", drop_other_);
  arguments.keyword("OFFSET", offset_, 0u, 16384u);
}

Access HostEtherFilter::access(Processor) const {
  const int at = static_cast<int>(offset_);
  return {.reads = {{Base::head, at, at + 12}}, .column_writes = columns(Column::link)};
}

std::span<const char* const> HostEtherFilter::drop_reasons() const {
  static constexpr const char* kReasons[] = {"short", "own", "other_host"};
  return kReasons;
}

void HostEtherFilter::run_cpu(Batch& batch) {
  uint32_t* link = batch.column(Column::link);
  const auto refuse = [&](int i, Reason reason) {
    if (outputs > 1)
      batch.next()[i] = 1;
    else
      batch.drop(i, reason);
  };
  for (int i = 0; i < batch.size(); ++i) {
    link[i] = kToHost;
    if (batch.length(i) < offset_ + 12) {
      batch.drop(i, kShort);
      continue;
    }
    const uint8_t* frame = batch.frame(i) + offset_;
    link[i] = link_type_of(frame);
    const bool mine = std::memcmp(frame, address_.bytes.data(), 6) == 0;
    if (link[i] == kToHost && !mine) link[i] = kToOtherHost;
    if (drop_own_ && std::memcmp(frame + 6, address_.bytes.data(), 6) == 0)
      refuse(i, kOwn);
    else if (drop_other_ && link[i] == kToOtherHost)
      refuse(i, kOtherHost);
  }
}

std::span<const char* const> DropBroadcasts::drop_reasons() const {
  static constexpr const char* kReasons[] = {"broadcast"};
  return kReasons;
}

void DropBroadcasts::run_cpu(Batch& batch) {
  const uint32_t* link = batch.column(Column::link);
  const int n = batch.size();
  const auto is_for_many = [](uint32_t type) { return type == kBroadcast || type == kMulticast; };
  const auto dropped = std::count_if(link, link + n, is_for_many);
  if (dropped == 0) return;
  for (int i = 0; i < n; ++i)
    if (is_for_many(link[i])) batch.drop(i, 0);
  dropped_[batch.thread].add(static_cast<uint64_t>(dropped), 0);
}

void DropBroadcasts::handlers(Handlers& list) {
  list.read("drops", [this] { return std::to_string(dropped_.packets()); });
}

HEDDLE_ELEMENT(HostEtherFilter);
HEDDLE_ELEMENT(DropBroadcasts);

}  // namespace heddle
