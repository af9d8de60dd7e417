#pragma once

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>

#include "apps/heddle/progress.h"
#include "core/error.h"
#include "measure/campaign/router.h"
#include "measure/campaign/table.h"

namespace heddle::bench {

/** How it goes: one line on a terminal, written over and over, and a line a point that is done. */
class Display {
 public:
  explicit Display(bool quiet) : quiet_(quiet), live_(!quiet && isatty(STDERR_FILENO) != 0) {}
  ~Display() { clear(); }

  void begin(const Point& point, size_t done, size_t all, int repetition) {
    const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
    head_ = format("[%zu/%zu] %s %s, repetition %d/%d", done + 1, all, point.measure.c_str(),
                   point.at.empty() ? "" : label_of(point).c_str(), repetition + 1, point.setup.repetitions);
    if (measured_ > 0) {
      const double left = elapsed / static_cast<double>(measured_) * static_cast<double>(all - done);
      head_ += format(", %.0f:%02.0f left", std::floor(left / 60), std::fmod(left, 60));
    }
    if (live_) show_line(head_);
  }

  void trial(const TrialProgress& progress) const {
    if (!live_) return;
    std::string rate = "maximum load";
    if (progress.trial.rate_pps > 0) rate = format("%.4g Mpps offered", progress.trial.rate_pps * 1e-6);
    show_line(format("%s  %s, %.3f Mpps, %.1f s", head_.c_str(), rate.c_str(), progress.mpps, progress.elapsed_s));
  }

  void finished(const Row& row, bool measured, size_t done, size_t all) {
    measured_ += measured;
    if (quiet_) return;
    clear();
    const Value* mpps = row.record.find("mpps");
    std::fprintf(stderr, "[%zu/%zu] %s%s%s: %s%s\n", done, all, row.point.measure.c_str(),
                 row.point.at.empty() ? "" : " ", row.point.at.empty() ? "" : label_of(row.point).c_str(),
                 mpps == nullptr ? "nothing" : format("%.4g Mpps", mpps->summary.median).c_str(),
                 measured ? "" : " (measured before)");
  }

  void clear() const {
    if (live_) std::fputs("\r\033[K", stderr);
  }

 private:
  using Clock = std::chrono::steady_clock;
  bool quiet_, live_;
  std::string head_;
  size_t measured_ = 0;
  Clock::time_point start_ = Clock::now();
};

}  // namespace heddle::bench
