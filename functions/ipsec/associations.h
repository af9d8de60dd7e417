#pragma once

#include <bitset>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/element.h"
#include "functions/ipsec/association_file.h"
#include "functions/ipsec/details.h"
#include "functions/ipsec/lifetime.h"
#include "functions/ipsec/replay_window.h"

namespace heddle::ipsec {

/** The security associations of an element: what packets need of them as a table, and on the host what changes with
 *  them, and what the CPU does beyond a GPU. The host's memory of keys is left out of core dumps; that, copies on a
 *  GPU, and what lay on the way there, are wiped. */
class Associations : public Table {
 public:
  /** Takes the file's associations, once. */
  void load(std::span<const FileAssociation> list, uint32_t link_bytes);

  std::span<const std::byte> bytes() const override { return {memory_.data(), memory_.size()}; }
  const Image& image() const { return *reinterpret_cast<const Image*>(memory_.data()); }
  uint32_t count() const { return memory_.data() == nullptr ? 0 : image().count; }
  const Association& operator[](uint32_t index) const { return image().associations()[index]; }
  const Details& details(uint32_t index) const { return details_[index]; }

  static constexpr uint32_t kNone = Image::kNone;
  /** By SPI, in network byte order. */
  uint32_t find(uint32_t spi) const { return image().find(spi); }
  /** By addresses of an inner packet. */
  uint32_t select(const Selector::Ends& ends) const { return selectors_.image().find(ends); }
  const Selectors& selectors() const { return selectors_; }
  /** Whether an association may have an inner packet (RFC 4301, 5.2, step 4). */
  bool has(uint32_t index, const uint8_t* header, uint32_t available) const {
    return !has_selectors_ || host_[index].selector.has(ends_of(header, available));
  }
  bool has_selectors() const { return has_selectors_; }  ///< whether some association has not all packets
  const Selector& selector(uint32_t index) const { return host_[index].selector; }
  /** Two associations with one selector, so that the second never gets a packet; kNone: there are none. */
  std::pair<uint32_t, uint32_t> with_one_selector() const;
  /** The first association that is one of `other`'s, too: of the same SPI and keys; or kNone. */
  uint32_t shared_with(const Associations& other) const;

  /** `count` numbers for the next packets: the first of them; above last_number() there are none (RFC 4303, 3.3.3). */
  uint64_t take_numbers(uint32_t index, uint32_t count) {
    return host_[index].next.fetch_add(count, std::memory_order_relaxed);
  }
  /** The upper half of an extended number that take_numbers() has given, of less than 2^32 ago; else 0. */
  uint32_t upper_half(uint32_t index, uint32_t low) const {
    if (!details_[index].extended) return 0;
    const uint64_t last = host_[index].numbers->load(std::memory_order_relaxed) - 1;
    return static_cast<uint32_t>((last - static_cast<uint32_t>(static_cast<uint32_t>(last) - low)) >> 32);
  }
  /** Those associations that `other` has as well, of the same SPI and keys, have their numbers from there. Packets come
   *  here as long as `other` lives. */
  void numbered_by(const Associations& other);
  /** The number that the next packet gets. */
  uint64_t next_number(uint32_t index) const { return host_[index].next.load(std::memory_order_relaxed); }
  uint64_t last_number(uint32_t index) const { return details_[index].extended ? INT64_MAX : UINT32_MAX; }
  /** What an initialisation vector is its number's distance from: random, so that a file which is used again does not
   *  encipher other packets with the same key stream. */
  uint64_t iv_base(uint32_t index) const { return host_[index].iv_base; }
  ReplayWindow& window(uint32_t index) { return host_[index].window; }

  /** One more packet of so many bytes; false if the association's lifetime is over. */
  bool take_life(uint32_t index, uint32_t bytes) {
    return !host_[index].lifetime || host_[index].lifetime->take(bytes);
  }
  bool has_lifetimes() const { return limited_ != kNone; }
  uint32_t limited() const { return limited_; }  ///< the first association that has limits, or kNone
  /** Writes a line to standard error for each association that has reached a limit since the last call. */
  void announce(const std::string& element);

  /** Goes on with the numbers, windows and lifetimes of `old`, of those associations that have the same SPI and keys
   *  there; a call the other way round takes them back. No packet thread runs. */
  void take_over(Associations& old);

  /** Whether some association takes ESP in UDP to this port, in network byte order. */
  bool takes_port(uint16_t port) const { return ports_ != nullptr && ports_->test(port); }
  /** The first association that no GPU can do, or kNone. */
  uint32_t beyond_gpu() const { return beyond_gpu_; }
  /** By how much Encap moves packets, if all associations agree; else the most. */
  uint32_t front_bytes() const { return front_bytes_; }
  bool front_varies() const { return front_varies_; }
  bool has_transport() const { return has_transport_; }  ///< whether some association has mode transport
  /** The first association whose packets the host must judge behind ICV and padding, for their window, selector or
   *  lifetime; or kNone. */
  uint32_t judged() const { return judged_; }
  uint32_t tail_bytes() const { return tail_bytes_; }

  /** What the association is, for people: "0x00001001 (aead rfc4106(gcm(aes)) 128, mode transport)". */
  std::string describe(uint32_t index) const;
  /** A line each: place, SPI, outer source and destination, what describe() says. */
  std::string text() const;
  /** A line for each that has limits: place, SPI, packets, bytes, and fresh, soft or hard. */
  std::string lifetimes() const;
  std::vector<std::pair<std::string, uint64_t>> statistics() const;

 private:
  struct Host {
    std::atomic<uint64_t> next{1};
    const std::atomic<uint64_t>* numbers = &next;  // where packets have theirs from
    uint64_t iv_base = 0;
    ReplayWindow window;
    std::unique_ptr<Lifetime> lifetime;  // null: no limits
    Selector selector;
  };
  void load_details(std::span<const FileAssociation> list);
  void load_host(std::span<const FileAssociation> list);
  std::string addresses(uint32_t index) const;
  /** The place of association `index` in `other`: that of the same SPI and keys, or kNone. */
  uint32_t place_in(const Associations& other, uint32_t index) const;

  SecretMemory memory_, more_memory_;  // the image; details, and keys that they point to
  Details* details_ = nullptr;         // [count]
  std::unique_ptr<Host[]> host_;       // [count]
  std::atomic<uint64_t> news_{0};      // limits that have been reached
  std::atomic<uint64_t> announced_{0};
  Selectors selectors_;
  std::unique_ptr<std::bitset<65536>> ports_;
  uint32_t beyond_gpu_ = kNone, judged_ = kNone, limited_ = kNone, front_bytes_ = 0, tail_bytes_ = 0;
  bool front_varies_ = false, has_transport_ = false, has_selectors_ = false;
};

/** Arguments FILE and OFFSET; what is wrong is reported. */
void configure_associations(click::Arguments& arguments, Associations& associations);

}  // namespace heddle::ipsec
