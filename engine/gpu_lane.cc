#include "engine/gpu_lane.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/counters.h"
#include "core/error.h"
#include "engine/packet_copy.h"

namespace heddle {
namespace {

constexpr uint64_t kWordBytes = gpu::kSlotPackets * sizeof(uint64_t);

uint64_t column_bytes(ColumnSet set) {
  return static_cast<uint64_t>(words(set)) * gpu::kSlotPackets * sizeof(uint32_t);
}

}  // namespace

GpuLane::GpuLane(const GpuSegment& segment, gpu::SlotGroup slots, std::span<std::byte> staging, LandingArea* area)
    : segment_(segment),
      plan_(segment.plan()),
      ring_(slots, segment.current()),
      staging_(staging),
      area_(area),
      copies_(copies_by_engine(plan_.transport) || plan_.copies.landing == gpu::Landing::engine),
      moves_(plan_.wide_results || std::ranges::any_of(plan_.exits, [](auto& exit) { return exit.head != 0; })),
      changes_(segment.changes()),
      program_(segment.current()),
      held_(new Held[static_cast<size_t>(slots.count)]),
      kept_columns_(plan_.columns_kept),
      kept_(new std::byte[static_cast<size_t>(slots.count) * gpu::kSlotPackets * kept_columns_.bytes()]),
      bytes_to_gpu_(kWordBytes + column_bytes(plan_.columns_in)),
      bytes_from_gpu_(kWordBytes / (plan_.wide_results ? 1 : 2) + column_bytes(plan_.columns_out)) {}

int GpuLane::feed(Batch& batch, int first) {
  // What has been launched comes back first.
  if (plan_.launch == LaunchMode::sync && ring_.in_flight() > to_launch_) return 0;
  if (const uint64_t changes = segment_.changes(); changes != changes_) [[unlikely]] {
    changes_ = changes;
    ring_.switch_to(program_ = segment_.current());
  }
  int taken = 0;
  const bool launched = plan_.launch != LaunchMode::persistent;
  for (int index; first + taken < batch.size() && (index = launched ? ring_.next_slot() : ring_.free_slot()) >= 0;) {
    if (plan_.transport == Transport::commlist && to_launch_ == kListPackets / gpu::kSlotPackets) flush();
    if (const int n = submit(batch, first + taken, index); n > 0)
      taken += n;
    else
      break;
  }
  fed_ += static_cast<uint64_t>(taken);
  return taken;
}

template <bool kIn>
void GpuLane::copy_columns(ColumnSet columns, Batch& batch, int first, int count, uint32_t* at) {
  each_column(columns, [&](Column which) {
    const int width = words(which);
    uint32_t* const here = batch.column(which) + first * width;
    const auto bytes = static_cast<size_t>(count * width) * sizeof(uint32_t);
    if constexpr (kIn)
      std::memcpy(at, here, bytes);
    else
      std::memcpy(here, at, bytes);
    if ((kHeaderColumns & heddle::columns(which)) != 0)
      for (int i = 0; i < count; ++i) {
        const uint32_t origin = batch.packet(first + i)->data_off;
        if constexpr (kIn)
          at[i] -= origin;
        else
          here[i] += origin;
      }
    at += width * gpu::kSlotPackets;
  });
}

int GpuLane::submit(Batch& batch, int first, int index) {
  Held& held = held_[static_cast<size_t>(index)];
  held.count = std::min(gpu::kSlotPackets, batch.size() - first);
  std::copy(batch.packets() + first, batch.packets() + first + held.count, held.packet);
  const auto base = reinterpret_cast<uintptr_t>(segment_.packet_base());
  if (plan_.transport == Transport::commlist) list(held);
  if (plan_.transport == Transport::landing) take_places(held, ring_.slot(index));
  if (packs(plan_.transport)) {
    if (!pack(held)) return 0;
  } else if (plan_.word_column) {
    const uint32_t* column = batch.column(*plan_.word_column) + first;
    for (int i = 0; i < held.count; ++i) held.place[i] = gpu::pack_word(0, length(held.packet[i]), column[i]);
  } else {
    for (int i = 0; i < held.count; ++i)
      held.place[i] =
          gpu::pack_word(0, length(held.packet[i]), reinterpret_cast<uintptr_t>(data(held.packet[i])) - base);
  }
  const int count = held.count;
  if (plan_.columns_in != 0) copy_columns<true>(plan_.columns_in, batch, first, count, ring_.slot(index).columns);
  if (plan_.columns_kept != 0) {
    std::byte* kept = &kept_[static_cast<size_t>(index) * gpu::kSlotPackets * kept_columns_.bytes()];
    for (int i = 0; i < count; ++i, kept += kept_columns_.bytes()) kept_columns_.save(batch, first + i, kept);
  }
  uint64_t gathered = 0;
  if (gathers(plan_.transport)) {
    const gpu::Copies copies = plan_.copies;
    for (const uint64_t place : std::span(held.place, static_cast<size_t>(count)))
      gathered += copies.gathered(base + gpu::offset_of(place), gpu::length_of(place)).bytes();
  }
  ring_.submit(index, held.place, count);
  ++to_launch_;
  add(to_gpu_, bytes_to_gpu_ + gathered);
  return count;
}

void GpuLane::flush() {
  const int count = std::exchange(to_launch_, 0);
  if (plan_.launch == LaunchMode::persistent || count == 0) return;
  // Also if it fails halfway: what has been launched may be done, but does not come back.
  if (copies_) launches_.push_back({count, stream_});
  try {
    launch(count);
  } catch (const Error& error) {
    failure_ = error.what();
    if (copies_) launches_.back().failed = true;
  }
  copies_in_.clear(), copies_out_.clear();
}

void GpuLane::launch(int count) {
  // The last `count` slots, which may begin anew behind the ring's last one.
  const int first = (ring_.next_index() + ring_.count() - count) % ring_.count();
  const int behind_wrap = std::max(0, first + count - ring_.count());
  gpu::Device& device = segment_.device();
  if (copies_) copy(copies_in_, true);
  device.launch(ring_.group(), segment_.program(), first, count - behind_wrap, stream_);
  if (behind_wrap > 0) device.launch(ring_.group(), segment_.program(), 0, behind_wrap, stream_);
  if (copies_ && !plan_.copies.out.empty()) copy(copies_out_, false);
  if (plan_.launch == LaunchMode::sync)
    device.wait(ring_.group(), stream_);
  else
    stream_ = (stream_ + 1) % plan_.streams();
}

bool GpuLane::poll(Batch& out) {
  const int before = out.size();
  while (ring_.in_flight() > 0 && oldest_done() && fits(out)) {
    take_back(out, ring_.oldest(), true);
    ring_.release_oldest();
    if (!launches_.empty() && --launches_.front().slots == 0) launches_.pop_front();
  }
  returned_ += static_cast<uint64_t>(out.size() - before);
  return out.size() > before;
}

std::string GpuLane::failure() {
  std::string failure = segment_.device().failure();
  return failure.empty() ? failure_ : failure;
}

bool GpuLane::is_dead() {
  if (segment_.device().is_dead()) return true;
  if (failure_.empty()) return false;
  // What it could not launch never comes back; what it has launched before may still be under way.
  for (int stream = 0; stream < plan_.streams(); ++stream) try {
      segment_.device().wait(ring_.group(), stream);
    } catch (const Error&) {
      // This stream has ended as well.
    }
  return true;
}

void GpuLane::abandon(Batch& out) {
  const int before = out.size();
  while (ring_.in_flight() > 0 && fits(out)) {
    take_back(out, ring_.oldest(), false);
    ring_.release_oldest();
  }
  returned_ += static_cast<uint64_t>(out.size() - before);
}

bool GpuLane::pack(Held& held) {
  constexpr size_t kPiece = 16;
  const auto round_up = [](size_t bytes) { return (bytes + kPiece - 1) / kPiece * kPiece; };
  const gpu::Copies& copies = plan_.copies;
  const ptrdiff_t from = copies.in.from;
  const auto bytes_of = [&](const Packet* packet) {
    return static_cast<size_t>(std::max<ptrdiff_t>(std::min<ptrdiff_t>(length(packet), copies.in.to) - from, 0));
  };
  const size_t taken_along = copies.before, before = round_up(taken_along);
  size_t total = 0;
  int fitting = 0;
  for (; fitting < held.count; ++fitting) {
    const size_t bytes = before + round_up(bytes_of(held.packet[fitting]) + copies.behind);
    if (total + bytes > staging_.size()) break;
    total += bytes;
  }
  held.count = fitting;
  std::byte* at = staging_.take(total);
  if (at == nullptr) return false;
  held.staged_until = staging_.taken();
  if (plan_.transport == Transport::coalescent && total > 0) {
    copies_in_.push_back({static_cast<size_t>(at - segment_.packet_base()), total});
    copies_out_.push_back(copies_in_.back());
  }
  for (int i = 0; i < held.count; ++i) {
    const size_t bytes = bytes_of(held.packet[i]);
    const auto* entry = reinterpret_cast<const std::byte*>(data(held.packet[i]));
    std::memcpy(at + before - taken_along, entry + from - taken_along, taken_along + bytes);
    held.place[i] =
        gpu::pack_word(0, length(held.packet[i]), static_cast<uint64_t>(at + before - from - segment_.packet_base()));
    at += before + round_up(bytes + copies.behind);
  }
  return true;
}

void GpuLane::unpack(Packet* packet, const std::byte* packed, gpu::Outcome outcome, int head) const {
  const gpu::Span& out = plan_.copies.out;
  if (out.empty() || static_cast<int>(outcome.exit) >= plan_.drop_exits_from) return;
  const auto bytes = static_cast<int>(length(packet));
  const int from = out.from == gpu::Span::kFromStart ? head : out.from;
  const int to = out.to == gpu::Span::kToEnd ? bytes + outcome.tail : std::min(bytes, out.to);
  if (from < to)
    std::memcpy(reinterpret_cast<std::byte*>(data(packet)) + from, packed + from, static_cast<size_t>(to - from));
}

void GpuLane::take_places(Held& held, gpu::Slot& slot) {
  size_t total = 0;
  bool fits = true;
  for (int i = 0; i < held.count; ++i) {
    const auto start = reinterpret_cast<uintptr_t>(data(held.packet[i]));
    const uint32_t bytes = plan_.copies.landing_bytes(plan_.copies.gathered(start, length(held.packet[i])));
    fits = fits && bytes <= kMaxBufferBytes;
    total += bytes;
  }
  held.places = fits && total > 0 ? area_->take(total, held.count) : nullptr;
  slot.landing = gpu::kNoPacket;
  if (held.places == nullptr) {
    if (total > 0) add(landing_full_, static_cast<uint64_t>(held.count));
    return;
  }
  slot.landing = static_cast<uint64_t>(held.places->first - segment_.packet_base());
  if (plan_.copies.landing != gpu::Landing::engine) return;
  // Slots of one launch land side by side, as a rule.
  if (!copies_out_.empty() && copies_out_.back().at + copies_out_.back().bytes == slot.landing)
    copies_out_.back().bytes += total;
  else
    copies_out_.push_back({slot.landing, total});
}

void GpuLane::land(Held& held, int index, int* moved) {
  std::byte* at = held.places->first;
  int landed = 0;
  uint64_t stored = 0;
  for (int i = 0; i < held.count; ++i) {
    Packet* const packet = held.packet[i];
    const auto start = reinterpret_cast<uintptr_t>(data(packet));
    const gpu::Range gathered = plan_.copies.gathered(start, length(packet));
    const uint32_t bytes = plan_.copies.landing_bytes(gathered);
    if (bytes > 0 && static_cast<int>(ring_.outcome(index, i).exit) < plan_.drop_exits_from) {
      const uint32_t behind = plan_.copies.front + static_cast<uint32_t>(start - gathered.first);
      moved[i] = static_cast<int>(behind) - packet->data_off;
      LandingArea::attach(packet, *held.places, i, at, bytes, behind);
      ++landed, stored += gathered.bytes();
    }
    at += bytes;
  }
  if (landed < held.count) LandingArea::give_back(*held.places, held.count - landed);
  add(landed_, static_cast<uint64_t>(landed));
  if (plan_.copies.landing == gpu::Landing::stores) add(from_gpu_, stored);
}

void GpuLane::list(const Held& held) {
  const auto base = reinterpret_cast<uintptr_t>(segment_.packet_base());
  const gpu::Copies& copies = plan_.copies;
  for (const Packet* packet : std::span(held.packet, static_cast<size_t>(held.count))) {
    const auto start = reinterpret_cast<uintptr_t>(data(packet));
    const gpu::Range in = copies.gathered(start, length(packet));
    // Where the packet will end is not known yet: all that has been brought goes back, which is as it was elsewhere.
    const gpu::Range out =
        copies.out.to == gpu::Span::kToEnd ? in : copies.written_back(start, length(packet), start, length(packet));
    if (in.bytes() > 0) copies_in_.push_back({in.first - base, in.bytes()});
    if (out.bytes() > 0) copies_out_.push_back({out.first - base, out.bytes()});
  }
}

void GpuLane::copy(std::span<const gpu::PacketBytes> bytes, bool to_gpu) {
  segment_.device().copy_packets(ring_.group(), bytes, to_gpu, stream_);
  uint64_t sum = 0;
  for (const gpu::PacketBytes& each : bytes) sum += each.bytes;
  add(to_gpu ? to_gpu_ : from_gpu_, sum);
}

bool GpuLane::oldest_done() {
  if (!ring_.oldest_done()) return false;
  if (!copies_) return true;
  // Results are there before the copy behind them is.
  Launch& launch = launches_.front();
  if (launch.failed) return false;
  try {
    launch.landed = launch.landed || segment_.device().idle(ring_.group(), launch.stream);
  } catch (const Error& error) {
    failure_ = error.what();
  }
  return launch.landed;
}

uint64_t GpuLane::written_back(const Held& held, int index) const {
  const gpu::Copies copies = plan_.copies;
  const auto base = reinterpret_cast<uintptr_t>(segment_.packet_base());
  uint64_t sum = 0;
  for (int i = 0; i < held.count; ++i) {
    const gpu::Outcome outcome = ring_.outcome(index, i);
    if (static_cast<int>(outcome.exit) >= plan_.drop_exits_from) continue;
    const int head = head_of(outcome);
    const uintptr_t entry = base + gpu::offset_of(held.place[i]);
    const uint32_t bytes = gpu::length_of(held.place[i]);
    const auto bytes_behind = static_cast<uint32_t>(static_cast<int>(bytes) - head + outcome.tail);
    sum += copies.written_back(entry, bytes, entry + static_cast<uintptr_t>(head), bytes_behind).bytes();
  }
  return sum;
}

void GpuLane::take_back(Batch& batch, int index, bool done) {
  Held& held = held_[static_cast<size_t>(index)];
  const int first = batch.size();
  int moved[gpu::kSlotPackets] = {};
  if (packs(plan_.transport)) staging_.give_back(held.staged_until);
  std::copy(held.packet, held.packet + held.count, batch.packets() + first);
  if (done) {
    if (held.places != nullptr) land(held, index, moved);
    const bool copied = gathers(plan_.transport) && held.places == nullptr;
    add(from_gpu_, bytes_from_gpu_ + (copied ? written_back(held, index) : 0));
    ring_.exits(index, batch.next() + first, held.count);
    if (moves_ || packs(plan_.transport))
      for (int i = 0; i < held.count; ++i) {
        const gpu::Outcome outcome = ring_.outcome(index, i);
        const int head = head_of(outcome);
        if (packs(plan_.transport))
          unpack(held.packet[i], segment_.packet_base() + gpu::offset_of(held.place[i]), outcome, head);
        if (head != 0) move_head(held.packet[i], head);
        if (outcome.tail != 0) move_tail(held.packet[i], outcome.tail);
      }
  } else if (held.places != nullptr) {
    LandingArea::give_back(*held.places, held.count);
  }
  if (plan_.columns_kept != 0) {
    const std::byte* kept = &kept_[static_cast<size_t>(index) * gpu::kSlotPackets * kept_columns_.bytes()];
    for (int i = 0; i < held.count; ++i, kept += kept_columns_.bytes()) kept_columns_.load(batch, first + i, kept);
    if (held.places != nullptr)
      each_column(plan_.columns_kept & kHeaderColumns, [&](Column which) {
        for (int i = 0; i < held.count; ++i) batch.column(which)[first + i] += static_cast<uint32_t>(moved[i]);
      });
  }
  // Starts have moved: header columns count from where they are now.
  if (done && plan_.columns_out != 0)
    copy_columns<false>(plan_.columns_out, batch, first, held.count,
                        ring_.slot(index).columns + words(plan_.columns_in) * gpu::kSlotPackets);
  batch.resize(first + held.count);
}

}  // namespace heddle
