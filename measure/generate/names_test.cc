#include "measure/generate/names.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "measure/generate/test_support.h"
#include "measure/generate/text.h"

namespace heddle::bench {
namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += name + "\n";
  return text;
}

TEST(Names, AreTheSameForTheSameSeed) {
  EXPECT_EQ(checksum(joined(generate_names(2000, NameForm::ndn, 1))), 255027357677715410u);
  EXPECT_NE(generate_names(100, NameForm::ndn, 1), generate_names(100, NameForm::ndn, 2));
  EXPECT_EQ(generate_names(1, NameForm::url, 1).size(), 1u);
}

TEST(Names, HaveTheStatisticsOfUrls) {
  constexpr double kCount = 48'000;
  const auto names = generate_names(48'000, NameForm::ndn, 2);
  EXPECT_EQ(std::set(names.begin(), names.end()).size(), names.size()) << "duplicates";
  std::map<std::string, double> top, domains;
  double components = 0, bytes = 0, www = 0;
  std::map<size_t, double> by_count;
  for (const auto& name : names) {
    ASSERT_EQ(name[0], '/');
    const auto words = words_of(std::string_view(name).substr(1), "/");
    components += static_cast<double>(words.size());
    ++by_count[words.size()];
    bytes += static_cast<double>(name.size());
    ++top[std::string(words[0])];
    ++domains[std::string(words[1])];
    www += words.size() > 2 && words[2] == "www";
  }
  EXPECT_NEAR(components / kCount, 5.1, 0.1);
  EXPECT_NEAR(by_count[4] / kCount, 0.33, 0.03);
  EXPECT_NEAR(by_count[5] / kCount, 0.35, 0.03);
  EXPECT_NEAR(bytes / kCount, 36, 2);
  EXPECT_NEAR(top["com"] / kCount, 0.51, 0.02);
  EXPECT_NEAR(www / kCount, 0.52, 0.03);
  // Different second-level domains: 34 %, and the r-th of them r^0.89 times rarer than the first.
  EXPECT_NEAR(static_cast<double>(domains.size()) / kCount, 0.34, 0.05);
  std::vector<double> popularity;
  for (const auto& [domain, count] : domains) popularity.push_back(count);
  std::sort(popularity.rbegin(), popularity.rend());
  EXPECT_NEAR(std::log(popularity[1] / popularity[99]) / std::log(50), 0.89, 0.1);
}

TEST(Names, AsUrls) {
  const auto urls = generate_names(1000, NameForm::url, 3);
  for (const auto& url : urls) {
    EXPECT_TRUE(url.starts_with("http://")) << url;
    EXPECT_NE(url.find('/', 7), url.npos) << url;
    EXPECT_NE(url.find('.'), url.npos) << url;
  }
}

}  // namespace
}  // namespace heddle::bench
