#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "functions/nids/match.h"

namespace heddle::capture {
class Output;
}

namespace heddle::nids {

/** The member "alert" of an EVE line, as Suricata writes it, of a rule whose packet is `blocked` or goes on. */
std::string eve_alert(const Signature& rule, bool blocked);

/** Alerts in a file, a JSON object a line in the manner of Suricata's EVE, by any number of packet threads. */
class EveFile {
 public:
  /** How it treats whoever reads a pipe, a socket or a terminal. */
  struct Manners {
    bool waits = true;                 ///< for room, as long as it takes; else alerts wait in 4 MB, and are lost beyond
    std::function<bool()> stopping{};  ///< as of capture::Output
  };

  /** Throws Error when it cannot be opened. `owner`: for messages. `shared`: several threads write. */
  EveFile(const std::string& path, const std::string& owner, bool shared, const Manners& manners);
  ~EveFile();

  /** Whether it can be gone on with: nothing has gone wrong, and it is still where its path leads. From any thread. */
  bool can_go_on() const;
  /** From now on. No thread may write meanwhile. */
  void set(const Manners& manners);

  /** Appends a line, if there is room and no earlier attempt to write has failed: else see lost(). */
  void add(uint64_t timestamp_ns, const View& view, const std::string& alert);
  /** Writes of what has been appended what there is room for, unless another thread writes. */
  void flush();
  /** Waits until all has been written, or the program is to end, and closes; returns what went wrong, or "". */
  std::string close();
  /** Alerts that have not been written, and will not be. */
  uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  void append(uint64_t timestamp_ns, const View& view, const std::string& alert);
  void write_out(bool waits);
  size_t waiting() const { return text_.size() - written_; }  // bytes

  std::string path_, owner_;
  std::unique_ptr<capture::Output> output_;
  bool shared_, waits_;
  std::mutex writing_;
  std::string text_;
  size_t written_ = 0;  // bytes of it, from its start
  std::atomic<uint64_t> lost_{0};
  std::atomic<bool> failed_{false};  // to write
};

}  // namespace heddle::nids
