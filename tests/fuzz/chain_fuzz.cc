// Fuzzes the functions' GPU sides: the bytes make a chain of functions with a GPU side, a tree that forks where they
// have several outputs, and frames with columns of any value. The chain runs in the real engine on the CPU and on simt;
// both must give the same bytes, columns, exits and drop counts, and the harness must find nothing wrong with either
// (damaged surroundings, lost packets). Frames have any length, and any room before them; columns name headers that are
// not there, flows and security associations that there are not. Not here: Echo, whose choices are of the order of
// tiles; LoadBalancer, for whom the first packet of a place chooses, and RateLimiter, for whom the first ones pass.
// Chains that reach before their frames find what lies there, so they have room, and are left out where packets come
// back in other buffers (transport landing).
// IPsecReplay and IPsecSequence, which are on a GPU between GPU ports only, are on the CPU around the others.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <string>

#include "gpu/functions.h"
#include "tests/fuzz/frames.h"

namespace heddle::test {
namespace {

constexpr size_t kMaxFunctions = 8, kMaxFrames = 80;
constexpr int kBatches[] = {1, 7, 31, 32, 33, 64};

/** Files that elements read, as long as the program runs. */
class Files {
 public:
  Files() {
    write("patterns", "tcp 80 GET \ntcp any PORT\nudp any |00 00 00|\nudp 53 abc\nicmp any ing\nip any |5a 5a|\n");
    write("signatures",
          "alert tcp any any -> any 80 (content:\"GET \"; sid:1;)\nalert udp any any -> any any (content:\"abc\"; "
          "sid:2;)\n"
          "alert tcp any any -> any any (content:\"PORT\"; nocase; depth:20; pcre:\"/PORT \\d+/\"; sid:3;)\n"
          "alert ip any any -> any any (content:\"|5a 5a|\"; content:!\"xyz\"; sid:4;)\n"
          "drop icmp any any -> any any (content:\"pi\"; startswith; content:\"g\"; endswith; dsize:<9; sid:5;)\n"
          "pass tcp 10.0.0.0/8 any -> any [1:80,1024:] (content:\"port 7\"; flow:to_server; sid:6;)\n");
    // Associations, each of another form.
    const std::string gcm = "aead rfc4106(gcm(aes)) 0x000102030405060708090a0b0c0d0e0f10111213 ",
                      ctr =
                          "auth-trunc hmac(sha1) 0x000102030405060708090a0b0c0d0e0f10111213 96\n\tenc "
                          "rfc3686(ctr(aes)) 0x000102030405060708090a0b0c0d0e0f10111213",
                      ip4 = "src 192.0.2.1 dst 10.0.0.1", ip6 = "src 2001:db8::1 dst 2001:db8::2",
                      udp = "\n\tencap type espinudp sport 4501 dport 4500 addr 0.0.0.0",
                      extended =
                          "\n\treplay-window 0 flag esn\n\tanti-replay esn context:\n\t seq-hi 0x1, seq "
                          "0xfffffff0, oseq-hi 0x1, oseq 0xfffffff0\n\t replay_window 64, bitmap-length 2\n\t "
                          "00000000 00000000";
    write_keys("keys", {{ip4, "tunnel", gcm + "128", ""},
                        {ip4, "tunnel", ctr, ""},
                        {ip6, "tunnel", gcm + "64", ""},
                        {ip4, "transport", gcm + "96", ""},
                        {ip6, "transport", ctr, ""},
                        {ip4, "tunnel", gcm + "128", udp}});
    write_keys("extended", {{ip4, "tunnel", gcm + "128", extended},
                            {ip4, "tunnel", ctr, extended + udp},
                            {ip6, "tunnel", ctr, extended},
                            {ip4, "transport", gcm + "64", extended},
                            {ip6, "transport", gcm + "128", extended},
                            {ip4, "tunnel", ctr, "\n\treplay-window 32\n\tsel src 10.0.0.0/8 dst 0.0.0.0/0"}});
  }
  ~Files() { std::filesystem::remove_all(folder_); }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;
  std::string path(const char* name) const { return folder_ / name; }

 private:
  /** Addresses, mode, algorithms, and more lines. */
  using Association = std::array<std::string, 4>;
  void write_keys(const char* name, const std::vector<Association>& associations) const {
    std::string text;
    for (size_t i = 0; i < associations.size(); ++i) {
      const auto& [addresses, mode, suite, more] = associations[i];
      text += format("%s\n\tproto esp spi 0x%08zx reqid 1 mode %s\n\t%s%s\n", addresses.c_str(), 0x1001 + i,
                     mode.c_str(), suite.c_str(), more.c_str());
    }
    write(name, text);
  }
  void write(const char* name, const std::string& text) const {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / name) << text;
    ::chmod((folder_ / name).c_str(), 0600);
  }
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("heddle_chain_fuzz" + std::to_string(getpid()));
};
const Files& files() {
  static const Files all;
  return all;
}

constexpr const char* kColumnsSet = "dst paint l3 l4 vlan rule flow sa esp_sequence esp_iv";
constexpr const char* kColumnsRead = "dst paint rule sa";

/** A chain as text, made of what the input says. */
class Writer {
 public:
  explicit Writer(Input& input) : input_(input) {}

  std::string chain() {
    branch(format("TestSource(SETS \"%s\")", kColumnsSet));
    // FlowCounter's table, which no packet gets to.
    return "Idle -> CheckIPHeader(14) -> flows :: FlowTable(CAPACITY 100) -> Discard;" + text_;
  }
  /** Bytes around a packet that the chain may have put there and taken off again. */
  uint32_t scratch() const { return scratch_; }
  /** Bytes before a frame that an Unstrip takes beyond what a Strip has removed: those of the buffer, if it has so
   *  many. How many there are, and which, depends on who has made the buffer. */
  uint32_t reach() const { return reach_; }

 private:
  /** A path from an output, as text, to its sinks. So many bytes have been stripped before. */
  void branch(std::string path, uint32_t stripped = 0) {
    while (functions_ < kMaxFunctions) {
      const std::string name = "f" + std::to_string(functions_);
      const unsigned choice = input_.below(kPlain + kForks);
      if (choice == 0) break;
      ++functions_;
      if (choice >= kPlain) {
        const std::string text = forking(choice - kPlain);
        fork(path + " -> " + name + " :: " + text, name, stripped);
        return;
      }
      path += " -> " + name + " :: " + plain(choice, stripped);
    }
    text_ += path + " -> s" + std::to_string(sinks_++) + " :: TestSink(READS \"" + kColumnsRead + "\");\n";
  }

  std::string plain(unsigned choice, uint32_t& stripped) {
    switch (choice) {
      case 1:
        return "EtherMirror";
      case 2:
        return "XOR(" + std::to_string(input_.byte()) + ")";
      case 3:
        scratch_ += 4;
        return "SetCRC32";
      case 4:
        return "CheckCRC32";
      case 5:
        return "Counter";
      case 6:
        return "Paint(" + std::to_string(input_.byte()) + ")";
      case 7:
        return "CheckIPHeader(14)";
      case 8:
        return "GetIPAddress(" + std::to_string(input_.below(60)) + ")";
      case 9:
        return strip(input_.below(40), stripped);
      case 10:
        return unstrip(input_.below(40), stripped);
      case 11:
        return "FlowCounter(flows)";
      case 12:
        scratch_ += 100;
        stripped = 0;
        return "IPsecEncap(" + files().path("keys") + ", OFFSET 14)";
      case 13:
        return "IPsecDecap(" + files().path("keys") + ", OFFSET 14)";
      case 14:
        stripped = 0;
        return round_trip();
      default:
        return "Null";
    }
  }

  /** Into ESP and out of it: initialisation vectors, and so the bytes between, are random. */
  std::string round_trip() {
    const std::string number = std::to_string(functions_), keys = files().path("extended");
    scratch_ += 100;
    return "IPsecSequence(esp" + number + ", BY column) -> esp" + number + " :: IPsecEncap(" + keys +
           ", OFFSET 14) -> decap" + number + " :: IPsecDecap(" + keys + ", OFFSET 14) -> IPsecReplay(decap" + number +
           ")";
  }

  static std::string strip(unsigned bytes, uint32_t& stripped) {
    stripped += bytes;
    return "Strip(" + std::to_string(bytes) + ")";
  }

  std::string unstrip(unsigned bytes, uint32_t& stripped) {
    scratch_ += bytes;
    if (bytes > stripped) reach_ += bytes - stripped;
    stripped -= std::min(bytes, stripped);
    return "Unstrip(" + std::to_string(bytes) + ")";
  }

  /** An element with outputs_ outputs. */
  std::string forking(unsigned choice) {
    constexpr const char* kClasses[] = {"DirectIPLookup", "RadixIPLookup", "LinearIPLookup"};
    outputs_ = 2;
    switch (choice) {
      case 0:
      case 1:
      case 2:
        return look_up(kClasses[choice]);
      case 3:
        return "LookupIP6Route(2001:db8::/32 0, 2001:db8:0:1::/64 1, 2001:db8::2/128 2001:db8::7 0, ff00::/8 1)";
      case 4:
        return "NDNLookup(/8=a 0, /8=a/8=b 1, DATA 1, OFFSET " + std::to_string(input_.below(16)) + ")";
      case 5:
        return "AhoCorasick(" + files().path("patterns") + ")";
      case 6:
        return "NIDS(" + files().path("signatures") + ")";
      case 7:
        return "BitVectorClassifier(" + rules({"0", "1", "deny"}) + ", DEFAULT 1)";
      case 8:
      case 9:
        return "BitVectorClassifier(" + rules({"0", "1", "deny"}) + ", DEFAULT 1, ENGINE " + engine() + ")";
      case 10:
        outputs_ = 1 + input_.below(2);
        return "Firewall(" + rules({"allow", "deny"}) + ", DEFAULT " + (input_.below(2) == 0 ? "allow" : "deny") +
               ", ENGINE " + engine() + ")";
      default:
        outputs_ = 3;
        return "L2Switch(2:0:0:0:0:1 0, 2:0:0:0:0:2 1, 2:0:0:0:0:3 0, LEARN false, CAPACITY 8)";
    }
  }

  const char* engine() {
    constexpr const char* kEngines[] = {"bitvector", "hypersplit", "tuple"};
    return kEngines[input_.below(std::size(kEngines))];
  }

  /** What a classifier looks for, each with one of these outcomes. */
  std::string rules(const std::vector<const char*>& outcomes) {
    constexpr const char* kAddresses[] = {"10.0.0.0/8 0.0.0.0/0",           "0.0.0.0/0 0.0.0.0/0",
                                          "10.0.0.0-192.0.2.1 10.0.0.1/32", "2001:db8::/32 ::/0",
                                          "::/0 2001:db8::2/128",           "::/0 ::7-2001:db8:0:1::9"};
    constexpr const char* kProtocols[] = {"0x06/0xFF", "0x11/0xFF", "0x00/0x00"};
    constexpr const char* kFields[] = {
        "",
        "",
        "flags=0x02/0x12",
        "paint=4-90",
        "vlan=7",
        "ip[1/1]=0xb8/0xfc",
        "frame[12/2]=0x0800",
        "frame[0/16]=0x00000000000000000000000000000000-0x02000000000001ffffffffffffffffff",
        "transport[8/4]=0x50000000-0xffffffff",
        "version=6",
        "source=0x0a000001/0xff0000ff",
        "sport=1/1"};
    std::string text;
    for (unsigned i = 0, count = 1 + input_.below(6); i < count; ++i) {
      const unsigned low = input_.below(4) << 8, high = low + input_.byte();
      text +=
          format("%s@%s %u : %u %u : %u %s %s %s", i == 0 ? "" : ", ", kAddresses[input_.below(std::size(kAddresses))],
                 0u, input_.below(2) == 0 ? 65535u : 1100u, low, input_.below(2) == 0 ? high : 65535u,
                 kProtocols[input_.below(std::size(kProtocols))], kFields[input_.below(std::size(kFields))],
                 outcomes[input_.below(static_cast<unsigned>(outcomes.size()))]);
    }
    return text;
  }

  std::string look_up(const char* name) {
    std::string routes;
    outputs_ = 1 + input_.below(3);
    for (unsigned i = 0, count = 1 + input_.below(6); i < count; ++i) {
      const unsigned bits = input_.below(2) == 0 ? 0 : input_.below(33);  // half of them take any address
      const uint32_t address = bits == 0 ? 0 : input_.word() & ~uint32_t{0} << (32 - bits);
      routes += format("%s%u.%u.%u.%u/%u ", i == 0 ? "" : ", ", address >> 24, address >> 16 & 255, address >> 8 & 255,
                       address & 255, bits);
      if (input_.below(2) == 1) routes += format("192.0.2.%u ", 1 + input_.below(200));
      routes += std::to_string(i < outputs_ ? i : input_.below(outputs_));
      if (i + 1 == count) outputs_ = std::min(outputs_, count);
    }
    return format("%s(%s)", name, routes.c_str());
  }

  void fork(const std::string& path, const std::string& name, uint32_t stripped) {
    text_ += path + ";\n";
    for (unsigned output = 0, count = outputs_; output < count; ++output)
      branch(name + "[" + std::to_string(output) + "]", stripped);
  }

  static constexpr unsigned kPlain = 16, kForks = 12;
  Input& input_;
  std::string text_;
  size_t functions_ = 0, sinks_ = 0;
  unsigned outputs_ = 1;
  uint32_t scratch_ = 0, reach_ = 0;
};

[[noreturn]] void differ(const std::string& chain, const std::string& what) {
  std::fprintf(stderr, "%s\nCPU and simt differ: %s\n", chain.c_str(), what.c_str());
  std::abort();
}

void compare(const std::string& chain, const Result& cpu, const Result& gpu) {
  const auto text = [](const std::map<std::string, uint64_t>& drops) {
    std::string all;
    for (auto& [reason, count] : drops)
      all += format(" %s %llu", reason.c_str(), static_cast<unsigned long long>(count));
    return all;
  };
  if (cpu.drops != gpu.drops) differ(chain, "drops:" + text(cpu.drops) + "; simt:" + text(gpu.drops));
  for (auto& [sink, wanted] : cpu.sinks) {
    const auto found = gpu.sinks.find(sink);
    if (found == gpu.sinks.end() || found->second.size() != wanted.size()) differ(chain, sink + ": number of packets");
    for (size_t i = 0; i < wanted.size(); ++i) {
      const Received& got = found->second[i];
      const std::string where = format("%s, packet %zu: ", sink.c_str(), i);
      // -1: a copy, where there is no room for what IPsecEncap puts before packets. A GPU's segment wants it earlier.
      const bool has_copies = got.serial < 0 || wanted[i].serial < 0;
      if (!has_copies && got.serial != wanted[i].serial) differ(chain, where + "another frame");
      if (got.bytes != wanted[i].bytes) differ(chain, where + "bytes");
      if (!std::equal(std::begin(got.column), std::end(got.column), wanted[i].column)) differ(chain, where + "columns");
    }
  }
}

/** Every function with a GPU side is in chains, or the comment at the top says why not: chains of random bytes tell. */
void check_functions() {
  const auto fail = [](std::string_view name, const char* what) {
    std::fprintf(stderr, "chain_fuzz: %s: %s\n", std::string(name).c_str(), what);
    std::abort();
  };
  std::set<std::string_view> missing;
  for (const gpu::FunctionTraits& function : gpu::functions()) missing.insert(function.name);
  for (const char* left_out : {"Echo", "LoadBalancer", "RateLimiter"})
    if (missing.erase(left_out) == 0) fail(left_out, "is left out, but is no function with a GPU side");
  std::mt19937 random(1);
  for (int tries = 0; tries < 1000 && !missing.empty(); ++tries) {
    std::array<uint8_t, 200> bytes{};
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    Input input(bytes.data(), bytes.size());
    const std::string chain = Writer(input).chain();
    std::erase_if(missing, [&](std::string_view name) {
      const size_t at = chain.find(name);
      return at != chain.npos && std::isalnum(static_cast<unsigned char>(chain[at + name.size()])) == 0;
    });
  }
  if (!missing.empty()) fail(*missing.begin(), "has a GPU side and is in no chain: add it to Writer, or say why not");
}

void check(Input input) {
  const auto launch = static_cast<LaunchMode>(input.below(kLaunchModes.size()));
  const auto transport = static_cast<Transport>(input.below(kTransports.size()));
  if (copies_by_engine(transport) && launch == LaunchMode::persistent) return;
  Options options;
  options.batches = {kBatches[input.below(std::size(kBatches))]};
  options.batch_size = 64, options.packets = 512;
  Writer writer(input);
  const std::string chain = writer.chain();
  options.scratch = writer.scratch();
  if (writer.reach() > 0 && transport == Transport::landing) return;
  if (!mistakes(chain, "cpu").empty() || !mistakes(chain, "simt").empty()) return;
  std::vector<Frame> frames;
  while (!input.empty() && frames.size() < kMaxFrames) {
    frames.push_back(frame_of(input));
    int& headroom = frames.back().headroom;
    if (headroom >= 0) headroom = std::max(headroom, static_cast<int>(std::min(writer.reach(), kMaxHeadroom)));
  }
  try {
    const Result cpu = run(chain, {"cpu", "cpu", LaunchMode::persistent}, frames, options);
    const Result gpu = run(chain, {"simt", "simt", launch, transport}, frames, options);
    compare(chain, cpu, gpu);
  } catch (const std::exception& failure) {
    differ(chain, failure.what());
  }
}

}  // namespace
}  // namespace heddle::test

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  (void)argc, (void)argv;
  testing::FLAGS_gtest_throw_on_failure = true;  // what the harness finds ends the run
  heddle::test::check_functions();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  heddle::test::check({bytes, size});
  return 0;
}
