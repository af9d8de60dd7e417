#include "io/softnic/soft_nic.h"

#include <rte_ethdev.h>
#include <rte_pause.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/error.h"
#include "io/dpdk/frames.h"

namespace heddle::softnic {
namespace {

constexpr int kSpins = 4000;  ///< rounds without work before a thread sleeps between two
constexpr std::chrono::microseconds kSleep{20};
constexpr int kSleepsBetweenLooks = 1024;  ///< whether the GPU has failed
constexpr std::chrono::seconds kPatience{2}, kMostPatience{20};
using Clock = std::chrono::steady_clock;

void add(std::atomic<uint64_t>& count, uint64_t more) { count.fetch_add(more, std::memory_order_relaxed); }

}  // namespace

void request_queues(dpdk::Port& port, int receivers, int transmitters, uint32_t buffer_bytes) {
  port.rx_queues = receivers;
  port.spreads = true;
  port.frame_bytes = buffer_bytes;
  port.held = static_cast<unsigned>(receivers + transmitters) * (kTransfers + 2) * kBatch;
}

void Mover::start() {
  thread_ = std::thread([this] { run(); });
}

void Mover::stop() {
  if (!thread_.joinable()) return;
  close();
  stopping_.store(true, std::memory_order_relaxed);
  go_on();
  thread_.join();
}

void Mover::pause() {
  if (!thread_.joinable()) return;
  paused_.store(true);
  rests_.wait(false);
}

void Mover::go_on() {
  paused_.store(false);
  paused_.notify_one();
}

void Mover::wait_if_paused() {
  while (paused_.load()) {  // again, for it may be paused anew before it says that it rests no more
    rests_.store(true);
    rests_.notify_one();
    paused_.wait(true);
    rests_.store(false);
  }
}

void Mover::run() {
  move_frames();
  rests_.store(true);  // for good
  rests_.notify_one();
}

void Mover::move_frames() {
  const dpdk::ThreadGuard guard;
  uint32_t last_owned = ~0u;  // none: the time begins to run with stop()
  Clock::time_point deadline{}, last_deadline{};
  for (int idle = 0;;) {
    wait_if_paused();
    const bool closed = closed_.load(std::memory_order_relaxed), stopping = stopping_.load(std::memory_order_relaxed);
    bool busy = finish();
    try {
      busy = begin(closed) || busy;
    } catch (const Error&) {
      return;  // the GPU has failed, and says so elsewhere
    }
    idle = busy ? 0 : idle + 1;
    if (stopping) {
      if (!busy && begun_ == finished_ && is_through()) return;
      const uint32_t now_owned = owned();
      const bool moving = __atomic_load_n(&ring_.host->done, __ATOMIC_ACQUIRE) != begun_;
      const auto now = Clock::now();
      if (last_deadline == Clock::time_point{}) last_deadline = now + kMostPatience;
      if (busy || moving || now_owned != last_owned) deadline = now + kPatience;
      last_owned = now_owned;
      if (now > std::min(deadline, last_deadline)) return;
    }
    if (idle > kSpins) {
      if (idle % kSleepsBetweenLooks == 0 && ring_.dma->failed()) return;
      std::this_thread::sleep_for(kSleep);
    } else if (!busy) {
      rte_pause();
    }
  }
}

void Mover::transfer(bool receives, uint32_t count) {
  const Transfer what{receives, ring_.descriptors,    ring_.size,        head_,     count, ring_.buffers,
                      pieces(), &ring_.host->refused, &ring_.host->done, begun_ + 1};
  head_ += count;
  ++begun_;
  ring_.dma->start(what);
}

Mover::Batch* Mover::done() {
  const uint32_t stamp = __atomic_load_n(&ring_.host->done, __ATOMIC_ACQUIRE);
  return finished_ == begun_ || static_cast<int>(stamp - finished_) <= 0 ? nullptr : &batches_[finished_ % kTransfers];
}

bool Receiver::is_right(Packet* packet) {
  if (packet->pkt_len == 0 || (port_->checked && !dpdk::has_its_bytes(packet))) [[unlikely]]
    add(counts_.bad_length, 1);
  else if ((packet->nb_segs > 1 && rte_pktmbuf_linearize(packet) != 0) ||
           packet->pkt_len > uint64_t{ring_.size - 1} * buffer_bytes_) [[unlikely]]
    add(counts_.too_large, 1);
  else
    return true;
  rte_pktmbuf_free(packet);
  return false;
}

/** Receives up to `most` frames. */
void Receiver::poll(uint32_t most) {
  next_ = held_count_ = 0;
  for (int queue = queue_; queue < port_->queues && held_count_ < most; queue += step_) {
    Packet** const at = held_ + held_count_;
    const int n =
        rte_eth_rx_burst(port_->id, static_cast<uint16_t>(queue), at, static_cast<uint16_t>(most - held_count_));
    held_count_ += static_cast<uint32_t>(std::remove_if(at, at + n, [this](Packet* p) { return !is_right(p); }) - at);
  }
}

bool Receiver::begin(bool closed) {
  if (!has_room()) return false;
  const uint32_t room = std::min(owned(), kBatch);
  if (room == 0) return false;
  if (next_ == held_count_ && !closed && !port_->removed) poll(room);
  Batch& batch = newest();
  Piece* const to = pieces();
  uint32_t used = 0;
  for (batch.count = 0; next_ < held_count_; ++next_) {
    Packet* const packet = held_[next_];
    const uint32_t bytes = length(packet);
    if (used + (bytes + buffer_bytes_ - 1) / buffer_bytes_ > room) break;
    for (uint32_t at = 0; at < bytes; at += buffer_bytes_) {
      const uint32_t here = std::min(bytes - at, buffer_bytes_);
      to[used++] = {data(packet) + at, here, at + here == bytes};
    }
    batch.packets[batch.count++] = packet;
  }
  if (used > 0) transfer(true, used);
  return used > 0;
}

bool Receiver::finish() {
  Batch* const batch = done();
  if (batch == nullptr) return false;
  rte_pktmbuf_free_bulk(batch->packets, batch->count);
  add(counts_.received, batch->count);
  const uint32_t refused = __atomic_load_n(&ring_.host->refused, __ATOMIC_RELAXED);
  add(counts_.malformed, refused - std::exchange(refused_, refused));
  batch->count = 0;
  ++finished_;
  return true;
}

/** All but one of the descriptors are empty again. */
bool Receiver::is_through() const {
  if (given_up_.load(std::memory_order_relaxed)) return true;
  return next_ == held_count_ && (head_ == 0 || owned() == ring_.size - 1);
}

Receiver::~Receiver() {
  stop();
  add(counts_.unprocessed, std::min(head_, ring_.size - 1 - owned()) + held_count_ - next_);
  for (; next_ < held_count_; ++next_) rte_pktmbuf_free(held_[next_]);
  for (; finished_ != begun_; ++finished_)
    rte_pktmbuf_free_bulk(batches_[finished_ % kTransfers].packets, batches_[finished_ % kTransfers].count);
}

bool Transmitter::begin(bool) {
  const uint32_t count = std::min(owned(), kBatch);
  if (count == 0 || !has_room()) return false;
  Batch& batch = newest();
  if (!pool_.allocate(batch.packets, count)) return false;
  Piece* const from = pieces();
  for (uint32_t i = 0; i < count; ++i)  // all of the buffer is the frame's: the port needs no room before it
    from[i] = {static_cast<uint8_t*>(batch.packets[i]->buf_addr), batch.packets[i]->buf_len, 0};
  batch.count = count, batch.sent = 0, batch.ready = false;
  transfer(false, count);
  return true;
}

/** The frames are there: gives them their lengths, and drops those that are none or that the port does not take. */
void Transmitter::prepare(Batch& batch) {
  const Piece* const pieces = ring_.host->pieces[finished_ % kTransfers];
  const uint32_t longest = port_->longest_frame.load(std::memory_order_relaxed);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < batch.count; ++i) {
    Packet* const packet = batch.packets[i];
    packet->data_off = 0;
    packet->pkt_len = packet->data_len = static_cast<uint16_t>(pieces[i].bytes);
    if (pieces[i].bytes == 0 || dpdk::is_too_long(packet, longest)) [[unlikely]] {
      add(pieces[i].bytes == 0 ? counts_.malformed : counts_.too_long, 1);
      rte_pktmbuf_free(packet);
    } else {
      batch.packets[kept++] = packet;
    }
  }
  batch.count = kept, batch.ready = true;
}

bool Transmitter::finish() {
  Batch* const batch = done();
  if (batch == nullptr) return false;
  const uint32_t left = batch->ready ? batch->count - batch->sent : UINT32_MAX;
  if (!batch->ready) prepare(*batch);
  if (port_->removed) {
    drop(*batch);
  } else {
    const std::lock_guard lock(sending_);
    const uint16_t sent = rte_eth_tx_burst(port_->id, queue_, batch->packets + batch->sent,
                                           static_cast<uint16_t>(batch->count - batch->sent));
    batch->sent += sent;
    add(counts_.sent, sent);
  }
  if (batch->sent == batch->count) ++finished_;
  return batch->count - batch->sent != left;
}

void Transmitter::drop(Batch& batch) {
  add(counts_.unsent, batch.count - batch.sent);
  rte_pktmbuf_free_bulk(batch.packets + batch.sent, batch.count - batch.sent);
  batch.sent = batch.count;
}

bool Transmitter::is_through() const { return owned() == 0; }

Transmitter::~Transmitter() {
  stop();
  for (; finished_ != begun_; ++finished_) drop(batches_[finished_ % kTransfers]);
  add(counts_.unsent, owned());
}

}  // namespace heddle::softnic
