#include "engine/trace.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "elements/ip/filter/parser.h"

namespace heddle {
namespace {

constexpr uint32_t kEtherBytes = 14, kTagBytes = 4, kIpBytes = 20;
constexpr size_t kMaxRuns = 8, kMaxBytes = 16;  // of a change, that are shown

uint64_t mark_of(const Packet* packet) { return (packet->ol_flags & kTraceMark) >> kTraceShift; }

std::string hex(const std::vector<uint8_t>& bytes, size_t from, size_t to) {
  std::string text;
  for (size_t i = from; i < std::min(to, from + kMaxBytes); ++i) text += format(i == from ? "%02x" : " %02x", bytes[i]);
  return to - from > kMaxBytes ? text + " ..." : text;
}

/** Where IPv4 begins in an Ethernet frame; 0: it has none. */
uint32_t network_offset(const uint8_t* frame, uint32_t bytes) {
  uint32_t at = kEtherBytes - 2;
  while (at + 2 + kTagBytes <= bytes &&
         (load_u16(frame + at) == htons(0x8100) || load_u16(frame + at) == htons(0x88a8)))
    at += kTagBytes;
  const bool there = at + 2 + kIpBytes <= bytes && load_u16(frame + at) == htons(0x0800) && frame[at + 2] >> 4 == 4;
  return there ? at + 2 : 0;
}

}  // namespace

uint64_t Tracer::begin(int count, const std::string& filter) {
  if (count < 1 || count > kMax) throw Error(format("%d packets: from 1 to %d can be followed at a time", count, kMax));
  ip_filter::Program program;
  try {
    const auto pattern = ip_filter::parse(ip_filter::split(filter), 0, filter.size());
    program = ip_filter::Program({{pattern, 0}}, kDrop, true);
  } catch (const ip_filter::Mistake& mistake) {
    throw Error(in_quotes(mistake.word) + " is not " + mistake.expected +
                format(" (character %zu of the filter)", mistake.at + 1));
  }
  const std::lock_guard lock(mutex_);
  forget();
  filter_ = std::move(program), filtered_ = !filter.empty();
  wanted_ = count;
  active_ = true;
  return ++begun_;
}

void Tracer::end() {
  const std::lock_guard lock(mutex_);
  stop();
}

void Tracer::end_of(uint64_t trace) {
  const std::lock_guard lock(mutex_);
  if (trace == begun_) stop();
}

void Tracer::stop() {
  forget();
  wanted_ = 0;
  active_ = false;
}

void Tracer::forget() {
  first_mark_ = (first_mark_ + traces_.size()) % kMax;
  traces_.clear();
}

int Tracer::finished() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(
      std::count_if(traces_.begin(), traces_.end(), [](auto& trace) { return trace.there.empty(); }));
}

bool Tracer::matches(const Packet* packet) const {
  if (!filtered_) return true;
  const uint8_t* frame = data(packet);
  const uint32_t bytes = length(packet), network = network_offset(frame, bytes);
  if (network == 0) return false;
  const uint32_t header = (frame[network] & 15u) * 4, transport = network + header;
  const bool there = header >= kIpBytes && transport < bytes;
  return filter_.run_checked(
             {frame + network, bytes - network, there ? header : 0, there ? bytes - transport : 0, network}) == 0;
}

void Tracer::come(const Router& router, const Plan& plan, int node, Batch& batch) {
  const std::lock_guard lock(mutex_);
  for (int i = 0; i < batch.size() && wanted_ > 0; ++i) {
    Packet* packet = batch.packet(i);
    if (!matches(packet)) continue;
    --wanted_;
    Trace& trace = traces_.emplace_back();
    trace.came = RouterClock::now(), trace.bytes = length(packet);
    const uint64_t mark = (first_mark_ + traces_.size() - 1) % kMax + 1;
    packet->ol_flags = (packet->ol_flags & ~kTraceMark) | mark << kTraceShift;
    Seen seen = look(plan.nodes[static_cast<size_t>(node)], batch, i);
    seen.columns.clear();  // what the source sets is told behind it
    step(trace, name_of(router, plan, node), packet, std::move(seen), false);
  }
}

Tracer::Seen Tracer::look(const NodePlan& here, Batch& batch, int i) {
  Seen seen;
  const Packet* packet = batch.packet(i);
  seen.start = packet->data_off;
  seen.bytes.assign(data(packet), data(packet) + length(packet));
  each_column(here.live, [&](Column which) {
    if (batch.column(which) == nullptr) return;
    seen.columns[static_cast<int>(which)] = is_wide(which) ? batch.wide_column(which)[i] : batch.column(which)[i];
  });
  return seen;
}

std::vector<std::string> Tracer::differences(const Seen& before, const Seen& now) {
  std::vector<std::string> list;
  const int moved = now.start - before.start;
  if (moved != 0)
    list.push_back(moved > 0 ? format("takes %d bytes off", moved) : format("puts %d bytes before", -moved));
  // Bytes by their place in the buffer, where both have them.
  const size_t old_from = moved > 0 ? static_cast<size_t>(moved) : 0,
               from = moved < 0 ? static_cast<size_t>(-moved) : 0;
  const size_t old_bytes = before.bytes.size() - std::min(old_from, before.bytes.size()),
               bytes = now.bytes.size() - std::min(from, now.bytes.size()), both = std::min(old_bytes, bytes);
  if (bytes != old_bytes) list.push_back(format("length %zu -> %zu", before.bytes.size(), now.bytes.size()));
  if (from > 0 && from <= now.bytes.size()) list.push_back(format("0-%zu: ", from - 1) + hex(now.bytes, 0, from));
  size_t runs = 0;
  for (size_t i = 0; i < both;) {
    const auto differs = [&](size_t at) { return before.bytes[old_from + at] != now.bytes[from + at]; };
    if (!differs(i)) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < both && differs(end)) ++end;
    const std::string place = end - i == 1 ? std::to_string(from + i) : format("%zu-%zu", from + i, from + end - 1);
    if (++runs <= kMaxRuns)
      list.push_back(place + ": " + hex(before.bytes, old_from + i, old_from + end) + " -> " +
                     hex(now.bytes, from + i, from + end));
    i = end;
  }
  if (runs > kMaxRuns) list.push_back(format("%zu more pieces", runs - kMaxRuns));
  for (const auto& column : now.columns) {
    const auto which = column.first;
    const auto found = before.columns.find(which);
    if (found != before.columns.end() && found->second == column.second) continue;
    const std::string name = kColumnNames[which];
    const auto text = [&](uint64_t of) {
      if ((kHeaderColumns & columns(static_cast<Column>(which))) != 0)
        return format("byte %jd", intmax_t(of) - now.start);
      if (which != static_cast<int>(Column::dst)) return std::to_string(of);
      return format("%ju.%ju.%ju.%ju", uintmax_t{of & 255}, uintmax_t{of >> 8 & 255}, uintmax_t{of >> 16 & 255},
                    uintmax_t{of >> 24 & 255});
    };
    list.push_back(name + " = " + text(column.second));
  }
  return list;
}

std::string Tracer::name_of(const Router& router, const Plan& plan, int node) {
  const NodePlan& here = plan.nodes[static_cast<size_t>(node)];
  const auto name = [&](int of) {
    const Element& element = *router.nodes[static_cast<size_t>(of)].element;
    return element.name + " :: " + element.class_name;
  };
  if (!here.processor.is_gpu()) return name(node);
  std::string text;
  for (const int of : plan.segments[static_cast<size_t>(here.segment)].nodes)
    text += (text.empty() ? "" : ", ") + name(of);
  return text + " (" + plan.name_of(here.processor) + ")";
}

Tracer::Trace* Tracer::trace_of(const Packet* packet) {
  const uint64_t mark = mark_of(packet);
  if (mark == 0) return nullptr;
  const uint64_t place = (mark - 1 + kMax - first_mark_) % kMax;
  if (place >= traces_.size() || traces_[place].steps.size() > kMaxSteps) return nullptr;
  return &traces_[place];
}

void Tracer::step(Trace& trace, const std::string& element, const Packet* packet, Seen seen, bool end) {
  if (!trace.steps.empty()) {
    // A copy has its packet's past.
    const auto found = trace.there.find(packet);
    const Seen& before = found != trace.there.end() ? found->second : trace.last;
    auto& changes = trace.steps[before.step].changes;
    for (std::string& change : differences(before, seen))
      if (std::find(changes.begin(), changes.end(), change) == changes.end()) changes.push_back(std::move(change));
  }
  seen.step = trace.steps.size();
  const std::chrono::duration<double, std::micro> since = RouterClock::now() - trace.came;
  trace.steps.push_back({element, since.count(), {}});
  trace.last = seen;
  if (end)
    trace.there.erase(packet);
  else
    trace.there[packet] = std::move(seen);
  if (trace.steps.size() < kMaxSteps) return;
  trace.steps.push_back({format("not followed beyond %zu steps", kMaxSteps), since.count(), {}});
  trace.there.clear();
}

void Tracer::arrive(const Router& router, const Plan& plan, int node, Batch& batch) {
  if (router.nodes[static_cast<size_t>(node)].element->class_name == kInputMark) return;
  for (int i = 0; i < batch.size(); ++i) {
    const Packet* packet = batch.packet(i);
    if (mark_of(packet) == 0) [[likely]]
      continue;
    const std::lock_guard lock(mutex_);
    Trace* trace = trace_of(packet);
    if (trace == nullptr) continue;
    const NodePlan& here = plan.nodes[static_cast<size_t>(node)];
    const bool end = router.nodes[static_cast<size_t>(node)].targets.empty();
    step(*trace, name_of(router, plan, node), packet, look(here, batch, i), end);
  }
}

void Tracer::drop(const Router& router, int node, const std::string& why, const Packet* packet) {
  if (mark_of(packet) == 0) return;
  const std::lock_guard lock(mutex_);
  Trace* trace = trace_of(packet);
  if (trace == nullptr) return;
  trace->there.erase(packet);
  const Element& element = *router.nodes[static_cast<size_t>(node)].element;
  trace->steps.push_back({"dropped by " + element.name + ": " + why, trace->steps.back().us, {}});
}

void Tracer::replace(const Packet* packet, const Packet* copy) {
  if (mark_of(packet) == 0) return;
  const std::lock_guard lock(mutex_);
  Trace* trace = trace_of(packet);
  if (trace == nullptr) return;
  auto seen = trace->there.extract(packet);
  if (copy == nullptr || seen.empty()) return;
  seen.key() = copy;
  trace->there.insert(std::move(seen));
}

void Tracer::join(const Packet* part, Packet* whole) {
  if (mark_of(part) == 0) [[likely]]
    return;
  const std::lock_guard lock(mutex_);
  Trace* trace = trace_of(part);
  if (trace == nullptr) return;
  auto seen = trace->there.extract(part);
  if (const Trace* other = trace_of(whole); other == nullptr) {
    whole->ol_flags = (whole->ol_flags & ~kTraceMark) | (part->ol_flags & kTraceMark);
    if (seen.empty()) return;
    seen.key() = whole;
    trace->there.insert(std::move(seen));
  } else if (other != trace) {
    const std::chrono::duration<double, std::micro> since = RouterClock::now() - trace->came;
    trace->steps.push_back({format("goes on in packet %td", other - traces_.data() + 1), since.count(), {}});
  }
}

std::string Tracer::text() const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (size_t k = 0; k < traces_.size(); ++k) {
    const Trace& trace = traces_[k];
    text += format("packet %zu, %u bytes%s\n", k + 1, trace.bytes, trace.there.empty() ? "" : ", on its way");
    for (const Step& step : trace.steps) {
      text += format("  %8.1f us  ", step.us) + step.element + "\n";
      for (const std::string& change : step.changes) text += "               " + change + "\n";
    }
  }
  return text;
}

}  // namespace heddle
