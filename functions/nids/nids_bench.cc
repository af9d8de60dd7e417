// nids-stream: what NIDSConfirm does with the segments of 10,000 TCP connections in order, one after the other, against
// the same without STREAM, each segment by itself; every one is a candidate.
// nids-cpu: NIDS against bare Hyperscan on the same payloads with the same patterns, on one core, without I/O. Payloads
// are words and beginnings of patterns; one packet in 64 is a candidate.
// nids-groups: NIDS with rules for services, whose packets are searched for their patterns only, against NIDS with the
// same rules for any packet.

#include <cstring>
#include <fstream>

#include "bench/bench.h"
#include "bench/packet_array.h"
#include "core/cores.h"
#include "core/error.h"
#include "functions/nids/nids.h"
#include "functions/nids/rules_for_bench.h"

namespace heddle::bench {
namespace {

using namespace nids;

constexpr int kPackets = 256, kRounds = 11;
constexpr uint16_t kL3 = 14, kL4 = 34, kUdpPayload = 42, kTcpPayload = 54;

/** NIDS with rules that are in no file. */
class Element : public NIDS {
 public:
  explicit Element(RuleSet set) {
    rules().load(std::move(set));
    start({});
  }
};

/** Frames of IPv4 and UDP or TCP, without more of headers than NIDS looks at, with the batch's columns. */
class Frames {
 public:
  /** With texts that have some pattern of `set` now and then, and none besides; `automata`: of rules for any packet. */
  Frames(const RuleSet& set, const Automata& automata, uint16_t length, Protocol protocol, uint16_t port)
      : packets_(kPackets, length, 0) {
    std::mt19937 random(1);
    const bool tcp = protocol == Protocol::tcp;
    payload_ = tcp ? kTcpPayload : kUdpPayload;
    for (int i = 0; i < kPackets; ++i) {
      uint8_t* frame = batch().frame(i);
      frame[kL3] = 0x45, frame[kL3 + 9] = tcp ? 6 : 17;
      frame[kL4 + 2] = static_cast<uint8_t>(port >> 8), frame[kL4 + 3] = static_cast<uint8_t>(port);
      if (tcp) frame[kL4 + 12] = 0x50;
      const std::string text = text_for(set, automata, length - payload_, random);
      std::memcpy(frame + payload_, text.data(), text.size());
      batch().column(Column::l3)[i] = PacketArray::kHeadroom + kL3;
      batch().column(Column::l4)[i] = PacketArray::kHeadroom + kL4;
    }
  }
  Batch& batch() { return packets_.batch; }
  uint16_t payload() const { return payload_; }

 private:
  PacketArray packets_;
  uint16_t payload_;
};

/** Gigabits per second of `laps` times the packets. */
double rate_of(int laps, uint16_t length, const auto& work) {
  const double start = seconds_now();
  for (int lap = 0; lap < laps; ++lap) work();
  return static_cast<double>(laps) * kPackets * length * 8 / (seconds_now() - start) * 1e-9;
}

/** Candidates among the packets. */
int find_candidates(Element& element, Batch& batch) {
  element.run_cpu(batch);
  int found = 0;
  for (int i = 0; i < kPackets; ++i) found += batch.next()[i];
  batch.clear_marks(kPackets);
  return found;
}

Result against_hyperscan(Element& element, const RuleSet& set, uint16_t length) {
  const Generation& rules = element.rules().now();
  const Scanner& bare = *rules.scanner;
  Frames frames(set, rules.automata, length, Protocol::udp, 0);
  Batch& batch = frames.batch();
  const int payload = frames.payload();
  int found = 0, bare_found = 0;
  const int laps = 200000 / length;
  Result result = paired(
      format("nids-%zu-%u", set.rules.size(), length), "Gb/s", 0.85, kRounds,
      [&] { return rate_of(laps, length, [&] { found = find_candidates(element, batch); }); },
      [&] {
        return rate_of(laps, length, [&] {
          bare_found = 0;
          for (int i = 0; i < kPackets; ++i)
            bare_found += bare.finds(0, {batch.frame(i) + payload, batch.frame(i) + length}, 0) ? 1 : 0;
        });
      });
  if (found != bare_found) throw Error(format("NIDS finds %d candidates, Hyperscan %d", found, bare_found));
  result.note = format("%.1f %% candidates", 100.0 * found / kPackets);
  return result;
}

std::vector<Result> nids_cpu() {
  pin_to_core(1);
  std::vector<Result> results;
  for (const size_t patterns : {147u, 3000u}) {
    const RuleSet set = content_rules(patterns);
    Element element(set);
    for (const uint16_t length : {64, 512, 1460}) {
      results.push_back(against_hyperscan(element, set, length));
      if (length == 64) results.back().target = 0;
    }
  }
  return results;
}

std::vector<Result> nids_groups() {
  pin_to_core(1);
  constexpr size_t kRules = 3000;
  constexpr uint16_t kLength = 1460;
  const RuleSet set = service_rules(kRules), any = content_rules(kRules);
  Element grouped(set), one(any);
  const Automata &automata = grouped.rules().now().automata, &together = one.rules().now().automata;
  std::vector<Result> results;
  for (const Service& service : kServices) {
    Frames frames(any, together, kLength, service.protocol, service.port);
    int found = 0, found_by_one = 0;
    const auto rate = [&](Element& element, int& candidates) {
      return rate_of(100, kLength, [&] { candidates = find_candidates(element, frames.batch()); });
    };
    results.push_back(paired(
        format("nids-groups-%s", service.name), "Gb/s", 0, kRounds, [&] { return rate(grouped, found); },
        [&] { return rate(one, found_by_one); }));
    if (found > found_by_one) throw Error("nids-groups: there are candidates that no pattern makes");
    const PortGroup& group = automata.image().group_of(service.protocol, true, 0, service.port);
    results.back().note =
        format("%zu of %zu patterns, %d of %d candidates; %zu automata, %.1f MB instead of %.1f",
               automata.patterns()[group.number].size(), automata.pattern_count(), found, found_by_one,
               automata.patterns().size(), static_cast<double>(automata.bytes().size()) * 1e-6,
               static_cast<double>(together.bytes().size()) * 1e-6);
  }
  return results;
}

Result stream_against_packets(const RuleSet& set, uint16_t length) {
  constexpr size_t kConnections = 10000;
  RuleTable table;
  table.load(set, true);
  table.prepare(1, false);
  const Generation& rules = table.now();
  std::mt19937 random(1);
  std::vector<std::string> texts;
  for (int i = 0; i < kPackets; ++i) texts.push_back(text_for(set, rules.automata, length, random));
  Streams streams(size_t{64} << 20, kConnections);
  std::vector<uint64_t> names(kConnections);
  std::vector<uint32_t> sequences(kConnections);
  size_t matched = 0;
  const auto rate = [&](bool stream) {
    constexpr size_t kSegments = 3 * kConnections;
    const double start = seconds_now();
    for (size_t i = 0; i < kSegments; ++i) {
      const std::string& text = texts[i % texts.size()];
      const size_t connection = i % kConnections;
      View view{};
      view.protocol = Protocol::tcp;
      view.payload = {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
      Window window;
      if (stream) {
        window = streams.take(names[connection], {sequences[connection], false, false, false, view.payload});
        sequences[connection] += length;
      }
      matched += rules.confirm(view, window, 0).size();
    }
    return static_cast<double>(kSegments) * length * 8 / (seconds_now() - start) * 1e-9;
  };
  Result result = paired(
      format("nids-stream-%u", length), "Gb/s", 0, kRounds, [&] { return rate(true); }, [&] { return rate(false); });
  if (matched == 0 || streams.unfollowed() != 0) throw Error("nids-stream: segments were not followed");
  return result;
}

std::vector<Result> nids_stream() {
  pin_to_core(1);
  const RuleSet set = content_rules(3000);
  return {stream_against_packets(set, 512), stream_against_packets(set, 1460)};
}

const Register registered("nids-cpu", false, nids_cpu);
const Register registered_groups("nids-groups", false, nids_groups);
const Register registered_stream("nids-stream", false, nids_stream);

}  // namespace
}  // namespace heddle::bench
