#include "elements/basic/pipeliner.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "click/arguments.h"

namespace heddle {
namespace {

constexpr std::chrono::milliseconds kPatience{100};

}  // namespace

void Pipeliner::configure(click::Arguments& arguments) {
  capacity_ = 1024;
  arguments.optional("CAPACITY", capacity_, 1u, 1u << 20).keyword("SIZE", capacity_, 1u, 1u << 20);
  arguments.keyword("BLOCKING", blocking_);
}

void Pipeliner::run_cpu(Batch& batch) {
  int done = keep(batch, 0);
  // Waiting for itself would be in vain.
  if (done < batch.size() && blocking_ && batch.thread != std::max(home, 0)) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (done < batch.size() && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
      done = keep(batch, done);
    }
  }
  drop_from(batch, done);
}

void Pipeliner::handlers(Handlers& list) {
  Queue::handlers(list);
  list.read("dropped", [this] { return std::to_string(dropped()); });
}

HEDDLE_ELEMENT(Pipeliner);

}  // namespace heddle
