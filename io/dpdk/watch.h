#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace heddle::dpdk {

struct Port;

/** Looks at the links of ports a few times a second, on a thread of its own: the kernel's interfaces may go down or be
 *  removed while the program joins them, and DPDK's drivers do not tell. */
class Watch {
 public:
  explicit Watch(const std::vector<std::unique_ptr<Port>>& ports);
  ~Watch();

 private:
  void serve();
  void look(Port& port);

  std::vector<Port*> ports_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace heddle::dpdk
