// What rules say of application protocols, as it is read.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "functions/nids/rule_file.h"

namespace heddle::test {
namespace {

using namespace nids;

/** The rule with these options; what is wrong with it is in `why`. */
Signature http_rule(const std::string& options, std::string& why, const std::string& protocol = "http") {
  Variables variables;
  std::vector<std::string> errors;
  const std::string text = "alert " + protocol + " any any -> any any (" + options + " sid:1;)";
  RuleSet set = parse_rules("f", text, false, variables, errors);
  why = errors.empty() ? "" : errors[0];
  return set.rules.empty() ? Signature{} : set.rules[0];
}

TEST(NidsBufferRules, PartsAreThoseOfBuffers) {
  std::string why;
  const Signature rule = http_rule(
      "content:\"p\"; http.uri; content:\"a\"; content:\"b\"; distance:1; http.method; bsize:3<>9; http.uri; "
      "pcre:\"/c/Ri\"; http.host; dotprefix; to_lowercase; content:\".d\"; pkt_data; content:\"q\"; urilen:>4,raw;",
      why);
  EXPECT_EQ(why, "");
  EXPECT_EQ(rule.application, Application::http);
  EXPECT_EQ(rule.contents.size(), 2u);
  ASSERT_EQ(rule.parts.size(), 4u);
  const auto part = [&](size_t k) -> const BufferPart& { return rule.parts[k]; };
  EXPECT_TRUE(part(0).buffer == Buffer::uri && part(0).contents.size() == 3u);
  EXPECT_TRUE(part(0).contents[1].relative && part(0).contents[2].regex && part(0).contents[2].relative);
  EXPECT_TRUE(part(1).buffer == Buffer::method && part(1).sizes[0] == Ranges(4, 8));
  EXPECT_TRUE(part(2).buffer == Buffer::host && part(2).transforms.size() == 2u);
  EXPECT_TRUE(part(3).buffer == Buffer::raw_uri && part(3).sizes[0] == Ranges(5, UINT32_MAX));
  EXPECT_FALSE(rule.reads_streams()) << "its payload is looked at with its transactions";
}

TEST(NidsBufferRules, AskForPacketsThatTheirProtocolCanHave) {
  std::string why;
  const Signature rule = http_rule("flow:to_server; dns.query; content:\"a\";", why, "dns");
  EXPECT_EQ(why, "");
  EXPECT_TRUE(rule.asks_all(Protocol::udp) && rule.asks_all(Protocol::tcp));
  EXPECT_FALSE(rule.asks_all(Protocol::icmp) || rule.asks_all(Protocol::ip));
}

TEST(NidsBufferRules, OlderNamesStandBehindTheirContents) {
  std::string why;
  const Signature rule = http_rule(
      "content:\"a\"; http_uri; isdataat:2,relative; content:\"p\"; pcre:\"/b/U\"; content:\"c\"; nocase; http_cookie;",
      why, "tcp");
  EXPECT_EQ(why, "");
  ASSERT_EQ(rule.parts.size(), 2u);
  EXPECT_TRUE(rule.parts[0].buffer == Buffer::uri && rule.parts[0].contents.size() == 3u);
  EXPECT_TRUE(rule.parts[1].buffer == Buffer::cookie && rule.parts[1].contents[0].nocase);
  EXPECT_EQ(rule.contents.size(), 1u);
}

TEST(NidsBufferRules, MistakesSayWhatIsWrong) {
  const std::pair<std::string, std::string> cases[] = {
      {"http.uri:5;", "http.uri has no value"},
      {"http.uri; http.method; content:\"a\";", "nothing is looked for in http.uri"},
      {"content:\"a\"; http.uri;", "nothing is looked for in http.uri"},
      {"http_uri;", "'http_uri' stands before any content"},
      {"http.uri; content:\"a\"; http_method;",
       "http_method stands behind a content that is for another buffer already"},
      {"http.uri; pcre:\"/a/H\";",
       "pcre '\"/a/H\"' has a letter for another buffer than http.uri, behind which it stands"},
      {"content:\"a\"; dotprefix;", "dotprefix does not stand right behind a buffer's name"},
      {"http.uri; xor:\"1\"; content:\"a\";", "xor '1' is not the bytes of a key in hexadecimal"},
      {"bsize:3;", "bsize is for a buffer, which is named before it"},
      {"http.uri; bsize:x;", "bsize 'x' is not a number, =N, !N, !=N, <N, >N, <=N, >=N, A<>B or A-B"},
      {"urilen:3,full;", "urilen '3,full' has neither norm nor raw behind the comma"},
      {"http.uri; content:\"a\"; http.stat_code; content:\"2\";",
       "it looks into what the client says and into what the server says, which is not supported"},
      {"flow:to_client; http.uri; content:\"a\";",
       "flow asks for the other direction than that of the buffers that it looks into"},
      {"http.uri; content:\"a\"; dsize:>5;",
       "it looks into an application protocol, and at the size or the headers of a packet, which is not supported"},
      {"flow:no_stream; http.uri; content:\"a\";",
       "it looks into http, which packets by themselves are not (tcp-pkt, no_stream)"},
      {"flow:established;", "a rule for an application protocol that looks for nothing is not supported"},
      {"app-layer-protocol:rfb;",
       "app-layer-protocol 'rfb' is not supported: http, smtp, ftp, ssh, smb, tls and dns are"},
      {"app-layer-protocol:dns; content:\"a\";", "it is for two application protocols"},
      {"dns.query; content:\"a\";", "it looks into dns, but is for http"},
      {"http.uri; content:\"a\"; tls.certs; content:\"b\";", "it looks into tls, but is for http"},
      {"dns.opcode:x;", "dns.opcode 'x' is not a number, 0 to 255, or !N"},
      {"http.uri; byte_extract:1,0,n; http.host; content:\"a\"; offset:n;",
       "a variable of byte_extract in another buffer is not supported"}};
  std::string why;
  for (const auto& [options, wanted] : cases) {
    http_rule(options, why);
    EXPECT_EQ(why, "f:1: sid 1: " + wanted);
  }
  http_rule("http.uri; content:\"a\";", why, "udp");
  EXPECT_EQ(why, "f:1: sid 1: it is for http, but also for udp, which never is that");
  http_rule("file.data; content:\"a\";", why, "smtp");
  EXPECT_EQ(why, "f:1: sid 1: it looks into http, but is for smtp, of which file.data is not supported");
}

TEST(NidsBufferRules, ListsHaveAPartForEachName) {
  std::string why;
  const Signature rule = http_rule(
      "dns.query; content:\"a\"; content:\"b\"; dns.query; dotprefix; content:\"c\"; dns.opcode:!4;", why, "dns");
  EXPECT_EQ(why, "");
  EXPECT_EQ(rule.application, Application::dns);
  ASSERT_EQ(rule.parts.size(), 3u);
  EXPECT_TRUE(rule.parts[0].contents.size() == 2 && rule.parts[1].contents.size() == 1);
  EXPECT_EQ(rule.parts[2].buffer, Buffer::dns_opcode);
  EXPECT_EQ(rule.destination_ports, Ranges(53, 53)) << "where DNS is known";
  EXPECT_TRUE(rule.sources.contains(true, 1) && rule.protocol == Protocol::ip && rule.fields.size() == 1u);
}

}  // namespace
}  // namespace heddle::test
