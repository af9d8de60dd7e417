#include "elements/basic/pad.h"

#include <algorithm>
#include <cstring>

#include "click/arguments.h"

namespace heddle {

void Pad::configure(click::Arguments& arguments) {
  arguments.optional("LENGTH", least_, 0u, 9000u).optional("MAXLENGTH", most_, 0u, 65535u).keyword("ZERO", zero_);
}

void Pad::run_cpu(Batch& batch) {
  for (int i = 0; i < batch.size(); ++i) {
    const uint32_t bytes = batch.length(i);
    if (has_capture_info(batch.packet(i))) {
      CaptureInfo info = capture_info(batch.packet(i));
      info.missing_bytes = 0;
      set_capture_info(batch.packet(i), info);
    }
    if (most_ != 0 && bytes > most_) move_tail(batch.packet(i), static_cast<int>(most_) - static_cast<int>(bytes));
    if (bytes >= least_) continue;
    if (zero_) std::memset(batch.frame(i) + bytes, 0, least_ - bytes);
    move_tail(batch.packet(i), static_cast<int>(least_ - bytes));
  }
}

namespace {

/** A number that may have a sign of either kind. */
struct Change {
  int bytes = 0;
};
bool parse(std::string_view text, Change& change, int least, int most) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  return click::parse(text, change.bytes, least, most);
}
std::string expectation(Change change, int least, int most) { return click::expectation(change.bytes, least, most); }

enum Reason : int { kNoHeadroom, kTooLong };

}  // namespace

void Resize::configure(click::Arguments& arguments) {
  Change head, tail;
  arguments.optional("HEAD", head, -65535, RTE_PKTMBUF_HEADROOM).optional("TAIL", tail, -65535, 9000);
  head_ = head.bytes, tail_ = tail.bytes;
}

std::span<const char* const> Resize::drop_reasons() const {
  static constexpr const char* kReasons[] = {"no_headroom", "too_long"};
  return kReasons;
}

void Resize::run_cpu(Batch& batch) {
  for (int i = 0; i < batch.size(); ++i) {
    Packet* packet = batch.packet(i);
    const auto bytes = static_cast<int>(length(packet));
    if (head_ > packet->data_off) {
      batch.drop(i, kNoHeadroom);
      continue;
    }
    const int head = std::max(head_, -bytes), tail = std::max(tail_, -(bytes + head));
    if (bytes + head + tail > static_cast<int>(kMaxPacketBytes)) {
      batch.drop(i, kTooLong);
      continue;
    }
    move_head(packet, -head);
    if (tail > 0) std::memset(batch.frame(i) + batch.length(i), 0, static_cast<size_t>(tail));
    move_tail(packet, tail);
  }
}

void StoreData::configure(click::Arguments& arguments) {
  arguments.required("OFFSET", offset_, 0u, 16384u).required("DATA", data_).optional("MASK", mask_);
  arguments.keyword("GROW", grow_);
  if (data_.size() > 4096) arguments.error("DATA has more than 4096 bytes");
  if (mask_.empty()) mask_.assign(data_.size(), '\xff');
  if (mask_.size() != data_.size()) arguments.error("MASK is not as long as DATA");
  mask_.resize(data_.size());
}

Access StoreData::access(Processor) const {
  const Interval place{Base::head, static_cast<int>(offset_), static_cast<int>(offset_ + data_.size())};
  if (grow_) return {.reads = {kWholePacket}, .writes = {kWholePacket}};
  return {.reads = {place}, .writes = {place}};
}

void StoreData::run_cpu(Batch& batch) {
  const auto end = static_cast<uint32_t>(offset_ + data_.size());
  for (int i = 0; i < batch.size(); ++i) {
    uint32_t bytes = batch.length(i);
    if (grow_ && bytes < end) {
      std::memset(batch.frame(i) + bytes, 0, end - bytes);
      move_tail(batch.packet(i), static_cast<int>(end - bytes));
      bytes = end;
    }
    uint8_t* at = batch.frame(i) + offset_;
    for (uint32_t k = 0; offset_ + k < std::min(bytes, end); ++k)
      at[k] = static_cast<uint8_t>((at[k] & ~mask_[k]) | (data_[k] & mask_[k]));
  }
}

HEDDLE_ELEMENT(Pad);
HEDDLE_ELEMENT(Resize);
HEDDLE_ELEMENT(StoreData);

}  // namespace heddle
