#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/element.h"
#include "functions/ipsec/generation.h"

namespace heddle::ipsec {

constexpr uint64_t kFewNumbers = uint64_t{1} << 28;  ///< when an association is to be replaced
constexpr size_t kMaxPlaces = 2 * kMaxAssociations;  ///< of those that go and those that come in one change

/** The security associations of an element, one generation after the other. An association that stays has the same
 *  place and progress in all of them; what is left keeps its place until no packet can have it. On a GPU keys are wiped
 *  as on the host. */
class Associations : public Table {
 public:
  /** Takes the file's associations, once. */
  void load(std::span<const FileAssociation> list, uint32_t link_bytes);

  // To change them while packets flow. One thread. change() (changes.h) calls these for all elements that must agree.

  /** The generation in which `list` takes the place of the current associations: those of the same SPI and keys stay,
   *  with initialisation vectors, and others begin as `list` says, with its iv_base. Null: it is the same. Throws
   *  Error: no places, no memory. */
  std::unique_ptr<Generation> successor(const AssociationList& list);
  /** Makes it the current one: packets find its associations, and copies have it. */
  void replace(std::unique_ptr<Generation> next);
  /** IPsecSequence gives packets what is in the current one; whoever gets these must have it, too. */
  void choose() { chosen_.store(newest_.get(), std::memory_order_release); }
  bool has_retired() const override { return !retired_.empty(); }
  void reclaim() override;
  /** Those that are found, by place. */
  AssociationList list() const;
  /** For each of the list the place of the association that goes on as this one, or kNone; no place twice. */
  std::vector<uint32_t> places_of(const AssociationList& list) const;
  /** Why `from` cannot go on at this place of places_of(), or "": its progress would not go with it. */
  std::string problem_with(const FileAssociation& from, uint32_t place) const;
  /** Whether a free place may be given to `from`; if this is not called, it may. */
  using MayReuse = std::function<bool(uint32_t place, const FileAssociation& from)>;
  void reuse_if(MayReuse may_reuse) { may_reuse_ = std::move(may_reuse); }
  /** They cannot change: why. */
  void stay_for(const std::string& why) { why_fixed_ = why; }
  const std::string& why_fixed() const { return why_fixed_; }
  /** Packets get them by their selectors, of which no two may be the same. */
  void chosen_by_selector() { by_selector_ = true; }
  bool is_chosen_by_selector() const { return by_selector_; }
  /** Packets get the only one of this SPI. */
  void chosen_by_spi(uint32_t spi) { chosen_spis_.insert(spi); }
  const std::set<uint32_t>& chosen_spis() const { return chosen_spis_; }

  /** For packet threads, who fetch it anew for each batch, and handlers, of which only one runs at a time. */
  const Generation& current() const { return *current_.load(std::memory_order_acquire); }
  /** The same for IPsecSequence. */
  const Generation& chosen() const { return *chosen_.load(std::memory_order_acquire); }

  // Of the current generation.
  std::span<const std::byte> bytes() const override {
    return newest_ == nullptr ? std::span<const std::byte>{} : newest_->bytes();
  }
  const Image& image() const { return current().image(); }
  uint32_t count() const { return current_.load() == nullptr ? 0 : current().count(); }  ///< of places
  const Association& operator[](uint32_t place) const { return current()[place]; }
  const Details& details(uint32_t place) const { return current().details(place); }
  static constexpr uint32_t kNone = Image::kNone;
  uint32_t find(uint32_t spi) const { return current().find(spi); }
  /** Whether more than one has this SPI. */
  bool has_several(uint32_t spi) const;
  const Selectors& selectors() const { return current().selectors(); }
  bool has_selectors() const { return current().has_selectors(); }
  const Selector& selector(uint32_t place) const { return current().selector(place); }
  uint64_t take_numbers(uint32_t place, uint32_t count) { return current().take_numbers(place, count); }
  uint64_t next_number(uint32_t place) const { return current().next_number(place); }
  ReplayWindow& window(uint32_t place) { return current().window(place); }
  bool take_life(uint32_t place, uint32_t bytes, Lifetime::Time now) { return current().take_life(place, bytes, now); }
  Lifetime::Time now() const { return current().now(); }
  bool has_extended() const { return count() > 0 && image().has_extended; }

  /** Two associations with one selector, so that the second never gets a packet; kNone: there are none. */
  std::pair<uint32_t, uint32_t> with_one_selector() const;
  /** The first association that is one of `other`'s, too: of the same SPI and keys; or kNone. */
  uint32_t shared_with(const Associations& other) const;
  /** The place of association `place` in `other`: that of the same SPI and keys, or kNone. */
  uint32_t place_in(const Associations& other, uint32_t place) const;
  /** The place of the association of this SPI and these keys, or kNone: of several the one of this destination; one
   *  alone may have another. */
  uint32_t place_of(const Association& sa) const;
  /** Those associations that `other` has as well, of the same SPI and keys, have their numbers from there. `other`
   *  takes nothing over when this is gone. */
  void numbered_by(Associations& other);

  /** A packet got a number behind which fewer than kFewNumbers are left, or one beyond the last, which is none. */
  void count_down(const Generation& all, uint32_t place, uint64_t number) {
    const unsigned limit = number > all[place].last_number() ? Reached::kHard : Reached::kSoft;
    if (all.progress(place)->numbers.add(limit)) news_.add();
  }
  /** Writes a line to standard error for each limit that an association has reached since the last call, also of its
   *  sequence numbers. */
  void announce(const std::string& element);

  /** What a GPU keeps of them. `fetch` brings numbers and windows up to where it is, or throws Error; `load` lets it
   *  begin where they are. */
  struct OnGpu {
    std::function<void()> fetch, load;
  };
  void kept_by(OnGpu gpu) { on_gpu_.push_back(std::move(gpu)); }
  /** Goes on with the numbers, windows and lifetimes of `old`, of those associations that have the same SPI and keys
   *  there; a call the other way round takes them back. No packet thread and no kernel runs. Throws Error: a GPU does
   *  not say where it is. */
  void take_over(Associations& old);
  /** For OnGpu::fetch: numbers before `next` have been taken, or all that a window says have come. */
  void count_to(uint32_t place, uint64_t next);

  // What is planned with: what load() has found.

  uint32_t limited() const { return limited_; }  ///< the first association that has limits, or kNone
  /** The first association that no GPU can do, or kNone. */
  uint32_t beyond_gpu() const { return beyond_gpu_; }
  /** By how much Encap moves packets, if all associations agree; else the most. */
  uint32_t front_bytes() const { return front_bytes_; }
  bool front_varies() const { return front_varies_; }
  bool has_transport() const { return has_transport_; }  ///< whether some association has mode transport
  /** The first association whose packets the host must judge behind ICV and padding, for their window, selector or
   *  lifetime; or kNone. */
  uint32_t judged() const { return judged_; }
  /** The first association of which IPsecReplay cannot count the lifetime, for what has been protected of a packet is
   *  not all of it: one of mode transport that has limits; or kNone. */
  uint32_t counts_content() const { return counts_content_; }
  uint32_t tail_bytes() const { return tail_bytes_; }
  /** Whether the host must judge an association's packets behind ICV and padding. */
  static bool is_judged(const FileAssociation& from);
  static bool counts_content_of(const FileAssociation& from) { return from.limits.any() && from.sa.transport; }

  /** What the association is, for people: "0x00001001 (aead rfc4106(gcm(aes)) 128, mode transport)". */
  std::string describe(uint32_t index) const;
  /** A line each: place, SPI, outer source and destination, what describe() says. */
  std::string text() const;
  /** A line for each that has limits: place, SPI, packets, bytes, and fresh, soft or hard; with limits in seconds also
   *  seconds since it was added, and since its first packet or "-". */
  std::string lifetimes() const;
  std::vector<std::pair<std::string, uint64_t>> statistics() const;

 private:
  /** Where an association's initialisation vectors begin, or up to which number all have come; copies follow. */
  void set_iv_base(uint32_t place, uint64_t to);
  void set_seen(uint32_t place, uint64_t to);
  template <class T>
  void follow(const T& changed_part) const;
  void plan_for(std::span<const FileAssociation> list);
  std::shared_ptr<Progress> begin(const FileAssociation& from);
  /** How much the file says that an association has used. */
  static Lifetime::Used used_of(const FileAssociation& from);
  std::string addresses(uint32_t place) const;
  void announce_limits(const std::string& element, uint32_t place, Lifetime& life, Lifetime::Time now) const;
  void announce_numbers(const std::string& element, uint32_t place, unsigned reached) const;

  std::unique_ptr<Generation> newest_;
  std::atomic<const Generation*> current_{nullptr}, chosen_{nullptr};  // newest_, and what is given to new packets
  std::vector<std::unique_ptr<Generation>> retired_;
  mutable std::mutex replacing_;  // of generations; for readers that are no packet threads and no handlers
  MayReuse may_reuse_ = [](uint32_t, const FileAssociation&) { return true; };
  std::string why_fixed_;
  std::vector<OnGpu> on_gpu_;
  bool is_lent_ = false;  // another goes on with what is here, or gives it back
  LifetimeNews news_;
  std::atomic<uint64_t> announced_{0};
  std::set<uint32_t> chosen_spis_;
  std::vector<Associations*> followers_;  // that have numbers from here
  uint32_t beyond_gpu_ = kNone, judged_ = kNone, limited_ = kNone, counts_content_ = kNone;
  uint32_t front_bytes_ = 0, tail_bytes_ = 0;
  bool front_varies_ = false, has_transport_ = false, by_selector_ = false;
};

/** The first two of one selector, kNone if all differ. */
std::pair<uint32_t, uint32_t> first_twice(std::span<const Selector> list);

/** Arguments FILE and OFFSET; what is wrong is reported. Returns FILE. */
std::string configure_associations(click::Arguments& arguments, Associations& associations);

/** Throws Error if a CheckIPHeader on the only way to `element` looks for the IP header elsewhere than behind
 *  `link_bytes` bytes, which `owner`'s OFFSET says. Once `before` of elements is set. */
void check_offset(const Element& element, uint32_t link_bytes, const std::string& owner);

}  // namespace heddle::ipsec
