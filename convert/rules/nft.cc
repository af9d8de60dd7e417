// What `nft list ruleset` prints: the rules of one chain, without state.

#include <algorithm>

#include "convert/rules/nft_ruleset.h"
#include "convert/rules/nft_statement.h"
#include "convert/rules/rule_list.h"
#include "core/error.h"
#include "core/text_file.h"

namespace heddle::classifier {
namespace {

/** The chain that is wanted; null if it cannot be told. */
const nft::Chain* chosen(const std::vector<nft::Chain>& chains, const std::string& wanted) {
  std::vector<const nft::Chain*> fit;
  // A policy that forbids says something as well.
  const auto says = [](const nft::Chain& chain) {
    return !chain.rules.empty() || (chain.hook == "forward" && chain.policy == kDeny);
  };
  for (const nft::Chain& chain : chains)
    if (!wanted.empty() ? chain.name == wanted || chain.name.ends_with(" " + wanted) : says(chain))
      fit.push_back(&chain);
  if (fit.size() > 1 && wanted.empty()) std::erase_if(fit, [](const auto* chain) { return chain->hook != "forward"; });
  if (fit.empty() && wanted.empty() && chains.size() == 1) return &chains[0];
  return fit.size() == 1 ? fit[0] : nullptr;
}

}  // namespace

RuleList read_nft(const std::string& name, std::string_view text, const std::string& wanted,
                  std::vector<std::string>& errors) {
  RuleList list;
  Mistakes mistakes(name, errors);
  const auto words = nft::words_of_ruleset(text, mistakes);
  const auto chains = nft::chains_of_ruleset(words, mistakes);
  const nft::Chain* chain = chosen(chains, wanted);
  if (chain == nullptr) {
    std::string names;
    for (const auto& one : chains) names += (names.empty() ? "'" : ", '") + one.name + "'";
    const std::string why = chains.empty()   ? "the end, and there is no chain"
                            : wanted.empty() ? "it does not say which chain is meant; name one with --chain: " + names
                                             : in_quotes(wanted) + " is not one of its chains; there are " + names;
    mistakes.add(words.back().line, why);
    return list;
  }
  list.chain = chain->name;
  list.policy = chain->policy;
  list.both_versions = chain->family == "inet";
  for (const auto& other : chains) list.left_out += &other == chain ? 0 : other.rules.size();
  for (const auto& rule : chain->rules) try {
      if (chain->family != "ip" && chain->family != "ip6" && chain->family != "inet")
        throw Error("is not supported: tables of the family " + chain->family + "; there are ip, ip6 and inet");
      if (auto rules = nft::rules_of_statement(rule, chain->family))
        add_rules(list, std::move(*rules), rule[0].line);
      else
        ++list.left_out;
    } catch (const Error& error) {
      mistakes.add(rule[0].line, in_quotes(nft::text_of_words(rule)) + " " + as_problem(error.what()));
    }
  return list;
}

}  // namespace heddle::classifier
