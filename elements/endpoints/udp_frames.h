#pragma once

#include <array>

#include "elements/endpoints/generator.h"
#include "elements/endpoints/token_bucket.h"

namespace heddle {

/** What FastUDPFlows and FastUDPSource have in common: Ethernet frames with an IPv4 and a UDP header and a payload of
 *  zeros, at some rate. */
class UdpFrames : public Generator {
 public:
  Access access(Processor) const override;
  void handlers(Handlers& list) override;

 protected:
  static constexpr size_t kHeaderBytes = 14 + 20 + 8;
  using Headers = std::array<uint8_t, kHeaderBytes>;
  struct Ports {
    uint16_t source = 0, destination = 0;
  };

  /** Reads RATE, LIMIT, LENGTH, SRCETH, SRCIP, DSTETH and DSTIP and, behind the addresses, SPORT and DPORT, if `ports`
   *  is not null. */
  void configure_frames(click::Arguments& arguments, Ports* ports);
  /** Reads CHECKSUM. */
  void configure_checksum(click::Arguments& arguments);
  /** The headers of frames with these ports. */
  Headers headers_with(Ports ports) const;
  /** Appends as many frames as RATE, LIMIT and ACTIVE allow; `next` gives the headers of each, by its number. */
  template <class Next>
  void append_frames(Batch& batch, Next next) {
    const int first = batch.size(), n = append_empty(batch);
    uint64_t number = count_before();
    for (int i = first; i < first + n; ++i) fill(batch, i, next(number++));
  }

 private:
  int append_empty(Batch& batch);
  void fill(Batch& batch, int i, const Headers& headers);

  Headers headers_{};  // without ports and UDP checksum
  uint32_t frame_bytes_ = 60;
  bool checksum_ = true;
  TokenBucket bucket_;
};

}  // namespace heddle
