#include "functions/ipsec/generation.h"

#include <string.h>
#include <sys/random.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/error.h"
#include "functions/ipsec/keys.h"

namespace heddle::ipsec {
namespace {

/** What an association's Details point to, by its suite. */
union alignas(64) MoreKeys {
  uint32_t decipher[60];  // CBC
  gcm_key_data gcm;       // aligned to 64 bytes
};
bool needs_more(const Seat& seat) { return !seat.is_free() && seat.from.sa.suite.cipher != Cipher::aes_ctr; }

void set_keys(const Association& sa, MoreKeys* more, Details& to) {
  to.encipher_keys = to.decipher_keys = sa.round_keys;
  to.inner = sa.inner, to.outer = sa.outer;
  to.nonce = sa.nonce;
  to.suite = sa.suite;
  to.extended = sa.extended;
  to.key_bytes = static_cast<uint8_t>(4 * (sa.rounds - 6));
  if (sa.suite.cipher == Cipher::aes_cbc) {
    invert_key(sa, more->decipher);
    to.decipher_keys = more->decipher;
  } else if (sa.suite.cipher == Cipher::aes_gcm) {
    start_gcm(sa, more->gcm);
    to.encipher_keys = to.decipher_keys = &more->gcm;
  }
}

/** Of a free place: in transport mode, to an address that nobody knows. */
Association nobodys() {
  Association sa{};
  sa.transport = sa.ip6 = true;
  for (uint32_t& word : sa.destination6) word = static_cast<uint32_t>(random_number());
  return sa;
}

/** What no packet has, of no family; each of another destination, so that looking for one does not meet the others. */
Selector nobodys_selector(uint32_t place) {
  return {{}, {Address{place}, 128}, static_cast<Selector::Family>(~uint8_t{0})};
}

}  // namespace

uint64_t random_number() {
  uint64_t number;
  if (::getrandom(&number, sizeof number, 0) != sizeof number) throw Error("the system gives no random numbers");
  return number;
}

Generation::Generation(const Seats& seats, uint32_t link_bytes, bool has_extended) {
  fill_image(seats, link_bytes, has_extended);
  fill_details(seats);
  fill_host(seats);
}

void Generation::fill_image(const Seats& seats, uint32_t link_bytes, bool has_extended) {
  const size_t count = seats.size(), slot_count = std::bit_ceil(2 * count);
  const bool has_ports = std::ranges::any_of(seats, [](auto& seat) { return seat.from.sa.in_udp(); });
  memory_.allocate(sizeof(Image) + count * sizeof(Association) + slot_count * sizeof(Image::Slot) +
                   has_extended * count * sizeof(uint64_t) + has_ports * Image::kPortWords * sizeof(uint32_t));
  Image& image = *reinterpret_cast<Image*>(memory_.data());
  image.count = static_cast<uint32_t>(count);
  image.link_bytes = link_bytes;
  make_lookup(image.te);
  image.slot_mask = static_cast<uint32_t>(slot_count) - 1;
  image.slot_shift = static_cast<uint32_t>(std::countl_zero(image.slot_mask));
  image.has_extended = has_extended, image.has_ports = has_ports;
  auto* associations = const_cast<Association*>(image.associations());
  auto* slot = const_cast<Image::Slot*>(image.slots());
  auto* ports = const_cast<uint32_t*>(image.ports());
  for (uint32_t place = 0; place < count; ++place) {
    const Seat& seat = seats[place];
    Association& to = associations[place];
    to = seat.is_free() ? nobodys() : seat.from.sa;
    if (seat.is_free()) continue;
    if (to.suite.cipher == Cipher::aes_gcm) start_ghash(to);
    if (has_extended) seen_to_change(place) = seat.from.seen;
    if (to.in_udp()) ports[to.destination_port / 32] |= 1u << to.destination_port % 32;
    if (seat.leaves) continue;
    uint32_t at = image.slot_of(to.spi);
    while (slot[at].spi != 0) at = (at + 1) & image.slot_mask;
    slot[at] = {to.spi, place};
  }
}

void Generation::fill_details(const Seats& seats) {
  const auto more_count = static_cast<size_t>(std::ranges::count_if(seats, needs_more));
  more_memory_.allocate(seats.size() * sizeof(Details) + more_count * sizeof(MoreKeys));
  details_ = reinterpret_cast<Details*>(more_memory_.data());
  auto* more = reinterpret_cast<MoreKeys*>(details_ + seats.size());
  for (uint32_t place = 0; place < seats.size(); ++place)
    if (!seats[place].is_free()) set_keys((*this)[place], needs_more(seats[place]) ? more++ : nullptr, details_[place]);
}

void Generation::fill_host(const Seats& seats) {
  std::vector<Selector> choices;
  for (uint32_t place = 0; place < seats.size(); ++place) {
    const Seat& seat = seats[place];
    const bool found = !seat.is_free() && !seat.leaves;
    found_.push_back(found);
    size_ += found;
    progress_.push_back(seat.progress);
    selectors_of_.push_back(seat.from.selector);
    has_selectors_ = has_selectors_ || seat.from.selector.family != Selector::Family::any;
    has_timed_ = has_timed_ || seat.from.limits.timed();
    choices.push_back(found ? seat.from.selector : nobodys_selector(place));
  }
  selectors_.load(choices);
}

void Generation::copy_to(uint32_t place, Seat& seat) const {
  if ((*this)[place].spi == 0) return;
  seat.from.sa = (*this)[place];
  seat.from.selector = selectors_of_[place];
  seat.from.window = window(place).window();
  if (image().has_extended) seat.from.seen = image().seen()[place];
  seat.from.limits = limits(place);
  seat.progress = progress_[place];
  seat.leaves = !found_[place];
}

Limits Generation::limits(uint32_t place) const {
  const Lifetime* const life = progress_[place]->lifetime.get();
  return life == nullptr ? Limits{} : life->limits();
}

void Generation::vacate(uint32_t place) {
  const Association free = nobodys();
  Details& details = details_[place];
  const void* const keys[] = {details.encipher_keys, details.decipher_keys};
  for (const void* at : keys)
    if (at != (*this)[place].round_keys) explicit_bzero(const_cast<void*>(at), sizeof(MoreKeys));
  details = {};
  explicit_bzero(static_cast<void*>(&association_to_change(place)), sizeof(Association));
  association_to_change(place) = free;
}

}  // namespace heddle::ipsec
