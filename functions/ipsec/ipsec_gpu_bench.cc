// gpu-ipsec: IPsecEncap in the persistent kernel on prepared packets, by transports gather and direct, without ports.
// The host writes columns, and the inner header anew, as its place holds ciphertext by then. Packets belong to 1,000
// associations. At the end every packet is authenticated, and deciphered.
// gpu-ipsec-suites: that of every suite that a GPU knows, and its ratio to gpu-ipsec's, AES-CTR with HMAC-SHA1-96.
// gpu-ipsec-decap: the same of IPsecDecap. The host copies each packet to its place before, as that holds plain text by
// then, so it does this with 8 threads. At the end every packet is as it was before intel-ipsec-mb enciphered it.

// gpu-ipsec-rings: IPsecEncap between memif rings that the GPU drives, with CheckIPHeader and IPsecSequence before it,
// against gpu-ipsec right before it. A peer writes the inner header anew and touches nothing else.

#include <algorithm>
#include <cstring>
#include <memory>

#include "bench/gpu_slots.h"
#include "bench/ring_functions.h"
#include "functions/ipsec/associations.h"
#include "functions/ipsec/burst.h"
#include "functions/ipsec/keys.h"
#include "functions/ipsec/replay_rule.h"

namespace heddle::bench {
namespace {

using namespace ipsec;
using gpu::kSlotPackets;

constexpr uint32_t kPackets = GpuSlots::kPackets, kLink = 14, kAssociations = 1000;
constexpr double kSeconds = 0.5;
constexpr ColumnSet kColumnsIn = columns(Column::sa, Column::esp_sequence, Column::esp_iv);

constexpr Suite kSha1{}, kSha256{Cipher::aes_ctr, Hash::hmac_sha256_128, 16}, kGcm{Cipher::aes_gcm, Hash::none, 16};

void load(Associations& associations, const Suite& suite) {
  std::mt19937 random(1);
  std::vector<FileAssociation> list(kAssociations);
  for (uint32_t i = 0; i < kAssociations; ++i) {
    uint8_t key[32];
    for (auto& byte : key) byte = static_cast<uint8_t>(random());
    Association& sa = list[i].sa;
    sa.suite = suite;
    sa.spi = swapped(0x1000 + i);
    expand_key(std::span(key).first<16>(), sa);
    if (suite.hash == Hash::hmac_sha1_96) start_hmac(std::span(key).first<20>(), sa);
    if (suite.hash == Hash::hmac_sha256_128) start_hmac_sha256(key, sa.inner, sa.outer);
  }
  associations.load(list, kLink);
}

/** Whether all packets of a slot have left by exit 0. */
bool all_good(const gpu::SlotRing& ring, int index, uint32_t) {
  bool right = true;
  for (int i = 0; i < kSlotPackets; ++i) right = right && ring.outcome(index, i).exit == 0;
  return right;
}

class Encap {
 public:
  Encap(uint32_t length, bool gather, const Suite& suite = kSha1) : length_(length), times_(kPackets / kSlotPackets) {
    load(associations_, suite);
    gpu::ProgramSpec spec;
    spec.nodes = {{gpu::function_id("IPsecEncap"),
                   {},
                   slots_.device().add_table(associations_.bytes()),
                   gpu::StateId::none,
                   {gpu::kExit},
                   {gpu::kExit + 1, gpu::kExit + 1}}};
    spec.columns = spec.columns_in = kColumnsIn;
    spec.writes_packets = spec.wide_results = true;
    constexpr gpu::Span kWhole{0, gpu::Span::kToEnd};
    if (gather)
      spec.copies = {.in = kWhole,
                     .out = {gpu::Span::kFromStart, gpu::Span::kToEnd},
                     .before = kFrontBytes,
                     .behind = kMaxPadding + kTrailerBytes + kMaxIcvBytes};
    slots_.start(spec);
  }

  /** Gb/s of packets before they grow. */
  double throughput() {
    const auto fill = [&](gpu::Slot& slot, uint32_t first, uint64_t* place) {
      uint32_t *sa = GpuSlots::column(slot, kColumnsIn, Column::sa),
               *sequence = GpuSlots::column(slot, kColumnsIn, Column::esp_sequence),
               *ivs = GpuSlots::column(slot, kColumnsIn, Column::esp_iv);
      const uint32_t time = ++times_[first / kSlotPackets];
      for (uint32_t p = 0; p < kSlotPackets; ++p) {
        const uint32_t words[2] = {header(0), header(1)};
        std::memcpy(slots_.frame(first + p) + kLink, words, sizeof words);
        place[p] = slots_.place(first + p, length_);
        const uint64_t iv = uint64_t{time} << 32 | (first + p);
        sa[p] = (first + p) % kAssociations, sequence[p] = time;
        std::memcpy(&ivs[2 * p], &iv, sizeof iv);
      }
    };
    return slots_.packets_per_second(kSeconds, fill, all_good) * length_ * 8e-9;
  }

  /** Throws Error unless each packet that has been through the GPU is right. */
  void check() {
    Burst burst;
    const uint32_t inner = length_ - kLink, bytes = ciphertext_bytes(inner);
    for (uint32_t i = 0; i < kPackets; ++i) {
      if (times_[i / kSlotPackets] == 0) continue;
      uint8_t *plain = slots_.frame(i) + kLink, *esp = plain - kEspBytes - kIvBytes;
      burst.begin(1);
      burst.decipher(associations_.details(i % kAssociations), esp, bytes);
      uint32_t words[2];
      if (!burst.finish() || !burst.authentic(0)) throw Error(format("packet %u does not authenticate", i));
      std::memcpy(words, plain, sizeof words);
      if (words[0] != header(0) || words[1] != header(1) || plain[bytes - 1] != kProtocolIp4)
        throw Error(format("packet %u deciphers to something else", i));
    }
  }

 private:
  uint32_t header(int word) const { return word == 0 ? swapped(0x45000000 | (length_ - kLink)) : 0; }

  uint32_t length_;
  std::vector<uint32_t> times_;  // [kPackets / kSlotPackets], how often these have been through the GPU
  Associations associations_;
  GpuSlots slots_;
};

class Decap {
 public:
  Decap(uint32_t length, bool gather, const Suite& suite = kSha1)
      : inner_(length - kLink),
        sealed_bytes_(kLink + kFrontBytes + ciphertext_bytes(inner_) + suite.icv_bytes),
        sealed_(size_t{kPackets} * sealed_bytes_),
        used_(kPackets / kSlotPackets) {
    load(associations_, suite);
    for (uint32_t i = 0; i < kPackets; ++i) seal(i);
    gpu::ProgramSpec spec;
    spec.nodes = {{gpu::function_id("IPsecDecap"),
                   {},
                   slots_.device().add_table(associations_.bytes()),
                   slots_.device().add_state(sizeof(Highest)),
                   {gpu::kExit},
                   std::vector<uint16_t>(kEcn + 1, gpu::kExit + 1)}};
    spec.columns = spec.columns_out = columns(Column::sa, Column::esp_sequence);
    spec.writes_packets = spec.wide_results = true;
    spec.first_drop = 1;
    constexpr gpu::Span kWhole{0, gpu::Span::kToEnd};
    if (gather) spec.copies = {.in = kWhole, .out = {gpu::Span::kFromStart, gpu::Span::kToEnd}};
    slots_.start(spec);
  }

  /** Gb/s of packets after they have shrunk. */
  double throughput() {
    const auto fill = [&](gpu::Slot&, uint32_t first, uint64_t* place) {
      used_[first / kSlotPackets] = true;
      for (uint32_t p = 0; p < kSlotPackets; ++p) {
        std::memcpy(slots_.frame(first + p), sealed(first + p), sealed_bytes_);
        place[p] = slots_.place(first + p, sealed_bytes_);
      }
    };
    return slots_.packets_per_second(kSeconds, fill, all_good) * (kLink + inner_) * 8e-9;
  }

  /** Throws Error unless each packet that has been through the GPU is right. */
  void check() {
    for (uint32_t i = 0; i < kPackets; ++i) {
      if (!used_[i / kSlotPackets]) continue;
      const uint8_t* text = slots_.frame(i) + kLink + kFrontBytes;
      for (uint32_t at = 0; at < inner_; ++at)
        if (text[at] != byte(i, at)) throw Error(format("packet %u is wrong at byte %u", i, at));
    }
  }

 private:
  /** A byte of the inner packet. */
  uint8_t byte(uint32_t i, uint32_t at) const {
    const uint32_t header[2] = {swapped(0x45000000 | inner_), 0};
    return at < sizeof header ? reinterpret_cast<const uint8_t*>(header)[at] : static_cast<uint8_t>(i * 7 + at);
  }
  uint8_t* sealed(uint32_t i) { return &sealed_[size_t{i} * sealed_bytes_]; }
  void seal(uint32_t i) {
    const Association& sa = associations_[i % kAssociations];
    const uint32_t bytes = ciphertext_bytes(inner_), padding = bytes - inner_ - kTrailerBytes, number = i + 1;
    uint8_t *const outer = sealed(i) + kLink, *const esp = outer + kIp4Bytes, *const text = outer + kFrontBytes;
    uint32_t words[5];
    outer_header(words, sa, Inner{inner_, kProtocolIp4, 0, false}, number, kFrontBytes + bytes + sa.suite.icv_bytes);
    std::memcpy(outer, words, sizeof words);
    const uint32_t head[4] = {sa.spi, swapped(number), i, 0};
    std::memcpy(esp, head, sizeof head);
    for (uint32_t at = 0; at < inner_; ++at) text[at] = byte(i, at);
    for (uint32_t at = inner_; at < bytes; ++at)
      text[at] = static_cast<uint8_t>(trailer_byte(at - inner_, padding, kProtocolIp4));
    burst_.begin(1);
    burst_.encipher(associations_.details(i % kAssociations), esp, bytes);
    if (!burst_.finish()) throw Error("intel-ipsec-mb enciphers nothing");
  }

  uint32_t inner_, sealed_bytes_;
  std::vector<uint8_t> sealed_, used_;  // [kPackets][sealed_bytes_]; [kPackets / kSlotPackets]
  Associations associations_;
  Burst burst_;
  GpuSlots slots_{8};
};

template <class Setup>
std::vector<Result> measured(const char* name) {
  std::vector<Result> results;
  for (const bool gather : {false, true})
    for (const uint32_t length : {64u, 512u, 1460u}) {
      Setup setup(length, gather);
      results.push_back(absolute(format("%s%s-%u", name, gather ? "" : "-direct", length), "Gb/s", 260, false, 5,
                                 [&] { return setup.throughput(); }));
      if (length == 64 || !gather) results.back().target = 0;
      setup.check();
    }
  return results;
}

/** Each suite in Gb/s, against AES-CTR with HMAC-SHA1-96 right before it: resident kernels take the whole GPU, so not
 *  in turns. */
template <class Setup>
std::vector<Result> compared(const char* name) {
  const std::pair<const char*, Suite> others[] = {{"ctr-sha256", kSha256}, {"gcm", kGcm}};
  std::vector<Result> results;
  for (const uint32_t length : {64u, 512u, 1460u})
    for (auto& [suite_name, suite] : others) {
      double base = 0;
      {
        Setup setup(length, true);
        for (int round = 0; round < 3; ++round) base = std::max(base, setup.throughput());
        setup.check();
      }
      Setup setup(length, true, suite);
      results.push_back(absolute(format("%s-%s-%u", name, suite_name, length), "Gb/s", base, false, 5,
                                 [&] { return setup.throughput(); }));
      results.back().target = 0;
      setup.check();
    }
  return results;
}

/** The gateway between rings. */
std::unique_ptr<RingFunctions> gateway(const RingSetup& setup) {
  std::mt19937 random(1);
  RingTunnels tunnels;
  std::vector<RingHeader> headers;
  for (uint32_t i = 0; i < kPackets; ++i) headers.push_back(ring_header(setup.length, random));
  std::vector<RingRig::Function> functions{check_header(1)};
  for (auto&& one : tunnels.functions(1)) functions.push_back(std::move(one));
  auto rings = std::make_unique<RingFunctions>(
      setup,
      setup.encap_options(std::move(functions), columns(Column::dst, Column::l3, Column::l4, Column::sa,
                                                        Column::esp_sequence, Column::esp_iv)),
      std::move(headers), true);
  rings->fill([&](size_t number) { return std::string(setup.length, static_cast<char>(number)); });
  rings->check([&](const uint8_t* frame, uint32_t length, const RingHeader& header) {
    tunnels.check(frame, setup.length, length, header);
  });
  return rings;
}

const Register encap_rings("gpu-ipsec-rings", true, [] {
  std::vector<Result> results;
  for (const uint32_t length : {64u, 512u, 1460u}) {
    double base = 0;
    {
      Encap prepared(length, true);
      for (int round = 0; round < 2; ++round) base = std::max(base, prepared.throughput());
      prepared.check();
    }
    for (auto&& one : against_prepared("gpu-ipsec-rings", length, base, 0.8, gateway)) results.push_back(one);
  }
  return results;
});
const RegisterProbe ring_gateway("ring-ipsec", [](Probe::Parameters& parameters) {
  const RingSetup setup = RingSetup::of(parameters);
  return values_of(gateway(setup)->forward(kSeconds), setup.length);
});

const Register encap_suites("gpu-ipsec-suites", true, [] { return compared<Encap>("gpu-ipsec"); });
const Register decap_suites("gpu-ipsec-decap-suites", true, [] { return compared<Decap>("gpu-ipsec-decap"); });
const Register encap("gpu-ipsec", true, [] { return measured<Encap>("gpu-ipsec"); });
const Register decap("gpu-ipsec-decap", true, [] { return measured<Decap>("gpu-ipsec-decap"); });

}  // namespace
}  // namespace heddle::bench
