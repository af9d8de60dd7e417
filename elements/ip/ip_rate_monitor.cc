#include "elements/ip/ip_rate_monitor.h"

#include <cmath>

#include "click/arguments.h"
#include "click/quoting.h"
#include "elements/ip/header.h"

namespace heddle {
namespace {

constexpr auto kRenewal = std::chrono::milliseconds(100);
constexpr auto kIdle = std::chrono::seconds(10);
constexpr size_t kUsualBytes = 16 << 20;
constexpr int kLowest = 3;

}  // namespace

void IPRateMonitor::configure(click::Arguments& arguments) {
  std::string type;
  arguments.required("TYPE", type).required("RATIO", ratio_, 1e-6, 1.0).required("THRESH", threshold_);
  arguments.optional("MEMORY", memory_kb_, 0u, 1u << 24).optional("ANNO", anno_);
  if (type != "PACKETS" && type != "BYTES") arguments.error("TYPE", "PACKETS or BYTES");
  if (memory_kb_ != 0 && memory_kb_ < 100) arguments.error("MEMORY", "0, or at least 100");
  if (inputs < outputs) arguments.error("output 1 is connected, but not input 1, whose packets leave there");
  if (inputs > outputs) arguments.error("input 1 is connected, but not output 1, where its packets leave");
  bytes_ = type == "BYTES";
}

Access IPRateMonitor::access(Processor) const {
  return {.reads = {{Base::l3, 0, 20}}, .column_reads = columns(Column::l3, Column::input)};
}

void IPRateMonitor::start(const Environment& environment) {
  const size_t bytes = memory_kb_ == 0 ? kUsualBytes : size_t{memory_kb_} * 1024;
  most_parts_ = std::max<size_t>(bytes / sizeof(Part), 1);
  parts_ = std::make_unique<Part[]>(most_parts_);
  top_ = std::make_unique<Part>();
  for (int thread = 0; thread < environment.threads; ++thread) random_.emplace_back(environment.seed_of(*this, thread));
  renewed_ = reset_ = RouterClock::now();
}

void IPRateMonitor::take_state(Element& old_element) {
  auto& old = static_cast<IPRateMonitor&>(old_element);
  if (most_parts_ != old.most_parts_ || bytes_ != old.bytes_ || ratio_ != old.ratio_) return;
  std::swap(top_, old.top_), std::swap(parts_, old.parts_), std::swap(made_, old.made_);
  std::swap(renewed_, old.renewed_), std::swap(reset_, old.reset_), std::swap(limits_, old.limits_);
}

void IPRateMonitor::count(uint32_t address, int direction, uint32_t amount) {
  const Part* part = top_.get();
  for (int level = 0; part != nullptr; ++level) {
    const Entry& entry = part->entries[address >> (24 - 8 * level) & 255];
    const_cast<Entry&>(entry).seen[direction].fetch_add(amount, std::memory_order_relaxed);
    part = level == kLowest ? nullptr : entry.parts.load(std::memory_order_acquire);
  }
}

void IPRateMonitor::run_cpu(Batch& batch) {
  const uint32_t* l3 = batch.column(Column::l3);
  const uint32_t* input = batch.column(Column::input);
  auto& random = random_[static_cast<size_t>(batch.thread)];
  const auto below = static_cast<uint32_t>(ratio_ * static_cast<double>(std::minstd_rand::max()));
  for (int i = 0; i < batch.size(); ++i) {
    const int direction = input[i] == 0 ? kForward : kReverse;
    if (direction == kReverse) batch.next()[i] = 1;
    if (ratio_ < 1 && random() > below) continue;
    const Ip4Header ip = ip4_header(batch.packet(i), l3[i]);
    if (!ip) continue;
    count(ntohl(direction == kForward ? ip.source() : ip.destination()), direction, bytes_ ? ip.total() : 1);
  }
}

void IPRateMonitor::on_timer(int) {
  const auto now = RouterClock::now();
  const std::unique_lock lock(changing_, std::try_to_lock);
  if (lock && now - renewed_ >= kRenewal) renew_all(now);
}

void IPRateMonitor::renew_all(RouterClock::time_point now) {
  if (now <= renewed_) return;
  renew(*top_, 0, std::chrono::duration<double>(now - renewed_).count(), now);
  renewed_ = now;
}

void IPRateMonitor::renew(Part& part, uint32_t network, double seconds, RouterClock::time_point now) {
  const double old_weight = std::exp(-seconds);
  for (uint32_t number = 0; number < part.entries.size(); ++number) {
    Entry& entry = part.entries[number];
    bool over = false;
    for (const int direction : {kForward, kReverse}) {
      const uint32_t seen = entry.seen[direction].exchange(0, std::memory_order_relaxed);
      if (seen != 0) part.used = now;
      const double before = entry.rate[direction].load(std::memory_order_relaxed);
      if (seen == 0 && before == 0) continue;
      double rate = before * old_weight + seen / ratio_ / seconds * (1 - old_weight);
      if (rate < 1e-6) rate = 0;
      entry.rate[direction].store(static_cast<float>(rate), std::memory_order_relaxed);
      over = over || rate > threshold_;
    }
    const uint32_t name = network | number << (24 - 8 * part.level);
    if (Part* parts = entry.parts.load(std::memory_order_relaxed); parts != nullptr)
      renew(*parts, name, seconds, now);
    else if (over && part.level < kLowest && may_split(part.level, name, now))
      split(entry, part.level, now);
  }
}

bool IPRateMonitor::may_split(int level, uint32_t network, RouterClock::time_point now) const {
  return std::none_of(limits_.begin(), limits_.end(), [&](const Limit& limit) {
    return now < limit.until && level >= limit.level && (network ^ limit.address) >> (24 - 8 * level) == 0;
  });
}

void IPRateMonitor::split(Entry& entry, int level, RouterClock::time_point now) {
  Part* part = free_part(now);
  if (part == nullptr) {
    refused_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  part->of = &entry, part->level = level + 1, part->used = now;
  entry.parts.store(part, std::memory_order_release);
}

// A packet thread may still count in a part that is taken away, for a moment: then there are some packets too many in
// the new place.
IPRateMonitor::Part* IPRateMonitor::free_part(RouterClock::time_point now) {
  if (made_ < most_parts_) return &parts_[made_++];
  Part* oldest = nullptr;
  for (size_t i = 0; i < made_; ++i) {
    Part& part = parts_[i];
    const bool has_parts = std::any_of(part.entries.begin(), part.entries.end(),
                                       [](const Entry& entry) { return entry.parts.load() != nullptr; });
    if (!has_parts && now - part.used >= kIdle && (oldest == nullptr || part.used < oldest->used)) oldest = &part;
  }
  if (oldest == nullptr) return nullptr;
  oldest->of->parts.store(nullptr, std::memory_order_relaxed);
  clear(*oldest);
  return oldest;
}

void IPRateMonitor::clear(Part& part) {
  for (Entry& entry : part.entries) {
    for (const int direction : {kForward, kReverse}) {
      entry.seen[direction].store(0, std::memory_order_relaxed);
      entry.rate[direction].store(0, std::memory_order_relaxed);
    }
    entry.parts.store(nullptr, std::memory_order_relaxed);
  }
}

void IPRateMonitor::print(const Part& part, const std::string& network, std::string& text) const {
  for (size_t number = 0; number < part.entries.size(); ++number) {
    const Entry& entry = part.entries[number];
    const float forward = entry.rate[kForward], reverse = entry.rate[kReverse];
    const Part* parts = entry.parts.load(std::memory_order_relaxed);
    if (forward == 0 && reverse == 0 && parts == nullptr) continue;
    const std::string name = network + (part.level > 0 ? "." : "") + std::to_string(number);
    text += name + format("\t%g\t%g\n", static_cast<double>(forward), static_cast<double>(reverse));
    if (parts != nullptr) print(*parts, name, text);
  }
}

void IPRateMonitor::limit(const std::string& text) {
  const std::vector<std::string_view> words = click::split_words(text);
  click::Ipv4Address address;
  Limit limit{};
  uint32_t seconds = 0;
  if (words.size() != 3 || !click::parse(words[0], address) || !click::parse(words[1], limit.level, 0, kLowest) ||
      !click::parse(words[2], seconds))
    throw Error("expected an address, a level from 0 to 3, and seconds");
  limit.address = address.value;
  limit.until = RouterClock::now() + std::chrono::seconds(seconds);
  const std::lock_guard lock(changing_);
  std::erase_if(limits_, [now = RouterClock::now()](const Limit& old) { return old.until <= now; });
  limits_.push_back(limit);
}

void IPRateMonitor::expect_start() const {
  if (top_ == nullptr) throw Error("it has not been started");
}

void IPRateMonitor::handlers(Handlers& list) {
  list.read("look",
            [this] {
              const std::lock_guard lock(changing_);
              expect_start();
              const auto now = RouterClock::now();
              renew_all(now);
              const double seconds = std::chrono::duration<double>(now - reset_).count();
              std::string text = format("%llu\n", static_cast<unsigned long long>(seconds * 100));
              print(*top_, "", text);
              return text;
            })
      .read("thresh", [this] { return std::to_string(threshold_); })
      .write("reset",
             [this](const std::string&) {
               const std::lock_guard lock(changing_);
               expect_start();
               clear(*top_);
               for (size_t i = 0; i < made_; ++i) clear(parts_[i]);
               made_ = 0;
               reset_ = RouterClock::now();
             })
      .write("anno_level", [this](const std::string& text) { limit(text); });
}

std::vector<std::pair<std::string, uint64_t>> IPRateMonitor::statistics() const { return {{"refused", refused_}}; }

HEDDLE_ELEMENT(IPRateMonitor);

}  // namespace heddle
