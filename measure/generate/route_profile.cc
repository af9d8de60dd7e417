#include "measure/generate/route_profile.h"

#include <algorithm>
#include <bit>
#include <set>

#include "core/error.h"
#include "measure/generate/data.h"
#include "measure/generate/text.h"

namespace heddle::bench {
namespace {

int significant_bits(Address value) {
  const auto high = static_cast<uint64_t>(value >> 64);
  return high != 0 ? 64 + std::bit_width(high) : static_cast<int>(std::bit_width(static_cast<uint64_t>(value)));
}

std::string_view without_comment(std::string_view line) { return line.substr(0, line.find_first_of("#;")); }

double number(const LineReader& reader, std::string_view word) {
  double value = 0;
  if (!parse_number(word, value) || !(value >= 0))
    reader.fail("'" + std::string(word) + "' is not a number of prefixes");
  return value;
}

int length_of(const LineReader& reader, std::string_view word, Family family) {
  int length = -1;
  if (!parse_number(word, length) || length < 0 || length > address_bits(family))
    reader.fail("'" + std::string(word) + "' is not a prefix length");
  return length;
}

}  // namespace

double RouteProfile::count_of(int length) const {
  double sum = 0;
  for (const auto& one : classes) sum += one.length == length ? one.count : 0;
  return sum;
}

RouteProfile profile_of(std::vector<Prefix> table, Family family) {
  if (table.empty()) throw Error("there is no prefix to make a profile of");
  std::sort(table.begin(), table.end());
  table.erase(std::unique(table.begin(), table.end()), table.end());

  RouteProfile profile;
  profile.family = family;
  profile.near.resize(static_cast<size_t>(address_bits(family)) + 1);
  struct Group {
    double count = 0;
    std::set<Prefix> parents;
  };
  std::map<std::pair<int, int>, Group> groups;  // (length, cover)
  std::set<Prefix> all_parents;
  std::map<std::pair<Prefix, int>, Address> neighbours;  // (parent, length) -> the one before
  std::vector<Prefix> covers;
  for (const Prefix& prefix : table) {
    while (!covers.empty() && !covers.back().covers(prefix)) covers.pop_back();
    const bool covered = !covers.empty() && covers.back().length >= profile.block_bits();
    const Prefix parent =
        covered ? covers.back() : Prefix{prefix.address & prefix_bits(profile.block_bits()), profile.block_bits()};
    Group& group = groups[{prefix.length, covered ? parent.length : RouteProfile::kNone}];
    ++group.count;
    group.parents.insert(parent);
    if (covered && all_parents.insert(parent).second) ++profile.covers[parent.length];
    if (!covered) ++profile.blocks[profile.block_of(prefix.address)];

    auto& near = profile.near[static_cast<size_t>(prefix.length)];
    near.resize(static_cast<size_t>(prefix.length));
    const auto [before, first] = neighbours.try_emplace({parent, prefix.length}, prefix.address);
    if (!first && prefix.length > parent.length) {
      const int differ = significant_bits((before->second ^ prefix.address) >> (128 - prefix.length));
      ++near[static_cast<size_t>(differ - 1)];
      before->second = prefix.address;
    }
    covers.push_back(prefix);
  }
  for (const auto& [key, group] : groups)
    profile.classes.push_back({key.second, key.first, group.count, static_cast<double>(group.parents.size())});
  return profile;
}

std::string to_text(const RouteProfile& profile) {
  std::string text = format("family %s\n", profile.family == Family::ipv4 ? "ipv4" : "ipv6");
  for (const auto& [block, count] : profile.blocks) text += format("block %u %.0f\n", block, count);
  for (const auto& one : profile.classes)
    text +=
        format("class %s %d %.0f %.0f\n", one.cover == RouteProfile::kNone ? "-" : std::to_string(one.cover).c_str(),
               one.length, one.count, one.parents);
  for (const auto& [length, count] : profile.covers) text += format("covers %d %.0f\n", length, count);
  for (size_t length = 0; length < profile.near.size(); ++length) {
    std::vector<double> near = profile.near[length];
    while (!near.empty() && near.back() == 0) near.pop_back();
    if (near.empty()) continue;
    text += format("near %zu", length);
    for (const double count : near) text += format(" %.0f", count);
    text += "\n";
  }
  return text;
}

RouteProfile parse_profile(const std::string& name, std::string_view text) {
  RouteProfile profile;
  profile.near.resize(129);
  LineReader reader(name, text);
  for (std::string_view line; reader.next(line);) {
    const auto words = words_of(without_comment(line));
    if (words.empty()) continue;
    if (words[0] == "family" && words.size() == 2 && (words[1] == "ipv4" || words[1] == "ipv6")) {
      profile.family = words[1] == "ipv4" ? Family::ipv4 : Family::ipv6;
      profile.near.resize(static_cast<size_t>(address_bits(profile.family)) + 1);
    } else if (words[0] == "block" && words.size() == 3) {
      uint32_t block = 0;
      if (!parse_number(words[1], block) || block >> profile.block_bits() != 0)
        reader.fail("'" + std::string(words[1]) + "' is not a block");
      profile.blocks[block] = number(reader, words[2]);
    } else if (words[0] == "class" && words.size() == 5) {
      RouteProfile::Class one{RouteProfile::kNone, length_of(reader, words[2], profile.family),
                              number(reader, words[3]), number(reader, words[4])};
      if (words[1] != "-") one.cover = length_of(reader, words[1], profile.family);
      if (one.cover >= one.length) reader.fail("a cover must be shorter than what it covers");
      if (one.count < one.parents || (one.parents == 0 && one.count != 0))
        reader.fail("a class has at least one parent, and at most as many as prefixes");
      profile.classes.push_back(one);
    } else if (words[0] == "covers" && words.size() == 3) {
      profile.covers[length_of(reader, words[1], profile.family)] = number(reader, words[2]);
    } else if (words[0] == "near" && words.size() >= 2) {
      const int length = length_of(reader, words[1], profile.family);
      auto& near = profile.near[static_cast<size_t>(length)];
      for (size_t i = 2; i < words.size(); ++i) near.push_back(number(reader, words[i]));
      if (near.size() > static_cast<size_t>(length)) reader.fail("more numbers than the length has bits");
    } else {
      reader.fail(
          "expected family ipv4|ipv6, block BLOCK COUNT, class COVER|- LENGTH COUNT PARENTS, covers LENGTH COUNT or "
          "near LENGTH COUNT...");
    }
  }
  std::sort(profile.classes.begin(), profile.classes.end(),
            [](const auto& a, const auto& b) { return std::pair(a.length, a.cover) < std::pair(b.length, b.cover); });
  if (profile.blocks.empty() || profile.classes.empty()) throw Error(name + ": a profile needs blocks and classes");
  return profile;
}

const RouteProfile& real_profile(Family family) {
  static const RouteProfile ipv4 = parse_profile("ipv4.profile", data_file("ipv4.profile"));
  static const RouteProfile ipv6 = parse_profile("ipv6.profile", data_file("ipv6.profile"));
  return family == Family::ipv4 ? ipv4 : ipv6;
}

RouteProfile profile_like(const std::string& path, Family family) {
  const char* name = family == Family::ipv4 ? "IPv4" : "IPv6";
  const std::string text = read_file(path);
  std::vector<Prefix> table;
  LineReader reader(path, text);
  for (std::string_view line; reader.next(line);) {
    const auto words = words_of(without_comment(line));
    if (words.empty()) continue;
    if (words[0] == "family") {
      auto profile = parse_profile(path, text);
      if (profile.family != family) throw Error(path + ": this profile is not one of " + name);
      return profile;
    }
    Prefix prefix;
    if (parse_prefix(words[0], family, prefix))
      table.push_back(prefix);
    else if (!parse_prefix(words[0], family == Family::ipv4 ? Family::ipv6 : Family::ipv4, prefix))
      reader.fail("'" + std::string(words[0]) + "' is not a prefix such as " +
                  (family == Family::ipv4 ? "192.0.2.0/24" : "2001:db8::/32") + ", nor is this a route profile");
  }
  if (table.empty()) throw Error(path + ": no " + name + " prefix in it");
  return profile_of(std::move(table), family);
}

}  // namespace heddle::bench
