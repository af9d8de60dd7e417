#include "functions/ipsec/associations.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <map>
#include <tuple>
#include <utility>

#include "click/arguments.h"
#include "core/error.h"
#include "core/parses.h"

namespace heddle::ipsec {
namespace {

/** What the router's clock said when it was `s` seconds after 1970; now, if that is still to come. */
Lifetime::Time time_of(int64_t s) {
  const auto ns = std::chrono::nanoseconds(RouterClock::wall_ns());
  return RouterClock::now() - std::max(ns - RouterClock::seconds(static_cast<double>(s)), std::chrono::nanoseconds(0));
}

/** Whether they are the same but for keys and what goes on. */
bool same_outside(const FileAssociation& one, const FileAssociation& other) {
  const auto all = [](const FileAssociation& of) {
    const Form& form = of.sa;
    const auto prefix = [](const Prefix& p) { return std::tuple(p.address, p.length); };
    return std::tuple(form.source, form.destination, form.flags, form.transport, form.ip6, form.source_port,
                      form.destination_port, std::to_array(form.source6), std::to_array(form.destination6),
                      of.selector.family, prefix(of.selector.source), prefix(of.selector.destination));
  };
  return all(one) == all(other);
}

bool same_keys(const Association& one, const Association& other) {
  return one.suite == other.suite && one.rounds == other.rounds && one.nonce == other.nonce &&
         std::memcmp(one.round_keys, other.round_keys, sizeof one.round_keys) == 0 &&
         std::memcmp(one.inner, other.inner, sizeof one.inner) == 0 &&
         std::memcmp(one.outer, other.outer, sizeof one.outer) == 0;
}

const char* name_of(Lifetime::State state) {
  return state == Lifetime::State::hard ? "hard" : state == Lifetime::State::soft ? "soft" : "fresh";
}

}  // namespace

void Associations::load(std::span<const FileAssociation> list, uint32_t link_bytes) {
  Seats seats(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    seats[i].from = list[i], seats[i].progress = begin(list[i]);
    seats[i].from.sa.iv_base = random_number();
  }
  newest_ = std::make_unique<Generation>(seats, link_bytes,
                                         std::ranges::any_of(list, [](auto& one) { return one.sa.extended; }));
  current_ = chosen_ = newest_.get();
  plan_for(list);
}

bool Associations::is_judged(const FileAssociation& from) {
  return from.window != 0 || from.limits.any() || from.selector.family != Selector::Family::any;
}

void Associations::plan_for(std::span<const FileAssociation> list) {
  const auto first = [](uint32_t& place, uint32_t i, bool is_one) {
    if (is_one && place == kNone) place = i;
  };
  for (uint32_t i = 0; i < list.size(); ++i) {
    const FileAssociation& from = list[i];
    const Form& form = from.sa;
    has_transport_ = has_transport_ || form.transport;
    front_varies_ = front_varies_ || (i > 0 && form.front_bytes() != front_bytes_);
    front_bytes_ = std::max(front_bytes_, form.front_bytes());
    tail_bytes_ = std::max(tail_bytes_, form.tail_bytes());
    first(beyond_gpu_, i, !form.fits_gpu());
    first(limited_, i, from.limits.any());
    first(judged_, i, is_judged(from));
    first(counts_content_, i, counts_content_of(from));
  }
}

std::shared_ptr<Progress> Associations::begin(const FileAssociation& from) {
  auto progress = std::make_shared<Progress>();
  progress->next = from.sent + 1;
  progress->window.start(from.window, from.seen);
  if (from.limits.any()) progress->lifetime = std::make_unique<Lifetime>(from.limits, used_of(from), news_);
  return progress;
}

std::unique_ptr<Generation> Associations::successor(const AssociationList& list) {
  const Generation& old = *newest_;
  Seats seats(old.count());
  std::vector<uint32_t> free;
  for (uint32_t place = 0; place < old.count(); ++place) {
    old.copy_to(place, seats[place]);
    seats[place].leaves = !seats[place].is_free();
    if (seats[place].is_free()) free.push_back(place);
  }
  const std::vector<uint32_t> places = places_of(list);
  bool changes = false;
  size_t next_free = 0;
  for (size_t k = 0; k < list.size(); ++k) {
    const FileAssociation& from = list[k];
    if (const uint32_t place = places[k]; place != kNone) {
      Seat& seat = seats[place];
      changes = changes || !same_outside(seat.from, from);
      const uint64_t iv_base = seat.from.sa.iv_base, seen = seat.from.seen;
      seat.from = from, seat.leaves = false;
      seat.from.sa.iv_base = iv_base, seat.from.seen = seen;
      continue;
    }
    changes = true;
    while (next_free < free.size() && !may_reuse_(free[next_free], from)) ++next_free;
    if (next_free == free.size()) seats.emplace_back();
    Seat& seat = next_free < free.size() ? seats[free[next_free++]] : seats.back();
    seat.from = from, seat.progress = begin(from);
  }
  changes = changes || list.size() != old.size();
  if (!changes) return nullptr;
  if (seats.size() > kMaxPlaces)
    throw Error(format("there are no more than %zu places for associations; hotconfig begins anew", kMaxPlaces));
  const auto extended = [](auto& one) { return one.sa.extended; };
  return std::make_unique<Generation>(seats, old.image().link_bytes,
                                      old.image().has_extended || std::ranges::any_of(list, extended));
}

void Associations::replace(std::unique_ptr<Generation> next) {
  {
    const std::lock_guard lock(replacing_);
    retired_.push_back(std::exchange(newest_, std::move(next)));
    current_.store(newest_.get(), std::memory_order_release);
  }
  replaced();
  // Whoever has looked for the next end meanwhile knew none of the new ones.
  for (uint32_t place = 0; place < newest_->count(); ++place)
    if (newest_->has(place) && newest_->progress(place)->lifetime) newest_->progress(place)->lifetime->expect_end();
}

void Associations::reclaim() {
  {
    const std::lock_guard lock(replacing_);
    retired_.clear();
  }
  for (uint32_t place = 0; place < newest_->count(); ++place)
    if (!newest_->has(place) && (*newest_)[place].spi != 0) {
      newest_->vacate(place);
      follow((*newest_)[place]);
    }
}

AssociationList Associations::list() const {
  AssociationList list;
  Seats seats(newest_->count());
  for (uint32_t place = 0; place < newest_->count(); ++place) {
    newest_->copy_to(place, seats[place]);
    if (newest_->has(place)) list.push_back(seats[place].from);
  }
  return list;
}

std::vector<uint32_t> Associations::places_of(const AssociationList& list) const {
  std::vector<uint32_t> places;
  std::vector<bool> taken(count());
  const auto is_there = [this](uint32_t place, const FileAssociation& from) {
    return place != kNone && (*this)[place].has_destination_of(from.sa);
  };
  for (const FileAssociation& from : list) {
    places.push_back(place_of(from.sa));
    if (is_there(places.back(), from)) taken[places.back()] = true;
  }
  // One of another destination goes on only where no other does.
  for (size_t k = 0; k < list.size(); ++k) {
    if (places[k] == kNone || is_there(places[k], list[k])) continue;
    if (taken[places[k]])
      places[k] = kNone;
    else
      taken[places[k]] = true;
  }
  return places;
}

std::string Associations::problem_with(const FileAssociation& from, uint32_t place) const {
  if (place == kNone) return "";
  const char* const what = newest_->window(place).window() != from.window   ? "a replay window of another size"
                           : (*newest_)[place].extended != from.sa.extended ? "another flag esn"
                           : newest_->limits(place) != from.limits          ? "other limits"
                                                                            : nullptr;
  if (what == nullptr) return "";
  return format("it has %s than before, and the same keys; give it new ones, or let hotconfig read the file", what);
}

Lifetime::Used Associations::used_of(const FileAssociation& from) {
  return {.packets = from.used_packets,
          .bytes = from.used_bytes,
          .added = from.added_s == 0 ? RouterClock::now() : time_of(from.added_s),
          .first_packet = from.first_packet_s == 0 ? Lifetime::kUnknown : time_of(from.first_packet_s)};
}

uint32_t Associations::place_of(const Association& sa) const {
  int same = 0;
  uint32_t any = kNone;
  const uint32_t exact = current().find(sa.spi, [&](const Association& mine) {
    if (!same_keys(mine, sa)) return false;
    ++same, any = static_cast<uint32_t>(&mine - image().associations());
    return mine.has_destination_of(sa);
  });
  return exact != kNone ? exact : same == 1 ? any : kNone;
}

uint32_t Associations::place_in(const Associations& other, uint32_t place) const {
  const Association& sa = (*this)[place];
  const uint32_t there = other.place_of(sa);
  if (there == kNone || other[there].has_destination_of(sa)) return there;
  int same = 0;  // of which any could be that one
  current().find(sa.spi, [&](const Association& mine) { return (same += same_keys(mine, sa)) > 1; });
  return same > 1 ? kNone : there;
}

bool Associations::has_several(uint32_t spi) const {
  int count = 0;
  current().find(spi, [&](const Association&) { return ++count > 1; });
  return count > 1;
}

uint32_t Associations::shared_with(const Associations& other) const {
  for (uint32_t i = 0; i < count(); ++i)
    if (place_in(other, i) != kNone) return i;
  return kNone;
}

void Associations::numbered_by(Associations& other) {
  for (uint32_t i = 0; i < count(); ++i)
    if (const uint32_t there = place_in(other, i); there != kNone) {
      current().progress(i)->numbered_elsewhere = true;
      set_iv_base(i, other[there].iv_base);
    }
  if (std::ranges::find(other.followers_, this) == other.followers_.end()) other.followers_.push_back(this);
}

template <class T>
void Associations::follow(const T& changed_part) const {
  const auto* const at = reinterpret_cast<const std::byte*>(&changed_part);
  changed(static_cast<size_t>(at - bytes().data()), {at, sizeof changed_part});
}

void Associations::set_iv_base(uint32_t place, uint64_t to) {
  uint64_t& base = newest_->association_to_change(place).iv_base;
  base = to;
  follow(base);
}

void Associations::set_seen(uint32_t place, uint64_t to) {
  uint64_t& seen = newest_->seen_to_change(place);
  seen = to;
  follow(seen);
}

void Associations::count_to(uint32_t place, uint64_t next) {
  std::atomic<uint64_t>& mine = current().progress(place)->next;
  mine = std::max(mine.load(), next);
}

void Associations::take_over(Associations& old) {
  // What has been lent comes back as it was, for packets have not come by it, and this end's GPU has its own still.
  const bool comes_back = std::exchange(is_lent_, false);
  if (!comes_back) {
    for (const OnGpu& gpu : old.on_gpu_) gpu.fetch();
    old.is_lent_ = true;
  }
  for (uint32_t i = 0; i < count(); ++i) {
    const uint32_t there = place_in(old, i);
    if (there == kNone) continue;
    Progress &mine = *current().progress(i), &its = *old.current().progress(there);
    mine.next = std::max(mine.next.load(), its.next.load());
    if (mine.numbers.heard(its.numbers)) news_.add();
    if (!mine.numbered_elsewhere) set_iv_base(i, old[there].iv_base);
    mine.window.take_over(its.window);
    if (has_extended()) set_seen(i, mine.window.top());
    if (mine.lifetime != nullptr && its.lifetime != nullptr) mine.lifetime->take_over(*its.lifetime);
  }
  for (Associations* follower : followers_) follower->numbered_by(*this);
  if (comes_back) return;
  for (const OnGpu& gpu : on_gpu_) gpu.load();
}

std::pair<uint32_t, uint32_t> first_twice(std::span<const Selector> list) {
  const auto key = [](const Prefix& prefix) {
    return std::pair(prefix.length == 0 ? 0 : prefix.address >> (128 - prefix.length), prefix.length);
  };
  std::map<std::tuple<Selector::Family, std::pair<Address, uint8_t>, std::pair<Address, uint8_t>>, uint32_t> seen;
  for (uint32_t i = 0; i < list.size(); ++i) {
    const Selector& s = list[i];
    const auto [first, is_new] = seen.try_emplace({s.family, key(s.source), key(s.destination)}, i);
    if (!is_new) return {first->second, i};
  }
  return {Associations::kNone, Associations::kNone};
}

std::pair<uint32_t, uint32_t> Associations::with_one_selector() const {
  std::vector<Selector> list;
  for (uint32_t i = 0; i < count(); ++i) list.push_back(selector(i));
  return first_twice(list);
}

void Associations::announce(const std::string& element) {
  if (count() == 0) return;  // nothing has been loaded
  const Generation& all = current();
  const auto life_of = [&all](uint32_t i) { return all.has(i) ? all.progress(i)->lifetime.get() : nullptr; };
  const Lifetime::Time time = all.now();
  if (news_.is_due(time))
    for (uint32_t i = 0; i < all.count(); ++i)
      if (Lifetime* const life = life_of(i)) life->age(time), life->expect_end();
  const uint64_t news = news_.count();
  if (announced_.exchange(news, std::memory_order_relaxed) == news) return;
  for (uint32_t i = 0; i < all.count(); ++i) {
    if (Lifetime* const life = life_of(i)) announce_limits(element, i, *life, time);
    if (all.has(i)) announce_numbers(element, i, all.progress(i)->numbers.news());
  }
}

void Associations::announce_limits(const std::string& element, uint32_t place, Lifetime& life,
                                   Lifetime::Time now) const {
  const unsigned reached = life.news();
  if (reached == 0) return;
  const std::string seconds =
      life.timed() ? format(", %llu seconds", static_cast<unsigned long long>(life.seconds(now))) : "";
  for (const unsigned limit : {Reached::kSoft, Reached::kHard})
    if (const bool hard = limit == Reached::kHard; reached & limit)
      std::fprintf(stderr, "%s: association 0x%08x has reached its %s limit with %llu packets, %llu bytes%s: %s\n",
                   element.c_str(), swapped((*this)[place].spi), hard ? "hard" : "soft",
                   static_cast<unsigned long long>(life.packets()), static_cast<unsigned long long>(life.bytes()),
                   seconds.c_str(), hard ? "its packets are dropped" : "it needs a successor");
}

/** RFC 4303, 3.3.3, wants the addresses, too. */
void Associations::announce_numbers(const std::string& element, uint32_t place, unsigned reached) const {
  if (reached == 0) return;
  std::string ends = addresses(place);
  ends.replace(ends.find(' '), 1, " to ");
  for (const unsigned limit : {Reached::kSoft, Reached::kHard})
    if (const bool hard = limit == Reached::kHard; reached & limit)
      std::fprintf(stderr, "%s: association 0x%08x from %s has %s: %s\n", element.c_str(), swapped((*this)[place].spi),
                   ends.c_str(), hard ? "used all its sequence numbers" : "few sequence numbers left",
                   hard ? "its packets are dropped" : "it needs a successor");
}

std::string Associations::addresses(uint32_t index) const {
  char source[INET6_ADDRSTRLEN], destination[INET6_ADDRSTRLEN];
  const Association& sa = (*this)[index];
  const int family = sa.ip6 ? AF_INET6 : AF_INET;
  ::inet_ntop(family, sa.ip6 ? sa.source6 : &sa.source, source, sizeof source);
  ::inet_ntop(family, sa.ip6 ? sa.destination6 : &sa.destination, destination, sizeof destination);
  return format("%s %s", source, destination);
}

std::string Associations::describe(uint32_t index) const {
  const Association& sa = (*this)[index];
  std::string text = format("0x%08x (", swapped(sa.spi));
  if (sa.suite.cipher == Cipher::aes_gcm)
    text += format("aead rfc4106(gcm(aes)) %d", 8 * sa.suite.icv_bytes);
  else
    text += format("enc %s, auth-trunc %s", sa.suite.cipher == Cipher::aes_ctr ? "rfc3686(ctr(aes))" : "cbc(aes)",
                   sa.suite.hash == Hash::hmac_sha1_96 ? "hmac(sha1) 96" : "hmac(sha256) 128");
  text += sa.transport ? ", mode transport" : ", mode tunnel";
  if (sa.ip6) text += ", IPv6";
  if (sa.in_udp()) text += ", espinudp";
  if (sa.extended) text += ", esn";
  return text + ")";
}

std::string Associations::text() const {
  std::string text;
  for (uint32_t i = 0; i < count(); ++i) {
    if (!current().has(i)) continue;
    std::string what = describe(i);
    what.insert(what.find(' ') + 1, addresses(i) + " ");
    text += format("%u %s\n", i, what.c_str());
  }
  return text;
}

std::string Associations::lifetimes() const {
  std::string text;
  const Lifetime::Time time = now();
  for (uint32_t i = 0; i < count(); ++i) {
    if (!current().has(i)) continue;
    Lifetime* const life = current().progress(i)->lifetime.get();
    if (life == nullptr) continue;
    life->age(time);
    text +=
        format("%u 0x%08x %llu %llu %s", i, swapped((*this)[i].spi), static_cast<unsigned long long>(life->packets()),
               static_cast<unsigned long long>(life->bytes()), name_of(life->state()));
    if (life->timed())
      text += format(" %llu %s", static_cast<unsigned long long>(life->seconds(time)),
                     life->used() ? std::to_string(life->use_seconds(time)).c_str() : "-");
    text += '\n';
  }
  return text;
}

std::vector<std::pair<std::string, uint64_t>> Associations::statistics() const {
  const std::lock_guard lock(replacing_);
  if (count() == 0) return {{"associations", 0}};
  std::vector<std::pair<std::string, uint64_t>> list{{"associations", newest_->size()}};
  uint64_t soft = 0, hard = 0;
  bool limited = limited_ != kNone;
  for (uint32_t i = 0; i < newest_->count(); ++i) {
    const Lifetime* const life = newest_->has(i) ? newest_->progress(i)->lifetime.get() : nullptr;
    if (life == nullptr) continue;
    limited = true;
    soft += life->state() == Lifetime::State::soft, hard += life->state() == Lifetime::State::hard;
  }
  if (!limited) return list;
  list.emplace_back("expiring", soft);
  list.emplace_back("expired", hard);
  return list;
}

std::string configure_associations(click::Arguments& arguments, Associations& associations) {
  std::string file;
  uint32_t link_bytes = 0;
  arguments.required("FILE", file).keyword("OFFSET", link_bytes, 0u, 64u);
  if (file.empty()) return file;
  std::vector<std::string> errors;
  try {
    const AssociationList list = read_association_file(file, errors);
    if (errors.empty() && list.empty()) errors.push_back("'" + file + "' has no association");
    if (errors.empty()) associations.load(list, link_bytes);
  } catch (const Error& error) {
    errors.push_back(error.what());
  }
  for (auto& error : errors) arguments.error("FILE: " + error);
  return file;
}

void check_offset(const Element& element, uint32_t link_bytes, const std::string& owner) {
  constexpr int kFarthest = 100;  // elements; a way may be a loop
  const Element* at = &element;
  int stripped = 0;
  for (int step = 0; step < kFarthest && at->before.size() == 1; ++step) {
    at = at->before[0];
    if (const auto* const parser = dynamic_cast<const Parses*>(at)) {
      const int header = parser->parses_at() - stripped;
      if (header == static_cast<int>(link_bytes) || header < 0) return;
      throw Error(
          format("OFFSET: '%s' before it has found the IP header at byte %d, and OFFSET of '%s' says %u; give "
                 "that OFFSET %d",
                 at->name.c_str(), header, owner.c_str(), link_bytes, header));
    }
    // Behind what puts something before a packet another header may be the outer one.
    if (at->head_varies() || at->changes_length() || at->moves_head() < 0) return;
    stripped += at->moves_head();
  }
}

}  // namespace heddle::ipsec
