#pragma once

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bench/gopt/handlers.h"

namespace heddle::bench {

/** A kind of whole packet handler, with its tables and packets (sections 4 and 4.2 of gopt's paper). */
struct HandlerKind {
  std::string note;    ///< its tables
  double target = 0;   ///< of gopt's ratio to the code as written
  size_t stride = 64;  ///< bytes of a frame
  /** Writes a frame of `stride` zeros and its packet; whether it must be forwarded. */
  std::function<bool(std::mt19937_64& random, packet& packet)> fill;
  /** By form ("as-written", perhaps "gopt"). Each may run on several threads at once. */
  std::map<std::string, std::function<void(const packet*, int, ports*)>> forms;
  std::vector<std::shared_ptr<void>> memory;
};

HandlerKind echo_kind();                ///< no table: what receiving, deciding and sending costs
HandlerKind ip4_kind(size_t tables);    ///< DIR-24-8, as many as the paper's routes
HandlerKind ip6_handler_kind();         ///< a trie of 200,000 prefixes
HandlerKind ndn_kind(size_t names);     ///< a cuckoo table
HandlerKind l2_kind(size_t addresses);  ///< a cuckoo table
HandlerKind handler_kind_of(
    const std::string& name);  ///< echo, ip4, ip4x32, ip6, ndn, l2: the paper's, beyond the cache

}  // namespace heddle::bench
