#include "elements/endpoints/infinite_source.h"

#include <algorithm>

#include "click/arguments.h"

namespace heddle {

void InfiniteSource::configure(click::Arguments& arguments) {
  std::string data = kDefaultData;
  int64_t limit = limit_, bytes = -1;
  int burst = burst_;
  bool active = active_;
  arguments.optional("DATA", data).optional("LIMIT", limit).optional("BURST", burst, 1, 1 << 20);
  arguments.optional("ACTIVE", active).keyword("TIMESTAMP", stamp_);
  arguments.keyword("DATASIZE", bytes, -1, int64_t{kMaxPacketBytes});
  arguments.keyword("LENGTH", bytes, -1, int64_t{kMaxPacketBytes});
  configure_end(arguments);
  limit_ = limit, burst_ = burst, active_ = active;
  set_data(data, bytes);
}

void InfiniteSource::receive(Batch& batch) {
  const int wanted = std::min(burst_.load(std::memory_order_relaxed), batch.room() - batch.size());
  append_copies(batch, allowed(wanted), stamp_);
}

void InfiniteSource::handlers(Handlers& list) {
  RepeatedPacket::handlers(list);
  list.read("burst", [this] { return std::to_string(burst_.load()); }).write("burst", [this](const std::string& value) {
    burst_ = click::value_of<int>(value, 1, 1 << 20);
  });
}

HEDDLE_ELEMENT(InfiniteSource);

}  // namespace heddle
