#include "elements/analysis/time_filter.h"

#include "click/arguments.h"
#include "elements/basic/packet_time.h"
#include "elements/endpoints/time_window.h"

namespace heddle {
namespace {

constexpr uint64_t kNotGiven = UINT64_MAX;

int64_t later(int64_t ns, int64_t by_ns) {
  int64_t sum = 0;
  return __builtin_add_overflow(ns, by_ns, &sum) ? INT64_MAX : sum;
}

void replace_all(std::string& text, std::string_view what, const std::string& with) {
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
}

int64_t written_time(const std::string& value) { return static_cast<int64_t>(click::value_of<Seconds>(value).ns); }

}  // namespace

/** While the range is set; packets behind the first one read it without. */
class TimeFilter::Lock {
 public:
  explicit Lock(std::atomic_flag& busy) : busy_(busy) {
    while (busy_.test_and_set(std::memory_order_acquire)) __builtin_ia32_pause();
  }
  ~Lock() { busy_.clear(std::memory_order_release); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  std::atomic_flag& busy_;
};

void TimeFilter::configure(click::Arguments& arguments) {
  Seconds start{kNotGiven}, start_after = start, start_delay = start, end = start, end_after = start, end_delay = start,
                            interval = start;
  arguments.optional("START", start).optional("END", end);
  arguments.keyword("START_AFTER", start_after).keyword("START_DELAY", start_delay);
  arguments.keyword("END_AFTER", end_after).keyword("END_DELAY", end_delay).keyword("INTERVAL", interval);
  arguments.keyword("STOP", stops_).keyword("END_CALL", end_call_);
  int starts = 0, ends = 0;
  const auto set = [](const Seconds& given, int& number, From from, From& target, std::atomic<int64_t>& ns) {
    if (given.ns == kNotGiven) return;
    ++number;
    target = from, ns = static_cast<int64_t>(given.ns);
  };
  set(start, starts, From::known, start_from_, start_ns_);
  set(start_after, starts, From::first_packet, start_from_, start_ns_);
  set(start_delay, starts, From::program, start_from_, start_ns_);
  set(end, ends, From::known, end_from_, end_ns_);
  set(end_after, ends, From::first_packet, end_from_, end_ns_);
  set(end_delay, ends, From::program, end_from_, end_ns_);
  set(interval, ends, From::start, end_from_, end_ns_);
  if (starts > 1) arguments.error("give one of START, START_AFTER and START_DELAY");
  if (ends > 1) arguments.error("give one of END, END_AFTER, END_DELAY and INTERVAL");
  if (stops_ && !end_call_.handler.empty()) arguments.error("give STOP or END_CALL, not both");
}

std::span<const char* const> TimeFilter::drop_reasons() const {
  static constexpr const char* kReasons[] = {"before", "after"};
  return kReasons;
}

void TimeFilter::start(const Environment& environment) {
  const auto now_ns = static_cast<int64_t>(RouterClock::wall_ns());
  if (start_from_ == From::program) start_from_ = From::known, start_ns_ = later(start_ns_, now_ns);
  if (end_from_ == From::program) end_from_ = From::known, end_ns_ = later(end_ns_, now_ns);
  control_ = environment.control;
  if (control_ == nullptr || (!stops_ && end_call_.handler.empty())) return;
  if (!stops_) {
    end_call_.handler = full_handler_name(*control_, name, end_call_.handler);
    if (!control_->find(end_call_.handler).write)
      throw Error("END_CALL: handler '" + end_call_.handler + "' cannot be written");
  }
  call_.start(control_, name, [this] { call(); });
}

std::string TimeFilter::stop() {
  call_.finish();
  return failure_.empty() ? failure_ : "END_CALL " + end_call_.handler + ": " + failure_;
}

void TimeFilter::call() {
  if (stops_) return control_->stop();
  std::string value = end_call_.value;
  const std::string time = time_text(reached_ns_);
  replace_all(value, "${t}", time);
  replace_all(value, "$t", time);
  try {
    control_->write(end_call_.handler, value);
  } catch (const Error& error) {
    failure_ = error.what();
  }
}

void TimeFilter::begin(int64_t time_ns) {
  const Lock lock(busy_);
  if (begun_.load(std::memory_order_relaxed)) return;
  if (start_from_ == From::first_packet) start_ns_ = later(start_ns_, time_ns);
  if (end_from_ == From::first_packet) end_ns_ = later(end_ns_, time_ns);
  if (end_from_ == From::start) end_ns_ = later(start_ns_, end_ns_);
  start_from_ = end_from_ = From::known;
  begun_.store(true, std::memory_order_release);
}

void TimeFilter::reached_end(int64_t time_ns) {
  if (!armed_.load(std::memory_order_relaxed) || !armed_.exchange(false)) return;
  if (time_ns < end_ns_) {  // it has just been moved
    armed_ = true;
    return;
  }
  if (!stops_ && end_call_.handler.empty()) return;
  reached_ns_ = time_ns;
  call_.ask();
}

bool TimeFilter::judge(Batch& batch, int i, int64_t time_ns) {
  const bool before = time_ns < start_ns_.load(std::memory_order_relaxed);
  const bool after = !before && time_ns >= end_ns_.load(std::memory_order_relaxed);
  if (before || after) {
    if (outputs > 1)
      batch.next()[i] = 1;
    else
      batch.drop(i, before ? 0 : 1);
  }
  return after;
}

void TimeFilter::run_cpu(Batch& batch) {
  const uint64_t arrived_ns = RouterClock::wall_ns();
  for (int i = 0; i < batch.size(); ++i) {
    const int64_t time_ns = time_of(batch.packet(i), arrived_ns);
    if (!begun_.load(std::memory_order_acquire)) begin(time_ns);
    if (judge(batch, i, time_ns)) reached_end(time_ns);
  }
}

void TimeFilter::acted(Batch& batch) {
  if (stops_ || !batch.marked()) return;
  batch.clear_marks(batch.size());
  const uint64_t now_ns = RouterClock::wall_ns();
  for (int i = 0; i < batch.size(); ++i) judge(batch, i, time_of(batch.packet(i), now_ns));
}

void TimeFilter::set_end(From from, int64_t ns) {
  end_from_ = from, end_ns_ = ns;
  armed_ = true;
}

void TimeFilter::handlers(Handlers& list) {
  list.read("start",
            [this] {
              const Lock lock(busy_);
              return start_from_ == From::known ? time_text(start_ns_) : "";
            })
      .write("start",
             [this](const std::string& value) {
               const int64_t ns = written_time(value);
               begin(ns);
               start_ns_ = ns;
             })
      .read("end",
            [this] {
              const Lock lock(busy_);
              return end_ns_ != kNever && end_from_ == From::known ? time_text(end_ns_) : "";
            })
      .write("end",
             [this](const std::string& value) {
               const int64_t ns = written_time(value);
               const Lock lock(busy_);
               set_end(From::known, ns);
             })
      .read("interval",
            [this] {
              const Lock lock(busy_);
              if (end_from_ == From::start) return time_text(end_ns_);
              return end_ns_ != kNever && start_from_ == end_from_ ? time_text(end_ns_ - start_ns_) : "";
            })
      .write("interval",
             [this](const std::string& value) {
               const int64_t ns = written_time(value);
               const Lock lock(busy_);
               if (start_from_ == From::known)
                 set_end(From::known, later(start_ns_, ns));
               else
                 set_end(From::start, ns);
             })
      .write("extend_interval", [this](const std::string& value) {
        const int64_t ns = written_time(value);
        const Lock lock(busy_);
        if (end_ns_ == kNever) throw Error("there is no end that could come later");
        set_end(end_from_, later(end_ns_, ns));
      });
}

HEDDLE_ELEMENT(TimeFilter);

}  // namespace heddle
