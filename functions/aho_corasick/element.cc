#include <map>
#include <tuple>

#include "click/arguments.h"
#include "core/mistakes.h"
#include "functions/aho_corasick/aho_corasick.h"
#include "functions/nids/match.h"

namespace heddle {

using namespace aho_corasick;

static_assert(kIds <= classifier::kMaxRules, "Hits has a count for each");

std::vector<std::string> AhoCorasick::load() {
  std::vector<std::string> errors;
  std::vector<PatternLine> lines = read_pattern_file(file_, errors);
  if (!errors.empty()) return errors;
  const size_t count = lines.size();
  try {
    patterns_.load(std::move(lines), outputs == 2 ? 1 : 0);
  } catch (const Error& error) {
    return {file_ + ": " + error.what()};
  }
  count_ = count;
  const uint32_t first_id = patterns_.now().automata.image().first_id;
  for (uint32_t number = 0; number < count; ++number) by_id_.reset(first_id + number);
  return {};
}

void AhoCorasick::configure(click::Arguments& arguments) {
  arguments.required("PATTERNS", file_);
  if (file_.empty()) return;
  for (const auto& error : load()) arguments.error(error);
}

Access AhoCorasick::access(Processor) const {
  return {.reads = {{Base::l3, 0, 10}, {Base::l4, 0, kToEnd}}, .column_reads = columns(Column::l3, Column::l4)};
}

std::span<const char* const> AhoCorasick::drop_reasons() const {
  static constexpr const char* kReasons[] = {"short"};
  return kReasons;
}

void AhoCorasick::take_state(Element& old_element) {
  auto& old = static_cast<AhoCorasick&>(old_element);
  old.fetch_matches(), old.fetch_by_id();
  const uint64_t packets = old.matches();
  former_ += packets, old.former_ -= packets;  // so that it is 0 there
  std::map<std::tuple<Protocol, int, std::string_view>, uint32_t> ids;
  const auto each = [](const Generation& now, const auto& visit) {
    uint32_t id = now.automata.image().first_id;
    for (const PatternLine& line : now.lines)
      visit(std::tuple(line.protocol, line.port, std::string_view(line.bytes)), id++);
  };
  each(old.patterns_.now(), [&](const auto& pattern, uint32_t id) { ids[pattern] = id; });
  each(patterns_.now(), [&](const auto& pattern, uint32_t id) {
    if (const auto known = ids.find(pattern); known != ids.end()) by_id_.take(id, old.by_id_, known->second);
  });
}

void AhoCorasick::start(const Environment& environment) {
  if (!on_cpu) return;
  by_id_.start(environment.threads);
  const auto most = static_cast<size_t>(environment.batch_size);
  workspaces_.resize(static_cast<size_t>(environment.threads));
  for (Workspace& one : workspaces_) one.texts.resize(most), one.first.resize(most), one.batch.reserve(most);
}

void AhoCorasick::run_cpu(Batch& batch) {
  const Automata& automata = patterns_.now().automata;
  const Image& image = automata.image();
  Workspace& mine = workspaces_[static_cast<size_t>(batch.thread)];
  const uint32_t *l3 = batch.column(Column::l3), *l4 = batch.column(Column::l4);
  for (int i = 0; i < batch.size(); ++i) {
    const Packet* packet = batch.packet(i);
    Text& text = mine.texts[static_cast<size_t>(i)];
    text = {nullptr, 0, 0};
    nids::View view;
    if (!nids::look_at(batch.frame(i), length(packet), l3[i] - packet->data_off, l4[i] - packet->data_off, view)) {
      batch.drop(i, kShort);
      continue;
    }
    text = {view.payload.data(), static_cast<uint32_t>(view.payload.size()),
            image.automaton_of(view.protocol, view.has_ports, view.source_port, view.destination_port)};
  }
  automata.find_first(std::span(mine.texts).first(static_cast<size_t>(batch.size())), mine.first.data(), mine.batch);
  uint64_t packets = 0;
  for (int i = 0; i < batch.size(); ++i) {
    const uint32_t pattern = mine.first[static_cast<size_t>(i)].pattern;
    if (pattern == kNoPattern) continue;
    ++packets;
    by_id_.add(batch.thread, image.first_id + pattern);
    if (image.matched != 0) batch.next()[i] = static_cast<uint16_t>(image.matched);
  }
  on_cpu_[batch.thread].add(packets, 0);
}

void AhoCorasick::fetch_matches() {
  unsigned long long packets = 0;
  if (read_gpu_state && read_gpu_state(offsetof(GpuMatches, packets), std::as_writable_bytes(std::span(&packets, 1))))
    on_gpu_ = packets;
}

void AhoCorasick::fetch_by_id() {
  if (!read_gpu_state) return;
  by_id_.fetch([this](std::span<uint64_t> to) {
    return read_gpu_state(offsetof(GpuMatches, by_id), std::as_writable_bytes(to));
  });
}

void AhoCorasick::on_timer(int thread) {
  if (thread == 0) fetch_matches();
}

std::string AhoCorasick::stop() {
  fetch_matches();
  return {};
}

std::string AhoCorasick::matches_text() {
  fetch_by_id();
  const Generation& now = patterns_.now();
  std::string text;
  for (uint32_t number = 0; number < now.lines.size(); ++number)
    text += format("%llu %s\n", static_cast<unsigned long long>(by_id_[now.automata.image().first_id + number]),
                   now.lines[number].text.c_str());
  return text;
}

void AhoCorasick::handlers(Handlers& list) {
  // One handler runs at a time, and only these replace patterns: what they read stays.
  list.read("count",
            [this] {
              fetch_matches();
              return std::to_string(matches());
            })
      .read("matches", [this] { return matches_text(); })
      .read("patterns", [this] { return std::to_string(patterns_.now().lines.size()); })
      .read("memory", [this] { return std::to_string(patterns_.bytes().size()); })
      .write("reload", [this](const std::string&) {
        fetch_by_id();  // the numbers that patterns are going to have again stand still
        throw_mistakes(load(), "the patterns stay as they are");
      });
}

std::vector<std::pair<std::string, uint64_t>> AhoCorasick::statistics() const {
  return {{"patterns", count_.load()}, {"matches", matches()}};
}

HEDDLE_ELEMENT(AhoCorasick);

}  // namespace heddle
