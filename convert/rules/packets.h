#pragma once

#include <functional>
#include <string>
#include <vector>

#include "functions/classifier/key_reader.h"

namespace heddle::classifier {

/** A packet of a capture as rules see it. */
struct CapturedPacket {
  PacketView view;
  std::string problem;  ///< why it has no IP header, or one whose lengths cannot be; or ""
  /** The capture has not all bytes of it: the same with the others set, and how many there are. */
  const CapturedPacket* completed = nullptr;
  uint32_t captured = 0, original = 0;
};

/** What `reader` reads of the packet, into `values`; the result says why nothing can be, or is "". Not what depends on
 *  bytes that the capture lacks. */
std::string read_captured(const KeyReader& reader, const CapturedPacket& packet, std::vector<uint32_t>& values);

/** Calls `visit` for each packet of a capture of Ethernet, with or without VLAN tags, or of IP alone, each up to the
 *  end of its IP packet, as CheckIPHeader and CheckIP6Header leave it, whose checksums and addresses are not looked at.
 *  Returns what is wrong with the capture, or "". Throws Error when it cannot be read, or has another link type. */
std::string each_packet(const std::string& path, const std::function<void(const CapturedPacket&)>& visit);

}  // namespace heddle::classifier
