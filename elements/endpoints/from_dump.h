#pragma once

#include <memory>
#include <random>
#include <string>

#include "core/element.h"
#include "elements/endpoints/end_call.h"
#include "elements/endpoints/time_window.h"
#include "io/capture/reader.h"

namespace heddle {

/** FromDump: reads packets from a capture file.
 *
 *      FromDump(FILENAME [, keywords TIMING, SAMPLE, FORCE_IP, START, START_AFTER, END, END_AFTER, INTERVAL, FILEPOS,
 *               ACTIVE, STOP, END_CALL, BURST])
 *
 *  FILENAME: a pcap or pcapng file with Ethernet frames, "-" for standard input, from which compressed ones are read:
 *  zcat in.pcap.gz | heddle run FILE. TIMING: whether packets come at the pace of their time stamps, default false; a
 *  number is a speed (2: twice as fast). SAMPLE: the probability with which a packet is taken, default 1. FORCE_IP:
 *  give only IPv4 packets, with their header and destination annotations set, default false; then captures of raw IP,
 *  loopback and Linux cooked interfaces are read, too.
 *
 *  START, END: take packets with a time stamp from START on, before END, in seconds since 1970. START_AFTER, END_AFTER:
 *  the same, counted from the first packet of the file. INTERVAL: so many seconds from the first packet taken. At most
 *  one of START and START_AFTER, and of END, END_AFTER and INTERVAL. FILEPOS: byte of the file at which to begin, where
 *  a record starts. ACTIVE: whether it reads, default true. STOP: whether the program ends with the file, default false
 *  (it ends then anyway unless other sources go on). END_CALL: a handler and a value, written at the end of the file or
 *  time. BURST: packets read at a time, default 64, 1 to 16384. MMAP is accepted: files are mapped in any case.
 *
 *  Packets keep their time stamps and the lengths they had on the wire, see ToDump. It reads as fast as the chain takes
 *  them and loses none: when all packet buffers are in use it waits. The first packet thread runs it.
 *
 *  Hot reconfiguration: if FILENAME and FILEPOS are as before, it reads on where it is; TIMING and INTERVAL begin anew.
 *
 *  Handlers: `count` (r), `reset_counts` (w), `active` (rw), `stop` (w), `extend_interval` (w, seconds by which it
 *  reads on), `reset_timing` (w), `filename` (r), `filesize` (r), `filepos` (r), `packet_filepos` (r), `sampling_prob`
 *  (r), `encap` (r, link type).
 *
 *  Errors: the file is missing, empty or no capture, or not of Ethernet frames (of a pipe this is found out and
 *  reported while the program runs). A file that ends in the middle of a record or is damaged gives all packets before
 *  that point; the program then reports the place and exits with an error. So it does when another program shortens the
 *  file meanwhile; the last packets may then have zeros for bytes. Statistics: `too_long` (frames over 65407 bytes,
 *  found in captures of offloaded traffic, are skipped), `other_link_type` (packets of another interface type in a
 *  pcapng, skipped), `not_ip` (skipped by FORCE_IP).
 *
 *  Example:
 *
 *      FromDump(in.pcap, TIMING true) -> Counter -> Discard;
 */
class FromDump : public Source {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override;
  void start(const Environment& environment) override;
  void take_state(Element& old) override;
  void receive(Batch& batch) override;
  bool exhausted() const override { return ended_ || !active_; }
  bool keeps_running() const override { return end_call_.pending(); }
  std::optional<double> progress() const override;
  std::string stop() override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

  /** The link type of the file's packets, for ToDump's USE_ENCAP_FROM, before start(); opens the file, and waits for a
   *  pipe's header. Throws Error. */
  uint32_t link_type();

 private:
  enum class Next { packet, skip, wait, end };
  /** Whether `other` reads the same file, and goes on here when the chain is reconfigured. */
  bool goes_on_from(const Element* other) const;
  void begin(int timeout_ms);
  bool try_to_begin();
  Next look_at(const capture::Record& record);
  Packet* make_packet(const capture::Record& record);
  bool append_packet(Batch& batch);
  void take_back_last(Batch& batch);
  void mark_link_types(Batch& batch, int first) const;
  void end();

  std::string file_;
  int burst_ = 64;  // what the first-level cache holds on the way through the chain
  double sample_ = 1;
  bool force_ip_ = false;
  uint64_t file_position_ = 0;
  TimeWindow window_;
  Pace pace_;
  std::unique_ptr<capture::Reader> reader_;
  PacketPool *packets_ = nullptr, *large_packets_ = nullptr;
  uint32_t packet_bytes_ = 0;         // longest packet of packets_
  std::unique_ptr<Packet*[]> fresh_;  // [burst_]: packets taken from the pool, not yet used
  int fresh_count_ = 0;
  capture::Record held_{};  // read, but it is not its time, or no packet was free for it
  bool holding_ = false;
  uint32_t ip_at_ = 0;  // of held_, with FORCE_IP
  std::mt19937_64 random_;
  uint32_t link_type_ = 0;
  std::string problem_;
  std::atomic<bool> begun_{false}, ended_{false}, active_{true};  // begun_: the header has been read
  std::atomic<uint64_t> count_{0}, too_long_{0}, other_link_type_{0}, not_ip_{0}, position_{0}, packet_position_{0};
  std::atomic<uint64_t> counted_before_{0};  // of count_, before reset_counts
  EndCall end_call_;
};

}  // namespace heddle
