#pragma once

#include <atomic>
#include <chrono>
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

/** Alerts in a file, a JSON object a line in the manner of Suricata's EVE, by any number of packet threads. None of
 *  them waits for whoever reads a pipe or a socket: alerts that there is no room for meanwhile are lost, and counted.
 */
class EveFile {
 public:
  /** Throws Error when it cannot be opened. `owner`: for messages. `shared`: several threads write. */
  EveFile(const std::string& path, const std::string& owner, bool shared);
  ~EveFile();

  /** Appends a line, if there is room for it and no earlier attempt to write has failed: else see lost(). */
  void add(uint64_t timestamp_ns, const View& view, const std::string& alert);
  /** Writes of what has been appended as much as is taken at once. */
  void flush();
  /** Writes all, which may take up to 5 seconds, and closes; returns what went wrong, or "". */
  std::string close();
  /** Alerts that have not been written and will not be. */
  uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  void append(uint64_t timestamp_ns, const View& view, const std::string& alert);
  /** Writes what is taken at once, or until `patience` is at its end. */
  void write_out(std::chrono::milliseconds patience);
  size_t waiting() const { return text_.size() - written_; }
  void lose_rest();

  std::string path_, owner_;
  std::unique_ptr<capture::Output> output_;
  bool shared_;
  std::mutex writing_;
  std::string text_;
  size_t written_ = 0;  // bytes of text_, from its start
  int failure_ = 0;     // errno
  std::atomic<uint64_t> lost_{0};
};

}  // namespace heddle::nids
