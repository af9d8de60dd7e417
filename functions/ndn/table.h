#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "functions/cuckoo/table.h"
#include "functions/ndn/rule.h"

namespace heddle::ndn {

/** Names and the outputs that they lead to. What readers see is a cuckoo table of hashes: 48 bits tell names apart, 32
 *  others choose the bucket. One thread changes it while any number read. Image::owner: bit k is set if there are names
 *  of k components; Image::constants: offset and data of reset(). */
class NameTable {
 public:
  /** Empties it and makes room; before there are readers. `offset`: where in packets NDN packets begin; `data`: the
   *  next() of Data packets. */
  void reset(size_t capacity, uint64_t seed, uint32_t offset, uint16_t data);

  /** Adds the name (as parse_name() gives it) or gives it another output, below 65535. Throws Error if there is no
   *  room. */
  void set(const std::string& wire, int components, uint16_t output);
  bool remove(const std::string& wire);  ///< false: it is not there
  void clear();

  std::optional<uint16_t> find(const std::string& wire) const;  ///< the output of exactly this name
  size_t size() const { return outputs_.size(); }
  struct Entry {
    int components;
    uint16_t output;
  };
  const std::unordered_map<std::string, Entry>& names() const { return outputs_; }

  cuckoo::CuckooTable& hashes() { return hashes_; }
  const cuckoo::CuckooTable& hashes() const { return hashes_; }
  uint32_t lengths() const { return hashes_.owner(); }

 private:
  struct Place {
    uint64_t key;
    uint32_t hash;
  };
  Place place_of(const std::string& wire) const;
  void count(int components, int more);

  cuckoo::CuckooTable hashes_;
  std::unordered_map<std::string, Entry> outputs_;
  size_t counts_[kMaxComponents + 1] = {};
};

/** A packet's bytes in host memory. */
struct HostBytes {
  const uint8_t* packet;
  uint64_t bytes(uint32_t at, uint32_t n) const {
    uint64_t word = 0;
    if (n == 8) {
      __builtin_memcpy(&word, packet + at, 8);
    } else {
      for (uint32_t b = 0; b < n; ++b) word |= static_cast<uint64_t>(packet[at + b]) << 8 * b;
    }
    return word;
  }
};

/** Packets that are looked up together, at most kGroup of them. */
class Group {
 public:
  static constexpr int kGroup = 32;

  /** next[i]: the output of packet i, or kDrop + Reason. */
  void look_up(const NameTable& table, const uint8_t* const* packets, const uint32_t* lengths, uint16_t* next, int n);

 private:
  static constexpr int kMax = kGroup * (kMaxComponents + 1);
  uint64_t keys_[kMax], words_[kMax];
  uint32_t hashes_[kMax];
};

}  // namespace heddle::ndn
