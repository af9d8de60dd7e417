#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace heddle::bench {

/** A kind of lookup, with its table and keys: the paper's microbenchmarks, and DIR-24-8. */
struct LookupKind {
  std::string note;     ///< what it is looked up in
  double target = 0;    ///< of gopt's ratio to the code as written
  size_t lookups = 0;   ///< of a full run
  double accesses = 1;  ///< that a lookup counts for
  /** By form ("as-written", "gopt", "by-hand", "coroutine", perhaps "group"): looks up n keys, at most `lookups`. All
   *  have been found to give the same results. */
  std::map<std::string, std::function<void(size_t n)>> forms;
  std::vector<std::shared_ptr<void>> memory;  ///< of all that
};

LookupKind chase_kind(int bits);       ///< chains of 100 accesses in 2^bits numbers (the paper: 28, 1 GiB)
LookupKind cuckoo_kind();              ///< 40,000,000 keys
LookupKind dir24_kind(size_t tables);  ///< of a million routes
LookupKind ip6_kind();                 ///< a trie of 200,000 prefixes
LookupKind kind_of(const std::string& name, int bits);  ///< chase, cuckoo, dir24, dir24x32, ip6

/** Runs a form on all keys; lookups (or accesses) a second in millions, by the thread's own time. */
double rate_of(const LookupKind& kind, const std::string& form);

}  // namespace heddle::bench
