// gopt-exchange, gopt-access, gopt-offload: what section 2 of "Raising the Bar for Using GPUs in Software Packet
// Processing" (Kalia, Zhou, Kaminsky, Andersen, NSDI 2015) measures, for bench/figures/gopt-*.py. Results of the GPU
// are checked.

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "bench/bench.h"
#include "bench/experiments/experiments.h"
#include "bench/probe.h"
#include "core/cores.h"
#include "core/error.h"
#include "core/huge_pages.h"
#include "gpu/slot_ring.h"

namespace heddle::bench {
namespace {

using gpu::Exchange;
using gpu::Experiments;
using gpu::kSlotPackets;
using gpu::Work;
using Values = std::vector<Probe::Value>;

constexpr int kSlots = 256;  ///< for simt fewer: 64 blocks of it are resident

/** A pseudo-random permutation of 0 .. 2^bits - 1, in huge pages. (The paper: "a random permutation", 2^28 of them.) */
class Permutation {
 public:
  explicit Permutation(int bits)
      : memory_(map_huge_pages(sizeof(uint32_t) << bits)),
        entries_(reinterpret_cast<uint32_t*>(memory_.get()), size_t{1} << bits) {
    const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
    const size_t share = (entries_.size() + threads - 1) / threads;
    std::vector<std::thread> fillers;
    for (size_t first = 0; first < entries_.size(); first += share)
      fillers.emplace_back([=, this] {
        const size_t end = std::min(first + share, entries_.size());
        for (size_t i = first; i < end; ++i) entries_[i] = image(static_cast<uint32_t>(i), bits);
      });
    for (auto& filler : fillers) filler.join();
  }
  std::span<const uint32_t> entries() const { return entries_; }

  /** Each step can be undone, so no two numbers have one image. */
  static uint32_t image(uint32_t x, int bits) {
    const uint32_t mask = static_cast<uint32_t>((uint64_t{1} << bits) - 1);
    const int shift = bits / 2;
    for (const uint32_t factor : {0x85ebca6bu, 0xc2b2ae35u, 0x27d4eb2fu}) {
      x = (x * factor + 0x9e3779b9u) & mask;
      x ^= x >> shift;
    }
    return x;
  }

 private:
  HugePages memory_;
  std::span<uint32_t> entries_;
};

/** What the points of one run share: the table and the device, made when first asked for. */
struct Shared {
  std::unique_ptr<Permutation> table;
  int bits = 0;
  std::unique_ptr<Experiments> device;
  std::string device_name;
  int bits_on_device = 0;

  std::span<const uint32_t> entries(int wanted_bits) {
    if (bits != wanted_bits) table = std::make_unique<Permutation>(wanted_bits), bits = wanted_bits;
    return table->entries();
  }
  Experiments& gpu(const std::string& name, int wanted_bits) {
    if (!device || device_name != name) {
      device = gpu::open_experiments(name), device_name = name;
      bits_on_device = 0;
    }
    if (wanted_bits != 0 && bits_on_device != wanted_bits) {
      device->load(entries(wanted_bits));
      bits_on_device = wanted_bits;
    }
    return *device;
  }
};
Shared& shared() {
  static Shared one;
  return one;
}

/** Keeps the calling thread on one core while it lives. The process's main thread must not stay there: pin_to_core()
 *  takes the cores that it may use for those of the process. */
class Pinned {
 public:
  explicit Pinned(int k) {
    sched_getaffinity(0, sizeof before_, &before_);
    pin_to_core(k);
  }
  ~Pinned() { sched_setaffinity(0, sizeof before_, &before_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

 private:
  cpu_set_t before_{};
};

void fill(uint32_t* elements, int n, uint32_t below, uint32_t seed) {
  std::mt19937 random(seed);
  for (int i = 0; i < n; ++i) elements[i] = static_cast<uint32_t>(uint64_t{random()} * below >> 32);
}

void expect(uint32_t found, uint32_t right) {
  if (found != right) throw Error("the GPU gave a wrong result");
}

/** Counts empty looks at what the GPU should have written, and throws Error when it seems to be dead. */
class Patience {
 public:
  void lose() {
    if (++looks_ > kMaxLooks) throw Error("the GPU does not answer, or its answer is wrong");
  }
  void regain() { looks_ = 0; }

 private:
  static constexpr uint64_t kMaxLooks = uint64_t{1} << 31;  // seconds
  uint64_t looks_ = 0;
};

// Figures 2 and 3: the time that it takes to have the GPU increment n integers.
double poll_us(Experiments& gpu, int n, uint32_t round) {
  uint32_t* const in = gpu.input();
  const uint32_t* const out = gpu.output();
  for (int i = 0; i < n; ++i) in[i] = round + static_cast<uint32_t>(i);
  Patience patience;
  const double start = seconds_now();
  gpu.poll(round);
  for (int i = 0; i < n; ++i)
    while (__atomic_load_n(&out[i], __ATOMIC_ACQUIRE) != round + static_cast<uint32_t>(i) + 1) patience.lose();
  return 1e6 * (seconds_now() - start);
}

double slots_us(Experiments& gpu, gpu::SlotRing& ring, int n) {
  const uint32_t* const in = gpu.input();
  const std::vector<uint64_t> words(in, in + n);
  int submitted = 0, collected = 0;
  uint32_t wrong = 0;
  Patience patience;
  const double start = seconds_now();
  while (collected < n) {
    for (int slot; submitted < n && (slot = ring.free_slot()) >= 0;) {
      const int count = std::min(kSlotPackets, n - submitted);
      ring.submit(slot, &words[static_cast<size_t>(submitted)], count);
      submitted += count;
    }
    while (ring.in_flight() > 0 && ring.oldest_done()) {
      const uint32_t* results = ring.slot(ring.oldest()).columns;
      const int count = std::min(kSlotPackets, n - collected);
      for (int i = 0; i < count; ++i) wrong |= results[i] ^ (in[collected + i] + 1);
      collected += count;
      ring.release_oldest();
      patience.regain();
    }
    patience.lose();
  }
  const double us = 1e6 * (seconds_now() - start);
  expect(wrong, 0);
  return us;
}

Values exchange(Probe::Parameters& parameters) {
  const std::string method = parameters.text("method", "async", {"async", "sync", "mapped", "polling", "slots"});
  const int n = parameters.number("n", 1, 1, Experiments::kMaxElements);
  const int times = parameters.number("times", 1000, 1, 1000000);
  const int slots = method == "slots" ? parameters.number("slots", kSlots, 1, 4096) : 0;
  const std::string device = parameters.text("device", "gpu");
  parameters.expect_all_used();
  const Pinned pinned(1);
  Experiments& gpu = shared().gpu(device, 0);
  fill(gpu.input(), n, 1u << 31, 1);
  std::vector<double> total, parts[4];
  const auto measure = [&](const std::function<double(int)>& once) {
    for (int i = 1; i <= times / 10 + 1; ++i) once(i);  // warm-up
    for (auto& part : parts) part.clear();
    for (int i = 1; i <= times; ++i) total.push_back(once(times / 10 + 1 + i));
  };
  if (method == "polling") {
    gpu.start_polling(n);
    measure([&](int round) { return poll_us(gpu, n, static_cast<uint32_t>(round)); });
    gpu.stop();
  } else if (method == "slots") {
    gpu::SlotRing ring(gpu.serve({Work::kIncrement}, std::min(slots, (n + kSlotPackets - 1) / kSlotPackets)), nullptr);
    measure([&](int) { return slots_us(gpu, ring, n); });
    gpu.stop();
  } else {
    const Exchange how = method == "async" ? Exchange::async : method == "sync" ? Exchange::sync : Exchange::mapped;
    measure([&](int round) {
      gpu.input()[n - 1] = static_cast<uint32_t>(round);
      const gpu::CallTimes t = gpu.exchange(how, {Work::kIncrement}, n);
      expect(gpu.output()[n - 1], static_cast<uint32_t>(round) + 1);
      const double us[4] = {t.copy_in_us, t.launch_us, t.copy_out_us, t.wait_us};
      for (int k = 0; k < 4; ++k) parts[k].push_back(us[k]);
      return t.total_us();
    });
    for (int i = 0; i < n; ++i) expect(gpu.output()[i], gpu.input()[i] + 1);
  }
  Values values = {{"total_us", "us", percentile(total, 0.5)}, {"total_p99_us", "us", percentile(total, 0.99)}};
  const char* const names[4] = {"copy_in_us", "launch_us", "copy_out_us", "wait_us"};
  for (int k = 0; k < 4; ++k)
    if (!parts[k].empty() && (method != "mapped" || k == 1 || k == 3))
      values.push_back({names[k], "us", percentile(parts[k], 0.5)});
  return values;
}

// The CPU's side of table 1 and figure 4: a loop over `in_flight` elements, so that a core's accesses overlap. The
// paper: "each CPU core handles all the chains simultaneously", 16 of them.
void access_in_groups(uint32_t* elements, int n, int in_flight, int depth, const uint32_t* table) {
  for (int first = 0; first < n; first += in_flight) {
    const int end = std::min(n, first + in_flight);
    for (int d = 0; d < depth; ++d)
      for (int i = first; i < end; ++i) elements[i] = table[elements[i]];
  }
}

// For each kind of vector unit, so that the CPU is not held back by the oldest of them.
[[gnu::target_clones("default", "avx2", "avx512f")]] void hash_in_groups(uint32_t* elements, int n, int depth) {
  constexpr int kGroup = 16;
  for (int first = 0; first < n; first += kGroup) {
    const int end = std::min(n, first + kGroup);
    for (int d = 0; d < depth; ++d)
      for (int i = first; i < end; ++i) elements[i] = gpu::city_hash32(elements[i]);
  }
}

// Elements a second that `cores` cores get done together, batch after batch, for `seconds`.
double cpu_rate(Work work, int cores, int batch, int in_flight, double seconds, std::span<const uint32_t> table) {
  std::atomic<uint64_t> total{0};
  std::atomic<int> ready{0};
  std::atomic<bool> go{false}, stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < cores; ++t)
    threads.emplace_back([&, t] {
      pin_to_core(t);
      std::vector<uint32_t> elements(static_cast<size_t>(batch));
      fill(elements.data(), batch, static_cast<uint32_t>(std::max<size_t>(table.size(), 1)),
           100 + static_cast<uint32_t>(t));
      uint64_t done = 0;
      ++ready;
      while (!go.load()) {
      }
      do {
        if (work.kind == Work::kAccess)
          access_in_groups(elements.data(), batch, in_flight, work.depth, table.data());
        else
          hash_in_groups(elements.data(), batch, work.depth);
        done += static_cast<uint64_t>(batch);
        // Elements are results, and the next round's input.
        asm volatile("" : : "r"(elements.data()) : "memory");
      } while (!stop.load(std::memory_order_relaxed));
      total += done;
    });
  while (ready.load() < cores) std::this_thread::yield();
  const double start = seconds_now();
  go = true;
  while (seconds_now() < start + seconds) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  stop = true;
  for (auto& thread : threads) thread.join();
  return static_cast<double>(total) / (seconds_now() - start);
}

void check_some(const Experiments& gpu, const uint32_t* input, Work work, int n, std::span<const uint32_t> table) {
  for (int i = 0; i < n; i += std::max(1, n / 100))
    expect(const_cast<Experiments&>(gpu).output()[i], gpu::worked(work, table.data(), input[i]));
}

// Table 1: random accesses a second, within the processor's own memory.
Values access(Probe::Parameters& parameters) {
  const std::string processor = parameters.text("processor", "cpu", {"cpu", "gpu"});
  const Work work{Work::kAccess, parameters.number("depth", 10, 1, 1000)};
  const int chains = parameters.number("chains", processor == "cpu" ? 16 : 1 << 19, 1, Experiments::kMaxElements);
  const int bits = parameters.number("bits", 28, 8, 30), ms = parameters.number("ms", 300, 1, 60000);
  const int cores = processor == "cpu" ? parameters.number("cores", 1, 1, 1024) : 1;
  const std::string device = processor == "gpu" ? parameters.text("device", "gpu") : "";
  parameters.expect_all_used();
  double rate = 0;
  if (processor == "cpu") {
    // Many rounds of the `chains` accesses a call: looking at the clock must not count.
    const int batch = chains * std::max(1, 8192 / chains);
    rate = cpu_rate(work, cores, batch, chains, 1e-3 * ms, shared().entries(bits)) * work.depth;
  } else {
    Experiments& gpu = shared().gpu(device, bits);
    fill(gpu.input(), chains, 1u << bits, 1);
    std::vector<double> seconds;
    gpu.compute_s(work, chains);
    for (const double end = seconds_now() + 1e-3 * ms; seconds.empty() || seconds_now() < end;)
      seconds.push_back(gpu.compute_s(work, chains));
    check_some(gpu, gpu.input(), work, chains, shared().entries(bits));
    rate = chains * work.depth / percentile(seconds, 0.5);
  }
  return {{"access_rate", "M/s", 1e-6 * rate}};
}

// The GPU's side of figure 4: batches there and back, one after the other.
double exchange_rate(Experiments& gpu, Work work, int batch, double seconds, std::span<const uint32_t> table) {
  uint64_t done = 0;
  gpu.exchange(Exchange::async, work, batch);
  const double start = seconds_now();
  while (seconds_now() < start + seconds)
    gpu.exchange(Exchange::async, work, batch), done += static_cast<uint64_t>(batch);
  const double rate = static_cast<double>(done) / (seconds_now() - start);
  check_some(gpu, gpu.input(), work, batch, table);
  return rate;
}

// The same through stamped slots, one core keeping up to `slots` tiles of 32 in flight.
double slots_rate(Experiments& gpu, Work work, int batch, int slots, double seconds, std::span<const uint32_t> table) {
  gpu::SlotRing ring(gpu.serve(work, slots), nullptr);
  std::vector<uint64_t> words(gpu.input(), gpu.input() + batch);
  std::vector<int> first_of(static_cast<size_t>(slots));
  uint64_t done = 0;
  int next = 0;
  bool checking = false;
  const auto collect = [&] {
    const int slot = ring.oldest();
    const auto first = static_cast<size_t>(first_of[static_cast<size_t>(slot)]);
    const uint32_t* results = ring.slot(slot).columns;
    // Results are read in any case, as by somebody who wants them.
    uint32_t sum = 0;
    for (int i = 0; i < kSlotPackets; ++i) sum += results[i];
    asm volatile("" : : "r"(sum));
    if (checking)
      for (size_t i = 0; i < kSlotPackets; ++i)
        expect(results[i], gpu::worked(work, table.data(), static_cast<uint32_t>(words[first + i])));
    ring.release_oldest();
    done += kSlotPackets;
  };
  const double start = seconds_now();
  for (uint64_t lap = 0; (lap & 63) != 0 || seconds_now() < start + seconds; ++lap) {
    while (ring.in_flight() > 0 && ring.oldest_done()) collect();
    for (int slot; (slot = ring.free_slot()) >= 0;) {
      first_of[static_cast<size_t>(slot)] = next;
      ring.submit(slot, &words[static_cast<size_t>(next)], kSlotPackets);
      next = next + 2 * kSlotPackets <= batch ? next + kSlotPackets : 0;
    }
  }
  const double rate = static_cast<double>(done) / (seconds_now() - start);
  checking = true;
  for (Patience patience; ring.in_flight() > 0; patience.lose())
    if (ring.oldest_done()) collect();
  gpu.stop();
  return rate;
}

// Figure 4: headers a second, each with `depth` dependent random accesses (a) or hashes (b).
Values offload(Probe::Parameters& parameters) {
  const std::string processor = parameters.text("processor", "cpu", {"cpu", "gpu", "gpu-slots"});
  const std::string task = parameters.text("task", "access", {"access", "hash"});
  const Work work{task == "access" ? Work::kAccess : Work::kHash, parameters.number("depth", 1, 1, 1000)};
  const int batch = parameters.number("batch", 8192, kSlotPackets, Experiments::kMaxElements);
  const int bits = parameters.number("bits", 28, 8, 30), ms = parameters.number("ms", 200, 1, 60000);
  const int cores = processor == "cpu" ? parameters.number("cores", 1, 1, 1024) : 1;
  const std::string device = processor != "cpu" ? parameters.text("device", "gpu") : "";
  const int slots = processor == "gpu-slots" ? parameters.number("slots", kSlots, 1, 4096) : 0;
  parameters.expect_all_used();
  const std::span<const uint32_t> table =
      work.kind == Work::kAccess ? shared().entries(bits) : std::span<const uint32_t>();
  double rate = 0;
  if (processor == "cpu") {
    rate = cpu_rate(work, cores, batch, 16, 1e-3 * ms, table);
  } else {
    const Pinned pinned(1);
    Experiments& gpu = shared().gpu(device, work.kind == Work::kAccess ? bits : 0);
    fill(gpu.input(), batch, 1u << bits, 1);
    rate = processor == "gpu" ? exchange_rate(gpu, work, batch, 1e-3 * ms, table)
                              : slots_rate(gpu, work, batch, slots, 1e-3 * ms, table);
  }
  return {{"headers_mps", "M/s", 1e-6 * rate}};
}

const RegisterProbe gopt_exchange("gopt-exchange", exchange), gopt_access("gopt-access", access),
    gopt_offload("gopt-offload", offload);

}  // namespace
}  // namespace heddle::bench
