// TestSource and TestSink: a chain's ends in memory.

#include <array>
#include <cstring>
#include <sstream>

#include "click/arguments.h"
#include "core/element.h"
#include "core/error.h"
#include "core/packet_pool.h"
#include "tests/support/lab.h"

namespace heddle::test {
namespace {

// The bytes around a frame. Not a constant byte: a shifted write must be seen, too.
const uint8_t* pattern() {
  static const auto bytes = [] {
    std::array<uint8_t, 65536> all{};
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint8_t>(0xa5 ^ (i * 151 >> 3));
    return all;
  }();
  return bytes.data();
}

// Where the frame lay in its buffer and which one it was, in a word of the mbuf that clones inherit and that allocation
// clears: so a copy that the engine has made carries none.
struct Mark {
  uint32_t from, length;
  int64_t serial;
};
void set_mark(Packet* packet, Mark mark) {
  packet->tx_offload = uint64_t{1} << 63 | static_cast<uint64_t>(mark.serial) << 32 | mark.from << 16 | mark.length;
}
bool get_mark(const Packet* packet, Mark& mark) {
  const uint64_t word = packet->tx_offload;
  mark = {static_cast<uint32_t>(word >> 16) & 0xffff, static_cast<uint32_t>(word) & 0xffff,
          static_cast<int64_t>(word >> 32 & 0x7fffffff)};
  return word >> 63 != 0;
}

// The packet that a source has given a frame in the last time; clones of it are others.
std::atomic<const Packet*>& last_given(int64_t serial) {
  static std::array<std::atomic<const Packet*>, 1 << 16> packets;
  return packets[static_cast<size_t>(serial) % packets.size()];
}

/** Gives a packet a buffer of its own of `bytes` bytes, which is freed with it. */
void attach_guarded(Packet* packet, uint16_t bytes) {
  const uint16_t start = packet->data_off;
  auto* buffer = new uint8_t[bytes];
  std::memcpy(buffer, pattern(), bytes);
  auto* shared = new rte_mbuf_ext_shared_info{.free_cb =
                                                  [](void* address, void* info) {
                                                    delete[] static_cast<uint8_t*>(address);
                                                    delete static_cast<rte_mbuf_ext_shared_info*>(info);
                                                  },
                                              .fcb_opaque = nullptr,
                                              .refcnt = 1};
  shared->fcb_opaque = shared;
  rte_pktmbuf_attach_extbuf(packet, buffer, RTE_BAD_IOVA, bytes, shared);
  packet->data_off = start;
}

ColumnSet parse_columns(const std::string& text) {
  ColumnSet set = 0;
  std::istringstream words(text);
  for (std::string word; words >> word;)
    each_column(kAllColumns, [&](Column which) {
      if (word == kColumnNames[static_cast<int>(which)]) set |= columns(which);
    });
  return set;
}

uint64_t value(Batch& batch, Column which, int i) {
  return is_wide(which) ? batch.wide_column(which)[i] : batch.column(which)[i];
}
void set_value(Batch& batch, Column which, int i, uint64_t value) {
  if (is_wide(which))
    batch.wide_column(which)[i] = value;
  else
    batch.column(which)[i] = static_cast<uint32_t>(value);
}
/** What a column's values count from, if packets begin at `start`. */
uint32_t origin(Column which, uint32_t start) { return (kHeaderColumns & columns(which)) != 0 ? start : 0; }

class TestSource : public Source {
 public:
  void configure(click::Arguments& arguments) override {
    std::string sets;
    arguments.keyword("SETS", sets).keyword("EVERY_THREAD", every_thread_);
    arguments.keyword("ENDLESS", endless_);
    sets_ = parse_columns(sets);
  }
  Access access(Processor) const override { return {.column_writes = sets_}; }
  bool every_thread() const override { return every_thread_; }
  void start(const Environment& environment) override {
    lab_ = Lab::current();
    pools_[0] = environment.packets, pools_[1] = environment.large_packets;
    endless_ = endless_ || lab_->options.endless;
    threads_ = every_thread_ ? environment.threads : 1;
  }

  void receive(Batch& batch) override {
    Cursor& at = cursors_[static_cast<size_t>(batch.thread)];
    const auto& frames = *lab_->frames;
    const auto& sizes = lab_->options.batches;
    const int wanted = std::min(sizes[at.round++ % sizes.size()], batch.room());
    while (batch.size() < wanted) {
      if (at.next == frames.size()) {
        if (!endless_ || frames.empty()) break;
        at.next = 0;
      }
      Packet* packet = make(frames[at.next], static_cast<int64_t>(at.next));
      if (packet == nullptr) break;  // waits: the next round tries again
      const int i = batch.size();
      batch.packets()[i] = packet;
      each_column(sets_, [&](Column which) {
        set_value(batch, which, i, frames[at.next].column[static_cast<int>(which)] + origin(which, packet->data_off));
      });
      batch.resize(i + 1);
      ++at.next;
    }
    lab_->given += static_cast<uint64_t>(batch.size());
    if (!endless_ && at.next == frames.size() && !at.ended) at.ended = true, ++ended_;
  }

  bool exhausted() const override { return ended_ == threads_; }

  // Goes on with the next frame.
  void take_state(Element& old_element) override {
    auto& old = static_cast<TestSource&>(old_element);
    std::swap(cursors_, old.cursors_);
    ended_ = old.ended_.exchange(ended_);
    replaced_ = false, old.replaced_ = true;
  }

  std::string stop() override {
    // Not started, or another one is the last: its successor, or its predecessor, which it was to replace.
    if (lab_ == nullptr || replaced_ || predecessor != nullptr) return {};
    // A source is the first to stop, and all threads have ended: whatever is not back now is lost.
    for (auto* pool : pools_) lab_->not_returned += static_cast<int64_t>(pool->capacity()) - pool->available();
    return {};
  }

 private:
  struct alignas(64) Cursor {
    size_t next = 0, round = 0;
    bool ended = false;
  };

  Packet* make(const Frame& frame, int64_t serial) {
    const auto bytes = static_cast<uint32_t>(frame.bytes.size());
    Packet* packet = nullptr;
    if (!pools_[bytes > pools_[0]->data_bytes() ? 1 : 0]->allocate(&packet, 1)) return nullptr;
    if (frame.headroom >= 0) packet->data_off = static_cast<uint16_t>(frame.headroom);
    std::memcpy(packet->buf_addr, pattern(), packet->buf_len);
    if (lab_->options.guarded) attach_guarded(packet, static_cast<uint16_t>(packet->data_off + bytes));
    packet->data_len = static_cast<uint16_t>(bytes);
    packet->pkt_len = bytes;
    if (bytes != 0) std::memcpy(data(packet), frame.bytes.data(), bytes);
    set_capture_info(packet, {frame.timestamp_ns, frame.missing_bytes});
    set_mark(packet, {packet->data_off, bytes, serial});
    last_given(serial) = packet;
    return packet;
  }

  ColumnSet sets_ = 0;
  bool every_thread_ = false, endless_ = false;
  Lab* lab_ = nullptr;
  PacketPool* pools_[2] = {};
  int threads_ = 1;
  std::atomic<int> ended_{0};
  bool replaced_ = false;
  std::array<Cursor, kMaxThreads> cursors_;
};

class TestSink : public Element {
 public:
  void configure(click::Arguments& arguments) override {
    std::string reads;
    arguments.keyword("READS", reads);
    reads_ = parse_columns(reads);
  }
  const char* ports() const override { return "1/0"; }
  Access access(Processor) const override { return {.reads = {kWholePacket}, .column_reads = reads_}; }
  void start(const Environment&) override { lab_ = Lab::current(); }

  void run_cpu(Batch& batch) override {
    uint64_t bytes = 0;
    for (int i = 0; i < batch.size(); ++i) {
      const Packet* packet = batch.packet(i);
      bytes += heddle::length(packet);
      Mark mark{};
      const bool marked = get_mark(packet, mark);
      if (marked) check_surroundings(packet, mark);
      Received received{{data(packet), data(packet) + heddle::length(packet)}, {}, marked ? mark.serial : -1, 0, 0};
      const uint32_t start = marked && !RTE_MBUF_HAS_EXTBUF(packet) ? mark.from : packet->data_off;
      each_column(reads_, [&](Column which) {
        const uint64_t counted = value(batch, which, i) - origin(which, start);
        received.column[static_cast<int>(which)] = is_wide(which) ? counted : static_cast<uint32_t>(counted);
      });
      const CaptureInfo info = capture_info(packet);
      received.timestamp_ns = info.timestamp_ns, received.missing_bytes = info.missing_bytes;
      if (lab_->options.on_packet) {
        lab_->options.on_packet(name, received);
      } else {
        const std::lock_guard lock(lab_->mutex);
        lab_->sinks[name].push_back(std::move(received));
      }
    }
    lab_->delivered += static_cast<uint64_t>(batch.size());
    {
      const std::lock_guard lock(lab_->mutex);
      lab_->bytes[name] += bytes;
    }
    batch.free_packets();
  }

 private:
  void check_surroundings(const Packet* packet, const Mark& mark) {
    // The packet's own buffer, where another one has taken its place (transport landing), has nothing of what was done
    // since.
    const bool landed = RTE_MBUF_HAS_EXTBUF(packet);
    if (landed && last_given(mark.serial) != packet) return;  // a clone: its own buffer was never in use
    const auto* buffer = static_cast<const uint8_t*>(
        landed ? rte_mbuf_buf_addr(const_cast<Packet*>(packet), packet->pool) : packet->buf_addr);
    const uint32_t buffer_bytes = rte_pktmbuf_data_room_size(packet->pool);
    const uint32_t begins = landed ? mark.from : packet->data_off,
                   bytes = landed ? mark.length : heddle::length(packet);
    // What has been put before and behind it is the packet's, too.
    const uint32_t start = std::min(mark.from, begins);
    const uint32_t before = start - std::min(start, lab_->options.scratch);
    const uint32_t end = std::max(mark.from + mark.length, begins + bytes);
    const uint32_t behind = std::min<uint32_t>(end + lab_->options.scratch, buffer_bytes);
    const bool good = std::memcmp(buffer, pattern(), before) == 0 &&
                      std::memcmp(buffer + behind, pattern() + behind, buffer_bytes - behind) == 0;
    if (good) return;
    ++lab_->damaged;
    int64_t at = 0;
    while ((at >= before && at < behind) || buffer[at] == pattern()[at]) ++at;
    const std::lock_guard lock(lab_->mutex);
    if (lab_->first_damage.empty())
      lab_->first_damage =
          format("sink '%s', frame %lld of %u bytes: byte %lld of the frame has changed", name.c_str(),
                 static_cast<long long>(mark.serial), mark.length, static_cast<long long>(at - mark.from));
  }

  ColumnSet reads_ = 0;
  Lab* lab_ = nullptr;
};

}  // namespace

HEDDLE_ELEMENT(TestSource);
HEDDLE_ELEMENT(TestSink);

}  // namespace heddle::test
