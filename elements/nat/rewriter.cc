#include "elements/nat/rewriter.h"

#include <algorithm>
#include <array>

#include "click/arguments.h"
#include "click/quoting.h"
#include "elements/nat/ip_rewriter_patterns.h"
#include "elements/nat/sequence.h"

namespace heddle {
namespace {

constexpr int kAtOnce = 32;            // look-ups under way
constexpr uint32_t kMostTries = 4096;  // ways to rewrite a flow that are tried
constexpr uint32_t kMostInputs = 255;  // that mappings know apart
constexpr uint32_t kMostMappings = 1u << 27;

std::string text_of(const nat::FlowKey& key) {
  return format("(%s, %u, %s, %u)", to_text(click::Ipv4Address{ntohl(key.source)}).c_str(), ntohs(key.source_port),
                to_text(click::Ipv4Address{ntohl(key.destination)}).c_str(), ntohs(key.destination_port));
}

/** What an input does, as Click says it. */
std::string text_of(const nat::InputSpec& spec) {
  if (spec.pattern) return spec.pattern->text();
  return spec.what == nat::InputSpec::Do::drop   ? "<drop>"
         : spec.what == nat::InputSpec::Do::pass ? "<nochange>"
                                                 : "<keep>";
}

}  // namespace

uint32_t Rewriter::seconds(click::Arguments& arguments, const char* keyword, uint32_t usual) {
  click::Duration duration{uint64_t{usual} * 1'000'000};
  arguments.keyword(keyword, duration);
  constexpr uint64_t kLongest = 365 * 86400;
  return static_cast<uint32_t>(std::min((duration.microseconds + 999'999) / 1'000'000, kLongest));
}

void Rewriter::configure(click::Arguments& arguments) {
  click::Duration
      ignored;  // Click's, where mappings that live longer may go for new ones, or are looked at more seldom
  uint32_t capacity = capacity_;
  arguments.keyword("MAPPING_CAPACITY", capacity, 1u, kMostMappings).keyword("CAPACITY", capacity, 1u, kMostMappings);
  arguments.keyword("DST_ANNO", set_dst_).keyword("REAP_INTERVAL", ignored);
  configure_timeouts(arguments);
  const auto given = arguments.rest();
  if (given.size() != static_cast<size_t>(std::max(inputs, 1)))
    arguments.error(
        format("expected an input specification for each of the %d inputs, and got %zu", inputs, given.size()));
  auto specs = std::make_shared<Specs>();
  names_ = arguments.names();
  for (const auto& argument : given) {
    std::string mistake;
    specs->push_back(nat::read_input_spec(names_, argument.text, outputs, mistake));
    if (!mistake.empty()) arguments.error_at(argument, mistake);
  }
  specs_.set(std::move(specs));
  capacity_ = capacity;
}

void Rewriter::link(const Directory& directory) {
  for (Element* element : directory("*"))
    if (const auto* patterns = dynamic_cast<const IPRewriterPatterns*>(element)) patterns_.push_back(patterns);
  find_patterns(*specs_.owner);
}

void Rewriter::find_patterns(Specs& specs) const {
  for (nat::InputSpec& spec : specs) {
    if (spec.pattern_name.empty()) continue;
    for (const IPRewriterPatterns* patterns : patterns_)
      if (auto pattern = patterns->find(spec.pattern_name)) {
        if (spec.pattern) throw Error("two IPRewriterPatterns have a pattern '" + spec.pattern_name + "'; rename one");
        spec.pattern = pattern;
      }
    if (!spec.pattern) throw Error("no IPRewriterPatterns has a pattern '" + spec.pattern_name + "'");
  }
}

Access Rewriter::access(Processor) const {
  return {.reads = {{Base::l3, 0, kToEnd}},
          .writes = {{Base::l3, 10, kToEnd}},
          .column_reads = columns(Column::l3, Column::input),
          .column_writes = set_dst_ ? columns(Column::dst) : 0};
}

std::span<const char* const> Rewriter::drop_reasons() const {
  static constexpr const char* kNames[kReasons] = {"no_header", "other_protocol", "fragment",
                                                   "refused",   "table_full",     "no_port"};
  return kNames;
}

void Rewriter::start(const Environment& environment) {
  tables_.set(std::make_shared<nat::MappingTable>(capacity_));
  counted_ = tables_.owner;
  clocks_ = std::make_unique<Clock[]>(static_cast<size_t>(environment.threads));
}

void Rewriter::take_state(Element& old_element) {
  auto& old = static_cast<Rewriter&>(old_element);
  const bool as_before = (predecessor == &old ? *this : old).same_arguments;
  if ((as_before || mappings().capacity() == old.mappings().capacity()) && outputs >= old.outputs)
    tables_.swap(old.tables_);
  else
    mappings().copy(old.mappings(), outputs);
  counted_ = tables_.owner, old.counted_ = old.tables_.owner;
  if (as_before) {
    specs_.swap(old.specs_);
    // The arguments of IPRewriterPatterns may be others; a name that it has no more keeps its pattern.
    for (Rewriter* one : {this, &old})
      for (nat::InputSpec& spec : *one->specs_.owner)
        for (const IPRewriterPatterns* patterns : one->patterns_)
          if (auto pattern = patterns->find(spec.pattern_name)) spec.pattern = pattern;
  }
  const auto swap = [](auto& one, auto& other) { one = other.exchange(one); };
  swap(failures_, old.failures_), swap(made_, old.made_), swap(expired_, old.expired_);
}

int Rewriter::make(nat::MappingTable*& table, const nat::FlowKey& flow, uint32_t input, uint32_t now,
                   nat::Rewrite& found) {
  const nat::InputSpec& spec = spec_of(input);
  if (spec.what == nat::InputSpec::Do::drop) return kRefused;
  if (spec.what == nat::InputSpec::Do::pass) {
    found = {flow, UINT32_MAX, spec.forward, false};
    return -1;
  }
  using Outcome = nat::MappingTable::Outcome;
  const uint64_t ways = spec.pattern ? spec.pattern->ways() : 1;
  const auto tries = static_cast<uint32_t>(std::min<uint64_t>(ways, kMostTries));
  const uint32_t first = spec.pattern ? spec.pattern->where() : 0;
  for (uint32_t attempt = 0; attempt < tries;) {
    const nat::FlowKey to = spec.pattern ? spec.pattern->apply(flow, first + attempt) : flow;
    const auto outcome =
        table->create(flow, to, spec.forward, spec.back, now, static_cast<uint8_t>(std::min(input, kMostInputs)));
    if (outcome == Outcome::made && table->find(flow, found)) {
      made_.fetch_add(1, std::memory_order_relaxed);
      return -1;
    }
    if (outcome == Outcome::full) {
      failures_.fetch_add(1, std::memory_order_relaxed);
      return kTableFull;
    }
    if (outcome == Outcome::moved)
      table = &mappings();  // in a moment
    else
      ++attempt;
  }
  failures_.fetch_add(1, std::memory_order_relaxed);
  return kNoPort;
}

void Rewriter::set_spec(size_t input, const std::string& text) {
  auto specs = std::make_shared<Specs>(*specs_.owner);
  std::string mistake;
  (*specs)[input] = nat::read_input_spec(names_, text, outputs, mistake);
  if (!mistake.empty()) throw Error(mistake);
  find_patterns(*specs);
  specs_.set(std::move(specs));
  started().clear_input(static_cast<uint8_t>(std::min<size_t>(input, kMostInputs)));
}

void Rewriter::set_capacity(uint32_t capacity) {
  if (capacity == started().capacity()) return;
  auto next = std::make_shared<nat::MappingTable>(capacity);
  tables_.owner->move_to(*next);
  counted_ = next;
  tables_.set(std::move(next));
}

void Rewriter::run_cpu(Batch& batch) {
  const uint32_t* l3 = batch.column(Column::l3);
  const uint32_t* input = batch.column(Column::input);
  uint32_t* dst = batch.column(Column::dst);
  const uint32_t now = now_s(batch.thread);
  nat::MappingTable* table = &mappings();
  struct Look {
    Ip4Header ip;
    nat::FlowKey flow;
    uint8_t seen;
    int reason;
  };
  std::array<Look, kAtOnce> looks;
  for (int first = 0; first < batch.size(); first += kAtOnce) {
    const int n = std::min(batch.size() - first, kAtOnce);
    for (int k = 0; k < n; ++k) {
      Look& look = looks[static_cast<size_t>(k)];
      look = {ip4_header(batch.packet(first + k), l3[first + k]), {}, 0, kNoHeader};
      if (look.ip) look.reason = flow_of(look.ip, look.flow, look.seen);
      if (look.reason < 0) table->prefetch(look.flow);
    }
    for (int k = 0; k < n; ++k)
      if (const Look& look = looks[static_cast<size_t>(k)]; look.reason < 0) table->prefetch_mapping(look.flow);
    for (int k = 0; k < n; ++k) {
      Look& look = looks[static_cast<size_t>(k)];
      const int i = first + k;
      int reason = look.reason;
      nat::Rewrite found;
      if (reason < 0 && !table->find(look.flow, found)) [[unlikely]] {
        if (nat::FlowKey back; reply_of(look.ip, back) && table->find(back, found))
          look.flow = back;
        else
          reason = make(table, look.flow, input[i], now, found);
      }
      if (reason == kOtherProtocol || reason == kFragment)
        if (const nat::InputSpec& spec = spec_of(input[i]); spec.what == nat::InputSpec::Do::pass)
          reason = -1, found = {{}, UINT32_MAX, spec.forward, false};
      if (reason >= 0) {
        batch.drop(i, reason);
        continue;
      }
      if (found.mapping != UINT32_MAX) {
        table->touch(found.mapping, now,
                     static_cast<uint8_t>(found.reply ? (look.seen & 5) << 1 | (look.seen & ~5) : look.seen));
        rewrite(look.ip, look.flow, found.to);
        if (const nat::Shift shift = table->shift(found.mapping)) [[unlikely]]
          nat::shift_sequence(look.ip, shift, found.reply);
      }
      if (set_dst_) dst[i] = look.ip.destination();
      if (found.output != 0) batch.next()[i] = found.output;
    }
  }
}

void Rewriter::on_timer(int thread) {
  const uint64_t now = clocks_[static_cast<size_t>(thread)].clock.now_ms();
  uint64_t before = swept_ms_.load(std::memory_order_relaxed);
  if (now == before || !swept_ms_.compare_exchange_strong(before, now, std::memory_order_relaxed)) return;
  nat::MappingTable& table = mappings();
  const uint32_t count = table.capacity() / 1000 + 64;  // all of them in a second
  table.expire(static_cast<uint32_t>(now / 1000), count, [this](const nat::MappingTable::Idle& mapping) {
    const bool dead = mapping.seconds < 0x80000000 && mapping.seconds > timeout_s(mapping);
    if (dead) expired_.fetch_add(1, std::memory_order_relaxed);
    return dead;
  });
}

std::string Rewriter::table_text(bool all, nat::Kind kind) const {
  std::string text;
  const auto now = static_cast<uint32_t>(heddle::now_ms() / 1000);
  started().visit(now, [&](const nat::FlowKey& flow, const nat::FlowKey& to, uint8_t output, uint32_t idle) {
    if (!all && flow.kind != kind) return;
    text += text_of(flow) + " => " + text_of(to) + format(" [%u] idle %us\n", output, idle);
  });
  return text;
}

void Rewriter::add_lookup(Handlers& list, const char* name, nat::Kind kind) {
  list.read_with_argument(name, [this, kind](const std::string& argument) {
    const auto words = click::split_words(argument);
    click::Ipv4Address source, destination;
    uint16_t source_port = 0, destination_port = 0;
    if (words.size() != 4 || !click::parse(words[0], source) || !click::parse(words[1], source_port) ||
        !click::parse(words[2], destination) || !click::parse(words[3], destination_port))
      throw Error("expected SADDR SPORT DADDR DPORT");
    nat::Rewrite found;
    if (!started().find(
            {htonl(source.value), htonl(destination.value), htons(source_port), htons(destination_port), kind}, found))
      throw Error("there is no mapping of that flow");
    return format("%s %u %s %u", to_text(click::Ipv4Address{ntohl(found.to.source)}).c_str(),
                  ntohs(found.to.source_port), to_text(click::Ipv4Address{ntohl(found.to.destination)}).c_str(),
                  ntohs(found.to.destination_port));
  });
}

void Rewriter::handlers(Handlers& list) {
  const auto size = [this] { return std::to_string(started().size()); };
  list.read("table", [this] { return table_text(true, {}); })
      .read("tcp_table", [this] { return table_text(false, nat::Kind::tcp); })
      .read("udp_table", [this] { return table_text(false, nat::Kind::udp); })
      .read("size", size)
      .read("nmappings", size)
      .read("table_size", size)
      .read("capacity", [this] { return std::to_string(started().capacity()); })
      .write("capacity",
             [this](const std::string& value) { set_capacity(click::value_of<uint32_t>(value, 1u, kMostMappings)); })
      .read("mapping_failures", [this] { return std::to_string(failures_.load()); })
      .read("patterns",
            [this] {
              std::string text;
              for (const nat::InputSpec& spec : *specs_.owner) text += text_of(spec) + "\n";
              return text;
            })
      .write("clear", [this](const std::string&) { started().clear(); });
  for (size_t input = 0; input < specs_.owner->size(); ++input) {
    const std::string pattern = "pattern" + std::to_string(input);
    list.read(pattern, [this, input] { return text_of((*specs_.owner)[input]) + "\n"; })
        .write(pattern, [this, input](const std::string& value) { set_spec(input, value); });
  }
}

std::vector<std::pair<std::string, uint64_t>> Rewriter::statistics() const {
  const auto table = counted_.load();
  return {{"mappings", table ? table->size() : 0}, {"made", made_}, {"expired", expired_}, {"failures", failures_}};
}

}  // namespace heddle
