#pragma once

#include "core/element.h"

namespace heddle {

/** VLANEncap: puts a VLAN tag into Ethernet frames.
 *
 *      VLANEncap([VLAN_TCI, VLAN_PCP, keywords VLAN_TCI, VLAN_ID, VLAN_PCP, NATIVE_VLAN, ETHERTYPE])
 *
 *  VLAN_TCI: tag control information, 0 to 65535, or ANNO (default): that of the annotation vlan, which VLANDecap and
 *  SetVLANAnno set. VLAN_ID: 0 to 4095, instead of VLAN_TCI. VLAN_PCP: priority, 0 to 7, default 0. NATIVE_VLAN: frames
 *  of this VLAN_ID get no tag; -1 (default): none. ETHERTYPE: of the tag, default 0x8100. One input, one output. The
 *  four bytes go behind the addresses; the frame's start moves. Drops frames shorter than 12 bytes ("short"), without
 *  room before them ("no_headroom") or too long then ("too_long"). IEEE 802.1Q, 9.
 *
 *  Handlers: `vlan_tci` (rw), `vlan_id` (rw), `vlan_pcp` (rw), `native_vlan` (rw).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> VLANEncap(VLAN_ID 7, VLAN_PCP 3) -> ToDump(out.pcap);
 */
class VLANEncap : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override;
  bool changes_length() const override { return true; }
  bool head_varies() const override { return true; }
  int prepends() const override { return 4; }
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  enum Reason : int { kShort, kNoHeadroom, kTooLong };

  std::atomic<uint32_t> tci_{0};  // host byte order
  bool from_annotation_ = false;
  std::atomic<int> native_{-1};  // none
  uint16_t ethertype_ = 0x8100;
};

/** SetVLANAnno: sets the annotation vlan.
 *
 *      SetVLANAnno(VLAN_TCI [, VLAN_PCP, keywords VLAN_TCI, VLAN_ID, VLAN_PCP])
 *
 *  VLAN_TCI: tag control information, 0 to 65535. VLAN_ID: 0 to 4095, instead of VLAN_TCI. VLAN_PCP: priority, 0 to 7,
 *  default 0. VLANEncap(ANNO) puts it into a tag. One input, one output. Also called SetVlanAnno.
 *
 *  Handlers: `vlan_tci` (rw), `vlan_id` (rw), `vlan_pcp` (rw).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> VLANDecap -> SetVLANAnno(VLAN_ID 7) -> VLANEncap(ANNO) -> ToDump(out.pcap);
 */
class SetVLANAnno : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  bool can_live_reconfigure() const override { return true; }
  Access access(Processor) const override { return {.column_writes = columns(Column::vlan)}; }
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  std::atomic<uint32_t> tci_{0};  // host byte order
};

/** VLANDecap: takes the VLAN tag out of Ethernet frames.
 *
 *      VLANDecap([ANNO, keywords ANNO, ETHERTYPE])
 *
 *  ANNO: whether the annotation vlan gets the tag control information (0 if there is no tag), default true. ETHERTYPE:
 *  of the tag, default 0x8100. One input, one output. Frames without tag pass unchanged; of several tags the outer one
 *  goes.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> VLANDecap -> ToDump(out.pcap);
 */
class VLANDecap : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override;
  bool changes_length() const override { return true; }
  bool head_varies() const override { return true; }
  void run_cpu(Batch& batch) override;

 private:
  bool annotate_ = true;
  uint16_t ethertype_ = 0x8100;
};

/** StripEtherVLANHeader: removes the Ethernet header, and with it the VLAN tag.
 *
 *      StripEtherVLANHeader([NATIVE_VLAN, keyword NATIVE_VLAN])
 *
 *  Packets begin behind the header, of 18 bytes with a tag (0x8100), else of 14; the annotation vlan gets the tag's
 *  control information, and NATIVE_VLAN, 0 (default) to 4095, where there is no tag. NATIVE_VLAN -1: frames without tag
 *  leave by output 1 as they are, or, if it is not connected, are dropped ("untagged"). EtherVLANEncap(ANNO) is the way
 *  back. Drops frames that are shorter than the header ("short"). Also called StripEtherVlanHeader.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> StripEtherVLANHeader -> EtherVLANEncap(0x0800, 0:1:2:3:4:5, 6:7:8:9:a:b, ANNO)
 *          -> ToDump(out.pcap);
 */
class StripEtherVLANHeader : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1-2"; }
  const char* processing() const override { return "a/ah"; }
  Access access(Processor) const override;
  bool changes_length() const override { return true; }
  bool head_varies() const override { return true; }
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;

 private:
  enum Reason : int { kShort, kUntagged };  // kUntagged: of an output, too

  int native_ = 0;
};

}  // namespace heddle
