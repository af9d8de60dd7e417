// What `nft list ruleset` prints: the rules of one chain and of those that it jumps to, without state.

#include <algorithm>

#include "convert/rules/chains.h"
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
  // Others are jumped to from those that have a place.
  if (wanted.empty() && std::ranges::any_of(fit, [](const auto* chain) { return !chain->hook.empty(); }))
    std::erase_if(fit, [](const auto* chain) { return chain->hook.empty(); });
  if (fit.size() > 1 && wanted.empty()) std::erase_if(fit, [](const auto* chain) { return chain->hook != "forward"; });
  if (fit.empty() && wanted.empty() && chains.size() == 1) return &chains[0];
  return fit.size() == 1 ? fit[0] : nullptr;
}

/** The chains of the tables, as they jump to each other: by "FAMILY TABLE CHAIN". */
class TableChains : public ForeignChains {
 public:
  explicit TableChains(const nft::Ruleset& ruleset) : sets_(ruleset.sets) {
    for (const nft::Chain& chain : ruleset.chains) chains_[key_of(chain)] = &chain;
  }
  static std::string key_of(const nft::Chain& chain) { return chain.family + " " + chain.name; }
  size_t lines(const std::string& chain) const override { return chains_.at(chain)->rules.size(); }
  size_t number(const std::string& chain, size_t i) const override { return rule(chain, i)[0].line; }
  std::string text(const std::string& chain, size_t i) const override { return nft::text_of_words(rule(chain, i)); }
  ChainLine read(const std::string& chain, size_t i) const override {
    const nft::Chain& from = *chains_.at(chain);
    if (from.family != "ip" && from.family != "ip6" && from.family != "inet")
      throw Error("is not supported: tables of the family " + from.family + "; there are ip, ip6 and inet");
    static const nft::Sets kNone;
    const auto sets = sets_.find(from.table());
    ChainLine line = nft::read_statement(rule(chain, i), from.family, sets == sets_.end() ? kNone : sets->second);
    if (line.to.empty()) return line;
    const std::string to = from.table() + " " + line.to;
    if (!chains_.contains(to)) throw Error("is not a rule: its table has no chain " + in_quotes(line.to));
    line.to = to;
    return line;
  }

 private:
  const std::vector<nft::Word>& rule(const std::string& chain, size_t i) const { return chains_.at(chain)->rules[i]; }
  std::map<std::string, const nft::Chain*> chains_;
  const std::map<std::string, nft::Sets>& sets_;
};

}  // namespace

RuleList read_nft(const std::string& name, std::string_view text, const RuleListOptions& options,
                  std::vector<std::string>& errors) {
  const std::string& wanted = options.chain;
  RuleList list;
  Mistakes mistakes(name, errors);
  const auto words = nft::words_of_ruleset(text, mistakes);
  const nft::Ruleset ruleset = nft::read_ruleset(words, mistakes);
  const std::vector<nft::Chain>& chains = ruleset.chains;
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
  const TableChains tables(ruleset);
  const size_t read = ChainReader(tables, options.skip_unsupported, list, mistakes).read(TableChains::key_of(*chain));
  for (const auto& each : chains) list.left_out += each.rules.size();
  list.left_out -= read;
  return list;
}

}  // namespace heddle::classifier
