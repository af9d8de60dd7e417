#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/error.h"
#include "gpu/device.h"
#include "gpu/functions.h"
#include "io/memif/region.h"

/** Rings that a device drives, with their peers in this process: for benchmarks, and for tests on a real GPU, whose
 *  memory ordering simt does not have. */
namespace heddle::bench {

/** The peer's end of a ring pair: it sends on the ring that the GPU receives from. One thread uses it. */
class alignas(128) PeerEnd {
 public:
  PeerEnd(gpu::RingPair pair, uint8_t* base) : pair_(pair), base_(base) {}

  uint64_t sent() const { return sent_; }
  uint64_t got() const { return got_.load(std::memory_order_relaxed); }  ///< any thread
  int room() const {
    const bool server = pair_.rx.owner;
    const uint16_t until = server ? load(out().head) : static_cast<uint16_t>(load(out().tail) + pair_.rx.size);
    return static_cast<uint16_t>(until - static_cast<uint16_t>(sent_));
  }
  int waiting() const {
    return static_cast<uint16_t>(load(pair_.tx.owner ? back().head : back().tail) - static_cast<uint16_t>(got()));
  }

  /** Sends `n` packets: `write(frame, number)` fills one and returns its length. */
  template <class Write>
  void send(int n, const Write& write) {
    for (int i = 0; i < n; ++i) {
      memif::Descriptor& to = out().descriptors()[(sent_ + static_cast<uint64_t>(i)) & (pair_.rx.size - 1)];
      to.length = write(base_ + to.offset, sent_ + static_cast<uint64_t>(i));
      to.flags = 0;
    }
    pass_on(n);
  }
  /** Sends `n` packets as they lie there. */
  void pass_on(int n) {
    sent_ += static_cast<uint64_t>(n);
    store(pair_.rx.owner ? out().tail : out().head, sent_);
  }
  /** Takes `n` packets: `read(frame, length, number)`. */
  template <class Read>
  void take(int n, const Read& read) {
    for (int i = 0; i < n; ++i) {
      const uint64_t number = got() + static_cast<uint64_t>(i);
      memif::Descriptor& from = back().descriptors()[number & (pair_.tx.size - 1)];
      read(static_cast<const uint8_t*>(base_ + from.offset), from.length, number);
      if (!pair_.tx.owner) from.length = pair_.tx.capacity;  // it is this end's: an empty buffer again
    }
    give_back(n);
  }
  void give_back(int n) {
    const uint64_t got = this->got() + static_cast<uint64_t>(n);
    store(pair_.tx.owner ? back().tail : back().head, pair_.tx.owner ? got : got + pair_.tx.size);
    got_.store(got, std::memory_order_relaxed);
  }

 private:
  static uint16_t load(const uint16_t& word) { return __atomic_load_n(&word, __ATOMIC_ACQUIRE); }
  static void store(uint16_t& word, uint64_t value) {
    __atomic_store_n(&word, static_cast<uint16_t>(value), __ATOMIC_RELEASE);
  }
  memif::Ring& out() const { return *pair_.rx.ring; }
  memif::Ring& back() const { return *pair_.tx.ring; }

  gpu::RingPair pair_;
  uint8_t* base_;
  uint64_t sent_ = 0;
  std::atomic<uint64_t> got_{0};
};

class RingRig {
 public:
  /** A function of the program; what it drops leaves by one exit. */
  struct Function {
    std::string name = "EtherMirror";
    std::vector<std::byte> table;
    std::vector<int> outputs = {kTransmit};  ///< where packets go: number of a function behind it, or transmit(i)
    size_t states = 1;                       ///< State of it, one behind the other
  };
  static constexpr int kTransmit = -1;
  /** The transmitting ring number `i` of a pair. */
  static constexpr int transmit(int i) { return kTransmit - i; }

  struct Options {
    std::string device;
    int pairs = 1;
    uint32_t size = 1024;
    uint32_t capacity = 2048;            ///< bytes of packets that buffers are said to hold
    int workers = gpu::kMaxRingWorkers;  ///< a pair's, warps or teams (gpu/rings.h); 0: teams_of_pair()
    bool split = false;                  ///< three kernels serve a pair; then at most gpu::kMaxRingWorkers in each
    int outputs = 0;       ///< transmitting rings of a pair, of kind routed; 0: one, and rings that are alike
    bool owner = true;     ///< the GPU's end is memif's client: buffers change rings. Else packets are copied
    uint32_t stagger = 0;  ///< no owner: buffer k begins stagger * k % 16 bytes further on
    std::vector<Function> functions = {{}};  ///< packets enter by the first
    ColumnSet columns = 0;                   ///< that they want
    gpu::Copies copies = {};                 ///< what teams gather of packets in the GPU's own buffers; none: nothing
  };

  explicit RingRig(const Options& options) : RingRig(options, gpu::open_device(options.device)) {
    device_->start();
    resume();
  }
  ~RingRig() {
    pause();
    for (const memif::Region* region : {&rings_, &buffers_}) device_->unshare(shared(*region));
  }

  /** Several that share the device of the first, their kernels beside each other, started in this order. */
  class Together {
   public:
    explicit Together(const std::vector<Options>& all) {
      const std::shared_ptr<gpu::Device> device = gpu::open_device(all.front().device);
      for (const Options& options : all) rigs_.push_back(std::unique_ptr<RingRig>(new RingRig(options, device)));
      device->start();
      for (const auto& rig : rigs_) rig->resume();
    }
    ~Together() {
      for (const auto& rig : rigs_) rig->pause();
    }
    const std::vector<std::unique_ptr<RingRig>>& rigs() const { return rigs_; }

   private:
    std::vector<std::unique_ptr<RingRig>> rigs_;
  };

  /** Ends the kernel; what is under way is transmitted, and what waits on the receiving rings stays there. */
  void pause() {
    const std::vector<gpu::RingStop> stops = device_->stop_rings(rings_id_);
    for (size_t i = 0; i < stops.size(); ++i) {
      pairs_[i].rx.position = stops[i].rx_position, pairs_[i].tx.position = stops[i].tx_position;
      pairs_[i].rx.fresh = false;
      for (size_t o = 0; o < static_cast<size_t>(options_.outputs); ++o)
        outputs_[i * static_cast<size_t>(options_.outputs) + o].end.position = stops[i].outputs[o];
    }
  }
  void resume() {
    const gpu::RingNodes nodes{exits(), 0,           static_cast<uint16_t>(ways()),
                               1,       last_node(), static_cast<uint16_t>(ways() == 1 ? 0 : gpu::kMaxOutputs)};
    device_->start_rings(rings_id_, {program_, drops_, nodes, pairs_, outputs_});
  }

  /** The peer of a pair; of several outputs what takes from number `output`, and the first alone is to send. */
  PeerEnd& end(int pair, int output = 0) { return *ends_[static_cast<size_t>(pair * ways() + output)]; }
  int pairs() const { return options_.pairs; }
  gpu::Device& device() { return *device_; }
  gpu::RingFault fault() const { return device_->ring_fault(rings_id_); }
  /** Calls `visit(frame)` for every buffer. */
  void each_buffer(const std::function<void(uint8_t*)>& visit) {
    for (size_t at = 0; at < buffers_.bytes(); at += kStride) visit(base() + at + kHeadroom);
  }
  struct Counts {
    uint64_t received, sent, dropped;
  };
  Counts counts() {
    std::vector<gpu::NodeCounts> nodes(last_node() + 1u);
    std::vector<gpu::RingCount> drops(exits());
    device_->read_state(counts_, 0, std::as_writable_bytes(std::span(nodes)));
    device_->read_state(drops_, 0, std::as_writable_bytes(std::span(drops)));
    Counts counts{nodes.front().packets, 0, 0};
    for (const gpu::RingCount one : drops) counts.dropped += one;
    for (int o = 0; o < ways(); ++o) counts.sent += nodes[static_cast<size_t>(node_of_way(o))].packets;
    return counts;
  }

 private:
  static constexpr uint32_t kStride = 2304, kHeadroom = 128;

  RingRig(Options options, std::shared_ptr<gpu::Device> device)
      : options_(std::move(options)), device_(std::move(device)) {
    const auto outputs = static_cast<uint32_t>(ways()), rings = static_cast<uint32_t>(options_.pairs) * (1 + outputs);
    if (options_.workers == 0)
      options_.workers = options_.split ? gpu::kMaxRingWorkers
                                        : gpu::teams_of_pair(device_->info().multiprocessors, true,
                                                             !options_.copies.any(), options_.pairs, options_.size);
    const size_t ring_bytes = memif::ring_bytes(std::countr_zero(options_.size));
    rings_ = memif::Region(rings * ring_bytes);
    buffers_ = memif::Region(size_t{rings} * options_.size * kStride);
    device_->share(shared(rings_)), device_->share(shared(buffers_));
    add_program();
    for (uint32_t i = 0; i < rings; i += 1 + outputs) {
      const gpu::RingEnd rx = ring_end(i, false, ring_bytes);
      for (uint32_t o = 0; o < outputs; ++o) {
        const gpu::RingPair pair{rx, ring_end(i + 1 + o, true, ring_bytes)};
        if (o == 0) pairs_.push_back(pair);
        if (options_.outputs > 0)
          outputs_.push_back({pair.tx, options_.owner, node_of_way(static_cast<int>(o)),
                              static_cast<uint16_t>(first_place_drop() + o * gpu::kPlaceDrops)});
        ends_.push_back(std::make_unique<PeerEnd>(pair, base()));
      }
    }
    rings_id_ = device_->add_rings(program_, options_.pairs,
                                   options_.outputs > 0 ? gpu::RingKind::routed
                                   : options_.owner     ? gpu::RingKind::memif
                                                        : gpu::RingKind::memif_copied,
                                   options_.workers, options_.capacity, options_.split);
  }

  static gpu::SharedMemory shared(const memif::Region& region) {
    return {reinterpret_cast<uint8_t*>(region.base()), region.bytes()};
  }
  uint8_t* base() const { return reinterpret_cast<uint8_t*>(buffers_.base()); }
  // Exits: the transmitting rings, RingDrop, what functions drop, and each output's PlaceDrop.
  int ways() const { return std::max(1, options_.outputs); }
  uint16_t first_place_drop() const { return static_cast<uint16_t>(ways() + 3); }
  uint16_t exits() const { return static_cast<uint16_t>(first_place_drop() + ways() * gpu::kPlaceDrops); }
  uint16_t node_of_way(int output) const {
    return static_cast<uint16_t>(options_.functions.size() + 1 + static_cast<size_t>(output));
  }
  uint16_t last_node() const { return node_of_way(ways() - 1); }

  void add_program() {
    gpu::ProgramSpec spec;
    counts_ = device_->add_state((last_node() + 1u) * sizeof(gpu::NodeCounts));
    drops_ = device_->add_state(exits() * sizeof(gpu::RingCount));
    const auto exit = [](int number) { return static_cast<uint16_t>(gpu::kExit + number); };
    gpu::ProgramSpec::Node from{}, to{};
    from.function = to.function = -1;
    from.outputs = {1}, from.drops = {exit(ways()), exit(ways() + 1)};
    spec.nodes = {from};
    for (const Function& function : options_.functions) spec.nodes.push_back(node_of(function, exit(ways() + 2)));
    for (int o = 0; o < ways(); ++o) {
      const int first = first_place_drop() + o * gpu::kPlaceDrops;
      to.drops = {exit(first), exit(first + 1), exit(first + 2)};
      spec.nodes.push_back(to);
    }
    spec.columns = options_.columns;
    spec.counts = counts_;
    spec.writes_packets = true;
    spec.copies = options_.copies;
    program_ = device_->add_program(spec);
  }

  gpu::ProgramSpec::Node node_of(const Function& function, uint16_t dropped) {
    constexpr size_t kMaxReasons = 16;
    gpu::ProgramSpec::Node node{};
    node.function = gpu::function_id(function.name);
    if (!function.table.empty()) node.table = device_->add_table(function.table);
    if (const size_t bytes = gpu::functions()[static_cast<size_t>(node.function)].state_bytes; bytes > 0)
      node.state = device_->add_state(bytes * function.states);
    for (const int output : function.outputs)
      node.outputs.push_back(static_cast<uint16_t>(output < 0 ? gpu::kExit + kTransmit - output : 1 + output));
    node.drops.assign(kMaxReasons, dropped);
    return node;
  }

  /** Ring number `i`, which the GPU transmits on or receives from. */
  gpu::RingEnd ring_end(uint32_t i, bool transmits, size_t ring_bytes) {
    auto* ring = reinterpret_cast<memif::Ring*>(rings_.base() + i * ring_bytes);
    ring->cookie = memif::kCookie, ring->flags = memif::kPolls;
    std::vector<uint32_t> offsets(options_.size);
    for (uint32_t k = 0; k < options_.size; ++k) {
      offsets[k] = (i * options_.size + k) * kStride;
      const uint32_t further = options_.owner ? 0 : options_.stagger * k % 16;
      ring->descriptors()[k] = {0, 0, options_.capacity, offsets[k] + kHeadroom + further, 0};
    }
    gpu::RingEnd end{};
    end.ring = ring, end.size = options_.size;
    end.owner = options_.owner, end.fresh = true;
    end.headroom = kHeadroom, end.capacity = options_.capacity;
    end.region_count = 1, end.memory[0] = shared(buffers_);
    if (options_.owner)
      end.buffers = static_cast<uint32_t*>(device_->address(device_->add_table(std::as_bytes(std::span(offsets)))));
    else if (transmits)
      ring->head = static_cast<uint16_t>(options_.size);  // the peer's buffers are free
    return end;
  }

  Options options_;
  memif::Region rings_, buffers_;  // they go after the device
  std::shared_ptr<gpu::Device> device_;
  std::vector<gpu::RingPair> pairs_;
  std::vector<gpu::RingOutput> outputs_;        // [pairs][outputs]
  std::vector<std::unique_ptr<PeerEnd>> ends_;  // [pairs][ways]
  gpu::ProgramId program_{};
  gpu::StateId counts_{}, drops_{};
  gpu::RingsId rings_id_{};
};

}  // namespace heddle::bench
