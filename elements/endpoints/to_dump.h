#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "core/element.h"
#include "io/capture/writer.h"

namespace heddle {

class FromDump;

/** ToDump: writes packets to a capture file.
 *
 *      ToDump(FILENAME [, keywords SNAPLEN, ENCAP, USE_ENCAP_FROM, EXTRA_LENGTH, UNBUFFERED, NANO, FORMAT])
 *
 *  FILENAME: is created or overwritten; "-" for standard output. SNAPLEN: longer packets are cut to it, 0 (all of them)
 *  by default. NANO: time stamps in nanoseconds (true, default) or microseconds. FORMAT: pcap or pcapng; default pcapng
 *  if the name ends in ".pcapng", else pcap. ENCAP: the link type that the file names, ETHER (default), IP (packets
 *  begin with their IP header), NULL, LOOP, SLL, PPP, FDDI, 802_11, 802_11_RADIO or FR; packets are written as they
 *  are. USE_ENCAP_FROM: names of FromDump elements; their files' link type is used and must be one. EXTRA_LENGTH:
 *  whether the length on the wire counts bytes that the packet's own capture did not have, default true. UNBUFFERED:
 *  hand every batch to the system at once, default false.
 *
 *  Packets from a capture keep their time stamps and the lengths they had on the wire; others get the time of writing.
 *  Several packet threads may share one ToDump; each batch is then written as a piece.
 *
 *  Errors: the file cannot be created, or another element (or option, for "-") writes there. When writing fails later
 *  (full disk, closed pipe), packets are dropped ("write_failed"), the program goes on, reports it and exits with an
 *  error.
 *
 *  Where FILENAME is a pipe, a socket or a terminal, packets wait for whoever reads it, as with tcpdump, so that those
 *  of a capture are all written; from a port they are lost before they are received, as long as nobody reads. A program
 *  that is to end (a signal, `stop`, --time) gives a reader who takes nothing 2 seconds, and any 10 in all; that is
 *  then a failure to write. The same holds of what ToIPSummaryDump, IPPrint and AggregateIPFlows write.
 *
 *  Hot reconfiguration: an element of the same name (or without one, if its arguments are the same) that writes the
 *  same file in the same way writes on; else the file is created anew, which is an error while another element has it
 *  open.
 *
 *  Statistics: `written`, `lost` (taken, but not written when writing failed).
 *
 *  Handlers: `count` (r, packets written), `reset_counts` (w), `filename` (r).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> ToDump(valid.pcapng);
 */
class ToDump : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  void link(const Directory& directory) override;
  const char* ports() const override { return "1/0"; }
  Access access(Processor) const override { return {.reads = {kWholePacket}}; }
  std::span<const char* const> drop_reasons() const override;
  void start(const Environment& environment) override;
  void take_state(Element& old) override;
  void run_cpu(Batch& batch) override;
  int timer_us() const override { return 10000; }
  void on_timer(int thread) override;
  std::string stop() override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

 private:
  /** Whether `other` writes the same file in the same way, and this goes on there when the chain is reconfigured. */
  bool goes_on_from(const Element* other) const;

  std::string file_;
  capture::Writer::Options options_;
  std::vector<std::string> encap_from_names_;
  std::vector<FromDump*> encap_from_;
  bool extra_length_ = true, unbuffered_ = false;
  std::atomic<uint64_t> count_base_{0};  // written before reset_counts
  bool shared_ = false;                  // by several threads
  std::mutex writing_;
  std::unique_ptr<capture::Writer> writer_;
  std::atomic<bool> unflushed_{false};
};

}  // namespace heddle
