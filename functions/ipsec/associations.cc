#include "functions/ipsec/associations.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/random.h>

#include <bit>
#include <cstdio>
#include <map>
#include <tuple>

#include "click/arguments.h"
#include "core/error.h"
#include "functions/ipsec/keys.h"

namespace heddle::ipsec {
namespace {

/** What an association's Details point to, by its suite. */
union alignas(64) MoreKeys {
  uint32_t decipher[60];  // CBC
  gcm_key_data gcm;       // aligned to 64 bytes
};
bool needs_more(const Suite& suite) { return suite.cipher != Cipher::aes_ctr; }

void set_keys(const Association& sa, MoreKeys* more, Details& to) {
  to.encipher_keys = to.decipher_keys = sa.round_keys;
  to.inner = sa.inner, to.outer = sa.outer;
  to.nonce = sa.nonce;
  to.key_bytes = static_cast<uint8_t>(4 * (sa.rounds - 6));
  if (sa.suite.cipher == Cipher::aes_cbc) {
    invert_key(sa, more->decipher);
    to.decipher_keys = more->decipher;
  } else if (sa.suite.cipher == Cipher::aes_gcm) {
    start_gcm(sa, more->gcm);
    to.encipher_keys = to.decipher_keys = &more->gcm;
  }
}

const char* name_of(Lifetime::State state) {
  return state == Lifetime::State::hard ? "hard" : state == Lifetime::State::soft ? "soft" : "fresh";
}

}  // namespace

void Associations::load(std::span<const FileAssociation> list, uint32_t link_bytes) {
  const size_t count = list.size(), slot_count = std::bit_ceil(2 * count);
  memory_.allocate(sizeof(Image) + count * sizeof(Association) + slot_count * sizeof(Image::Slot));
  auto& image = *reinterpret_cast<Image*>(memory_.data());
  image.count = static_cast<uint32_t>(count);
  image.link_bytes = link_bytes;
  make_lookup(image.te);
  image.slot_mask = static_cast<uint32_t>(slot_count) - 1;
  image.slot_shift = static_cast<uint32_t>(std::countl_zero(image.slot_mask));
  auto* associations = const_cast<Association*>(image.associations());
  auto* slot = reinterpret_cast<Image::Slot*>(associations + count);
  for (uint32_t i = 0; i < count; ++i) {
    associations[i] = list[i].sa;
    if (list[i].sa.suite.cipher == Cipher::aes_gcm) start_ghash(associations[i]);
    uint32_t at = image.slot_of(list[i].sa.spi);
    while (slot[at].spi != 0) at = (at + 1) & image.slot_mask;
    slot[at] = {list[i].sa.spi, i};
  }
  load_details(list);
  load_host(list);
}

void Associations::load_details(std::span<const FileAssociation> list) {
  size_t more_count = 0;
  for (auto& from : list) more_count += needs_more(from.sa.suite);
  more_memory_.allocate(list.size() * sizeof(Details) + more_count * sizeof(MoreKeys));
  details_ = reinterpret_cast<Details*>(more_memory_.data());
  auto* more = reinterpret_cast<MoreKeys*>(details_ + list.size());
  front_bytes_ = 0;
  for (uint32_t i = 0; i < list.size(); ++i) {
    const FileAssociation& from = list[i];
    Details& to = details_[i];
    set_keys((*this)[i], needs_more(from.sa.suite) ? more++ : nullptr, to);
    to.suite = from.sa.suite;
    to.extended = from.extended, to.transport = from.transport, to.ip6 = from.ip6;
    to.source_port = htons(from.source_port), to.destination_port = htons(from.destination_port);
    std::memcpy(to.source6, from.source6, sizeof to.source6);
    std::memcpy(to.destination6, from.destination6, sizeof to.destination6);
    if (to.in_udp()) {
      if (ports_ == nullptr) ports_ = std::make_unique<std::bitset<65536>>();
      ports_->set(to.destination_port);
    }
    has_transport_ = has_transport_ || to.transport;
    front_varies_ = front_varies_ || (i > 0 && to.front_bytes() != front_bytes_);
    front_bytes_ = std::max(front_bytes_, to.front_bytes());
    tail_bytes_ = std::max(tail_bytes_, to.tail_bytes());
    if (!to.fits_gpu() && beyond_gpu_ == kNone) beyond_gpu_ = i;
  }
}

void Associations::load_host(std::span<const FileAssociation> list) {
  host_ = std::make_unique<Host[]>(list.size());
  std::vector<Selector> selectors;
  for (uint32_t i = 0; i < list.size(); ++i) {
    const FileAssociation& from = list[i];
    Host& host = host_[i];
    host.next = from.sent + 1;
    host.window.start(from.window, from.seen);
    host.selector = from.selector;
    if (from.limits.any())
      host.lifetime = std::make_unique<Lifetime>(from.limits, from.used_packets, from.used_bytes, news_);
    if (limited_ == kNone && host.lifetime != nullptr) limited_ = i;
    if (judged_ == kNone &&
        (host.window.is_on() || host.lifetime != nullptr || host.selector.family != Selector::Family::any))
      judged_ = i;
    has_selectors_ = has_selectors_ || from.selector.family != Selector::Family::any;
    if (::getrandom(&host.iv_base, sizeof host.iv_base, 0) != sizeof host.iv_base)
      throw Error("the system gives no random numbers");
    selectors.push_back(from.selector);
  }
  selectors_.load(selectors);
}

uint32_t Associations::place_in(const Associations& other, uint32_t index) const {
  const uint32_t there = other.find((*this)[index].spi);
  if (there == kNone) return kNone;
  const Association &mine = (*this)[index], &its = other[there];
  const bool same = mine.suite == its.suite && mine.rounds == its.rounds && mine.nonce == its.nonce &&
                    std::memcmp(mine.round_keys, its.round_keys, sizeof mine.round_keys) == 0 &&
                    std::memcmp(mine.inner, its.inner, sizeof mine.inner) == 0 &&
                    std::memcmp(mine.outer, its.outer, sizeof mine.outer) == 0;
  return same ? there : kNone;
}

uint32_t Associations::shared_with(const Associations& other) const {
  for (uint32_t i = 0; i < count(); ++i)
    if (place_in(other, i) != kNone) return i;
  return kNone;
}

void Associations::numbered_by(const Associations& other) {
  for (uint32_t i = 0; i < count(); ++i)
    if (const uint32_t there = place_in(other, i); there != kNone) host_[i].numbers = &other.host_[there].next;
}

void Associations::take_over(Associations& old) {
  for (uint32_t i = 0; i < count(); ++i) {
    const uint32_t there = place_in(old, i);
    if (there == kNone) continue;
    Host &mine = host_[i], &its = old.host_[there];
    mine.next = std::max(mine.next.load(), its.next.load());
    mine.iv_base = its.iv_base;
    mine.window.take_over(its.window);
    if (mine.lifetime != nullptr && its.lifetime != nullptr) mine.lifetime->take_over(*its.lifetime);
  }
}

std::pair<uint32_t, uint32_t> Associations::with_one_selector() const {
  const auto key = [](const Prefix& prefix) {
    return std::pair(prefix.length == 0 ? 0 : prefix.address >> (128 - prefix.length), prefix.length);
  };
  std::map<std::tuple<Selector::Family, std::pair<Address, uint8_t>, std::pair<Address, uint8_t>>, uint32_t> seen;
  for (uint32_t i = 0; i < count(); ++i) {
    const Selector& s = host_[i].selector;
    const auto [first, is_new] = seen.try_emplace({s.family, key(s.source), key(s.destination)}, i);
    if (!is_new) return {first->second, i};
  }
  return {kNone, kNone};
}

void Associations::announce(const std::string& element) {
  const uint64_t news = news_.load(std::memory_order_acquire);
  if (announced_.exchange(news, std::memory_order_relaxed) == news) return;
  for (uint32_t i = 0; i < count(); ++i) {
    Lifetime* const life = host_[i].lifetime.get();
    if (life == nullptr || !life->has_news()) continue;
    const bool hard = life->state() == Lifetime::State::hard;
    std::fprintf(stderr, "%s: association 0x%08x has reached its %s limit with %llu packets, %llu bytes: %s\n",
                 element.c_str(), swapped((*this)[i].spi), hard ? "hard" : "soft",
                 static_cast<unsigned long long>(life->packets()), static_cast<unsigned long long>(life->bytes()),
                 hard ? "its packets are dropped" : "it needs a successor");
  }
}

std::string Associations::addresses(uint32_t index) const {
  char source[INET6_ADDRSTRLEN], destination[INET6_ADDRSTRLEN];
  const Association& sa = (*this)[index];
  const Details& more = details_[index];
  const int family = more.ip6 ? AF_INET6 : AF_INET;
  ::inet_ntop(family, more.ip6 ? static_cast<const void*>(more.source6) : &sa.source, source, sizeof source);
  ::inet_ntop(family, more.ip6 ? static_cast<const void*>(more.destination6) : &sa.destination, destination,
              sizeof destination);
  return format("%s %s", source, destination);
}

std::string Associations::describe(uint32_t index) const {
  const Details& sa = details_[index];
  std::string text = format("0x%08x (", swapped((*this)[index].spi));
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
    std::string what = describe(i);
    what.insert(what.find(' ') + 1, addresses(i) + " ");
    text += format("%u %s\n", i, what.c_str());
  }
  return text;
}

std::string Associations::lifetimes() const {
  std::string text;
  for (uint32_t i = 0; i < count(); ++i)
    if (const Lifetime* life = host_[i].lifetime.get())
      text += format("%u 0x%08x %llu %llu %s\n", i, swapped((*this)[i].spi),
                     static_cast<unsigned long long>(life->packets()), static_cast<unsigned long long>(life->bytes()),
                     name_of(life->state()));
  return text;
}

std::vector<std::pair<std::string, uint64_t>> Associations::statistics() const {
  std::vector<std::pair<std::string, uint64_t>> list{{"associations", count()}};
  if (!has_lifetimes()) return list;
  uint64_t soft = 0, hard = 0;
  for (uint32_t i = 0; i < count(); ++i)
    if (const Lifetime* life = host_[i].lifetime.get())
      soft += life->state() == Lifetime::State::soft, hard += life->state() == Lifetime::State::hard;
  list.emplace_back("expiring", soft);
  list.emplace_back("expired", hard);
  return list;
}

void configure_associations(click::Arguments& arguments, Associations& associations) {
  std::string file;
  uint32_t link_bytes = 0;
  arguments.required("FILE", file).keyword("OFFSET", link_bytes, 0u, 64u);
  if (file.empty()) return;
  std::vector<std::string> errors;
  try {
    const AssociationList list = read_association_file(file, errors);
    if (errors.empty() && list.empty()) errors.push_back("'" + file + "' has no association");
    if (errors.empty()) associations.load(list, link_bytes);
  } catch (const Error& error) {
    errors.push_back(error.what());
  }
  for (auto& error : errors) arguments.error("FILE: " + error);
}

}  // namespace heddle::ipsec
