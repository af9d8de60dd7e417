#pragma once

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "bench/bench.h"
#include "bench/probe.h"
#include "bench/ring_peers.h"
#include "bench/ring_rig.h"
#include "bench/text_file.h"
#include "core/checksum.h"
#include "functions/check_ip_header/rule.h"
#include "functions/ip_lookup/route.h"
#include "functions/ipsec/association_file.h"
#include "functions/ipsec/associations.h"
#include "functions/ipsec/burst.h"
#include "functions/ipsec/sequence_table.h"
#include "measure/generate/associations.h"

/** Functions between rings that the GPU drives, as their chains have them (bench/figures/chains/ports-*.click), with
 *  peers that recirculate what lies in the rings. */
namespace heddle::bench {

inline constexpr uint32_t kRingLink = 14, kRingPayload = 42, kRingHeader = kRingPayload - kRingLink;

/** IPv4 and UDP header of a frame, as the bytes lie. */
using RingHeader = std::array<uint8_t, kRingHeader>;

inline std::vector<std::byte> copy_of(std::span<const std::byte> bytes) { return {bytes.begin(), bytes.end()}; }

/** Gives the header its checksum. */
inline void seal(RingHeader& header) {
  header[10] = header[11] = 0;
  const uint16_t sum = ip4_checksum(header.data(), 20);
  std::memcpy(&header[10], &sum, sizeof sum);
}

/** To any address. */
inline RingHeader ring_header(uint32_t length, std::mt19937& random) {
  RingHeader header{0x45, 0, static_cast<uint8_t>((length - kRingLink) >> 8), static_cast<uint8_t>(length - kRingLink)};
  header[8] = 64, header[9] = 17;
  for (size_t at = 12; at < 24; ++at) header[at] = static_cast<uint8_t>(random());
  seal(header);
  return header;
}

/** To any address that one of the routes has. */
inline RingHeader ring_header(uint32_t length, const std::vector<ip_lookup::Route>& routes, std::mt19937& random) {
  RingHeader header = ring_header(length, random);
  const ip_lookup::Route& route = routes[random() % routes.size()];
  const uint32_t address = route.address | (static_cast<uint32_t>(random()) & ~ip_lookup::prefix_mask(route.length));
  for (uint32_t b = 0; b < 4; ++b) header[16 + b] = static_cast<uint8_t>(address >> (24 - 8 * b));
  seal(header);
  return header;
}

/** CheckIPHeader(14), which sets dst, l3 and l4; the function behind it has the number `next`. */
inline RingRig::Function check_header(int next) {
  check_ip::Image image{};
  image.offset = kRingLink, image.checksum = 1;
  return {"CheckIPHeader", copy_of(std::as_bytes(std::span(&image, 1))), {next}};
}

/** 1,024 tunnels by AES-CTR with HMAC-SHA1-96, which divide all destinations. */
struct RingTunnels {
  static constexpr uint32_t kCount = 1024;

  RingTunnels() {
    const TextFile keys(generate_associations(kCount, EspSuite::ctr_sha1, 1));
    std::vector<std::string> errors;
    associations.load(ipsec::read_association_file(keys.path(), errors), kRingLink);
    if (!errors.empty()) throw Error("no associations");
    numbers.load(associations,
                 {.count = 0, .link_bytes = 0, .by = ipsec::By::selector, .only = 0, .mtu = 65535, .second_output = 0});
  }
  /** IPsecSequence and IPsecEncap, of which the first has the number `at`. */
  std::vector<RingRig::Function> functions(int at) const {
    return {{"IPsecSequence", copy_of(numbers.bytes()), {at + 1, at + 1}, associations.count()},
            {"IPsecEncap", copy_of(associations.bytes()), {RingRig::kTransmit}}};
  }
  /** Throws Error unless `esp`, what an outer header has left of a frame, authenticates and holds `header`. */
  void check(const uint8_t* frame, uint32_t length, uint32_t got, const RingHeader& header) {
    std::vector<uint8_t> copy(frame, frame + got);
    uint8_t* const esp = copy.data() + kRingLink + ipsec::kIp4Bytes;
    const uint32_t bytes = ipsec::ciphertext_bytes(length - kRingLink);
    uint32_t spi = 0;
    std::memcpy(&spi, esp, sizeof spi);
    const uint32_t index = associations.find(spi);
    if (index == ipsec::Associations::kNone || got != kRingLink + ipsec::kFrontBytes + bytes + 12)
      throw Error("a frame is no ESP packet");
    burst.begin(1);
    burst.decipher(associations.details(index), esp, bytes);
    if (!burst.finish() || !burst.authentic(0)) throw Error("a frame does not authenticate");
    if (std::memcmp(esp + ipsec::kEspBytes + ipsec::kIvBytes, header.data(), header.size()) != 0)
      throw Error("a frame deciphers to something else");
  }

  ipsec::Associations associations;
  ipsec::SequenceTable numbers;
  ipsec::Burst burst;
};

/** How functions are measured. */
struct RingSetup {
  std::string device = "gpu";
  int pairs = 1;
  uint32_t length = 1460;  ///< of frames, as they come
  uint32_t size = 8192;    ///< descriptors of a ring
  bool split = false;      ///< three kernels serve a pair
  int workers = 0;         ///< as RingRig has it
  bool gathers = true;  ///< whether functions that write whole packets work on copies in GPU memory, as the plan has it

  static RingSetup of(Probe::Parameters& parameters) {
    RingSetup setup;
    setup.device = parameters.text("device", "gpu", {"gpu", "simt"});
    setup.pairs = parameters.number("rings", 1, 1, 64);
    setup.split = parameters.text("kernels", "fused", {"fused", "split"}) == "split";
    setup.length = static_cast<uint32_t>(parameters.number("size", 1460, 64, 1514));
    setup.size = static_cast<uint32_t>(parameters.number("descriptors", 8192, 32, 16384));
    setup.workers = parameters.number("workers", 0, 0, setup.split ? gpu::kMaxRingWorkers : gpu::kMaxTeams);
    setup.gathers = parameters.text("transport", "gather", {"gather", "direct"}) == "gather";
    return setup;
  }
  RingRig::Options options(std::vector<RingRig::Function> functions, ColumnSet columns) const {
    RingRig::Options options;
    options.device = device, options.pairs = pairs, options.size = size, options.workers = workers;
    options.split = split;
    options.functions = std::move(functions), options.columns = columns;
    options.capacity = 1900;  // what IPsec makes of a frame fits as well
    return options;
  }
  /** The same of functions that have IPsecEncap among them. */
  RingRig::Options encap_options(std::vector<RingRig::Function> functions, ColumnSet columns) const {
    RingRig::Options options = this->options(std::move(functions), columns);
    constexpr gpu::Span kWhole{0, gpu::Span::kToEnd};
    if (gathers)
      options.copies = {.in = kWhole,
                        .out = {gpu::Span::kFromStart, gpu::Span::kToEnd},
                        .before = ipsec::kFrontBytes,
                        .behind = ipsec::kMaxPadding + ipsec::kTrailerBytes + ipsec::kMaxIcvBytes};
    return options;
  }
};

/** Functions between rings whose frames have such headers and payloads. Where a function leaves ciphertext, `renewed`,
 *  a peer writes a header again before it sends a frame, as the hosts of gpu-ipsec and gpu-c4 do: 28 bytes, in one
 *  cache line. Else it writes descriptors only. */
class RingFunctions {
 public:
  RingFunctions(const RingSetup& setup, RingRig::Options options, std::vector<RingHeader> headers, bool renewed)
      : setup_(setup), headers_(std::move(headers)), renewed_(renewed), rig_(std::move(options)) {}

  /** Fills all buffers; `payload(number)` is what buffer `number` has behind its header. */
  template <class Payload>
  void fill(const Payload& payload) {
    size_t number = 0;
    rig_.each_buffer([&](uint8_t* frame) {
      std::memset(frame, 0x02, kRingLink);
      frame[12] = 8, frame[13] = 0;
      std::memcpy(frame + kRingLink, header(number).data(), kRingHeader);
      const std::string text = payload(number++);
      std::memcpy(frame + kRingPayload, text.data(), std::min<size_t>(text.size(), setup_.length - kRingPayload));
    });
  }
  /** Sends as many frames as a ring has descriptors and looks at what comes back:
   *  `visit(frame, its length, the header that it went with)`. */
  template <class Visit>
  void check(const Visit& visit) {
    for (int i = 0; i < rig_.pairs(); ++i) {
      PeerEnd& end = rig_.end(i);
      const auto take = [&] {
        if (const int n = std::min(end.waiting(), 64); n > 0)
          end.take(
              n, [&](const uint8_t* frame, uint32_t length, uint64_t number) { visit(frame, length, header(number)); });
      };
      while (end.sent() < setup_.size) {
        if (const int n = std::min(end.room(), 64); n > 0) send(end, n);
        take();
      }
      finish(end, take);
    }
    check_counts();
  }
  /** Millions of packets a second. Throws Error if the GPU has dropped one. */
  Forwarded forward(double seconds) {
    const Forwarded result = bench::forward(rig_, rig_.pairs(), seconds, [this](PeerEnd& end, int n) { send(end, n); });
    check_counts();
    return result;
  }
  /** Of packets that the functions drop. */
  Received receive(double seconds) {
    return bench::receive(rig_, seconds, [this](PeerEnd& end, int n) { send(end, n); });
  }
  void pause() { rig_.pause(); }
  void resume() { rig_.resume(); }
  double gigabits(double seconds) { return forward(seconds).mpps * setup_.length * 8e-3; }

 private:
  const RingHeader& header(uint64_t number) const { return headers_[number % headers_.size()]; }
  void send(PeerEnd& end, int n) {
    end.send(n, [this](uint8_t* frame, uint64_t number) {
      if (renewed_) std::memcpy(frame + kRingLink, header(number).data(), kRingHeader);
      return setup_.length;
    });
  }
  void check_counts() {
    uint64_t got = 0;
    for (int i = 0; i < rig_.pairs(); ++i) got += rig_.end(i).got();
    const RingRig::Counts counts = rig_.counts();
    if (counts.sent != got || counts.received != got || counts.dropped != 0)
      throw Error(format("of %llu frames the GPU has sent %llu and dropped %llu",
                         static_cast<unsigned long long>(counts.received), static_cast<unsigned long long>(counts.sent),
                         static_cast<unsigned long long>(counts.dropped)));
  }

  RingSetup setup_;
  std::vector<RingHeader> headers_;
  bool renewed_;
  RingRig rig_;
};

/** For a probe. */
inline std::vector<Probe::Value> values_of(const Forwarded& one, uint32_t length) {
  return {{"mpps", "Mpps", one.mpps}, {"gbps", "Gb/s", one.mpps * length * 8e-3}, {"cpu", "cores", one.cpu}};
}

/** Functions between 1 and 4 rings against the same from prepared packets, whose rate is `base` Gb/s; `target` at 1460
 *  bytes. */
template <class MakeRings>
std::vector<Result> against_prepared(const std::string& name, uint32_t length, double base, double target,
                                     const MakeRings& make) {
  std::vector<Result> results;
  for (const int pairs : {1, 4}) {
    RingSetup setup;
    setup.pairs = pairs, setup.length = length;
    const auto rings = make(setup);
    results.push_back(absolute(format("%s-%u-%d", name.c_str(), length, pairs), "Gb/s", base, false, 3,
                               [&] { return rings->gigabits(0.3); }));
    results.back().target = length == 1460 && pairs == 4 ? target : 0;
    results.back().note = format("%d ring%s; baseline: prepared packets", pairs, pairs == 1 ? "" : "s");
  }
  return results;
}

}  // namespace heddle::bench
