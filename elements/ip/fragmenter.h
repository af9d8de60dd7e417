#pragma once

#include <memory>

#include "core/column_pack.h"
#include "core/element.h"

namespace heddle {

/** What IPFragmenter, IP6Fragmenter and TCPFragmenter have in common: packets that do not fit wait until their batch
 *  has passed; their fragments leave right behind it. */
class Fragmenter : public Emitter {
 public:
  const char* ports() const override { return "1/1-2"; }
  const char* processing() const override { return "h/h"; }
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void start(const Environment& environment) override;
  void emit(Batch& batch, bool ending) override;
  bool holds() const override { return packets_held() > 0; }
  uint64_t packets_held() const override;
  bool due(int thread) const override { return long_[static_cast<size_t>(thread)].count.load() > 0; }
  std::string stop() override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

 protected:
  /** The order of drop_reasons(). */
  enum Drop : int { kDontFragment, kNoHeader, kBadLength, kFull, kNoBuffer, kNoRoom };
  /** How a packet is divided; bytes from its IP header on. */
  struct Division {
    uint32_t header_bytes = 0;  ///< of a fragment: what stands before its part of the payload
    uint32_t payload_at = 0;    ///< in the packet
  };
  /** A fragment: bytes [done, done + bytes) of the payload. */
  struct Piece {
    uint32_t done, bytes;
    bool last;
    uint32_t number;  ///< of the packet
  };
  /** Of the fragment that begins at byte `done` of the payload. `ip`: the header of a packet that has been kept. */
  virtual Division divide(const uint8_t* ip, uint32_t done) const = 0;
  /** Writes its headers to `to`; its part of the payload is there. */
  virtual void write_headers(uint8_t* to, const uint8_t* ip, const Division& division, const Piece& piece) const = 0;
  /** Where the transport header is in a packet or fragment, for annotation l4. */
  virtual uint32_t transport_at(const uint8_t* ip) const = 0;

  /** Takes packet `i` out of the batch, to be cut; or drops it, when too many wait. */
  void keep(Batch& batch, int i);
  /** Sends packet `i`, which must not be cut or cannot, to output 1 or drops it. */
  void refuse(Batch& batch, int i, Drop reason);
  bool wants_l4() const { return (carries & columns(Column::l4)) != 0; }

  uint32_t mtu_ = 1500;
  uint32_t unit_ = 8;  ///< what bytes of a payload are a multiple of, but for the last fragment

 private:
  static constexpr uint32_t kMaxWaiting = 1024;
  /** Packets of a thread that do not fit, until they are cut. */
  struct alignas(kCacheLine) Long {
    std::unique_ptr<Packet*[]> packets;    // [kMaxWaiting], a ring
    std::unique_ptr<std::byte[]> columns;  // [kMaxWaiting][columns_.bytes()]
    uint32_t first = 0;
    std::atomic<uint32_t> count{0};
    uint32_t done = 0;    // bytes of the first one's payload that have left
    uint32_t number = 0;  // of the first one, once some have
  };
  /** Appends the next fragment of the first packet of `from`; false: it was the last one, or no buffer is free, which
   *  drops the rest. */
  bool append_fragment(Long& from, Batch& batch, uint32_t l3);
  void finish(Long& from);

  ColumnPack columns_;
  std::unique_ptr<Long[]> long_;  // by thread
  int threads_ = 0;
  PacketPool *packets_ = nullptr, *large_packets_ = nullptr;
  std::atomic<uint32_t> next_number_{0};
  std::atomic<uint64_t> fragments_{0}, refused_{0};
};

}  // namespace heddle
