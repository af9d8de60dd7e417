#pragma once

#include <algorithm>
#include <array>

#include "elements/endpoints/generator.h"
#include "elements/endpoints/token_bucket.h"

namespace heddle {

/** What FastUDPFlows, FastUDPSource, FastUDPSourceIP6 and FastTCPFlows have in common: Ethernet frames with an IP
 *  header, one of UDP or TCP and a payload of zeros, at some rate. */
class FlowFrames : public Generator {
 public:
  Access access(Processor) const override;
  void handlers(Handlers& list) override;

 protected:
  enum class Kind : uint8_t { udp, udp6, tcp };
  explicit FlowFrames(Kind kind) : kind_(kind) {}

  static constexpr size_t kMaxHeaderBytes = 14 + 40 + 8;
  using Headers = std::array<uint8_t, kMaxHeaderBytes>;
  struct Ports {
    uint16_t source = 0, destination = 0;
  };
  /** Two ports, of a random number; not 0. */
  static Ports ports_of(uint32_t random) {
    return {static_cast<uint16_t>(std::max(1u, random >> 16)), static_cast<uint16_t>(std::max(1u, random & 0xffff))};
  }

  /** Reads RATE, LIMIT, LENGTH, SRCETH, SRCIP (SRCIP6), DSTETH and DSTIP (DSTIP6) and, behind the addresses, SPORT and
   *  DPORT, if `ports` is not null. */
  void configure_frames(click::Arguments& arguments, Ports* ports);
  /** Reads CHECKSUM. */
  void configure_checksum(click::Arguments& arguments);
  /** The headers of frames with these ports and, of TCP, flags. */
  Headers headers_with(Ports ports, uint8_t tcp_flags = 0) const;
  /** Appends as many frames as RATE, LIMIT and ACTIVE allow; `next` gives the headers of each, by its number. */
  template <class Next>
  void append_frames(Batch& batch, Next next) {
    const int first = batch.size(), n = append_empty(batch);
    uint64_t number = count_before();
    for (int i = first; i < first + n; ++i) fill(batch, i, next(number++));
  }

 private:
  uint32_t ip_bytes() const { return kind_ == Kind::udp6 ? 40 : 20; }
  uint32_t header_bytes() const { return 14 + ip_bytes() + (kind_ == Kind::tcp ? 20 : 8); }
  int append_empty(Batch& batch);
  void fill(Batch& batch, int i, const Headers& headers);

  const Kind kind_;
  Headers headers_{};         // without ports and the checksum behind them
  uint32_t destination_ = 0;  // as the annotation dst has it
  uint32_t frame_bytes_ = 60;
  bool checksum_ = true;
  TokenBucket bucket_;
};

}  // namespace heddle
