#include "measure/generate/words.h"

#include <string_view>

namespace heddle::bench {
namespace {

constexpr std::string_view kConsonants = "tsncrlpdmbfhgwvkxjzq", kVowels = "eaoiuy";
const std::vector<double> kConsonantWeights = {50, 41, 40, 40, 39, 30, 30, 29, 27, 16,
                                               16, 16, 15, 10, 9,  7,  7,  4,  3,  1};
const std::vector<double> kVowelWeights = {70, 50, 50, 44, 20, 10};

}  // namespace

Words::Words() : consonants_(kConsonantWeights), vowels_(kVowelWeights) {}

std::string Words::operator()(Random& random, size_t length) const {
  std::string word;
  bool vowel = random.chance(0.3);
  while (word.size() < length) {
    word += vowel ? kVowels[vowels_(random)] : kConsonants[consonants_(random)];
    // Now and then two consonants or two vowels meet.
    if (!random.chance(0.15)) vowel = !vowel;
  }
  return word;
}

}  // namespace heddle::bench
