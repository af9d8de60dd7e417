#include "functions/nids/scanner.h"

#include "core/error.h"

namespace heddle::nids {

Scanner::Scanner(const std::vector<std::vector<std::string>>& patterns, int threads)
    : scratch_(static_cast<size_t>(threads)) {
  for (const auto& of_group : patterns) add(of_group);
}

void Scanner::add(const std::vector<std::string>& patterns) {
  Database& database = databases_.emplace_back();
  if (patterns.empty()) return;
  std::vector<const char*> texts;
  std::vector<size_t> lengths;
  for (const auto& pattern : patterns) texts.push_back(pattern.data()), lengths.push_back(pattern.size());
  const std::vector<unsigned> flags(patterns.size(), HS_FLAG_CASELESS);
  hs_database_t* compiled = nullptr;
  hs_compile_error_t* problem = nullptr;
  if (hs_compile_lit_multi(texts.data(), flags.data(), nullptr, lengths.data(), static_cast<unsigned>(texts.size()),
                           HS_MODE_BLOCK, nullptr, &compiled, &problem) != HS_SUCCESS) {
    const std::string why = problem->message;
    hs_free_compile_error(problem);
    throw Error(format("Hyperscan does not take the patterns: %s", why.c_str()));
  }
  database.reset(compiled);
  for (Scratch& scratch : scratch_) {
    hs_scratch_t* grown = scratch.release();  // it grows to what the largest database needs
    const hs_error_t result = hs_alloc_scratch(compiled, &grown);
    scratch.reset(grown);
    if (result != HS_SUCCESS) throw Error("Hyperscan has no memory");
  }
}

bool Scanner::finds(size_t group, std::span<const uint8_t> text, int thread) const {
  const Database& database = databases_[group];
  if (!database) return false;
  const auto stop = [](unsigned, unsigned long long, unsigned long long, unsigned, void*) { return 1; };
  return hs_scan(database.get(), reinterpret_cast<const char*>(text.data()), static_cast<unsigned>(text.size()), 0,
                 scratch_[static_cast<size_t>(thread)].get(), stop, nullptr) == HS_SCAN_TERMINATED;
}

}  // namespace heddle::nids
