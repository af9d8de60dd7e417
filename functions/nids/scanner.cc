#include "functions/nids/scanner.h"

#include "core/error.h"

namespace heddle::nids {

Scanner::Scanner(const std::vector<std::string>& patterns, int threads) {
  if (patterns.empty()) return;
  std::vector<const char*> texts;
  std::vector<size_t> lengths;
  for (const auto& pattern : patterns) texts.push_back(pattern.data()), lengths.push_back(pattern.size());
  const std::vector<unsigned> flags(patterns.size(), HS_FLAG_CASELESS);
  hs_compile_error_t* problem = nullptr;
  if (hs_compile_lit_multi(texts.data(), flags.data(), nullptr, lengths.data(), static_cast<unsigned>(texts.size()),
                           HS_MODE_BLOCK, nullptr, &database_, &problem) != HS_SUCCESS) {
    const std::string why = problem->message;
    hs_free_compile_error(problem);
    throw Error(format("Hyperscan does not take the patterns: %s", why.c_str()));
  }
  for (int t = 0; t < threads; ++t) {
    scratch_.push_back(nullptr);
    if (hs_alloc_scratch(database_, &scratch_.back()) != HS_SUCCESS) throw Error("Hyperscan has no memory");
  }
}

Scanner::~Scanner() {
  for (hs_scratch_t* scratch : scratch_) hs_free_scratch(scratch);
  hs_free_database(database_);
}

bool Scanner::finds(std::span<const uint8_t> text, int thread) const {
  if (database_ == nullptr) return false;
  const auto stop = [](unsigned, unsigned long long, unsigned long long, unsigned, void*) { return 1; };
  return hs_scan(database_, reinterpret_cast<const char*>(text.data()), static_cast<unsigned>(text.size()), 0,
                 scratch_[static_cast<size_t>(thread)], stop, nullptr) == HS_SCAN_TERMINATED;
}

}  // namespace heddle::nids
