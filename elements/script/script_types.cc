// Scripts that run when something happens: a signal, a call of a handler, a packet.
#include <algorithm>

#include "click/arguments.h"
#include "click/quoting.h"
#include "elements/script/script.h"
#include "elements/script/signals.h"
#include "elements/script/text.h"

namespace heddle {
namespace {

enum Reason : int { kBusy, kNoOutput, kExit };

}  // namespace

namespace script {

/** The value of TYPE as it is written, of several words. */
struct TypeText {
  std::string text;
};
bool parse(std::string_view text, TypeText& type) {
  type.text = text;
  return true;
}
std::string expectation(const TypeText&) { return "a type"; }

}  // namespace script

void Script::read_type(click::Arguments& arguments) {
  static constexpr std::pair<const char*, Type> kTypes[] = {{"ACTIVE", Type::active}, {"PASSIVE", Type::passive},
                                                            {"DRIVER", Type::driver}, {"SIGNAL", Type::signal},
                                                            {"PROXY", Type::proxy},   {"PACKET", Type::packet}};
  script::TypeText type;
  arguments.keyword("TYPE", type);
  const std::string& text = type.text;
  const std::vector<std::string_view> words = click::split_words(text);
  const auto* found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                   [&](const auto& known) { return !words.empty() && words[0] == known.first; });
  if (found != std::end(kTypes)) type_ = found->second;
  for (size_t i = 1; i < words.size(); ++i)
    if (type_ == Type::signal) signals_.push_back(script::signal_number(words[i]));
  const bool wrong = found == std::end(kTypes) || (type_ != Type::signal && words.size() > 1);
  if (!text.empty() && wrong) arguments.error("TYPE", "one of ACTIVE, PASSIVE, DRIVER, SIGNAL NAME ..., PROXY, PACKET");
  if (type_ == Type::signal && (signals_.empty() || std::count(signals_.begin(), signals_.end(), 0) > 0))
    arguments.error("TYPE", "SIGNAL and signals that can be taken, such as INT or HUP");
  if (type_ != Type::packet && inputs > 0) arguments.error("has no input ports; TYPE PACKET has");
  if (type_ != Type::packet && outputs > 0) arguments.error("has no output ports; TYPE PACKET has");
  if (type_ == Type::packet && inputs == 0) arguments.error("no input is connected; TYPE PACKET runs for packets");
}

void Script::start_type(const Environment& environment) {
  if (type_ == Type::packet) {
    program_stops_ = environment.stopping;
    columns_ = ColumnPack(carries);
    ring_.resize(kMaxPackets);
    for (Waiting& waiting : ring_) waiting.columns.resize(columns_.bytes());
  }
  armed_ = true;
  for (const int number : signals_) script::watch_signal(this, number, [this, number] { return signalled(number); });
}

void Script::stop_type() {
  if (signals_.empty()) return;
  // What has come so far is answered, as by those scripts that were quicker.
  while (script::signals_untaken() && !stopping_) std::this_thread::sleep_for(kLookForSignals);
  script::forget_signals(this);
  while (signals_unanswered_ > 0 && !stopping_) std::this_thread::sleep_for(kLookForSignals);
  const std::lock_guard lock(mutex_);
  for (; signals_come_ != 0; signals_come_ &= signals_come_ - 1) script::answered();
  turns_.clear();
}

// ---- signals

bool Script::signalled(int number) {
  if (!armed_) return false;
  const uint64_t bit = uint64_t{1} << (number - 1);
  {
    const std::lock_guard lock(mutex_);
    if ((signals_come_ & bit) == 0) turns_.push_back(script::answer_later()), ++signals_unanswered_;
    signals_come_ |= bit;
  }
  changed_.notify_all();
  return true;
}

// Scripts that take the same signal answer it in their order.
void Script::await_turn() {
  std::optional<uint64_t> turn;
  {
    const std::lock_guard lock(mutex_);
    if (!turns_.empty()) turn = turns_.front();
  }
  while (turn && !script::has_turn(*turn) && !stopping_) std::this_thread::sleep_for(kLookForSignals);
}

void Script::answer_signals() {
  const auto waits = [this] { return position_ < instructions_.size(); };
  const auto arm = [&] {
    armed_ = !waits() && !exited_;
    if (exited_) script::forget_signals(this);
  };
  for (bool come = true; come;) {
    await_turn();
    control_->exclusively([&] {
      // All that other scripts have sent before this one gets to run are one.
      while (script::signals_untaken()) std::this_thread::sleep_for(kLookForSignals);
      {
        const std::lock_guard lock(mutex_);
        come = signals_come_ != 0;
        if (come) turns_.pop_front();
        signals_come_ &= signals_come_ - 1;  // one of them
      }
      if (!come || !armed_ || waits()) return;
      go_to(0);
      execute();
      arm();
    });
    if (come) script::answered(), --signals_unanswered_;
  }
  // One that has waited is done now.
  control_->exclusively([&] {
    if (!waits() || armed_) return;
    execute();
    arm();
  });
}

// ---- handlers

std::string Script::proxy(const std::string& name_and_argument, bool write) {
  std::string_view rest = name_and_argument;
  called_ = script::take_word(rest);
  called_to_write_ = write;
  return run(std::string(click::trim(rest)));
}

// ---- packets

Access Script::access(Processor) const { return {.column_reads = inputs > 0 ? columns(Column::input) : 0}; }

std::span<const char* const> Script::drop_reasons() const {
  static constexpr const char* kReasons[] = {"busy", "no_output", "exit"};
  return inputs > 0 ? std::span<const char* const>(kReasons) : std::span<const char* const>();
}

void Script::run_cpu(Batch& batch) {
  const uint32_t* input = batch.column(Column::input);
  {
    const std::lock_guard lock(packets_);
    for (int i = 0; i < batch.size(); ++i) {
      if (come_ - given_ == kMaxPackets) {
        batch.drop(i, kBusy);
        continue;
      }
      Waiting& waiting = ring_[come_++ % kMaxPackets];
      waiting.packet = batch.packet(i), waiting.input = input[i];
      columns_.save(batch, i, waiting.columns.data());
      batch.keep(i);
    }
    packets_held_ = come_ - given_, unanswered_ = come_ - answered_;
  }
  { const std::lock_guard lock(mutex_); }  // the script does not begin to wait just now
  changed_.notify_all();
}

void Script::answer_packets() {
  while (unanswered_ > 0 && !stopping_) {
    uint64_t which = 0;
    {
      const std::lock_guard lock(packets_);
      if (answered_ == come_) return;
      which = answered_;
    }
    control_->exclusively([&] { answer_packet(which % kMaxPackets); });
    const std::lock_guard lock(packets_);
    if (which == answered_) ++answered_;
    ready_ = answered_ - given_, unanswered_ = come_ - answered_;
  }
}

void Script::answer_packet(size_t which) {
  Waiting& waiting = ring_[which];
  arguments_ = std::to_string(waiting.input);
  result_.clear();
  exited_ = false;
  go_to(0);
  execute();
  if (position_ < instructions_.size()) {
    report("a script of packets cannot wait");
    finish(Op::end);
  }
  int output = 0;
  const bool good = result_.empty() || click::parse(click::trim(result_), output, 0, outputs - 1);
  const Reason reason = exited_ ? kExit : kNoOutput;
  const bool leaves = !exited_ && good && output < outputs;
  waiting.next = static_cast<uint16_t>(leaves ? output : kDrop | reason);
}

void Script::emit(Batch& batch, bool ending) {
  const std::lock_guard lock(packets_);
  const bool gives_up = ending && program_stops_();  // without that, the end waits for the answers
  for (; given_ < (gives_up ? come_ : answered_) && batch.size() < batch.capacity(); ++given_) {
    Waiting& waiting = ring_[given_ % kMaxPackets];
    const int i = batch.size();
    batch.packets()[i] = waiting.packet;
    batch.resize(i + 1);
    columns_.load(batch, i, waiting.columns.data());
    batch.next()[i] = given_ < answered_ ? waiting.next : static_cast<uint16_t>(kDrop | kBusy);
  }
  answered_ = std::max(answered_, given_);
  packets_held_ = come_ - given_, ready_ = answered_ - given_, unanswered_ = come_ - answered_;
}

}  // namespace heddle
