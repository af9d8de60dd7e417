#include "tests/support/access.h"

#include <algorithm>
#include <optional>
#include <set>

#include "core/error.h"
#include "core/sets_first.h"

namespace heddle::test {
namespace {

constexpr int kL3 = 14, kL4 = 34;  // where the columns l3 and l4 of the frames point to

// Whether byte `at` of a frame of `length` bytes lies in one of the intervals.
bool contains(const std::vector<Interval>& intervals, int at, int length) {
  return std::any_of(intervals.begin(), intervals.end(), [&](const Interval& interval) {
    const int start = interval.base == Base::head ? 0
                      : interval.base == Base::l3 ? kL3
                      : interval.base == Base::l4 ? kL4
                                                  : length;
    return at >= start + interval.from && (interval.to == kToEnd || at < start + interval.to);
  });
}

struct Declared {
  Access access;
  ColumnSet sets_first;
  ColumnSet writes_at(const std::string& sink) const { return access.column_writes | (sink == "s0" ? sets_first : 0); }
};

Declared declared_access(const std::string& chain, const Backend& backend) {
  click::Diagnostics diagnostics;
  const Chain built = read(chain, backend.plan(), diagnostics);
  const int node = built.router.find("it");
  if (!diagnostics.ok() || node < 0) throw Error(diagnostics.text());
  const Element& element = *built.router.nodes[static_cast<size_t>(node)].element;
  return {element.access(built.plan.nodes[static_cast<size_t>(node)].processor), sets_at(element, 0)};
}

// What became of one frame.
struct Fate {
  std::string sink;  // "" = dropped
  Received packet;
};

std::vector<std::optional<Fate>> fates(const Result& result, size_t frames) {
  std::vector<std::optional<Fate>> list(frames);
  for (auto& [sink, packets] : result.sinks)
    for (auto& packet : packets)
      if (packet.serial >= 0) list[static_cast<size_t>(packet.serial)] = Fate{sink, packet};
  return list;
}

void spoil_unread(Frame& frame, const Access& access, std::mt19937& random) {
  const int length = static_cast<int>(frame.bytes.size());
  for (int at = 0; at < length; ++at)
    if (!contains(access.reads, at, length)) frame.bytes[static_cast<size_t>(at)] = static_cast<uint8_t>(random());
  // l3 and l4 stay: intervals are relative to them.
  for (Column column : {Column::dst, Column::paint})
    if (!(access.column_reads & columns(column))) frame.column[static_cast<int>(column)] = random();
}

std::string compare(const Frame& frame, const Fate& fate, const Declared& declared, int tail) {
  const Access& access = declared.access;
  const int grown = static_cast<int>(frame.bytes.size()) + (fate.sink == "s0" ? tail : 0);
  const int length = std::min(grown, static_cast<int>(frame.bytes.size()));
  if (static_cast<int>(fate.packet.bytes.size()) != grown) return "its length has changed";
  for (int at = 0; at < length; ++at)
    if (fate.packet.bytes[static_cast<size_t>(at)] != frame.bytes[static_cast<size_t>(at)] &&
        !contains(access.writes, at, length))
      return format("byte %d has changed and is not among its writes", at);
  for (int c = 0; c < kColumns; ++c)
    if (!(declared.writes_at(fate.sink) >> c & 1) && fate.packet.column[c] != frame.column[c])
      return format("column %s has changed and is not among its writes", kColumnNames[c]);
  return {};
}

std::string compare(const std::optional<Fate>& before, const std::optional<Fate>& after, const Declared& declared) {
  if (before.has_value() != after.has_value()) return "whether it is dropped depends on bytes not among its reads";
  if (!before) return {};
  if (before->sink != after->sink) return "its output depends on bytes not among its reads";
  const Bytes &one = before->packet.bytes, &other = after->packet.bytes;
  const int length = static_cast<int>(std::min(one.size(), other.size()));
  for (int at = 0; at < length; ++at)
    if (contains(declared.access.writes, at, length) && one[static_cast<size_t>(at)] != other[static_cast<size_t>(at)])
      return format("what it writes to byte %d depends on bytes not among its reads", at);
  for (int c = 0; c < kColumns; ++c)
    if (declared.writes_at(before->sink) >> c & 1 && before->packet.column[c] != after->packet.column[c])
      return format("what it writes to column %s depends on bytes not among its reads", kColumnNames[c]);
  return {};
}

}  // namespace

std::vector<std::string> access_violations(const std::string& element, const Backend& backend,
                                           const AccessOptions& options) {
  std::string columns;
  for (const char* name : kColumnNames) columns += (columns.empty() ? "" : " ") + std::string(name);
  std::string chain = "TestSource(SETS \"" + columns + "\") -> it :: " + element + ";";
  for (int port = 0; port < options.outputs; ++port)
    chain += format(" it[%d] -> s%d :: TestSink(READS \"%s\");", port, port, columns.c_str());
  const Declared declared = declared_access(chain, backend);
  auto random = random_for("access " + element);
  std::vector<Frame> frames =
      random_frames(random, static_cast<size_t>(options.frames), options.shortest, options.longest);
  for (auto& frame : frames) {
    for (auto& column : frame.column) column = random();
    frame.column[static_cast<int>(Column::l3)] = kL3;
    frame.column[static_cast<int>(Column::l4)] = kL4;
    if (options.shape) options.shape(frame, random);
  }
  std::set<std::string> violations;
  std::vector<std::optional<Fate>> first;
  for (int round = 0; round < options.rounds; ++round) {
    if (round > 0)
      for (auto& frame : frames) spoil_unread(frame, declared.access, random);
    const auto now = fates(run(chain, backend, frames), frames.size());
    if (round == 0) first = now;
    for (size_t i = 0; i < frames.size(); ++i) {
      if (now[i]) violations.insert(compare(frames[i], *now[i], declared, options.tail));
      violations.insert(compare(first[i], now[i], declared));
    }
  }
  violations.erase("");
  return {violations.begin(), violations.end()};
}

}  // namespace heddle::test
