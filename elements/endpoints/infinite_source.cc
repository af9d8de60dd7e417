#include "elements/endpoints/infinite_source.h"

#include "click/arguments.h"

namespace heddle {

void InfiniteSource::configure(click::Arguments& arguments) {
  std::string data = kDefaultData;
  int64_t limit = limit_, bytes = -1;
  int burst = burst_;
  bool active = active_;
  arguments.optional("DATA", data).optional("LIMIT", limit).optional("BURST", burst, 1, kMaxAtOnce);
  arguments.optional("ACTIVE", active).keyword("TIMESTAMP", stamp_);
  arguments.keyword("DATASIZE", bytes, -1, int64_t{kMaxPacketBytes});
  arguments.keyword("LENGTH", bytes, -1, int64_t{kMaxPacketBytes});
  configure_end(arguments);
  limit_ = limit, burst_ = burst, active_ = active;
  set_data(data, bytes);
}

HEDDLE_ELEMENT(InfiniteSource);

}  // namespace heddle
