// What `nft list ruleset` prints: the rules of one chain and of those that it jumps to, without state.

#include <algorithm>
#include <functional>

#include "convert/rules/chains.h"
#include "convert/rules/nft_ruleset.h"
#include "convert/rules/nft_statement.h"
#include "convert/rules/rule_list.h"
#include "core/error.h"
#include "core/text_file.h"

namespace heddle::classifier {
namespace {

using ChainList = std::vector<const nft::Chain*>;

/** The chains that may be meant. */
ChainList fitting(const std::vector<nft::Chain>& chains, const std::string& wanted) {
  ChainList fit;
  // A policy that forbids says something as well.
  const auto says = [](const nft::Chain& chain) {
    return !chain.rules.empty() || (chain.hook == "forward" && chain.policy == kDeny);
  };
  for (const nft::Chain& chain : chains)
    if (!wanted.empty() ? chain.full_name() == wanted || chain.full_name().ends_with(" " + wanted) : says(chain))
      fit.push_back(&chain);
  // Others are jumped to from those that have a place.
  if (wanted.empty() && std::ranges::any_of(fit, [](const auto* chain) { return !chain->hook.empty(); }))
    std::erase_if(fit, [](const auto* chain) { return chain->hook.empty(); });
  const auto forwards = [](const auto* chain) { return chain->hook == "forward"; };
  if (wanted.empty() && fit.size() > 1 && std::ranges::any_of(fit, forwards)) std::erase_if(fit, std::not_fn(forwards));
  if (wanted.empty() && fit.empty() && chains.size() == 1) return {&chains[0]};
  return fit;
}

/** What --chain takes for it. */
std::string name_of(const nft::Chain& chain, const std::vector<nft::Chain>& chains) {
  const auto same = std::ranges::count(chains, chain.name, &nft::Chain::name);
  return same > 1 ? chain.full_name() : chain.name;
}

std::string names_of(const ChainList& some, const std::vector<nft::Chain>& chains) {
  std::string names;
  for (const nft::Chain* one : some) names += (names.empty() ? "'" : ", '") + name_of(*one, chains) + "'";
  return names;
}

/** The chains of the tables, as they jump to each other: by "FAMILY TABLE CHAIN". */
class TableChains : public ForeignChains {
 public:
  explicit TableChains(const nft::Ruleset& ruleset) : sets_(ruleset.sets) {
    for (const nft::Chain& chain : ruleset.chains) chains_[chain.full_name()] = &chain;
  }
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
  bool may_drop(const std::string& chain, size_t i) const override {
    return std::ranges::any_of(rule(chain, i), [](const nft::Word& word) {
      return word.is("drop") || word.is("reject") || word.is("return") || word.is("jump") || word.is("goto") ||
             word.is("queue") || word.is("vmap");
    });
  }

 private:
  const std::vector<nft::Word>& rule(const std::string& chain, size_t i) const { return chains_.at(chain)->rules[i]; }
  std::map<std::string, const nft::Chain*> chains_;
  const std::map<std::string, nft::Sets>& sets_;
};

/** Looks for what drops in chains that packets of `wanted` come through, but for those in `read`. */
class OtherDrops {
 public:
  OtherDrops(const std::vector<nft::Chain>& chains, const std::set<std::string>& read, std::set<size_t>& lines)
      : seen_(read), lines_(lines) {
    for (const nft::Chain& chain : chains) chains_[chain.full_name()] = &chain;
  }
  void look(const nft::Chain& wanted) {
    for (const auto& [name, chain] : chains_) {
      const std::string& family = chain->family;
      const bool same_packets = family == wanted.family || family == "inet" || family == "netdev" ||
                                (wanted.family == "inet" && (family == "ip" || family == "ip6"));
      if (same_packets && !chain->hook.empty() && is_on_way(wanted.hook, chain->hook)) look_into(name);
    }
  }

 private:
  void look_into(const std::string& first) {
    std::vector<std::string> names{first};
    while (!names.empty()) {
      const auto found = chains_.find(names.back());
      names.pop_back();
      if (found == chains_.end() || !seen_.insert(found->first).second) continue;
      const nft::Chain& chain = *found->second;
      if (chain.policy == kDeny) lines_.insert(chain.policy_line);
      for (const std::vector<nft::Word>& rule : chain.rules)
        for (size_t i = 0; i < rule.size(); ++i) {
          if (rule[i].is("drop") || rule[i].is("reject") || rule[i].is("vmap")) lines_.insert(rule[0].line);
          if ((rule[i].is("jump") || rule[i].is("goto")) && i + 1 < rule.size())
            names.push_back(chain.table() + " " + rule[i + 1].text);
        }
    }
  }

  std::map<std::string, const nft::Chain*> chains_;
  std::set<std::string> seen_;
  std::set<size_t>& lines_;
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
  const ChainList fit = fitting(chains, wanted);
  if (fit.size() != 1) {
    ChainList all;
    for (const nft::Chain& one : chains) all.push_back(&one);
    const std::string names = names_of(fit.empty() ? all : fit, chains);
    const std::string why =
        chains.empty()   ? "the end, and there is no chain"
        : wanted.empty() ? "it does not say which chain is meant; name one with --chain: " + names_of(all, chains)
        : fit.empty()
            ? in_quotes(wanted) + " is not one of its chains; there are " + names
            : in_quotes(wanted) + format(" may be %zu of its chains; name one with --chain: ", fit.size()) + names;
    mistakes.add(words.back().line, why);
    return list;
  }
  const nft::Chain* chain = fit[0];
  list.chain = name_of(*chain, chains);
  list.policy = chain->policy;
  list.both_versions = chain->family == "inet";
  const TableChains tables(ruleset);
  ChainReader reader(tables, options.skip_unsupported, list, mistakes);
  const size_t read = reader.read(chain->full_name());
  OtherDrops(chains, reader.seen(), list.other_drops).look(*chain);
  for (const auto& each : chains) list.left_out += each.rules.size();
  list.left_out -= read;
  return list;
}

}  // namespace heddle::classifier
