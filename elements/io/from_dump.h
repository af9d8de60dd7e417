#pragma once

#include <memory>
#include <string>

#include "core/element.h"
#include "io/capture/reader.h"

namespace heddle {

/** FromDump: reads packets from a capture file.
 *
 *      FromDump(FILENAME [, keywords BURST, STOP])
 *
 *  FILENAME: a pcap or pcapng file with Ethernet frames, "-" for standard input. BURST: packets read at a time, default
 *  64, 1 to 16384. STOP: accepted for Click's sake; the program ends anyway when every source has ended.
 *
 *  Packets keep their time stamps and the lengths they had on the wire, see ToDump. It reads as fast as the chain takes
 *  them and loses none: when all packet buffers are in use it waits. The first packet thread runs it.
 *
 *  Errors: the file is missing, empty or no capture, or not of Ethernet frames. A file that ends in the middle of a
 *  record or is damaged gives all packets before that point; the program then reports the place and exits with an error.
 *  Statistics: `too_long` (frames over 65407 bytes, found in captures of offloaded traffic, are skipped),
 *  `other_link_type` (packets of another interface type in a pcapng, skipped).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Counter -> Discard;
 */
class FromDump : public Source {
 public:
  void configure(click::Arguments& arguments) override;
  void start(const Environment& environment) override;
  void receive(Batch& batch) override;
  bool exhausted() const override { return ended_; }
  std::optional<double> progress() const override;
  std::string stop() override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

 private:
  Packet* make_packet(const capture::Record& record);

  std::string file_;
  int burst_ = 64;  // what the first-level cache holds on the way through the chain
  std::unique_ptr<capture::Reader> reader_;
  PacketPool *packets_ = nullptr, *large_packets_ = nullptr;
  uint32_t packet_bytes_ = 0;         // longest packet of packets_
  std::unique_ptr<Packet*[]> fresh_;  // [burst_]: packets taken from the pool, not yet used
  int fresh_count_ = 0;
  capture::Record held_{};  // read, but no packet was free for it
  bool holding_ = false, ended_ = false;
  std::atomic<uint64_t> too_long_{0}, other_link_type_{0}, position_{0};
};

}  // namespace heddle
