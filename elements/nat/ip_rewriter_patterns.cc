#include "elements/nat/ip_rewriter_patterns.h"

#include <set>
#include <sstream>

#include "click/arguments.h"

namespace heddle {

void IPRewriterPatterns::configure(click::Arguments& arguments) {
  for (const auto& argument : arguments.rest_with_keywords()) {
    std::vector<std::string> words;
    std::istringstream stream{std::string(argument.text)};
    for (std::string word; stream >> word;) words.push_back(word);
    if (words.size() < 3 || words.size() > 5) {
      arguments.error_at(argument, "'" + argument.text +
                                       "' is not NAME SADDR SPORT DADDR DPORT, NAME SADDR DADDR SPORT or NAME SADDR "
                                       "DADDR");
      continue;
    }
    static const std::set<std::string> kWords = {"keep",        "drop",     "discard", "pass",
                                                 "passthrough", "nochange", "pattern", "xpattern"};
    if (kWords.contains(words[0]))
      arguments.error_at(argument,
                         "'" + words[0] + "' means something else to rewriters; give the pattern another name");
    std::string mistake;
    auto pattern = nat::Pattern::read(arguments.names(), {words.begin() + 1, words.end()}, mistake);
    if (!mistake.empty()) arguments.error_at(argument, "pattern '" + argument.text + "': " + mistake);
    if (!patterns_.emplace(words[0], std::move(pattern)).second)
      arguments.error_at(argument, "there is a pattern '" + words[0] + "' already");
  }
}

std::shared_ptr<nat::Pattern> IPRewriterPatterns::find(const std::string& name) const {
  const auto found = patterns_.find(name);
  return found == patterns_.end() ? nullptr : found->second;
}

HEDDLE_ELEMENT(IPRewriterPatterns);

}  // namespace heddle
