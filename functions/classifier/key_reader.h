#pragma once

#include "core/access.h"
#include "core/load.h"
#include "functions/classifier/field.h"

namespace heddle::classifier {

/** A packet as rules see it. Headers are offsets from `frame`, up to `bytes`. */
struct PacketView {
  const uint8_t* frame;
  uint32_t bytes, network, transport;
  uint32_t vlan, paint;  ///< the columns
};

/** What has been read of a packet. */
enum class Reading : uint8_t {
  whole,
  too_short,  ///< for the headers that it must have (see BitVectorClassifier)
  not_ip4     ///< and the rules are for packets of IPv4 only
};

/** Reads what rules ask for: a Key, and behind it the values of a layout's places. With the place `version` in the
 *  layout, Key has the first four bytes of IPv6 addresses, and the protocol is IPv6's next header. Without it, see
 *  versions_of(). */
class KeyReader {
 public:
  explicit KeyReader(Layout layout = {});

  const Layout& layout() const { return layout_; }
  size_t values() const { return kFields + layout_.size(); }
  /** Sets values[f * stride]; all to 0 unless the packet is whole. */
  Reading read(const PacketView& packet, uint32_t* values, size_t stride) const;
  /** What that reads. */
  Access access() const;

 private:
  bool read_ip4(const PacketView& packet, uint32_t* values, size_t stride, bool& later_fragment) const;
  bool read_ip6(const PacketView& packet, uint32_t* values, size_t stride) const;
  void read_more(const PacketView& packet, bool later_fragment, uint32_t* values, size_t stride) const;

  Layout layout_;
  Versions versions_;
};

}  // namespace heddle::classifier
