// Copies of packets: those that Tee makes, and those that are needed before shared bytes are written or packets grow.
#include <algorithm>

#include "core/packet_pool.h"
#include "engine/packet_copy.h"
#include "engine/worker.h"

namespace heddle {

// The packets themselves leave by output 0 when the copies have left, so that they share their bytes with none where
// most is done with them. One by one they leave in Click's order: a Tee serves its outputs one after the other, and the
// last one gets the packet itself, unless it is pulled, or goes to further outputs only now and then.
void Worker::copy_out(int node, Batch& batch) {
  const Step& step = steps_[static_cast<size_t>(node)];
  const int n = batch.size();
  const bool in_order =
      shared_.batch_size == 1 && !step.copies_some && !shared_.router->nodes[static_cast<size_t>(node)].pulled;
  const size_t original = in_order ? step.ways.size() - 1 : 0;
  uint16_t* const which = copied_.data();  // those that go to a port; until the next go()
  for (size_t port = 0; port < step.ways.size(); ++port) {
    if (port == original) continue;
    const int count = step.copies_some ? step.element->copies_to(batch, static_cast<int>(port), which) : n;
    if (count == 0) continue;
    if (!in_order || !paths_.empty()) whole_ = false;  // else copies follow each other anyway
    auto copies = spare_.borrow();
    const ColumnSet live = steps_[static_cast<size_t>(step.ways[port].target)].live;
    for (int k = 0; k < count; ++k) {
      const int i = step.copies_some ? which[k] : k;
      // A clone shares the bytes; who writes them copies them first.
      Packet* clone = rte_pktmbuf_clone(batch.packet(i), shared_.packets->mempool());
      if (clone == nullptr) {
        add(counts_[static_cast<size_t>(node)].no_buffer, 1);
        continue;
      }
      copies->append(batch, i, live);
      copies->numbers()[copies->size() - 1] = batch.numbers()[i];
      copies->packets()[copies->size() - 1] = clone;
      clone->data_off = batch.packet(i)->data_off;
    }
    go(step.ways[port], *copies);
    spare_.give_back(std::move(copies));
  }
  if (const int count = step.copies_some ? step.element->copies_to(batch, 0, which) : n; count < n) {
    const ColumnSet live = steps_[static_cast<size_t>(step.ways[0].target)].live;
    batch.resize(0);
    for (int i = 0, k = 0; i < n; ++i) {
      if (k == count || which[k] != i) {
        shared_.tracer->replace(batch.packet(i), nullptr);
        rte_pktmbuf_free(batch.packet(i));
        continue;
      }
      batch.numbers()[k++] = batch.numbers()[i];
      batch.append(batch, i, live);
    }
  }
  go(step.ways[original], batch);
}

void Worker::drop_marked(int node, Batch& batch, int marked) {
  const uint16_t* next = batch.next();
  const ColumnSet live = steps_[static_cast<size_t>(node)].live | steps_[static_cast<size_t>(node)].live_behind;
  NodeCounts& counts = counts_[static_cast<size_t>(node)];
  const int n = batch.size();
  batch.resize(0);
  for (int i = 0; i < n; ++i) {
    if (next[i] >= kDrop) {
      add(counts.drops[next[i] & 0xff], 1);
      add(counts.dropped_bytes, batch.length(i));
      trace_drop(node, next[i] & 0xff, batch.packet(i));
      rte_pktmbuf_free(batch.packet(i));
      continue;
    }
    batch.numbers()[batch.size()] = batch.numbers()[i];
    batch.append(batch, i, live);
  }
  batch.clear_marks(marked);
}

void Worker::make_private(int node, Batch& batch) {
  const ColumnSet live = steps_[static_cast<size_t>(node)].live;
  const int n = batch.size();
  if (std::none_of(batch.packets(), batch.packets() + n, is_shared)) return;
  batch.resize(0);
  for (int i = 0; i < n; ++i) {
    Packet* packet = batch.packet(i);
    if (is_shared(packet)) {
      // The same place in the buffer, so that header offsets stay right.
      Packet* copy = copy_packet(packet, 0, 0, {shared_.packets, shared_.large_packets});
      if (copy == nullptr) {
        lose(node, &NodeCounts::no_buffer, "no_buffer", &packet, 1);
        continue;
      }
      shared_.tracer->replace(packet, copy);
      rte_pktmbuf_free(packet);
      batch.packets()[i] = copy;
    }
    batch.numbers()[batch.size()] = batch.numbers()[i];
    batch.append(batch, i, live);
  }
}

void Worker::make_room(int node, Batch& batch) {
  const Step& step = steps_[static_cast<size_t>(node)];
  const auto lacks_room = [&](const Packet* packet) {
    return packet->data_off < step.prepends || rte_pktmbuf_tailroom(packet) < step.appends;
  };
  const int n = batch.size();
  bool lacking = false;
  for (int i = 0; i < n; ++i) lacking |= batch.packet(i)->data_off < step.prepends;
  for (int i = 0; i < n && step.appends > 0; ++i) lacking |= rte_pktmbuf_tailroom(batch.packet(i)) < step.appends;
  if (!lacking) return;
  NodeCounts& counts = counts_[static_cast<size_t>(node)];
  batch.resize(0);
  for (int i = 0; i < n; ++i) {
    Packet* packet = batch.packet(i);
    if (lacks_room(packet)) {
      const uint32_t shift = packet->data_off < step.prepends ? step.prepends - packet->data_off : 0;
      Packet* copy = nullptr;
      if (packet->data_off + shift + length(packet) + step.appends > kMaxBufferBytes)
        lose(node, &NodeCounts::no_room, "no_room", &packet, 1);
      else if ((copy = copy_packet(packet, shift, step.appends, {shared_.packets, shared_.large_packets})) == nullptr)
        lose(node, &NodeCounts::no_buffer, "no_buffer", &packet, 1);
      if (copy == nullptr) continue;
      shared_.tracer->replace(packet, copy);
      rte_pktmbuf_free(packet);
      add(counts.moved_for_room, 1);
      each_column(step.live & kHeaderColumns, [&](Column which) { batch.column(which)[i] += shift; });
      batch.packets()[i] = copy;
    }
    batch.numbers()[batch.size()] = batch.numbers()[i];
    batch.append(batch, i, step.live);
  }
}

}  // namespace heddle
