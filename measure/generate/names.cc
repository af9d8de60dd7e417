#include "measure/generate/names.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "measure/generate/words.h"

namespace heddle::bench {
namespace {

// Counts in ten-thousandths of what names.h says; the URLs' own, but for rare ones.
const std::vector<double> kHostLabels = {748, 7585, 1388, 266, 13};                              // 2 to 6
const std::vector<double> kPathComponents = {35, 3864, 3844, 1349, 516, 212, 123, 45, 8, 3, 1};  // 0 to 10
const std::vector<double> kDomainLengths = {70, 105, 133, 81, 99, 86, 89, 109, 50, 55, 33,
                                            25, 18,  13,  11, 7,  6,  4,  2,   2,  1,  1};  // 2 to 23
const std::vector<double> kLabelLengths = {1,  119, 126, 158, 224, 103, 97, 56, 37,
                                           27, 18,  9,   7,   5,   4,   2,  2,  1};  // 1 to 18, no www
const std::vector<double> kInnerLengths = {20, 84, 94, 203, 103, 80, 109, 139, 56, 28, 22,
                                           18, 11, 8,  5,   4,   3,  2,   2,   2,  2,  1};  // 1 to 22
const std::vector<double> kStemLengths = {
    4, 16, 61, 76, 141, 102, 151, 108, 67, 52, 39, 32, 24, 21, 17, 19, 11,
    8, 7,  6,  5,  4,   3,   3,   3,   2,  2,  2,  2,  1,  1,  1,  1,  10};  // 1 to 34, without extension
constexpr double kWww = 0.56;

struct Weighted {
  std::string_view text;
  double weight;
};
constexpr Weighted kTopLevel[] = {{"com", 509}, {"org", 169}, {"net", 70}, {"edu", 65}, {"uk", 41}, {"de", 22},
                                  {"ca", 11},   {"au", 10},   {"nl", 9},   {"gov", 9},  {"us", 7},  {"fr", 7},
                                  {"jp", 6},    {"it", 6},    {"se", 6},   {"info", 5}, {"ch", 4},  {"fi", 4},
                                  {"at", 3},    {"dk", 3},    {"no", 3},   {"be", 3},   {"es", 3},  {"br", 3},
                                  {"ru", 3},    {"pl", 3},    {"eu", 2},   {"nz", 2},   {"cz", 2},  {"io", 2}};
constexpr Weighted kExtensions[] = {{"", 531},    {".html", 244}, {".htm", 107},  {".pdf", 22},
                                    {".php", 19}, {".asp", 15},   {".shtml", 12}, {".aspx", 12},
                                    {".cfm", 6},  {".xml", 4},    {".jsp", 3}};

template <size_t kSize>
Discrete by_weight(const Weighted (&list)[kSize]) {
  std::vector<double> weights;
  for (const auto& one : list) weights.push_back(one.weight);
  return Discrete(weights);
}

/** Words of which the k-th is 1 / k^exponent as popular as the first; a word is made up when it is first used. */
class Vocabulary {
 public:
  Vocabulary(size_t size, double exponent, Lengths lengths)
      : pick_(zipf_weights(std::max<size_t>(64, size), exponent)),
        lengths_(std::move(lengths)),
        words_(std::max<size_t>(64, size)) {}
  const std::string& operator()(Random& random, const Words& make) {
    std::string& word = words_[pick_(random)];
    if (word.empty()) word = make(random, lengths_(random));
    return word;
  }

 private:
  Discrete pick_;
  Lengths lengths_;
  std::vector<std::string> words_;
};

class NameMaker {
 public:
  NameMaker(size_t count, uint64_t seed)
      : random_(seed),
        top_(by_weight(kTopLevel)),
        extensions_(by_weight(kExtensions)),
        // So many that the share of different ones among the drawn is the URLs' (34, 11, 32 and 79 %).
        domains_(count, 0.89, Lengths(2, kDomainLengths)),
        labels_(count / 5, 0.99, Lengths(1, kLabelLengths)),
        inner_(count, 0.98, Lengths(1, kInnerLengths)),
        last_(count * 4, 0.76, Lengths(1, kStemLengths)) {}

  std::string name(NameForm form) {
    std::vector<std::string> host = {std::string(kTopLevel[top_(random_)].text), domains_(random_, words_)};
    for (size_t labels = host_labels_(random_); host.size() < labels;)
      host.push_back(host.size() == 2 && random_.chance(kWww) ? "www" : labels_(random_, words_));
    std::vector<std::string> path;
    for (size_t left = path_components_(random_); left > 0; --left)
      path.push_back(left > 1 ? inner_(random_, words_) : last());
    return form == NameForm::ndn ? ndn(host, path) : url(host, path);
  }
  /** For names that came out before: something that no other has. */
  std::string more() { return "/" + words_(random_, stem_lengths_(random_) + 3); }
  Random& random() { return random_; }

 private:
  std::string last() {
    std::string component = last_(random_, words_);  // the order of draws is part of the output
    return component += kExtensions[extensions_(random_)].text;
  }

  static std::string ndn(const std::vector<std::string>& host, const std::vector<std::string>& path) {
    std::string name;
    for (const auto& label : host) name += "/" + label;
    for (const auto& component : path) name += "/" + component;
    return name;
  }
  static std::string url(const std::vector<std::string>& host, const std::vector<std::string>& path) {
    std::string name = "http://";
    for (size_t i = host.size(); i-- > 0;) name += host[i] + (i > 0 ? "." : "");
    for (const auto& component : path) name += "/" + component;
    return path.empty() ? name + "/" : name;
  }

  Random random_;
  Words words_;
  Discrete top_, extensions_;
  Lengths host_labels_{2, kHostLabels}, path_components_{0, kPathComponents}, stem_lengths_{1, kStemLengths};
  Vocabulary domains_, labels_, inner_, last_;
};

}  // namespace

std::vector<std::string> generate_names(size_t count, NameForm form, uint64_t seed) {
  constexpr int kTries = 20;
  NameMaker maker(count, seed);
  std::unordered_set<std::string> seen;
  std::vector<std::string> names;
  names.reserve(count);
  while (names.size() < count) {
    std::string name = maker.name(form);
    for (int i = 0; seen.contains(name); ++i) name = i < kTries ? maker.name(form) : name + maker.more();
    seen.insert(name);
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace heddle::bench
