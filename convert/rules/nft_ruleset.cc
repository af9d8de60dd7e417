#include "convert/rules/nft_ruleset.h"

#include <algorithm>
#include <set>

#include "convert/rules/rule_list.h"
#include "core/text_file.h"

namespace heddle::classifier::nft {
namespace {

constexpr std::string_view kFamilies[] = {"ip", "ip6", "inet", "arp", "bridge", "netdev"};
constexpr std::string_view kChainTypes[] = {"filter", "nat", "route"};
// What a table may hold beside chains; it matters if a rule names it.
constexpr std::string_view kObjects[] = {"set", "map",     "flowtable", "counter", "quota", "limit",
                                         "ct",  "secmark", "synproxy",  "comment", "flags"};

template <class List>
bool is_one_of(const List& list, const Word& word) {
  return !word.quoted && std::ranges::find(list, word.text) != std::end(list);
}

/** Takes a ruleset apart. */
class RulesetReader {
 public:
  RulesetReader(const std::vector<Word>& words, Mistakes& mistakes) : words_(words), mistakes_(mistakes) {}

  Ruleset read() {
    while (more()) {
      const Word& first = words_[at_];
      if (first.is("\n") || first.is(";")) {
        ++at_;
      } else if (first.is("}")) {
        mistakes_.add(first.line, "'}' closes nothing");
        ++at_;
      } else if (first.is("table")) {
        table();
      } else {
        const auto line = statement();
        if (!(line.size() == 2 && line[0].is("flush") && line[1].is("ruleset")))
          mistake(line, "is not a table of `nft list ruleset`");
      }
    }
    return std::move(ruleset_);
  }

 private:
  bool more() const { return at_ < words_.size(); }
  bool within_block() const { return more() && !words_[at_].is("}"); }
  void mistake(const std::vector<Word>& words, const std::string& problem) {
    mistakes_.add(words[0].line, in_quotes(text_of_words(words)) + " " + problem);
  }

  /** The words up to the end of the line. */
  std::vector<Word> statement() {
    std::vector<Word> line;
    for (int depth = 0; more(); ++at_) {
      const Word& word = words_[at_];
      if (depth == 0 && (word.is("\n") || word.is(";") || word.is("}"))) break;
      if (word.is("{")) ++depth;
      if (word.is("}")) --depth;
      if (!word.is("\n")) line.push_back(word);
    }
    if (within_block()) ++at_;
    return line;
  }

  /** The words of a line up to a brace, which is passed over; false if it has none. */
  bool head(std::vector<Word>& words) {
    while (more() && !words_[at_].is("\n") && !words_[at_].is("{")) words.push_back(words_[at_++]);
    const bool opens = more() && words_[at_].is("{");
    if (more()) ++at_;
    return opens;
  }

  /** Behind the last line of a block. */
  void close(const Word& first) {
    if (!more() && !cut_off_)
      mistakes_.add(first.line, "no '}' ends the " + first.text + " that begins here; is the file cut off?");
    cut_off_ = cut_off_ || !more();
    if (more()) ++at_;
  }

  void table() {
    const Word& first = words_[at_];
    std::vector<Word> words;
    const bool opens = head(words);
    if (!opens || words.size() < 2 || words.size() > 3 || words.back().quoted ||
        (words.size() == 3 && !is_one_of(kFamilies, words[1])))
      mistake(words, "is not a table: expected table FAMILY NAME {");
    if (!opens) return;
    const std::string family = words.size() == 3 ? words[1].text : "ip";
    while (within_block()) {
      if (words_[at_].is("chain")) {
        chain(family, words.back().text);
        continue;
      }
      if (words_[at_].is("set")) {
        set(ruleset_.sets[family + " " + words.back().text]);
        continue;
      }
      const auto one = statement();
      if (one.empty()) continue;
      if (!is_one_of(kObjects, one[0])) mistake(one, "is not a part of a table: expected chain NAME {, or a set");
      if (one[0].is("flags")) mistake(one, "is not supported: the kernel does not look at such a table");
    }
    close(first);
  }

  void chain(const std::string& family, const std::string& table) {
    const Word& first = words_[at_];
    std::vector<Word> words;
    const bool opens = head(words);
    if (!opens || words.size() != 2 || words[1].quoted) mistake(words, "is not a chain: expected chain NAME {");
    if (!opens) return;
    Chain block{family, table + " " + words.back().text, {}, 0, {}, {}};
    if (!chains_.insert(family + " " + block.name).second) mistake(words, "is not a chain that has not been there");
    while (within_block()) {
      auto one = statement();
      if (one.empty()) continue;
      if (one[0].is("type"))
        hook(one, block);
      else if (one[0].is("policy"))
        policy(one, block);
      else if (!one[0].is("comment") || one.size() != 2)
        block.rules.push_back(std::move(one));
    }
    ruleset_.chains.push_back(std::move(block));
    close(first);
  }

  void set(Sets& sets) {
    const Word& first = words_[at_];
    std::vector<Word> words;
    const bool opens = head(words);
    if (!opens || words.size() != 2 || words[1].quoted) mistake(words, "is not a set: expected set NAME {");
    if (!opens) return;
    Set block;
    while (within_block()) {
      const auto one = statement();
      if (one.empty()) continue;
      if (std::ranges::any_of(one, [](const Word& word) { return word.is("."); })) block.why_not = "concatenations";
      if (one[0].is("timeout") || (one[0].is("flags") && std::ranges::any_of(one, [](const Word& word) {
                                     return word.is("dynamic") || word.is("timeout");
                                   })))
        block.why_not = "elements that come and go";
      if (one[0].is("elements")) elements(one, block);
    }
    sets[words.back().text] = std::move(block);
    close(first);
  }

  /** elements = { VALUE [comment TEXT] [counter packets N bytes N], ... } */
  void elements(const std::vector<Word>& line, Set& set) {
    if (line.size() < 4 || !line[1].is("=") || !line[2].is("{") || !line.back().is("}"))
      return mistake(line, "is not the elements of a set: expected elements = { VALUE, ... }");
    for (size_t i = 3; i + 1 < line.size(); ++i) {
      if (line[i].is(",")) continue;
      set.values.push_back(line[i].text);
      for (; i + 2 < line.size() && !line[i + 1].is(","); ++i)
        if (line[i + 1].is("timeout") || line[i + 1].is("expires")) set.why_not = "elements that come and go";
    }
  }

  /** type TYPE hook HOOK [device ...] priority ... */
  void hook(const std::vector<Word>& line, Chain& chain) {
    if (line.size() < 6 || !is_one_of(kChainTypes, line[1]) || !line[2].is("hook") ||
        std::ranges::none_of(line, [](const Word& word) { return word.is("priority"); }))
      return mistake(line, "is not a chain's place: expected type filter hook HOOK priority PRIORITY");
    chain.hook = line[3].text;
  }

  void policy(const std::vector<Word>& line, Chain& chain) {
    const bool accept = line.size() == 2 && line[1].is("accept");
    if (!accept && !(line.size() == 2 && line[1].is("drop")))
      return mistake(line, "is not a policy: expected accept or drop");
    if (chain.policy || chain.hook.empty()) return mistake(line, "is not a chain's one policy, behind its hook");
    chain.policy = accept ? kAllow : kDeny;
    chain.policy_line = line[0].line;
  }

  const std::vector<Word>& words_;
  Mistakes& mistakes_;
  size_t at_ = 0;
  bool cut_off_ = false;
  std::set<std::string> chains_;  // that have been there
  Ruleset ruleset_;
};

}  // namespace

Ruleset read_ruleset(const std::vector<Word>& words, Mistakes& mistakes) {
  return RulesetReader(words, mistakes).read();
}

}  // namespace heddle::classifier::nft
