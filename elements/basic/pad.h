#pragma once

#include <string>

#include "core/element.h"

namespace heddle {

/** Pad: makes short packets longer.
 *
 *      Pad([LENGTH, MAXLENGTH, keyword ZERO])
 *
 *  LENGTH: least bytes of a packet, default 60, up to 9000. MAXLENGTH: packets longer than that are cut, 0 (default):
 *  none. ZERO: whether the new bytes are zeros (default) or what the buffer held. One input, one output.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Pad(60) -> ToDump(out.pcap);
 */
class Pad : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override { return {.reads = {kWholePacket}, .writes = {kWholePacket}}; }
  bool changes_length() const override { return true; }
  int appends() const override { return static_cast<int>(least_); }
  void run_cpu(Batch& batch) override;

 private:
  uint32_t least_ = 60, most_ = 0;
  bool zero_ = true;
};

/** StoreData: writes bytes into packets.
 *
 *      StoreData(OFFSET, DATA [, MASK, keyword GROW])
 *
 *  OFFSET: where, 0 to 16384. DATA: bytes, quoted or as \<hexadecimal>. MASK: as many bytes, of whose bits only the
 *  ones are written; default: all. GROW: whether packets that end before are made longer, with zeros; default false,
 *  which writes as much as is there. One input, one output.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> StoreData(12, \<0800>) -> ToDump(out.pcap);
 */
class StoreData : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override;
  bool changes_length() const override { return grow_; }
  int appends() const override { return grow_ ? static_cast<int>(offset_ + data_.size()) : 0; }
  void run_cpu(Batch& batch) override;

 private:
  uint32_t offset_ = 0;
  std::string data_, mask_;
  bool grow_ = false;
};

}  // namespace heddle
