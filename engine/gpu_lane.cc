#include "engine/gpu_lane.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "gpu/functions.h"

namespace heddle {

// Header offsets count from the packet's buffer on the CPU (they survive Strip) and from the frame in a slot.
static uint32_t origin(Column column, const Packet* packet) {
  return column == Column::l3 || column == Column::l4 ? packet->data_off : 0;
}

GpuSegment GpuSegment::make(const Router& router, const Plan& plan, int index, gpu::Device& device,
                            std::byte* packet_base) {
  const Segment& segment = plan.segments[static_cast<size_t>(index)];
  GpuSegment result{&device, plan.options.launch, 0, segment.nodes, {}, 0, false, 0, 0, 0, packet_base};
  gpu::ProgramSpec spec;
  const int entry_head = plan.nodes[static_cast<size_t>(segment.nodes[0])].head;
  auto position = [&](int node) {
    return static_cast<size_t>(std::find(segment.nodes.begin(), segment.nodes.end(), node) - segment.nodes.begin());
  };
  auto add_exit = [&](GpuExit exit) {
    result.exits.push_back(exit);
    return static_cast<uint16_t>(gpu::kExit + result.exits.size() - 1);
  };
  ColumnSet live_behind = 0, set_at_all_exits = static_cast<ColumnSet>(~0u);
  std::vector<ColumnSet> set_behind(segment.nodes.size(),
                                    0);  // columns that the segment has set, on every way, behind node k
  for (size_t k = 0; k < segment.nodes.size(); ++k) {
    const int n = segment.nodes[k];
    const Node& node = router.nodes[static_cast<size_t>(n)];
    const NodePlan& here = plan.nodes[static_cast<size_t>(n)];
    const Access access = node.element->access(Processor::gpu);
    gpu::ProgramSpec::Node to{gpu::function_id(node.element->class_name), {}, {}, {}, {}};
    if (const auto neutral = node.element->neutral()) to.neutral = *neutral;
    to.table = node.element->table();
    result.appends += node.element->appends();
    int head = here.head - entry_head;
    const int reasons = static_cast<int>(node.element->drop_reasons().size());
    for (int reason = 0; reason < reasons; ++reason) to.drops.push_back(add_exit({n, -1, reason, head}));
    if (to.function < 0 && to.neutral.kind == NeutralOp::kMoveHead) head += to.neutral.amount;
    bool leaves = false;
    for (int target : node.targets) {
      if (plan.nodes[static_cast<size_t>(target)].segment == index) {
        to.outputs.push_back(static_cast<uint16_t>(position(target)));
      } else {
        to.outputs.push_back(add_exit({n, target, 0, head}));
        live_behind |= plan.nodes[static_cast<size_t>(target)].live;
        leaves = true;
      }
    }
    // A column that the segment has not set on every way here must come from the host.
    ColumnSet set_before = k == 0 ? ColumnSet{0} : static_cast<ColumnSet>(~0u);
    for (int p : node.predecessors)
      if (k > 0) set_before &= set_behind[position(p)];
    result.columns_in |= access.column_reads & static_cast<ColumnSet>(~set_before);
    set_behind[k] = set_before | access.column_writes;
    if (leaves) set_at_all_exits &= set_behind[k];
    result.columns_out |= access.column_writes;
    spec.writes_packets = spec.writes_packets || !access.writes.empty();
    spec.nodes.push_back(std::move(to));
  }
  // Only columns that somebody behind reads come back. One that is written on some ways only must have gone there
  // before.
  result.columns_out &= live_behind;
  const ColumnSet arrived = plan.nodes[static_cast<size_t>(segment.nodes[0])].columns;
  result.columns_in |= result.columns_out & arrived & static_cast<ColumnSet>(~set_at_all_exits);
  result.columns_kept = live_behind & static_cast<ColumnSet>(~result.columns_out);
  const bool reads_bytes = std::any_of(segment.nodes.begin(), segment.nodes.end(), [&](int n) {
    const Element& element = *router.nodes[static_cast<size_t>(n)].element;
    const Access access = element.access(Processor::gpu);
    return !access.reads.empty() || !access.writes.empty();
  });
  if (!reads_bytes && result.columns_in == columns(Column::dst)) {
    result.word_has_dst = true;
    result.columns_in = 0;
  }
  spec.word_has_dst = result.word_has_dst;
  spec.columns_in = result.columns_in;
  spec.columns_out = result.columns_out;
  if (result.exits.size() >= gpu::kExit) throw Error("a GPU segment has too many exits");
  result.program = device.add_program(spec);
  return result;
}

GpuLane::GpuLane(const GpuSegment& segment, gpu::SlotGroup slots)
    : segment_(segment), slots_(slots), ring_(slots), held_(new Held[static_cast<size_t>(slots.count)]) {}

int GpuLane::feed(Batch& batch, int first) {
  int taken = 0;
  // A launch runs slots from the first on: those of the launch before come back first.
  if (segment_.launch == LaunchMode::sync && ring_.in_flight() > to_launch_) return 0;
  for (int index; first + taken < batch.size() && (index = ring_.free_slot()) >= 0;)
    taken += submit(batch, first + taken, index);
  fed_ += static_cast<uint64_t>(taken);
  return taken;
}

int GpuLane::submit(Batch& batch, int first, int index) {
  const int count = std::min(gpu::kTile, batch.size() - first);
  Held& held = held_[static_cast<size_t>(index)];
  gpu::Slot& slot = ring_.slot(index);
  uint64_t place[gpu::kTile];
  held.count = count;
  const auto base = reinterpret_cast<uintptr_t>(segment_.packet_base);
  for (int i = 0; i < count; ++i) {
    Packet* packet = batch.packet(first + i);
    held.packet[i] = packet;
    place[i] = gpu::pack_word(0, length(packet), reinterpret_cast<uintptr_t>(data(packet)) - base);
  }
  for (int i = 0; i < count && segment_.appends > 0; ++i)
    if (rte_pktmbuf_tailroom(held.packet[i]) < segment_.appends) place[i] |= gpu::kTight;
  if (segment_.word_has_dst) {
    const uint32_t* dst = batch.column(Column::dst) + first;
    for (int i = 0; i < count; ++i) place[i] = gpu::pack_word(0, length(held.packet[i]), dst[i]);
  }
  for (int c = 0; c < kColumns; ++c) {
    const uint32_t* from = batch.column(static_cast<Column>(c)) + first;
    if (segment_.columns_kept >> c & 1) std::copy(from, from + count, held.column[c]);
    if (!(segment_.columns_in >> c & 1)) continue;
    for (int i = 0; i < count; ++i) slot.column[c][i] = from[i] - origin(static_cast<Column>(c), held.packet[i]);
  }
  ring_.submit(index, place, count);
  ++to_launch_;
  return count;
}

void GpuLane::flush() {
  const int count = std::exchange(to_launch_, 0);
  if (segment_.launch != LaunchMode::sync || count == 0) return;
  try {
    segment_.device->launch(slots_, segment_.program, count);
  } catch (const Error& error) {
    failure_ = error.what();
  }
}

bool GpuLane::poll(Batch& out) {
  const int before = out.size();
  while (ring_.in_flight() > 0 && ring_.oldest_done() && fits(out)) {
    take_back(out, ring_.oldest(), true);
    ring_.release_oldest();
  }
  returned_ += static_cast<uint64_t>(out.size() - before);
  return out.size() > before;
}

std::string GpuLane::failure() { return failure_.empty() ? segment_.device->failure() : failure_; }

void GpuLane::abandon(Batch& out) {
  const int before = out.size();
  while (ring_.in_flight() > 0 && fits(out)) {
    take_back(out, ring_.oldest(), false);
    ring_.release_oldest();
  }
  returned_ += static_cast<uint64_t>(out.size() - before);
}

void GpuLane::take_back(Batch& batch, int index, bool done) {
  const Held& held = held_[static_cast<size_t>(index)];
  const gpu::Slot& slot = slots_.slots[index];
  const int first = batch.size();
  for (int i = 0; i < held.count; ++i) {
    batch.packets()[first + i] = held.packet[i];
    if (done) batch.next()[first + i] = static_cast<uint16_t>(ring_.exit_of(index, i));
  }
  for (int c = 0; c < kColumns; ++c) {
    uint32_t* to = batch.column(static_cast<Column>(c)) + first;
    if (segment_.columns_kept >> c & 1) std::copy(held.column[c], held.column[c] + held.count, to);
    if (!(segment_.columns_out >> c & 1)) continue;
    for (int i = 0; i < held.count; ++i) to[i] = slot.column[c][i] + origin(static_cast<Column>(c), held.packet[i]);
  }
  if (done) {
    for (int i = 0; i < held.count; ++i) {
      const int head = segment_.exits[batch.next()[first + i]].head;
      if (head != 0) move_head(held.packet[i], head);
      const int tail = ring_.tail_of(index, i);
      if (tail != 0) move_tail(held.packet[i], tail);
    }
  }
  batch.resize(first + held.count);
}

}  // namespace heddle
