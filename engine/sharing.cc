// Packets that stay on the GPU: a segment need not gather what one before it has gathered (Gaviss, section 4.3).
#include <algorithm>
#include <vector>

#include "engine/plan.h"

namespace heddle::passes {
namespace {

/** Goes back from a GPU segment over all ways to those where the GPU had the whole packet the last time. */
class WaysBack {
 public:
  WaysBack(const Router& router, const Plan& plan, const Segment& segment)
      : router_(router), plan_(plan), segment_(segment), seen_(router.nodes.size(), false) {}

  /** Whether the twin is still right on all of them but for what written() says. */
  bool all_kept() { return kept_before(segment_.nodes[0]); }
  AtomSet written() const { return written_; }  ///< by the CPU meanwhile

 private:
  /** Whether packets may get another buffer when they come to a node. */
  static bool may_move(const NodePlan& node) { return node.copy_first || node.prepends + node.appends > 0; }
  const NodePlan& planned(int node) const { return plan_.nodes[static_cast<size_t>(node)]; }

  bool kept_before(int node) {
    const auto& before = router_.nodes[static_cast<size_t>(node)].predecessors;
    return !before.empty() && std::all_of(before.begin(), before.end(), [this](int n) { return kept_behind(n); });
  }

  bool kept_behind(int n) {
    const NodePlan& here = planned(n);
    if (here.processor.is_gpu()) return kept_behind(plan_.segments[static_cast<size_t>(here.segment)]);
    if (seen_[static_cast<size_t>(n)]) return true;
    seen_[static_cast<size_t>(n)] = true;
    const Element& element = *router_.nodes[static_cast<size_t>(n)].element;
    // A packet in another buffer, or of another length, is another one to the GPU.
    const bool other_packet = may_move(here) || element.changes_length() || element.copies() > 1 ||
                              element.copies_some() || dynamic_cast<const Emitter*>(&element) != nullptr;
    if (other_packet) return false;
    written_ |= here.access.writes & plan_.atoms.packet_atoms();
    return kept_before(n);
  }

  bool kept_behind(const Segment& before) {
    if (before.has_both()) return false;  // the CPU may have run it
    if (gathered_by(before)) return true;
    const int first = before.nodes[0];
    if (before.has_rings() || before.transport == Transport::landing || may_move(planned(first))) return false;
    // What it has gathered of the packet it has changed in the twin as well; else it works on the packet, as the CPU
    // does.
    const bool on_twins = before.transport == Transport::gather && before.processor == segment_.processor;
    for (const int n : before.nodes) {
      if (router_.nodes[static_cast<size_t>(n)].element->changes_length()) return false;
      if (!on_twins) written_ |= planned(n).access.writes & plan_.atoms.packet_atoms();
    }
    return kept_before(first);
  }

  // Bytes before its own start that it writes back along with the packet must be those of the twin, too.
  bool gathered_by(const Segment& before) const {
    const NodePlan &first = planned(before.nodes[0]), &mine = planned(segment_.nodes[0]);
    const bool whole = before.copies.kept || before.copies.in.to == gpu::Span::kToEnd;
    return whole && before.transport == Transport::gather && !before.has_rings() &&
           before.processor == segment_.processor && !first.head_varies && !mine.head_varies &&
           first.head <= mine.head + segment_.copies.in.from;
  }

  const Router& router_;
  const Plan& plan_;
  const Segment& segment_;
  std::vector<bool> seen_;
  AtomSet written_ = 0;
};

}  // namespace

void find_shared_packets(const Router& router, Plan& plan) {
  if (!plan.options.share || plan.options.isolate) return;
  // In topological order: what a segment shares itself, those behind it may share as well.
  for (Segment& segment : plan.segments) {
    if (segment.transport != Transport::gather || segment.copies.in.to != gpu::Span::kToEnd) continue;
    // These may get another buffer when they enter.
    const bool may_be_moved =
        segment.prepends + segment.appends > 0 || plan.nodes[static_cast<size_t>(segment.nodes[0])].copy_first;
    if (may_be_moved) continue;
    WaysBack ways(router, plan, segment);
    if (!ways.all_kept()) continue;
    const gpu::Span written = hull(plan, segment, ways.written());
    if (written.to == gpu::Span::kToEnd) continue;
    segment.copies.in = written;
    segment.copies.kept = true;
  }
}

}  // namespace heddle::passes
