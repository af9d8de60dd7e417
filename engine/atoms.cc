#include "engine/atoms.h"

#include <algorithm>

#include "core/error.h"

namespace heddle {
namespace {

/** 0 for those that a set has no room for: the plan refuses a chain with so many. */
AtomSet bit_of(size_t atom) { return atom < 64 ? AtomSet{1} << atom : 0; }

Interval in_frame(Interval interval, Head head) {
  // Where packets end is not known: somewhere behind their start. An atom of its own would only overlap all others.
  if (interval.base == Base::end) interval = {Base::head, 0, kToEnd};
  if (interval.base != Base::head) return interval;
  if (head.varies) {
    interval.base = Base::moving;
    return interval;
  }
  interval.from += head.offset;
  if (interval.to != kToEnd) interval.to += head.offset;
  return interval;
}

// Least distance of a base from the start of the frame, and whether it is exactly that.
int least_start(Base base) { return base == Base::head ? 0 : base == Base::l3 ? 14 : 34; }

// Whether the two may name a common byte.
bool may_overlap(const Interval& a, const Interval& b) {
  if (a.base == Base::moving || b.base == Base::moving) return true;
  if (a.base == b.base) return a.from < b.to && b.from < a.to;
  const Interval &low = a.base < b.base ? a : b, &high = a.base < b.base ? b : a;
  if (low.to == kToEnd) return true;
  // The higher base moves away from the lower one without bound, but never comes closer than this.
  return low.to > least_start(high.base) - least_start(low.base) + high.from;
}

bool covers(const Interval& a, const Interval& b) {
  return a.base != Base::moving && a.base == b.base && a.from <= b.from && b.to <= a.to;
}

}  // namespace

void Atoms::add(const Access& access, Head head) {
  for (auto* list : {&access.reads, &access.writes}) {
    for (Interval interval : *list) {
      interval = in_frame(interval, head);
      auto& points = cuts_[static_cast<int>(interval.base)].points;
      points.push_back(interval.from);
      points.push_back(interval.to);
    }
  }
  columns_ |= access.column_reads | access.column_writes;
}

void Atoms::cut() {
  atoms_.clear();
  for (int base = 0; base < 5; ++base) {
    auto& points = cuts_[base].points;
    std::sort(points.begin(), points.end());
    points.erase(std::unique(points.begin(), points.end()), points.end());
    for (size_t i = 0; i + 1 < points.size(); ++i)
      atoms_.push_back({false, Column::dst, {static_cast<Base>(base), points[i], points[i + 1]}});
  }
  each_column(columns_, [&](Column which) { atoms_.push_back({true, which, {}}); });
  if (atoms_.size() > 64)
    throw Error(format("the chain names %zu distinct fields, the planner can follow 64; use fewer Classifier offsets",
                       atoms_.size()));
}

AtomAccess Atoms::masks(const Access& access, Head head) const {
  AtomAccess result;
  for (size_t i = 0; i < atoms_.size(); ++i) {
    const AtomSet bit = bit_of(i);
    if (atoms_[i].is_column) {
      const ColumnSet column = columns(atoms_[i].column);
      if (access.column_reads & column) result.reads |= bit;
      if (access.column_writes & column) result.writes |= bit;
      continue;
    }
    for (const Interval& interval : access.reads)
      if (may_overlap(in_frame(interval, head), atoms_[i].interval)) result.reads |= bit;
    for (const Interval& interval : access.writes) {
      const Interval whole = in_frame(interval, head);
      if (!may_overlap(whole, atoms_[i].interval)) continue;
      result.writes |= bit;
      if (interval.base == Base::end || !covers(whole, atoms_[i].interval)) result.reads |= bit;
    }
  }
  return result;
}

AtomSet Atoms::packet_atoms() const {
  AtomSet set = 0;
  for (size_t i = 0; i < atoms_.size(); ++i)
    if (!atoms_[i].is_column) set |= bit_of(i);
  return set;
}

AtomSet Atoms::column_atoms() const {
  AtomSet set = 0;
  for (size_t i = 0; i < atoms_.size(); ++i)
    if (atoms_[i].is_column) set |= bit_of(i);
  return set;
}

Atoms::Size Atoms::size(AtomSet set) const {
  Size size{0, false};
  for (size_t i = 0; i < atoms_.size(); ++i) {
    if ((set & bit_of(i)) == 0) continue;
    if (atoms_[i].is_column) {
      size.bytes += 4 * words(atoms_[i].column);
    } else if (atoms_[i].interval.to == kToEnd) {
      size.open = true;
    } else {
      size.bytes += atoms_[i].interval.to - atoms_[i].interval.from;
    }
  }
  return size;
}

std::string Atoms::text(AtomSet set) const {
  static constexpr const char* kBases[] = {"frame", "l3", "l4", "end", "packet"};
  std::string text;
  for (size_t i = 0; i < atoms_.size(); ++i) {
    if ((set & bit_of(i)) == 0) continue;
    if (!text.empty()) text += ' ';
    if (atoms_[i].is_column) {
      text += kColumnNames[static_cast<int>(atoms_[i].column)];
      continue;
    }
    // Neighbours are shown as one.
    Interval shown = atoms_[i].interval;
    while (i + 1 < atoms_.size() && (set >> (i + 1) & 1) && !atoms_[i + 1].is_column &&
           atoms_[i + 1].interval.base == shown.base && atoms_[i + 1].interval.from == shown.to)
      shown.to = atoms_[++i].interval.to;
    text += format("%s[%d,%s)", kBases[static_cast<int>(shown.base)], shown.from,
                   shown.to == kToEnd ? "end" : std::to_string(shown.to).c_str());
  }
  return text;
}

}  // namespace heddle
