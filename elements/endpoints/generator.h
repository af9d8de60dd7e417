#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/element.h"
#include "elements/endpoints/end_call.h"

namespace heddle {

/** What sources that make packets share: LIMIT, ACTIVE, STOP and END_CALL, and packets of a given length. */
class Generator : public Source {
 public:
  bool exhausted() const override { return !active_ || limit_reached(); }
  bool keeps_running() const override { return end_call_.pending(); }
  std::optional<double> progress() const override;
  void start(const Environment& environment) override;
  void take_state(Element& old) override;
  std::string stop() override { return end_call_.finish(); }
  void handlers(Handlers& list) override;

 protected:
  /** Reads the keywords END_CALL and STOP. */
  void configure_end(click::Arguments& arguments) { end_call_.configure(arguments); }
  /** How many of `wanted` packets LIMIT and ACTIVE let through now. */
  int allowed(int wanted) const;
  /** Appends up to `n` packets of `bytes` (at most kMaxPacketBytes) with unset content, as many as are free; their time
   *  stamp is now, or 0. Counts them, and notices the end. Returns how many. */
  int append_packets(Batch& batch, int n, uint32_t bytes, bool stamp = true);
  /** The source has ended before its LIMIT. */
  void end_now() { end_call_.reached(); }
  /** Packets so far, as LIMIT counts them. */
  uint64_t count() const { return count_.load(std::memory_order_relaxed); }
  /** As LIMIT counts, how many there were before those that append_packets() has appended last. */
  uint64_t count_before() const { return count_before_; }

  std::atomic<int64_t> limit_{-1};  ///< packets in all; negative: no limit
  std::atomic<bool> active_{true};

 private:
  bool limit_reached() const {
    const int64_t limit = limit_.load(std::memory_order_relaxed);
    return limit >= 0 && count_.load(std::memory_order_relaxed) >= static_cast<uint64_t>(limit);
  }
  void notice_end();

  std::atomic<uint64_t> count_{0};           // one thread adds
  uint64_t count_before_ = 0;                // that thread's
  std::atomic<uint64_t> counted_before_{0};  // before reset_counts
  std::atomic<bool> end_noticed_{false};
  EndCall end_call_;
  PacketPool *packets_ = nullptr, *large_packets_ = nullptr;
};

/** Sources that repeat one packet: DATA, cut or repeated to LENGTH. */
class RepeatedPacket : public Generator, private Retiring {
 public:
  RepeatedPacket() { retiring.push_back(this); }
  void handlers(Handlers& list) override;

 protected:
  void set_data(std::string data, int64_t bytes);
  /** Appends up to `n` copies. */
  void append_copies(Batch& batch, int n, bool stamp);
  size_t packet_bytes() const { return current_.load()->packet.size(); }

  static const std::string kDefaultData;

 private:
  bool has_retired() const override { return contents_.size() > 1; }
  void reclaim() override;
  struct Content {
    std::string data;
    int64_t bytes;       // LENGTH; negative: as long as the data
    std::string packet;  // what is sent
  };
  std::atomic<const Content*> current_{nullptr};
  std::vector<std::unique_ptr<const Content>> contents_;  // the last one is current; packet threads may use others
};

}  // namespace heddle
