// Base64 in payloads: what it is decoded to, by RFC 4648 and an encoder written from it, and how it is looked into.

#include "functions/nids/base64.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "functions/nids/packets_for_test.h"
#include "functions/nids/rule_file.h"

namespace heddle::test {
namespace {

using namespace nids;

std::span<const uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string decoded(std::string_view text, size_t* read = nullptr) {
  std::vector<uint8_t> bytes{'x'};
  const size_t count = decode_base64(bytes_of(text), bytes);
  if (read != nullptr) *read = count;
  return {bytes.begin(), bytes.end()};
}

/** RFC 4648, 4. */
std::string encoded(std::string_view bytes) {
  const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bits, text;
  for (const char c : bytes)
    for (int bit = 7; bit >= 0; --bit) bits += (c >> bit & 1) != 0 ? '1' : '0';
  while (bits.size() % 6 != 0) bits += '0';
  for (size_t at = 0; at < bits.size(); at += 6) text += letters[std::stoul(bits.substr(at, 6), nullptr, 2)];
  while (text.size() % 4 != 0) text += '=';
  return text;
}

TEST(NidsBase64, IsThatOfTheRfc) {
  // RFC 4648, 10.
  for (const auto& [text, bytes] : {std::pair<std::string, std::string>{"", ""},
                                    {"Zg==", "f"},
                                    {"Zm8=", "fo"},
                                    {"Zm9v", "foo"},
                                    {"Zm9vYg==", "foob"},
                                    {"Zm9vYmE=", "fooba"},
                                    {"Zm9vYmFy", "foobar"}}) {
    EXPECT_EQ(decoded(text), bytes);
    EXPECT_EQ(encoded(bytes), text);
  }
  auto random = random_for("base64");
  for (size_t n = 0; n < 300; ++n) {
    const std::string bytes = random_bytes(random, random() % 100);
    EXPECT_EQ(decoded(encoded(bytes)), bytes);
    // Cut off anywhere, it is the bytes whose bits are all there.
    const std::string text = encoded(bytes);
    const std::string plain = text.substr(0, text.find('='));
    for (size_t length = 0; length < plain.size(); ++length)
      EXPECT_EQ(decoded(plain.substr(0, length)), bytes.substr(0, length * 3 / 4));
  }
}

TEST(NidsBase64, EndsWhereItIsNone) {
  for (const char end : {'\0', '\1', '-', '_', ' ', '\r', '%', '.', '@', '[', '`', '{', '\x80', '\xff'}) {
    size_t read = 0;
    EXPECT_EQ(decoded("Zm9vYmFy" + std::string(1, end) + "Zm9v", &read), "foobar");
    EXPECT_EQ(read, 8u);
    EXPECT_EQ(decoded(std::string(1, end) + "Zm9v", &read), "");
    EXPECT_EQ(read, 0u);
  }
}

// What Suricata 7.0.10 makes of these, which no encoder writes.
TEST(NidsBase64, TakesPaddingAnywhere) {
  for (const auto& [text, bytes] : {std::pair<std::string, std::string>{"Zg==Zm9v", "ffoo"},
                                    {"=Zm8", std::string("\x01\x99", 2)},
                                    {"Z===Zm9v", "foo"},
                                    {"====Zm9v", "foo"},
                                    {"Z", ""},
                                    {"=", ""},
                                    {"Zm9vd ", "foot"},
                                    {"Zm9vdA ", "foot"},
                                    {"Zm9vdHM-", "foots"},
                                    {"= ", std::string(1, '\0')},
                                    {"Zm=", "f`"},
                                    {"Zm9v=", "foo"},
                                    {"Zm9v==", std::string("foo\0", 4)}})
    EXPECT_EQ(decoded(text), bytes) << text;
}

/** The rule with these options, of UDP. */
Signature rule_of(const std::string& options, const std::string& protocol = "udp") {
  Variables variables;
  std::vector<std::string> errors;
  const std::string text = "alert " + protocol + " any any -> any any (" + options + " sid:1;)";
  RuleSet set = parse_rules("f", text, false, variables, errors);
  EXPECT_TRUE(errors.empty()) << errors[0];
  return set.rules.empty() ? Signature{} : set.rules[0];
}

bool looks_for(const std::string& options, const std::string& payload, uint64_t* gave_up = nullptr) {
  View view{};
  view.protocol = Protocol::udp;
  view.payload = bytes_of(payload);
  Workspace workspace;
  const bool found = matches(rule_of(options), view, workspace);
  if (gave_up != nullptr) *gave_up = workspace.gave_up;
  return found;
}

// Suricata looks behind the first match only.
TEST(NidsBase64, IsLookedForBehindEachMatch) {
  const std::string rule = "content:\"=|3a|\"; base64_decode:relative; base64_data; content:\"mark\"; startswith;";
  EXPECT_TRUE(looks_for(rule, "=:" + encoded("mark")));
  EXPECT_TRUE(looks_for(rule, "=:" + encoded("other") + ":=:" + encoded("mark")));
  EXPECT_FALSE(looks_for(rule, "=:" + encoded("other") + ":=:" + encoded("others")));
  EXPECT_FALSE(looks_for(rule, "=:"));
}

// However far an offset leads, and however much is decoded, again and again.
TEST(NidsBase64, NoPayloadKeepsItBusy) {
  uint64_t gave_up = 0;
  const std::string whole(65535, 'A');
  EXPECT_FALSE(looks_for("base64_decode:offset 4294967295; base64_data; content:\"a\";", whole, &gave_up));
  EXPECT_FALSE(looks_for("content:\"A\"; base64_decode:offset 4294967295,relative; base64_data; content:\"a\";",
                         std::string(900, 'A'), &gave_up));
  EXPECT_EQ(gave_up, 0u);
  EXPECT_TRUE(looks_for("base64_decode:bytes 65535; base64_data; isdataat:49150; isdataat:!49151;", whole, &gave_up));
  EXPECT_EQ(gave_up, 0u);
  EXPECT_FALSE(looks_for("content:\"A\"; base64_decode:relative; base64_data; content:\"a\";", whole, &gave_up));
  EXPECT_EQ(gave_up, 1u);
  EXPECT_FALSE(looks_for("content:\"=\"; base64_decode:relative; base64_data; content:\"a\";", std::string(65535, '='),
                         &gave_up));
  EXPECT_EQ(gave_up, 1u);
  // What is looked for in it counts as well.
  EXPECT_FALSE(looks_for("content:\"A\"; base64_decode:relative; base64_data; content:\"|00|\"; pcre:\"/^x/R\";",
                         std::string(1400, 'A'), &gave_up));
  EXPECT_GE(gave_up, 1u);
}

/** In how many of the windows, one for each segment, the rule matches a connection that is so cut. */
size_t matches_of(const Signature& rule, const std::string& text, const std::vector<size_t>& cuts) {
  View view{};
  view.protocol = Protocol::tcp;
  Workspace workspace;
  size_t found = 0;
  for (size_t k = 0; k + 1 < cuts.size(); ++k) {
    const Window window{.bytes = bytes_of(text).first(cuts[k + 1]), .fresh = static_cast<uint32_t>(cuts[k])};
    found += matches(rule, view, window, workspace) ? 1 : 0;
  }
  return found;
}

TEST(NidsBase64, StandsInConnectionsHoweverTheyAreCut) {
  auto random = random_for("base64 segments");
  const std::string text = "...key=" + encoded("a mark, and more") + "\r\n" + encoded("mark") + "\r\n";
  for (const char* options :
       {"content:\"key=\"; base64_decode:relative; base64_data; content:\"mark\";",
        "content:\"key=\"; base64_decode:bytes 8,relative; base64_data; content:\"a m\"; content:\"ar\"; distance:0;",
        "base64_decode:offset 7; base64_data; content:\"mark\"; content:!\"nothing\";",
        "content:\"key=\"; base64_decode:offset 4,relative; base64_data; content:\"more\"; endswith; within:30;"}) {
    const Signature rule = rule_of(options, "tcp");
    const bool reads = std::string_view(options).find("endswith") == std::string_view::npos;
    EXPECT_EQ(rule.reads_streams(), reads) << options;
    for (size_t round = 0; reads && round < 300; ++round) {
      std::vector<size_t> cuts{0};
      while (cuts.back() < text.size()) cuts.push_back(std::min(cuts.back() + 1 + random() % 12, text.size()));
      EXPECT_EQ(matches_of(rule, text, cuts), 1u) << options;
    }
  }
  EXPECT_FALSE(rule_of("content:\"a\"; base64_decode:relative; base64_data; content:!\"b\";", "tcp").reads_streams());
  EXPECT_FALSE(rule_of("base64_decode:relative; base64_data; content:\"b\";", "tcp").reads_streams());
}

TEST(NidsBase64, IsAPartOfTheBufferThatItStandsIn) {
  const Signature rule = rule_of(
      "content:\"p\"; http.method; content:\"G\"; http.uri; content:\"u\"; base64_decode:bytes 8, offset 2, relative; "
      "base64_data; content:\"x\"; nocase; pcre:\"/y/R\"; byte_test:1,=,1,0,relative; urilen:>4;",
      "http");
  EXPECT_EQ(rule.contents.size(), 1u);
  ASSERT_EQ(rule.parts.size(), 2u);
  const std::vector<Content>& contents = rule.parts[1].contents;
  ASSERT_TRUE(contents.size() == 2u && contents[1].base64 && contents[1].relative);
  const Base64& base64 = *contents[1].base64;
  EXPECT_TRUE(base64.bytes == 8 && base64.offset == 2 && base64.contents.size() == 3u);
  EXPECT_TRUE(base64.contents[0].nocase && base64.contents[1].regex && base64.contents[2].probe);
  const Signature older = rule_of("content:\"a\"; http_uri; base64_decode; base64_data; content:\"x\";", "http");
  ASSERT_EQ(older.parts.size(), 1u);
  EXPECT_TRUE(older.parts[0].contents.size() == 2 && older.contents.empty());
}

TEST(NidsBase64, MistakesSayWhatIsWrong) {
  const std::string order = " is not [bytes N][, offset N][, relative], in this order";
  const std::pair<std::string, std::string> cases[] = {
      {"base64_decode:relative, offset 3; base64_data; content:\"a\";", "base64_decode 'relative, offset 3'" + order},
      {"base64_decode:bytes 65536; base64_data; content:\"a\";", "base64_decode 'bytes 65536'" + order},
      {"base64_decode:offset -1; base64_data; content:\"a\";", "base64_decode 'offset -1'" + order},
      {"base64_decode:offset 4294967296; base64_data; content:\"a\";", "base64_decode 'offset 4294967296'" + order},
      {"base64_decode:bytes; base64_data; content:\"a\";", "base64_decode 'bytes'" + order},
      {"base64_decode:relatively; base64_data; content:\"a\";", "base64_decode 'relatively'" + order},
      {"base64_data; content:\"a\";", "base64_data stands behind no base64_decode of the same buffer"},
      {"base64_decode; http.uri; content:\"a\"; base64_data; content:\"a\";",
       "base64_data stands behind no base64_decode of the same buffer"},
      {"base64_decode; base64_data:3; content:\"a\";", "base64_data has no value"},
      {"base64_decode; base64_data;", "nothing is looked for in base64_data"},
      {"content:\"a\"; base64_decode;", "base64_decode without base64_data, which matches nothing, is not supported"},
      {"base64_decode; base64_decode; base64_data; content:\"a\";",
       "it has two of base64_decode, which is not supported"},
      {"base64_decode; content:\"b\"; base64_data; content:\"a\";",
       "something between base64_decode and base64_data is not supported"},
      {"base64_decode; base64_data; content:\"a\"; pkt_data; content:\"b\";",
       "pkt_data stands behind base64_data, which is not supported"},
      {"base64_decode; base64_data; content:\"a\"; http_uri;",
       "http_uri stands behind a content that is for another buffer already"},
      {"base64_decode; base64_data; uricontent:\"a\";", "uricontent stands behind base64_data"},
      {"base64_decode; base64_data; pcre:\"/a/U\";",
       "pcre '\"/a/U\"' has a letter for another buffer than base64_data, behind which it stands"},
      {"base64_decode; base64_data; bsize:3;", "bsize of base64_data is not supported"},
      {"byte_extract:1,0,n; base64_decode; base64_data; content:\"a\"; offset:n;",
       "a variable of byte_extract in another buffer is not supported"}};
  for (const auto& [options, wanted] : cases) {
    Variables variables;
    std::vector<std::string> errors;
    parse_rules("f", "alert http any any -> any any (" + options + " sid:1;)", false, variables, errors);
    EXPECT_EQ(errors, std::vector<std::string>{"f:1: sid 1: " + wanted}) << options;
  }
}

}  // namespace
}  // namespace heddle::test
