#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/table.h"
#include "functions/classifier/rule.h"
#include "functions/cuckoo/bucket_rule.h"
#include "functions/flow/place_counts.h"

namespace heddle::flow {

/** Why LoadBalancer drops. */
enum BalanceReason : int { kFragment };

/** Whether a packet has lost its ports to the first fragment of its datagram, so that nobody can tell its flow.
 *  `control`: bytes 6 to 9 of the IPv4 header, as they lie. */
HEDDLE_HD constexpr bool lacks_its_ports(uint32_t control) {
  return classifier::names_ports(classifier::protocol_of(control)) && !classifier::has_ports(control);
}

/** What LoadBalancer goes by, the same bytes on CPU and GPU; behind it the servers' addresses, network byte order. */
struct Servers {
  Places places;   ///< of the flows' table; for GPUs
  uint32_t count;  ///< of servers

  HEDDLE_HD const uint32_t* addresses() const { return reinterpret_cast<const uint32_t*>(this + 1); }

  /** The server of a new flow, on any processor. Fields are as they lie in its packets: addresses, bytes 6 to 9 of the
   *  IPv4 header (`control`), and the first 4 bytes of the transport header (0 if the packet ends before). */
  HEDDLE_HD uint32_t choice(uint32_t source, uint32_t destination, uint32_t control, uint32_t ports) const {
    const uint64_t protocol = classifier::protocol_of(control);
    const uint64_t rest = (classifier::has_ports(control) ? uint64_t{ports} << 8 : 0) | protocol;
    const uint64_t hash = cuckoo::mixed(cuckoo::mixed(uint64_t{source} << 32 | destination) ^ rest);
    return addresses()[cuckoo::scaled(static_cast<uint32_t>(hash >> 32), count)];
  }
};

/** What a GPU keeps for a place of the table: the generation of its last flow, and the server that this one has
 *  (network byte order), as place_counts.h has counts. */
using PlaceServer = unsigned long long;

/** The servers that new flows get. One thread changes them while any number read. */
class ServerTable : public Table {
 public:
  /** Not empty; network byte order. */
  void set(std::span<const uint32_t> servers) {
    const Servers header{words_.empty() ? Places{} : image().places, static_cast<uint32_t>(servers.size())};
    std::vector<uint32_t> words(kHeaderWords + servers.size());
    std::memcpy(words.data(), &header, sizeof header);
    std::copy(servers.begin(), servers.end(), words.begin() + kHeaderWords);
    image_.store(reinterpret_cast<const Servers*>(words.data()), std::memory_order_release);
    words_.swap(words);
    if (words.empty()) return;
    retired_.push_back(std::move(words));
    replaced();
  }
  /** Before there are readers. */
  void set_places(const Places& places) { std::memcpy(words_.data(), &places, sizeof places); }
  /** Exchanges the servers of two tables. No reader is there; copies do not follow. */
  void swap_servers(ServerTable& other) {
    reclaim(), other.reclaim();
    const Places mine = image().places, others = other.image().places;
    words_.swap(other.words_);
    image_ = other.image_.exchange(image_);
    set_places(mine), other.set_places(others);
  }

  /** For readers, who fetch it anew for each batch. */
  const Servers& image() const { return *image_.load(std::memory_order_acquire); }
  std::span<const uint32_t> servers() const { return std::span(words_).subspan(kHeaderWords); }

  std::span<const std::byte> bytes() const override { return std::as_bytes(std::span(words_)); }
  bool has_retired() const override { return !retired_.empty(); }
  void reclaim() override { retired_.clear(); }

 private:
  static constexpr size_t kHeaderWords = sizeof(Servers) / sizeof(uint32_t);
  std::vector<uint32_t> words_;  // a Servers and the addresses
  std::atomic<const Servers*> image_{nullptr};
  std::vector<std::vector<uint32_t>> retired_;
};

}  // namespace heddle::flow
