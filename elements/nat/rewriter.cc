#include "elements/nat/rewriter.h"

#include <algorithm>
#include <array>

#include "click/arguments.h"
#include "click/quoting.h"
#include "elements/nat/ip_mappers.h"
#include "elements/nat/ip_rewriter_patterns.h"
#include "elements/nat/sequence.h"

namespace heddle {
namespace {

constexpr int kAtOnce = 64;           // look-ups under way
constexpr uint32_t kMaxTries = 4096;  // ways to rewrite a flow that are tried
constexpr uint32_t kMaxInputs = 255;  // that mappings know apart
constexpr uint32_t kMaxMappings = 1u << 27;

std::string text_of(const nat::FlowKey& key) {
  return format("(%s, %u, %s, %u)", to_text(click::Ipv4Address{ntohl(key.source)}).c_str(), ntohs(key.source_port),
                to_text(click::Ipv4Address{ntohl(key.destination)}).c_str(), ntohs(key.destination_port));
}

/** What an input does, as Click says it. */
std::string text_of(const nat::InputSpec& spec) {
  if (!spec.mapper_name.empty()) return spec.mapper_name;
  if (spec.pattern) return spec.pattern->text();
  return spec.what == nat::InputSpec::Do::drop   ? "<drop>"
         : spec.what == nat::InputSpec::Do::pass ? "<nochange>"
                                                 : "<keep>";
}

/** The input specifications among the arguments. One may begin with a pattern's NAME that looks like a keyword: NAME
 *  OUT BACK has three words, where keywords have one value. */
std::vector<click::Argument> take_input_specs(click::Arguments& arguments) {
  const std::vector<click::Argument> left = click::Arguments(arguments).rest_with_keywords();
  const bool only_specs = std::ranges::all_of(left, [](const click::Argument& argument) {
    return click::leading_keyword(argument.text).empty() || click::split_words(argument.text).size() == 3;
  });
  return only_specs ? arguments.rest_with_keywords() : arguments.rest();
}

/** MAPPING_CAPACITY: how many mappings there may be, or whose. */
struct Capacity {
  uint32_t mappings = 0;
  std::string rewriter;  // "": none
};
bool parse(std::string_view text, Capacity& value) {
  if (click::parse(text, value.mappings, 1u, kMaxMappings)) return true;
  value.rewriter = text;
  return !text.empty() && (text[0] < '0' || text[0] > '9') && text[0] != '-' && click::split_words(text).size() == 1;
}
std::string expectation(const Capacity&) {
  return format("an integer from 1 to %u, or the name of another rewriter", kMaxMappings);
}

template <class T>
std::vector<const T*> all_of_class(const Directory& directory) {
  std::vector<const T*> all;
  for (const Element* element : directory("*"))
    if (const auto* one = dynamic_cast<const T*>(element)) all.push_back(one);
  return all;
}

}  // namespace

int64_t Rewriter::time_ms(click::Arguments& arguments, const char* keyword, int64_t usual_ms) {
  click::Duration duration{static_cast<uint64_t>(usual_ms) * 1000};
  arguments.keyword(keyword, duration);
  constexpr uint64_t kLongestMs = uint64_t{365} * 86400 * 1000;
  return static_cast<int64_t>(std::min((duration.microseconds + 999) / 1000, kLongestMs));
}

void Rewriter::configure(click::Arguments& arguments) {
  click::Duration ignored;  // how often Click looks for mappings that have ended
  Capacity capacity{capacity_, ""};
  arguments.keyword("MAPPING_CAPACITY", capacity).keyword("CAPACITY", capacity);
  arguments.keyword("DST_ANNO", set_dst_).keyword("REAP_INTERVAL", ignored);
  arguments.keyword("REAP_TIME", ignored);
  ReplyAnnotation reply_annotation;
  arguments.keyword("REPLY_ANNO", reply_annotation);
  configure_timeouts(arguments);
  const auto given = take_input_specs(arguments);
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
  capacity_ = capacity.mappings, capacity_of_ = capacity.rewriter;
  paints_replies_ = reply_annotation.given;
}

void Rewriter::link(const Directory& directory) {
  patterns_ = all_of_class<IPRewriterPatterns>(directory);
  mappers_ = all_of_class<IPMapper>(directory);
  for (nat::InputSpec& spec : *specs_.owner) {
    // A name within a compound element means what is there, or around it.
    if (const auto named = directory(spec.mapper_name); !spec.mapper_name.empty() && named.size() == 1)
      spec.mapper_name = named[0]->name;
    check_spec(spec, mappers_, patterns_);
  }
  if (capacity_of_.empty()) return;
  const auto named = directory(capacity_of_);
  shares_ = named.size() == 1 ? dynamic_cast<Rewriter*>(named[0]) : nullptr;
  if (shares_ == nullptr) throw Error("MAPPING_CAPACITY: '" + capacity_of_ + "' is no number, and no rewriter");
  for (const Rewriter* one = shares_; one != nullptr; one = one->shares_) {
    if (one != this) continue;
    shares_ = nullptr;
    throw Error("MAPPING_CAPACITY: '" + capacity_of_ + "' has the capacity of this one");
  }
}

bool Rewriter::map(nat::FlowKey flow, const nat::InputSpec& spec, const Comer& comer, nat::Rewrite& found) {
  flow.owner = number_;
  nat::MappingTable* table = &mappings();
  return table->find(flow, found) || make(table, flow, spec, comer, now_ms(comer.thread), found) < 0;
}

void Rewriter::check_spec(nat::InputSpec& spec, const std::vector<const IPMapper*>& mappers,
                          const std::vector<const IPRewriterPatterns*>& patterns) const {
  if (spec.mapper_name.empty()) return check_pattern(spec, patterns);
  const auto mapper = std::ranges::find(mappers, spec.mapper_name, [](auto* one) { return one->name; });
  if (mapper == mappers.end())
    throw Error("input specification '" + spec.mapper_name + "': there is no mapper of that name; " +
                nat::kInputSpecForms);
  spec.mapped = (*mapper)->specs(), spec.choice = (*mapper)->choice();
  for (nat::InputSpec& one : spec.mapped) {
    if (std::max(one.forward, one.back) >= std::max(outputs, 1))
      throw Error(format("'%s' says output %d, and there are %d", spec.mapper_name.c_str(),
                         std::max(one.forward, one.back), outputs));
    check_pattern(one, patterns);
  }
}

void Rewriter::check_pattern(nat::InputSpec& spec, const std::vector<const IPRewriterPatterns*>& all) const {
  if (!spec.pattern_name.empty()) {
    for (const IPRewriterPatterns* patterns : all)
      if (auto pattern = patterns->find(spec.pattern_name)) {
        if (spec.pattern) throw Error("two IPRewriterPatterns have a pattern '" + spec.pattern_name + "'; rename one");
        spec.pattern = pattern;
      }
    if (!spec.pattern) throw Error("no IPRewriterPatterns has a pattern '" + spec.pattern_name + "'");
  }
  if (!spec.pattern || (spec.pattern->parts() & ~usable_parts()) == 0) return;
  std::string usable;
  for (const auto& [part, word] : {std::pair{nat::Pattern::kSourceAddress, "SADDR"},
                                   {nat::Pattern::kSourcePort, "SPORT"},
                                   {nat::Pattern::kDestinationAddress, "DADDR"}})
    if ((usable_parts() & part) != 0) usable += (usable.empty() ? "" : ", ") + std::string(word);
  throw Error("pattern '" + spec.pattern->text() + "': of its parts only " + usable +
              " can be used here; write - for others");
}

nat::InputSpec Rewriter::read_spec(const click::AddressNames& names, const std::string& text,
                                   const Directory& directory) const {
  std::string mistake;
  nat::InputSpec spec = nat::read_input_spec(names, text, outputs, mistake);
  if (!mistake.empty()) throw Error(mistake);
  check_spec(spec, all_of_class<IPMapper>(directory), all_of_class<IPRewriterPatterns>(directory));
  return spec;
}

Access Rewriter::access(Processor) const {
  return {.reads = {{Base::l3, 0, kToEnd}},
          .writes = {{Base::l3, 10, kToEnd}},
          .column_reads = columns(Column::l3, Column::input) | (paints_replies_ ? columns(Column::paint) : 0),
          .column_writes = (set_dst_ ? columns(Column::dst) : 0) | (paints_replies_ ? columns(Column::paint) : 0)};
}

std::span<const char* const> Rewriter::drop_reasons() const {
  static constexpr const char* kNames[kReasons] = {"no_header", "other_protocol", "fragment",
                                                   "refused",   "table_full",     "no_port"};
  return kNames;
}

void Rewriter::start(const Environment& environment) {
  holder_ = this;
  while (holder_->shares_ != nullptr) holder_ = holder_->shares_;
  if (holder_ == this) tables_.set(std::make_shared<nat::MappingTable>(capacity_));
  if (holder_ == this) counted_ = tables_.owner;
  if (holder_ != this) retiring.push_back(&holder_->tables_);
  if (holder_->members_.empty()) holder_->members_.push_back(holder_);
  if (holder_ != this) {
    if (holder_->members_.size() > UINT8_MAX) throw Error("too many rewriters have the capacity of one");
    number_ = static_cast<uint8_t>(holder_->members_.size());
    holder_->members_.push_back(this);
  }
  clocks_ = std::make_unique<Clock[]>(static_cast<size_t>(environment.threads));
  if (environment.random_seed) seed_ = environment.seed_of(*this, 0);
  for (const nat::InputSpec& spec : *specs_.owner) repeat(spec);
}

void Rewriter::repeat(const nat::InputSpec& spec) const {
  if (!seed_) return;
  if (spec.pattern) spec.pattern->repeat(*seed_);
  for (const nat::InputSpec& one : spec.mapped) repeat(one);
}

void Rewriter::take_state(Element& old_element) {
  auto& old = static_cast<Rewriter&>(old_element);
  const bool as_before = (predecessor == &old ? *this : old).same_arguments;
  const auto alone = [](const Rewriter& one) { return one.holder_ == &one && one.members_.size() == 1; };
  if (alone(*this) && alone(old)) {
    if ((as_before || mappings().capacity() == old.mappings().capacity()) && outputs >= old.outputs)
      tables_.swap(old.tables_);
    else
      mappings().copy(old.mappings(), 0, 0, outputs);
    counted_ = tables_.owner, old.counted_ = old.tables_.owner;
  } else {
    if (as_before && holder_ == this && old.holder_ == &old) set_capacity(old.mappings().capacity());
    mappings().copy(old.mappings(), old.number_, number_, outputs);
  }
  if (as_before) {
    specs_.swap(old.specs_);
    // The arguments of a mapper may be others, too.
    for (size_t input = 0; input < specs_.owner->size(); ++input)
      if (auto& one = (*specs_.owner)[input], &other = (*old.specs_.owner)[input];
          !one.mapper_name.empty() && one.mapper_name == other.mapper_name)
        std::swap(one, other);
    // The arguments of IPRewriterPatterns may be others; a name that it has no more keeps its pattern.
    for (Rewriter* one : {this, &old})
      for (nat::InputSpec& spec : *one->specs_.owner)
        for (const IPRewriterPatterns* patterns : one->patterns_)
          if (auto pattern = patterns->find(spec.pattern_name)) spec.pattern = pattern;
  }
  const auto swap = [](auto& one, auto& other) { one = other.exchange(one); };
  swap(failures_, old.failures_), swap(made_, old.made_), swap(expired_, old.expired_);
}

int Rewriter::make(nat::MappingTable*& table, const nat::FlowKey& flow, const nat::InputSpec& spec, const Comer& comer,
                   uint64_t now, nat::Rewrite& found) {
  int reason = kNoPort;
  if (spec.mapped.empty()) reason = try_to_make(table, flow, spec, comer, now, found);
  for (int attempt = 0; !spec.mapped.empty() && reason == kNoPort; ++attempt) {
    const int which = spec.choice->choose(flow, attempt, static_cast<int>(spec.mapped.size()));
    if (which < 0) break;
    reason = try_to_make(table, flow, spec.mapped[static_cast<size_t>(which)], comer, now, found);
  }
  if (reason == kTableFull || reason == kNoPort) failures_.fetch_add(1, std::memory_order_relaxed);
  return reason;
}

nat::MappingTable::Outcome Rewriter::create(nat::MappingTable*& table, const nat::FlowKey& flow, const nat::FlowKey& to,
                                            const nat::InputSpec& spec, const Comer& comer, uint64_t now) {
  using Outcome = nat::MappingTable::Outcome;
  for (bool tried = false;;) {
    const Outcome outcome =
        table->create(flow, to, spec.forward, spec.back, now, static_cast<uint8_t>(std::min(comer.input, kMaxInputs)),
                      static_cast<uint8_t>(comer.paint));
    if (outcome == Outcome::moved) {
      table = &mappings();  // in a moment
      continue;
    }
    if (outcome != Outcome::full || tried) return outcome;
    // One whose guarantee is over goes for it, unless it would be the first to go itself.
    const nat::MappingTable::Limits mine = limits({flow.kind, flow.owner, 0, 0});
    const uint64_t latest = mine.guarantee > 0 ? UINT64_MAX : now + static_cast<uint64_t>(mine.timeout);
    if (!table->give_up(now, latest, holder_->limits_of_owners())) return outcome;
    tried = true;
  }
}

int Rewriter::try_to_make(nat::MappingTable*& table, const nat::FlowKey& flow, const nat::InputSpec& spec,
                          const Comer& comer, uint64_t now, nat::Rewrite& found) {
  if (spec.what == nat::InputSpec::Do::drop) return kRefused;
  if (spec.what == nat::InputSpec::Do::pass) {
    found = {flow, UINT32_MAX, spec.forward, false};
    return -1;
  }
  using Outcome = nat::MappingTable::Outcome;
  const auto attempt = [&](const nat::FlowKey& to) {
    const Outcome outcome = create(table, flow, to, spec, comer, now);
    if (outcome != Outcome::made || !table->find(flow, found)) return outcome;
    if (flow == to.reversed()) found.to = to, found.output = spec.forward, found.reply = false;
    made_.fetch_add(1, std::memory_order_relaxed);
    return outcome;
  };
  const nat::Pattern* const pattern = spec.pattern.get();
  const auto result = [](Outcome outcome) {
    return outcome == Outcome::made ? -1 : static_cast<int>(outcome == Outcome::full ? kTableFull : kNoPort);
  };
  if (pattern == nullptr) return result(attempt(flow));
  if (uint64_t own = 0; pattern->prefers(flow, own))
    if (const Outcome outcome = attempt(pattern->apply(flow, own)); outcome != Outcome::taken) return result(outcome);
  const auto tries = static_cast<uint32_t>(std::min<uint64_t>(pattern->ways(), kMaxTries));
  const uint64_t first = pattern->where();
  for (uint32_t tried = 0; tried < tries; ++tried) {
    const Outcome outcome = attempt(pattern->apply(flow, first + tried));
    if (outcome == Outcome::taken) continue;
    pattern->passed(tried);
    return result(outcome);
  }
  return kNoPort;
}

void Rewriter::set_spec(size_t input, const std::string& text) {
  auto specs = std::make_shared<Specs>(*specs_.owner);
  std::string mistake;
  (*specs)[input] = nat::read_input_spec(names_, text, outputs, mistake);
  if (!mistake.empty()) throw Error(mistake);
  check_spec((*specs)[input], mappers_, patterns_);
  if ((*specs)[input].pattern_name.empty() && (*specs)[input].mapped.empty()) repeat((*specs)[input]);
  specs_.set(std::move(specs));
  started().clear_input(number_, static_cast<uint8_t>(std::min<size_t>(input, kMaxInputs)));
}

void Rewriter::set_capacity(uint32_t capacity) {
  if (holder_ != this && holder_ != nullptr) return holder_->set_capacity(capacity);
  if (capacity == started().capacity()) return;
  auto next = std::make_shared<nat::MappingTable>(capacity);
  if (capacity < started().capacity()) tables_.owner->shrink(capacity, heddle::now_ms(), limits_of_owners());
  tables_.owner->move_to(*next);
  counted_ = next;
  tables_.set(std::move(next));
}

void Rewriter::run_cpu(Batch& batch) {
  const uint32_t* l3 = batch.column(Column::l3);
  const uint32_t* input = batch.column(Column::input);
  uint32_t* dst = batch.column(Column::dst);
  uint32_t* const paint = paints_replies_ ? batch.column(Column::paint) : nullptr;
  const uint64_t now = now_ms(batch.thread);
  nat::MappingTable* table = &mappings();
  struct Look {
    Ip4Header ip;
    nat::FlowKey flow;
    uint32_t hash;
    uint8_t seen;
    int reason;
  };
  std::array<Look, kAtOnce> looks;
  for (int first = 0; first < batch.size(); first += kAtOnce) {
    const int n = std::min(batch.size() - first, kAtOnce);
    for (int k = 0; k < n; ++k) {
      Look& look = looks[static_cast<size_t>(k)];
      look.ip = ip4_header(batch.packet(first + k), l3[first + k]);
      look.reason = look.ip ? flow_of(look.ip, look.flow, look.seen) : kNoHeader;
      look.flow.owner = number_;
      if (look.reason < 0) table->prefetch(look.hash = nat::MappingTable::hash(look.flow));
    }
    for (int k = 0; k < n; ++k)
      if (const Look& look = looks[static_cast<size_t>(k)]; look.reason < 0)
        table->prefetch_mapping(look.flow, look.hash);
    for (int k = 0; k < n; ++k) {
      Look& look = looks[static_cast<size_t>(k)];
      const int i = first + k;
      int reason = look.reason;
      nat::Rewrite found;
      if (reason < 0 && !table->find(look.flow, look.hash, found)) [[unlikely]] {
        nat::FlowKey back;
        const bool may_be_reply = reply_of(look.ip, back);
        back.owner = number_;
        if (may_be_reply && table->find(back, found))
          look.flow = back;
        else
          reason = make(table, look.flow, spec_of(input[i]), {input[i], paint != nullptr ? paint[i] : 0, batch.thread},
                        now, found);
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
        if (found.reply && paint != nullptr) paint[i] = found.annotation;
        if (found.reply)
          if (const nat::Shifts shifts = table->shifts(found.mapping)) [[unlikely]]
            nat::shift_reply(look.ip, shifts);
      }
      if (set_dst_) dst[i] = look.ip.destination();
      if (found.output != 0) batch.next()[i] = found.output;
    }
  }
}

void Rewriter::on_timer(int thread) {
  if (holder_ != this) return;
  const uint64_t now = now_ms(thread);
  uint64_t before = swept_ms_.load(std::memory_order_relaxed);
  if (now == before || !swept_ms_.compare_exchange_strong(before, now, std::memory_order_relaxed)) return;
  nat::MappingTable& table = mappings();
  const uint32_t count = table.capacity() / 1000 + 64;  // all of them in a second
  table.expire(now, count, [this](const nat::MappingTable::Idle& mapping) {
    Rewriter& owner = *members_[mapping.owner];
    const bool dead = mapping.ms > owner.limits(mapping).timeout;
    if (dead) owner.expired_.fetch_add(1, std::memory_order_relaxed);
    return dead;
  });
}

std::string Rewriter::table_text(bool all, nat::Kind kind) const {
  std::string text;
  started().visit(heddle::now_ms(), [&](const nat::MappingTable::View& one) {
    if (one.flow.owner != number_ || (!all && one.flow.kind != kind)) return;
    const std::string rest = (one.input < kMaxInputs ? format(" i%u", one.input) : "") +
                             format(" idle %jds\n", intmax_t{std::max<int64_t>(one.idle_ms, 0) / 1000});
    text += text_of(one.flow) + " => " + text_of(one.to) + format(" [*%u %u]", one.forward, one.back) + rest;
    text += text_of(one.to.reversed()) + " => " + text_of(one.flow.reversed()) +
            format(" [%u *%u]", one.forward, one.back) + rest;
  });
  return text;
}

std::string Rewriter::patterns_text(size_t first, size_t end) const {
  std::array<uint32_t, kMaxInputs + 1> counts{};
  if (holder_ != nullptr)
    started().visit(0, [&](const nat::MappingTable::View& one) { counts[one.input] += one.flow.owner == number_; });
  std::string text;
  for (size_t input = first; input < end; ++input) {
    text += text_of((*specs_.owner)[input]);
    if (const uint32_t count = counts[std::min<size_t>(input, kMaxInputs)]; count > 0) text += format(" [%u]", count);
    text += "\n";
  }
  return text;
}

void Rewriter::add_lookup(Handlers& list, const char* name, std::vector<nat::Kind> kinds) {
  list.read_with_argument(name, [this, kinds = std::move(kinds)](const std::string& argument) {
    const auto words = click::split_words(argument);
    click::Ipv4Address source, destination;
    uint16_t source_port = 0, destination_port = 0;
    if (words.size() != 4 || !click::parse(words[0], source) || !click::parse(words[1], source_port) ||
        !click::parse(words[2], destination) || !click::parse(words[3], destination_port))
      throw Error("expected SADDR SPORT DADDR DPORT");
    started();
    for (const nat::Kind kind : kinds)
      if (nat::Rewrite found;
          find({htonl(source.value), htonl(destination.value), htons(source_port), htons(destination_port), kind},
               found))
        return format("%s %u %s %u", to_text(click::Ipv4Address{ntohl(found.to.source)}).c_str(),
                      ntohs(found.to.source_port), to_text(click::Ipv4Address{ntohl(found.to.destination)}).c_str(),
                      ntohs(found.to.destination_port));
    return std::string();
  });
}

void Rewriter::handlers(Handlers& list) {
  const auto size = [this] { return std::to_string(started().size_of(number_)); };
  const auto table = [this] { return table_text(true, {}); };
  list.read("table", table)
      .read("mappings", table)
      .read("size", [this] { return std::to_string(started().size()); })
      .read("nmappings", size)
      .read("table_size", size)
      .read("capacity", [this] { return std::to_string(started().capacity()); })
      .write("capacity",
             [this](const std::string& value) { set_capacity(click::value_of<uint32_t>(value, 1u, kMaxMappings)); })
      .read("mapping_failures", [this] { return std::to_string(failures_.load()); })
      .read("patterns", [this] { return patterns_text(0, specs_.owner->size()); })
      .write("clear", [this](const std::string&) { started().clear(); });
  for (size_t input = 0; input < specs_.owner->size(); ++input) {
    const std::string pattern = "pattern" + std::to_string(input);
    list.read(pattern, [this, input] { return patterns_text(input, input + 1); })
        .write(pattern, [this, input](const std::string& value) { set_spec(input, value); });
  }
}

std::vector<std::pair<std::string, uint64_t>> Rewriter::statistics() const {
  const auto table = holder_ != nullptr ? holder_->counted_.load() : nullptr;
  return {{"mappings", table ? table->size_of(number_) : 0},
          {"made", made_},
          {"expired", expired_},
          {"failures", failures_}};
}

}  // namespace heddle
