#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "measure/wire/destinations.h"
#include "measure/wire/frames.h"

namespace heddle::bench {

struct TrafficOptions {
  /** "64": frames of so many bytes on the wire, FCS included (64 to 9216). "imix": the simple IMIX, 7 of 64 bytes, 4 of
   *  594, 1 of 1518 (IP packets of 40, 576 and 1500 bytes; "The Journal of Internet Test Methodologies", Agilent,
   *  2007). Else the path of a capture, whose packets themselves are sent in order, over and over: what the capture has
   *  cut off as zeros. TCP frames are no shorter than 76 bytes, which a signature takes: those of a trace or capture
   *  are made longer, and smaller sizes with the protocol tcp are refused. */
  std::string sizes = "64";
  /** "uniform": random unicast addresses. "routes:FILE": destinations within the routes of a table (as ip_lookup reads
   *  it), each route as likely as the other. "trace:FILE": the 5-tuples of a header trace in ClassBench's format, a
   *  line a packet, in order. "uniform6", "routes6:FILE", "macs:FILE", "names:FILE": of IPv6, Ethernet and NDN, see
   *  destinations_of(); NDN takes udp only, and its frames are longer where names need it. A capture has its own. */
  std::string addresses = "uniform";
  std::string protocol = "udp";  ///< of the flows, or "tcp"; a trace or capture has its own, and takes udp only
  uint32_t flows = 1024;         ///< different 5-tuples; a trace or capture has its own
  double zipf = 0;               ///< flow k of F has a share in proportion to 1 / k^zipf, to 10; 0: all the same
  uint64_t seed = 1;
  bool symmetric = true;  ///< both directions of a connection go to the same queue
  /** Each frame carries a signature in its last bytes, in place of payload (a frame that has less payload is made
   *  longer). Without it frames are sent as they are and what arrives is only counted: for chains that change payloads,
   *  or look at them. */
  bool signatures = true;
  MacAddresses mac{};
  /** Called now and then while the traffic is made, which takes seconds with millions of flows; may throw. */
  std::function<void()> look = [] {};
};

/** What a generator sends on one queue of one port: prepared frames, over and over. */
struct Stream {
  /** The first 64 bytes of a frame. */
  struct alignas(64) Head {
    uint8_t bytes[64];
  };
  struct Frame {
    uint32_t flow;
    uint32_t rest;    ///< where what is behind the head begins in Traffic::rests()
    uint16_t length;  ///< in memory: without FCS
    Stamping stamping;
  };
  std::vector<Head> heads;  // [n]
  std::vector<Frame> frames;
};

/** All that a generator sends, made before it starts and the same for the same options: flows with their 5-tuples,
 *  spread over ports and over their queues as a NIC does it, by the Toeplitz hash of the 5-tuple. */
class Traffic {
 public:
  /** For `ports` ports that are sent to, with `queues` queues each. Throws Error when options or files are wrong. */
  Traffic(const TrafficOptions& options, int ports, int queues);

  const Stream& stream(int port, int queue) const { return streams_[static_cast<size_t>(queue * ports_ + port)]; }
  const uint8_t* rests() const { return rests_.data(); }
  int ports() const { return ports_; }
  int queues() const { return queues_; }
  uint32_t flows() const { return static_cast<uint32_t>(tuples_.size()); }
  const FiveTuple& tuple(uint32_t flow) const { return tuples_[flow]; }
  bool signatures() const { return signatures_; }
  double mean_bytes() const { return mean_bytes_; }    ///< of a frame on the wire, FCS included
  uint32_t longest_bytes() const { return longest_; }  ///< of frames in memory, however many flows there are

 private:
  size_t stream_of(const FiveTuple& tuple) const;
  void number_by_queue(std::vector<uint32_t>& order);
  void add_capture(const std::string& path);
  void add(uint32_t flow, std::vector<uint8_t> frame);

  std::unique_ptr<Destinations> destinations_;  // null: IPv4, or a capture
  int ports_, queues_;
  bool symmetric_, signatures_;
  std::vector<FiveTuple> tuples_;  // [flow]
  std::vector<Stream> streams_;    // [queue][port]
  std::vector<uint8_t> rests_;
  std::unordered_map<std::string, uint32_t> rest_at_;  // where each lies in rests_
  double mean_bytes_ = 0;
  uint32_t longest_ = 0;
};

}  // namespace heddle::bench
