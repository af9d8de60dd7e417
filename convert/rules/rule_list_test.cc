// Foreign rule files into ours. Whether rules take the packets that the other program takes is tested with the kernel's
// filter (tests/test_rules_kernel.py).

#include "convert/rules/rule_list.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "convert/rules/check.h"
#include "convert/rules/rule_list_for_test.h"
#include "convert/rules/terms.h"
#include "core/error.h"

namespace heddle::classifier {
namespace {

// ---- What the fuzz targets found

TEST(RuleList, TcpFlagsOfOtherProtocolsAreBytes) {
  EXPECT_EQ(rules_of("ipfilter", "deny udp[13] & 0x17 = 2\n"),
            Texts{"@0.0.0.0/0 0.0.0.0/0 0 : 65535 0 : 65535 0x11/0xFF transport[13/1]=0x2/0x17 deny"});
  EXPECT_EQ(rules_of("ipfilter", "deny tcp[13] & 0x17 = 2\n"),
            Texts{"@0.0.0.0/0 0.0.0.0/0 0 : 65535 0 : 65535 0x06/0xFF flags=0x2/0x17 deny"});
}

TEST(RuleList, PortsOfProtocolsWithoutThemAreBytes) {
  const std::string any = "@0.0.0.0/0 0.0.0.0/0 0 : 65535 0 : 65535 ";
  EXPECT_EQ(rules_of("ipfilter", "deny icmp[0:2] 0x0800\n"), Texts{any + "0x01/0xFF transport[0/2]=2048 deny"});
  for (const std::string& rule : rules_of("ipfilter", "deny transp[2:2] 53\n"))
    EXPECT_NE(rule.find("transport[2/2]=53"), rule.npos) << rule;
  EXPECT_EQ(rules_of("ipfilter", "deny tcp[2:2] 53\n"), Texts{"@0.0.0.0/0 0.0.0.0/0 0 : 65535 53 : 53 0x06/0xFF deny"});
}

TEST(RuleList, PoliciesThatForbidForwardingAreNotPassedOver) {
  const std::string telnet = " -p tcp --dport 23 -j DROP";
  EXPECT_EQ(rules_of("iptables", "-P INPUT ACCEPT\n-P FORWARD ACCEPT\n-A INPUT" + telnet).size(), 1u);
  expect_mistake("iptables", "-P INPUT ACCEPT\n-P FORWARD DROP\n-A INPUT" + telnet, 3,
                 "it does not say which chain is meant");
  const std::string two =
      "table ip t {\nchain a {\ntype filter hook forward priority 0; policy accept;\ntcp dport 1 accept\n}\n"
      "chain b {\ntype filter hook forward priority 1; policy ";
  EXPECT_EQ(rules_of("nft", two + "accept;\n}\n}\n").size(), 1u);
  Texts errors;
  read_rule_list("f", two + "drop;\n}\n}\n", {"nft", ""}, errors);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_NE(errors[0].find("it does not say which chain is meant"), std::string::npos) << errors[0];
}

TEST(RuleList, MaskedAddressesAreWhatTheyAreComparedWith) {
  expect_mistake("nft", nft("ip", "ip saddr & 255.0.0.255 == 10.1.2.3 accept"), 3, "no packet can match it");
  expect_mistake("nft", nft("ip6", "ip6 saddr & ffff::ff == 2001:db8::3 accept"), 3, "no packet can match it");
  EXPECT_EQ(rules_of("nft", nft("ip", "ip saddr & 255.0.0.255 == 10.0.0.3 accept")).size(), 1u);
  EXPECT_EQ(rules_of("nft", nft("ip6", "ip6 saddr & ffff::ff == 2001::3 accept")).size(), 1u);
  EXPECT_EQ(rules_of("nft", nft("ip", "ip saddr 10.1.2.3/8 accept")).size(), 1u) << "so nft writes a prefix";
}

TEST(RuleList, ContradictionsAreNoRules) {
  EXPECT_EQ(rules_of("nft", nft("ip6", "meta nfproto ipv4 tcp dport 5 accept")), Texts{});
  Texts errors;
  const RuleList list = read_rule_list("f", nft("ip", "accept\ntcp dport 1 tcp dport 2 drop"), {"nft", ""}, errors);
  EXPECT_EQ(list.rules.size(), 1u);
  EXPECT_EQ(list.impossible, std::vector<size_t>{4}) << "it does not vanish without a word";
  EXPECT_EQ(rules_of("nft", nft("ip", "tcp flags syn,cwr / ecn,cwr drop")), Texts{});
}

TEST(RuleList, IPFilterDropsTheRest) {
  Texts errors;
  EXPECT_EQ(read_rule_list("f", "allow tcp\n", {"ipfilter", ""}, errors).policy, kDeny);
}

TEST(RuleList, WrongNumbersAreNoRulesOfIPFilter) {
  const std::string rule = " @0/0 0/0 0 : 65535 0 : 65535 0x06/0xFF allow\n";
  for (const std::string& number : {std::string("-1"), std::string("+1")})
    expect_mistake("auto", number + rule, 1, "is not a rule: expected @SOURCE");
  expect_mistake("auto", std::string(309, '9') + rule, 1, "its number is larger than");
}

TEST(RuleList, AsksForAsManyFieldsAsAnElementLooksAt) {
  std::string all, one_more;
  for (int i = 0; i < 33; ++i)
    (i < 32 ? all : one_more) += (i == 0 ? "" : " and ") + std::string("ip[") + std::to_string(40 + i) + "] = 1";
  EXPECT_EQ(rules_of("ipfilter", "deny " + all + "\n").size(), 1u);
  const Texts errors = mistakes_of("ipfilter", "deny " + all + one_more + "\n");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_NE(errors[0].find("33 fields beside addresses, ports and protocol are asked for, more than 32"),
            std::string::npos)
      << errors[0];
}

// ---- Versions of IP

TEST(RuleList, AddressesAreOfTheVersionThatTheRuleSays) {
  expect_mistake("nft", nft("inet", "ip saddr 2001:db8::1 drop"), 3, "'2001:db8::1' is not an IPv4 address");
  expect_mistake("nft", nft("inet", "ip6 saddr 192.0.2.1 drop"), 3, "'192.0.2.1' is not an IPv6 address");
  for (const char* both : {"ip saddr 192.0.2.1 ip6 daddr ::1", "icmpv6 type 8 ip saddr 192.0.2.1",
                           "meta nfproto ipv4 ip6 saddr ::1", "ip saddr & 255.0.0.0 == 10.0.0.0 ip6 nexthdr tcp"})
    EXPECT_EQ(rules_of("nft", nft("inet", std::string(both) + " drop")), Texts{}) << both;
  EXPECT_EQ(rules_of("nft", nft("inet", "meta nfproto ipv4 icmpv6 type 128 drop")),
            Texts{"@0.0.0.0/0 0.0.0.0/0 0 : 65535 0 : 65535 0x3a/0xFF version=4 transport[0/1]=128 deny"})
      << "as nft: ICMPv6 in IPv4";
  expect_mistake("nft", nft("ip6", "ip saddr 192.0.2.1 drop"), 3, "it asks for IPv4 in a table of the other version");
  expect_mistake("nft", nft("ip", "ip6 saddr ::1 drop"), 3, "it asks for IPv6 in a table of the other version");
  expect_mistake("nft", "table ip7 t {\nchain c {\n}\n}\n", 1, "is not a table: expected table FAMILY NAME {");
  const std::string six = "-A FORWARD -s 2001:db8::/32 -j DROP", four = "-A FORWARD -s 192.0.2.1 -j DROP";
  const std::string in_comment = "-A FORWARD -m comment --comment \"a::b/c\" -j DROP";
  const Texts any = {"@0.0.0.0/0 0.0.0.0/0 0 : 65535 0 : 65535 0x00/0x00 deny"},
              any6 = {"@::/0 ::/0 0 : 65535 0 : 65535 0x00/0x00 deny"};
  EXPECT_EQ(rules_of("iptables", saved(in_comment)), any) << "a comment is no address";
  EXPECT_EQ(rules_of("iptables", saved(in_comment, "# Generated by ip6tables-save\n")), any6);
  EXPECT_EQ(rules_of("iptables", saved(in_comment + "\n" + six)).front(), any6.front());
  expect_mistake("iptables", saved(six + "\n" + four), 5, "'192.0.2.1' is not an IPv6 address");
  expect_mistake("iptables", saved(four + "\n" + six), 5, "'2001:db8::/32' is not an IPv4 address");
  expect_mistake("iptables", saved(six, "# Generated by iptables-save\n"), 5, "is not an IPv4 address");
  expect_mistake("iptables", saved(four, "# Generated by ip6tables-save\n"), 5, "is not an IPv6 address");
}

TEST(RuleList, TablesOfBothVersionsLookAtBoth) {
  const auto layout_in = [](const std::string& family, const std::string& rule) {
    Texts errors;
    return layout_of(read_rule_list("f", nft(family, rule), {"nft", ""}, errors));
  };
  EXPECT_TRUE(find(layout_in("inet", "tcp dport 22 accept"), kIpVersion));
  EXPECT_TRUE(find(layout_in("inet", "tcp dport 22 accept"), word_of(kSource, 3))) << "to show addresses";
  EXPECT_FALSE(find(layout_in("ip", "tcp dport 22 accept"), kIpVersion));
  EXPECT_TRUE(find(layout_in("ip6", "tcp dport 22 accept"), kIpVersion));
}

TEST(RuleList, NamesRulesOfIPv6ThatMissWhatIsBehindExtensionHeaders) {
  const auto named = [](const std::string& format, const std::string& text) {
    Texts errors;
    const RuleList list = read_rule_list("f", text, {format, ""}, errors);
    EXPECT_EQ(errors, Texts{}) << text;
    return !list.by_protocol.empty();
  };
  for (const char* rule :
       {"tcp dport 22 drop", "meta l4proto udp accept", "meta l4proto != udp drop", "th dport 53 drop",
        "icmpv6 type 128 accept", "ip6 saddr ::1 tcp flags syn return", "reject with tcp reset"}) {
    EXPECT_TRUE(named("nft", nft("inet", rule))) << rule;
    const bool also_ip4 = !std::string_view(rule).starts_with("ic") && !std::string_view(rule).starts_with("ip6");
    EXPECT_TRUE(!also_ip4 || !named("nft", nft("ip", rule))) << rule;
  }
  for (const char* rule : {"ip6 nexthdr 44 drop", "ip6 saddr ::1 drop", "ip saddr 192.0.2.1 tcp dport 22 drop",
                           "icmp type 8 drop", "meta nfproto ipv4 udp dport 53 drop"})
    EXPECT_FALSE(named("nft", nft("inet", rule))) << rule;
  const std::string six = "# Generated by ip6tables-save\n", four = "# Generated by iptables-save\n";
  for (const char* rule : {"-p tcp", "! -p tcp", "-p ipv6-icmp -m icmp6 --icmpv6-type 128", "-p ipv6-frag"})
    EXPECT_TRUE(named("iptables", saved(std::string("-A FORWARD ") + rule + " -j DROP", six))) << rule;
  EXPECT_FALSE(named("iptables", saved("-A FORWARD -s ::1 -j DROP", six)));
  EXPECT_FALSE(named("iptables", saved("-A FORWARD -p tcp -j DROP", four)));
}

// ---- iptables: what it refuses (1.8.9) is refused

TEST(RuleList, RefusesWhatIptablesRefuses) {
  const std::pair<const char*, const char*> kWrong[] = {
      {"-p tcp --dport ,80 -j DROP", "',80' is not a port"},
      {"-p tcp --dport 80,90 -j DROP", "'80,90' is not a port"},
      {"-p tcp -m multiport --dports 80,,90 -j DROP", "'' is not a port"},
      {"-p tcp -m multiport --dports :90 -j DROP", "'' is not a port"},
      {"-p tcp --dports 80 -j DROP", "--dports needs, before it, -p or -m with one of: multiport"},
      {"--dport 80 -j DROP", "--dport needs, before it, -p or -m with one of: tcp udp sctp dccp udplite"},
      {"-m tcp --dport 80 -j DROP", "-m tcp needs -p with tcp"},
      {"-p udp -m tcp --dport 80 -j DROP", "-m tcp needs -p with tcp"},
      {"! -p tcp --dport 80 -j DROP", "--dport needs, before it"},
      {"-m multiport --dports 80 -j DROP", "-m multiport needs -p with a protocol that has ports"},
      {"-p udp --syn -j DROP", "--syn needs, before it, -p or -m with one of: tcp"},
      {"--icmp-type 8 -j DROP", "--icmp-type needs, before it, -p or -m with one of: icmp"},
      {"--ttl-lt 5 -j DROP", "--ttl-lt needs, before it, -p or -m with one of: ttl"},
      {"-m ttl ! --ttl-lt 5 -j DROP", "--ttl-lt cannot be negated"},
      {"-m ttl -j DROP", "none of its options follows -m ttl"},
      {"-j DROP -j ACCEPT", "-j is there twice"},
      {"! -j DROP", "-j cannot be negated"},
      {"! -m tcp -p tcp -j DROP", "-m cannot be negated"},
      {"-m comment ! --comment a -j DROP", "--comment cannot be negated"},
      {"! -p all -j DROP", "no packet can match it"},
      {"-s 192.0.2.1 -s 192.0.2.2 -j DROP", "-s is there twice"},
      {"! -s 192.0.2.1,192.0.2.2 -j DROP", "several addresses cannot be negated"},
      {"-s 192.0.2.1-192.0.2.2 -j DROP", "is not an address or a prefix"},
      {"-p icmp --icmp-type 8/0/1 -j DROP", "'8/0/1' is not an ICMP type"},
      {"-j DROP !", "nothing follows !"},
      {"drop", "'drop' has no equal here"},
  };
  for (const auto& [rule, words] : kWrong)
    expect_mistake("iptables", saved(std::string("-A FORWARD ") + rule), 4, words);
  const char* const kRight[] = {"-p tcp --dport : -j DROP",
                                "-p tcp -m tcp -m tcp --dport 80: -j DROP",
                                "-p tcp -m multiport --sports 5 -m multiport --sports 5,7 -j DROP",
                                "-m comment --comment a -m comment --comment b -j DROP",
                                "-m iprange --src-range 192.0.2.1 -j DROP",
                                "-m ttl ! --ttl-eq 5 -j DROP",
                                "-p TCP --dport http -j DROP"};
  for (const char* rule : kRight) EXPECT_FALSE(rules_of("iptables", saved(std::string("-A FORWARD ") + rule)).empty());
  Texts errors;
  const RuleList never = read_file("iptables", saved("-A FORWARD -p icmp ! --icmp-type any -j DROP"), errors);
  EXPECT_EQ(never.impossible, std::vector<size_t>{4});
}

TEST(RuleList, ModulesOfProtocolsMatchNoLaterFragments) {
  const std::string first = " ip[6/2]=0x0/0x1fff deny", any = "@0.0.0.0/0 0.0.0.0/0 0 : 65535 0 : 65535 ";
  EXPECT_EQ(rules_of("iptables", saved("-A FORWARD -p udp -j DROP")), Texts{any + "0x11/0xFF deny"});
  EXPECT_EQ(rules_of("iptables", saved("-A FORWARD -p udp -m udp -j DROP")), Texts{any + "0x11/0xFF" + first});
  EXPECT_EQ(rules_of("iptables", saved("-A FORWARD -p icmp --icmp-type any -j DROP")),
            Texts{any + "0x01/0xFF" + first});
}

// ---- Chains that jump to each other

/** A rule for this port of TCP, as a line of a rule file. */
std::string tcp(const std::string& ports, const std::string& action, const std::string& source = "0.0.0.0/0") {
  return "@" + source + " 0.0.0.0/0 0 : 65535 " + ports + " 0x06/0xFF " + action;
}

TEST(RuleList, RulesOfChainsThatAreJumpedToStandWhereTheyCount) {
  const std::string web = "-A FORWARD -p tcp -m tcp --dport 80 -j ACCEPT",
                    all = "-A mine -p tcp -m tcp --dport 22 -j DROP\n-A mine -p tcp -j ACCEPT";
  EXPECT_EQ(
      rules_of("iptables", saved("-A FORWARD -s 10.0.0.0/8 -j mine\n" + web + "\n" + all)),
      (Texts{tcp("22 : 22", "deny", "10.0.0.0/8"), tcp("0 : 65535", "allow", "10.0.0.0/8"), tcp("80 : 80", "allow")}));
  EXPECT_EQ(rules_of("iptables", saved("-A FORWARD -j mine\n" + web +
                                       "\n-A mine -p tcp -m tcp --dport 22 -j DROP\n"
                                       "-A mine -j RETURN\n-A mine -j DROP")),
            (Texts{tcp("22 : 22", "deny"), tcp("80 : 80", "allow")}))
      << "nothing comes behind a RETURN of all packets";
  const std::string from_ten = "-A mine -s 10.0.0.0/8 -p tcp -j RETURN\n-A mine -p tcp -m tcp --dport 22 -j DROP";
  EXPECT_EQ(rules_of("iptables", saved("-A FORWARD -j mine\n" + web + "\n" + from_ten)),
            (Texts{tcp("22 : 22", "deny", "0.0.0.0-9.255.255.255"), tcp("22 : 22", "deny", "11.0.0.0-255.255.255.255"),
                   tcp("80 : 80", "allow")}));
  EXPECT_EQ(rules_of("iptables", saved("-A FORWARD -s 10.0.0.0/8 -g mine\n" + web +
                                       "\n-A mine -p tcp -m tcp --dport 22 -j ACCEPT")),
            (Texts{tcp("22 : 22", "allow", "10.0.0.0/8"), "@10.0.0.0/8 0.0.0.0/0 0 : 65535 0 : 65535 0x00/0x00 deny",
                   tcp("80 : 80", "allow")}))
      << "from the end of a chain that they went to, packets get the policy";
  EXPECT_EQ(rules_of("iptables", saved("-A FORWARD -p tcp -j RETURN\n-A FORWARD -j ACCEPT")),
            (Texts{tcp("0 : 65535", "deny"), "@0.0.0.0/0 0.0.0.0/0 0 : 65535 0 : 65535 0x00/0x00 allow"}))
      << "and where a chain with a policy returns";
  const std::string table =
      "table inet t {\nset web {\ntype inet_service\nflags interval\nelements = { 80 comment \"a, b\", 8000-8080 }\n}\n"
      "chain mine {\ntcp dport @web accept\n}\nchain c {\ntype filter hook input priority 0; policy drop;\n"
      "ip saddr 10.0.0.0/8 jump mine\nip6 saddr 2001:db8::/32 goto mine\n}\n}\n";
  EXPECT_EQ(rules_of("nft", table), (Texts{"@10.0.0.0/8 0.0.0.0/0 0 : 65535 80 : 80 0x06/0xFF version=4 allow",
                                           "@10.0.0.0/8 0.0.0.0/0 0 : 65535 8000 : 8080 0x06/0xFF version=4 allow",
                                           "@2001:db8::/32 ::/0 0 : 65535 80 : 80 0x06/0xFF allow",
                                           "@2001:db8::/32 ::/0 0 : 65535 8000 : 8080 0x06/0xFF allow",
                                           "@2001:db8::/32 ::/0 0 : 65535 0 : 65535 0x00/0x00 deny"}));
}

TEST(RuleList, ChainsThatLeadToThemselvesAreRefused) {
  expect_mistake("iptables", saved("-A FORWARD -j mine\n-A mine -p tcp -j mine"), 5, "leads back to itself");
  std::string deep = "*filter\n:FORWARD DROP [0:0]\n", jumps = "-A FORWARD -j c0\n", wide;
  for (int i = 0; i < 70; ++i) deep += ":c" + std::to_string(i) + " - [0:0]\n";
  for (int i = 0; i + 1 < 70; ++i) jumps += "-A c" + std::to_string(i) + " -j c" + std::to_string(i + 1) + "\n";
  expect_mistake("iptables", deep + jumps + "-A c69 -j DROP\nCOMMIT\n", 72 + 64,
                 "more than 63 jumps on from each other");
  for (int i = 0; i < 30; ++i)
    for (const char* twice : {"80", "81"})
      wide += (i == 0 ? "-A FORWARD" : "-A c" + std::to_string(i - 1)) + " -p tcp -m tcp ! --dport " + twice + " -j c" +
              std::to_string(i) + "\n";
  const Texts errors = mistakes_of("iptables", deep + wide + "-A c29 -j DROP\nCOMMIT\n");
  ASSERT_FALSE(errors.empty());
  EXPECT_NE(errors[0].find("take too long to find out"), std::string::npos) << errors[0];
}

TEST(RuleList, NamesWhatOfChainsIsNoRule) {
  Texts errors;
  const RuleList list = read_file("iptables",
                                  saved("-A FORWARD -p udp -j mine\n-A mine -p tcp -j ACCEPT\n-A mine\n"
                                        "-A mine -j REJECT\n-A INPUT -j DROP"),
                                  errors);
  EXPECT_EQ(errors, Texts{});
  EXPECT_EQ(list.unreached, std::vector<size_t>{5});
  EXPECT_EQ(list.answered, std::set<size_t>{7});
  EXPECT_EQ(list.left_out, 2u) << "one without a verdict, and one of INPUT";
  EXPECT_EQ(list.chain, "FORWARD");
  EXPECT_EQ(list.rules.size(), 1u);
}

// ---- Files that are cut off or misspelt

TEST(RuleList, RefusesSavedRulesThatAreCutOffOrMisspelt) {
  const std::string rule = "-A FORWARD -j DROP";
  EXPECT_EQ(rules_of("iptables", saved(rule)).size(), 1u);
  EXPECT_EQ(rules_of("iptables", "-P FORWARD DROP\n-N mine\n" + rule).size(), 1u) << "iptables -S";
  expect_mistake("iptables", saved(rule, "", ""), 4, "no COMMIT ends the table 'filter'; is the file cut off?");
  expect_mistake("iptables", saved(rule, "*nat\n"), 2, "no COMMIT ends the table 'nat'");
  expect_mistake("iptables", saved(rule) + rule, 6, "it is not between *TABLE and COMMIT");
  expect_mistake("iptables", saved(rule) + "COMMIT\n", 6, "there is no table before it");
  expect_mistake("iptables", saved("-A FROWARD -j DROP"), 4, "no line before it says that there is a chain 'FROWARD'");
  expect_mistake("iptables", saved(":FORWARD GARBAGE [0:0]"), 4, "the policy 'GARBAGE' is none of ACCEPT, DROP and -");
  expect_mistake("iptables", saved(":FORWARD"), 4, "the policy '' is none of");
  expect_mistake("iptables", "", 0, "there is nothing that iptables-save prints");
}

TEST(RuleList, RefusesRulesetsThatAreCutOffOrMisspelt) {
  const std::string whole =
      "table ip t {\n set s {\n type ipv4_addr\n elements = { 1.2.3.4,\n 1.2.3.5 }\n }\n chain c {\n"
      " type filter hook forward priority 0; policy drop;\n tcp dport { 22,\n 80 } accept\n }\n}\n";
  EXPECT_EQ(rules_of("nft", whole).size(), 2u);
  for (size_t end = 1; end + 2 < whole.size(); ++end)
    EXPECT_FALSE(mistakes_of("nft", whole.substr(0, end)).empty()) << whole.substr(0, end);
  expect_mistake("nft", whole.substr(0, whole.size() - 2), 1, "no '}' ends the table that begins here");
  expect_mistake("nft", "table ip t {\nchian c {\n}\nchain c {\ndrop\n}\n}\n", 2, "is not a part of a table");
  expect_mistake("nft", "table ip t {\nflags dormant\nchain c {\ndrop\n}\n}\n", 2, "does not look at such a table");
  expect_mistake("nft", "table ip t {\nchain \"c d\" {\n}\nchain c {\ndrop\n}\n}\n", 2, "is not a chain");
  expect_mistake("nft", nft("ip", "drop comment \"a"), 3, "is not closed: expected '\"' in its line");
  expect_mistake("nft", nft("ip", "type filter hook forward priority 0; policy acept;"), 3, "is not a policy");
  expect_mistake("nft", nft("ip", "policy drop"), 3, "is not a chain's one policy, behind its hook");
  expect_mistake("nft", nft("ip", "type filtr hook forward priority 0"), 3, "is not a chain's place");
  expect_mistake("nft", nft("ip", "comment \"a\" drop"), 3, "'drop' follows the comment");
  expect_mistake("nft", nft("ip", "\"drop\""), 3, "is a text in quotes");
  expect_mistake("nft", "", 1, "there is no chain");
}

TEST(RuleList, TextsInQuotesAreNoSigns) {
  EXPECT_EQ(rules_of("nft", nft("ip", "tcp dport 1 drop comment \"}\"\ntcp dport 2 drop comment \"; {\"")).size(), 2u);
  EXPECT_EQ(rules_of("nft", nft("ip", "tcp dport { 1, } drop")).size(), 1u);
}

// ---- Lines that would become very many rules

TEST(RuleList, RefusesLinesThatTakeTooLong) {
  const std::string too_many = "is not supported: it would be more than 65536 rules";
  std::string choice = "tcp";
  for (int i = 0; i < 90; ++i) choice = "(" + choice + " ? true : true)";
  expect_mistake("ipfilter", "deny " + choice + "\n", 1, too_many);
  std::string product = "deny true";
  for (int i = 0; i < 12; ++i) product += " and (ip[40] = 1 or ip[41] = 2)";
  for (int i = 0; i < 5000; ++i) product += " and ip[42] = 3";
  expect_mistake("ipfilter", product + "\n", 1, too_many);
  std::string many = "tcp sport { 1", few = "tcp dport != { 1";
  for (int i = 3; i < 8000; i += 2) many += ", " + std::to_string(i);
  for (int i = 3; i < 2000; i += 2) few += ", " + std::to_string(i);
  expect_mistake("nft", nft("ip", many + " } " + many + " } drop"), 3, too_many);
  EXPECT_EQ(rules_of("nft", nft("ip", few + " } drop")).size(), 1001u);
}

TEST(RuleList, LongSetsAreAsManyRules) {
  std::string set;
  for (int i = 0; i < 70'000; ++i) set += format("10.%d.%d.%d, ", 2 * i >> 16, 2 * i >> 8 & 255, 2 * i & 255);
  Texts errors;
  const std::string text = nft("ip", "ip saddr { " + set + "} tcp dport 22 drop\ntcp sport 7 accept");
  EXPECT_EQ(read_rule_list("f", text, {"nft", ""}, errors).rules.size(), 70'001u);
  EXPECT_EQ(errors, Texts{});
}

TEST(RuleList, RefusesEndlessLines) {
  std::string words;
  for (int i = 0; i < 300; ++i) words += " -f";
  expect_mistake("iptables", saved("-A FORWARD" + words), 4, "it has more than 255 words");
  expect_mistake("ipfilter", "deny " + std::string(1 << 20, '('), 1, "it has more than 1048576 bytes");
}

// ---- Numbers, and places of all rules together

TEST(RuleList, ReportsNumbersBesideOtherMistakes) {
  const std::string rule = " 1.2.3.0/24 1.2.3.0/24 1-2 1-2 6-6 DROP\n";
  const Texts errors = mistakes_of("listing", "7" + rule + "x\n7" + rule);
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[1], "f:3: number 7 is that of line 1 already");
}

TEST(RuleList, AllRulesTogetherAskForAsManyFieldsAsAnElementLooksAt) {
  std::string text;
  for (int i = 0; i < 33; ++i) text += "deny ip[" + std::to_string(40 + i) + "] = 1\n";
  expect_mistake("ipfilter", text, 33, "up to here 33 fields beside addresses, ports and protocol");
}

// ---- Shadows

TEST(Shadows, AreLookedForUntilPatienceEnds) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "deny ip[40] = " + std::to_string(i) + "\n";
  Texts errors;
  const auto list = read_rule_list("f", text + "deny ip[40] <= 150\ndeny ip[40] <= 199\n", {"ipfilter", ""}, errors);
  ASSERT_EQ(errors, Texts{});
  const Shadows all = find_shadows(list.rules);
  ASSERT_EQ(all.found.size(), 2u);
  EXPECT_EQ(all.found[1].rule, 201u);
  EXPECT_TRUE(all.undecided.empty());
  EXPECT_EQ(find_shadows(list.rules, {100, 1'000'000}).undecided, (std::vector<size_t>{200, 201}))
      << "one rule may take 100 comparisons";
  EXPECT_EQ(find_shadows(list.rules, {1'000'000, 600}).undecided, std::vector<size_t>{201}) << "all together 600";
}

}  // namespace
}  // namespace heddle::classifier
