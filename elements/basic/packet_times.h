#pragma once

#include <memory>
#include <vector>

#include "core/element.h"

namespace heddle {

/** Where a packet carries its number: 8 bytes at an offset. */
struct PacketNumber {
  int offset = 40;
  bool net_order = false;

  /** Reads the keywords OFFSET and NET_ORDER. */
  void configure(click::Arguments& arguments);
  bool fits(const Packet* packet) const { return length(packet) >= static_cast<uint32_t>(offset) + 8; }
  uint64_t read(const Packet* packet) const;
  void write(Packet* packet, uint64_t number) const;
  Interval bytes() const { return {Base::head, offset, offset + 8}; }
};

/** NumberPacket: writes numbers into packets.
 *
 *      NumberPacket([OFFSET, keywords OFFSET, NET_ORDER])
 *
 *  Writes 0, 1, 2 ..., 8 bytes each, at byte OFFSET of the packet (default 40). NET_ORDER: big-endian, default false:
 *  little-endian. Packets that end before are dropped ("short"). Checksums are not corrected. One input, one output.
 *  (FastClick.)
 *
 *  Handlers: `count` (r, packets numbered), `reset` (w, begins at 0 again).
 *
 *  Example:
 *
 *      InfiniteSource(LENGTH 64, LIMIT 10) -> NumberPacket(OFFSET 42) -> ToDump(out.pcap);
 */
class NumberPacket : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  PacketNumber place_;
  std::atomic<uint64_t> next_{0};
};

/** RecordTimestamp: remembers when numbered packets pass.
 *
 *      RecordTimestamp([N, keywords N, OFFSET, NET_ORDER])
 *
 *  For a TimestampDiff behind it. N: packets that it remembers, default 65536, up to 268,435,456; those with higher
 *  numbers are not (statistic `beyond`). OFFSET, NET_ORDER: where the number of NumberPacket is. One input, one output.
 *  (FastClick.)
 *
 *  Handlers: `count` (r, packets recorded).
 *
 *  Example:
 *
 *      RatedSource(LENGTH 64, RATE 1000, LIMIT 500) -> NumberPacket -> r :: RecordTimestamp(500) -> Queue -> Unqueue
 *        -> TimestampDiff(r) -> Discard;
 */
class RecordTimestamp : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override { return {.reads = {place_.bytes()}}; }
  void start(const Environment& environment) override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

  /** When packet `number` passed, in nanoseconds of the router's clock; 0: not recorded. Any thread. */
  uint64_t passed_ns(uint64_t number) const {
    return number < size_ ? times_[number].load(std::memory_order_acquire) : 0;
  }
  uint64_t size() const { return size_; }

 private:
  PacketNumber place_;
  uint64_t size_ = 65536;
  std::unique_ptr<std::atomic<uint64_t>[]> times_;  // [size_], by number
  std::atomic<uint64_t> beyond_{0};
  PerThreadCounts recorded_{counts};
};

/** TimestampDiff: measures how long packets took since they were recorded.
 *
 *      TimestampDiff(RECORDER [, keywords N, OFFSET, NET_ORDER])
 *
 *  RECORDER: a RecordTimestamp. Packets without a number that it knows are counted (statistic `unknown`) and pass. N:
 *  measurements that are kept, default as many as RECORDER remembers; later ones are not taken. OFFSET, NET_ORDER:
 *  where the number is now. One input, one output. (FastClick.)
 *
 *  Handlers, of the measurements so far, in microseconds: `average`, `min`, `max`, `stddev`, `median` (r), `perc` (r,
 *  with an argument from 0 to 100: the smallest time that so many per cent do not exceed); `count` (r), `dump` (r, a
 *  line each), `reset` (w).
 *
 *  Example:
 *
 *      RatedSource(LENGTH 64, RATE 1000, LIMIT 500) -> NumberPacket -> r :: RecordTimestamp -> Queue
 *        -> RatedUnqueue(500) -> TimestampDiff(r) -> Discard;
 */
class TimestampDiff : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  void link(const Directory& directory) override;
  Access access(Processor) const override { return {.reads = {place_.bytes()}}; }
  void start(const Environment& environment) override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

 private:
  std::vector<double> measured_us() const;

  std::string recorder_name_;
  const RecordTimestamp* recorder_ = nullptr;
  PacketNumber place_;
  uint64_t size_ = 0;
  std::unique_ptr<std::atomic<uint64_t>[]>
      ns_;  // [size_], in order of arrival; 0: not there yet, else a nanosecond more
  std::atomic<uint64_t> count_{0}, unknown_{0};  // count_: places taken, may exceed size_
};

}  // namespace heddle
