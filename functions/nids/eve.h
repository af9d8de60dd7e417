#pragma once

#include <atomic>
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
  /** Throws Error when it cannot be opened. `owner`: for messages. `shared`: several threads write. */
  EveFile(const std::string& path, const std::string& owner, bool shared);
  ~EveFile();

  /** Appends a line. Nothing is written when an earlier attempt to write has failed: see lost(). */
  void add(uint64_t timestamp_ns, const View& view, const std::string& alert);
  /** Writes what has been appended. */
  void flush();
  /** Flushes and closes; returns what went wrong, or "". */
  std::string close();
  uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  void write_out();

  std::string path_;
  std::unique_ptr<capture::Output> output_;
  bool shared_;
  std::mutex writing_;
  std::string text_;    // what has not been written
  uint64_t lines_ = 0;  // in it
  int failure_ = 0;     // errno
  std::atomic<uint64_t> lost_{0};
};

}  // namespace heddle::nids
