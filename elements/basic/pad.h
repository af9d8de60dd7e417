#pragma once

#include <string>

#include "core/element.h"

namespace heddle {

/** Pad: makes short packets longer.
 *
 *      Pad([LENGTH, MAXLENGTH, keyword ZERO])
 *
 *  LENGTH: least bytes of a packet, default 60, up to 9000. MAXLENGTH: packets longer than that are cut, 0 (default):
 *  none. ZERO: whether the new bytes are zeros (default) or what the buffer held. The packet is whole then:
 *  bytes that its capture lacks, which ToDump and ToIPSummaryDump else add to its length, are no longer counted. One
 *  input, one output.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Pad(60) -> ToDump(out.pcap);
 */
class Pad : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  bool can_live_reconfigure() const override { return true; }
  Access access(Processor) const override { return {.reads = {kWholePacket}, .writes = {kWholePacket}}; }
  bool changes_length() const override { return true; }
  int appends() const override { return static_cast<int>(least_); }
  void run_cpu(Batch& batch) override;

 private:
  uint32_t least_ = 60, most_ = 0;
  bool zero_ = true;
};

/** Resize: moves the ends of packets.
 *
 *      Resize([HEAD, TAIL])
 *
 *  HEAD, TAIL: bytes by which packets get longer (or, if negative, shorter) before their start and behind their end,
 *  -65535 to 128 and -65535 to 9000, default 0. Bytes before the start are what lay there, as with Unstrip; those
 *  behind the end are zeros. What would get shorter than it is gets empty. One input, one output. Drops packets without
 *  room before them ("no_headroom") and those that would be too long ("too_long").
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Resize(-14, +4) -> ToDump(out.pcap);
 */
class Resize : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override { return {.reads = {kWholePacket}, .writes = {kWholePacket}}; }
  bool changes_length() const override { return true; }
  bool head_varies() const override { return true; }
  int prepends() const override { return head_ > 0 ? head_ : 0; }
  int appends() const override { return tail_ > 0 ? tail_ : 0; }
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;

 private:
  int head_ = 0, tail_ = 0;
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
