#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/batch.h"

namespace heddle::bench {

/** A full batch of packets without a pool, for elements that are measured without I/O: their buffers are one array.
 *  Nobody may free them. */
class PacketArray {
 public:
  static constexpr uint16_t kHeadroom = 128;

  /** `count` packets of `bytes` bytes, with `tailroom` bytes behind each. */
  PacketArray(int count, uint16_t bytes, uint16_t tailroom)
      : batch(count),
        buffer_bytes_(static_cast<size_t>(kHeadroom) + bytes + tailroom),
        buffers_(new uint8_t[static_cast<size_t>(count) * buffer_bytes_]()),
        packets_(new Packet[static_cast<size_t>(count)]()) {
    batch.resize(count);
    for (int i = 0; i < count; ++i) {
      Packet& packet = packets_[static_cast<size_t>(i)];
      packet.buf_addr = buffers_.get() + static_cast<size_t>(i) * buffer_bytes_;
      packet.buf_len = static_cast<uint16_t>(buffer_bytes_);
      packet.data_off = kHeadroom;
      packet.nb_segs = 1;
      batch.packets()[i] = &packet;
    }
    set_length(bytes);
  }

  /** Gives all packets this length. */
  void set_length(uint16_t bytes) {
    for (int i = 0; i < batch.size(); ++i) {
      batch.packet(i)->data_len = bytes;
      batch.packet(i)->pkt_len = bytes;
    }
  }

  Batch batch;

 private:
  size_t buffer_bytes_;
  std::unique_ptr<uint8_t[]> buffers_;  // [count][buffer_bytes_]
  std::unique_ptr<Packet[]> packets_;   // [count]
};

}  // namespace heddle::bench
