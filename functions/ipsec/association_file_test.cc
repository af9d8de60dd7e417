#include "functions/ipsec/association_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "core/error.h"

namespace heddle::ipsec {
namespace {

const std::string kKey = "0x00112233445566778899aabbccddeeff00112233";
const std::string kTunnel =
    "src 198.51.100.1 dst 203.0.113.1\n"
    "\tproto esp spi 0x00001001 reqid 1 mode tunnel\n"
    "\treplay-window 32 flag af-unspec\n"
    "\tauth-trunc hmac(sha1) " +
    kKey + " 96\n\tenc rfc3686(ctr(aes)) " + kKey +
    "\n\tanti-replay context: seq 0x7, oseq 0x9, bitmap 0x00000000\n"
    "\tsel src 10.1.0.0/16 dst 10.2.0.0/16 \n";

std::vector<std::string> mistakes(const std::string& text) {
  std::vector<std::string> errors;
  parse_associations(text, "f", errors);
  return errors;
}

TEST(AssociationFile, ReadsWhatIpPrints) {
  std::vector<std::string> errors;
  const auto list = parse_associations("# two\n" + kTunnel + "\n" +
                                           "src 192.0.2.1 dst 192.0.2.2 # ends\n proto esp spi 4098 mode tunnel\r\n"
                                           "enc rfc3686(ctr(aes)) " +
                                           kKey + "\nauth hmac(sha1) " + kKey,
                                       "f", errors);
  EXPECT_EQ(errors, std::vector<std::string>());
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(swapped(list[0].sa.spi), 0x1001u);
  EXPECT_EQ(swapped(list[0].sa.source), 0xc6336401u);
  EXPECT_EQ(list[0].window, 32u);
  EXPECT_EQ(list[0].seen, 7u);
  EXPECT_EQ(list[0].sent, 9u);
  EXPECT_TRUE(list[0].selector.destination.address == mapped(0x0a020000u));
  EXPECT_EQ(list[0].selector.destination.length, 96 + 16);
  EXPECT_EQ(list[1].window, 0u);
  EXPECT_EQ(swapped(list[1].sa.spi), 4098u);
}

// FIPS 197, appendix A.1; RFC 3686, test vector 1, has its nonce behind the key.
TEST(AssociationFile, ExpandsKeys) {
  std::vector<std::string> errors;
  std::string text = kTunnel;
  const size_t at = text.find("(aes)) ") + 7;
  text.replace(at, kKey.size(), "0x2b7e151628aed2a6abf7158809cf4f3c00000030");
  const auto list = parse_associations(text, "f", errors);
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(swapped(list[0].sa.round_keys[4]), 0xa0fafe17u);
  EXPECT_EQ(swapped(list[0].sa.round_keys[43]), 0xb6630ca6u);
  EXPECT_EQ(swapped(list[0].sa.nonce), 0x30u);
}

// FIPS 197, appendices A.2 and A.3.
TEST(AssociationFile, ExpandsLongKeys) {
  const auto expanded = [](const std::string& key) {
    std::vector<std::string> errors;
    std::string text = kTunnel;
    text.replace(text.find("(aes)) ") + 7, kKey.size(), key);
    const auto list = parse_associations(text, "f", errors);
    EXPECT_TRUE(errors.empty());
    return list.at(0).sa;
  };
  const Association middle = expanded("0x8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b00000030");
  EXPECT_EQ(middle.rounds, 12u);
  EXPECT_EQ(swapped(middle.round_keys[6]), 0xfe0c91f7u);
  EXPECT_EQ(swapped(middle.round_keys[51]), 0x01002202u);
  EXPECT_EQ(swapped(middle.nonce), 0x30u);
  const Association large = expanded("0x603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff400000060");
  EXPECT_EQ(large.rounds, 14u);
  EXPECT_EQ(swapped(large.round_keys[8]), 0x9ba35411u);
  EXPECT_EQ(swapped(large.round_keys[12]), 0xa8b09c1au);
  EXPECT_EQ(swapped(large.round_keys[59]), 0x706c631eu);
  EXPECT_EQ(swapped(large.nonce), 0x60u);
}

TEST(AssociationFile, SaysWhatIsWrongByLineAndNoKey) {
  const auto with = [](const std::string& old, const std::string& text) {
    std::string all = kTunnel;
    return all.replace(all.find(old), old.size(), text);
  };
  const std::pair<std::string, std::string> cases[] = {
      {with("spi 0x00001001", "spi x"), "f:2: spi is followed by no number of 32 bits"},
      {with("spi 0x00001001", "spi 255"), "f:2: spi must be 256 or more (RFC 4303, 2.1)"},
      {with("mode tunnel", "mode beet"), "f:2: the modes that are supported are tunnel and transport"},
      {with("window 32", "window 4097"), "f:3: replay-window must be 0 to 4096"},
      {with("hmac(sha1)", "hmac(md5)"), "f:4: the authentications that are supported are hmac(sha1) and hmac(sha256)"},
      {with(" 96", " 160"), "f:4: hmac(sha1) must be truncated to 96 bits"},
      {with("2233 96", "22 96"),
       "f:4: the key of hmac(sha1) must be 40 hexadecimal digits, with or without 0x before them"},
      {with("rfc3686", "cbc"),
       "f:5: the ciphers that are supported are rfc3686(ctr(aes)), cbc(aes) and, as aead, rfc4106(gcm(aes))"},
      {with("context:", "something"),
       "f:6: expected 'anti-replay context: seq NUMBER, oseq NUMBER, bitmap NUMBER', or 'anti-replay esn context:'"},
      {with("10.1.0.0/16", "10.1.0.0/33"), "f:7: src is followed by no IP prefix"},
      {kKey + "\n" + kTunnel, "f:1: expected 'src ADDRESS dst ADDRESS', which begins an association"},
      {kTunnel + kTunnel.substr(kTunnel.find('\n') + 1),
       "f:8: this association has a line 'proto' already; does a line 'src ADDRESS dst ADDRESS' miss before it?"},
      {kTunnel + "enc cbc(aes) 0x00112233445566778899aabbccddeeff\n",
       "f:8: this association has a cipher already; does a line 'src ADDRESS dst ADDRESS' miss before it?"},
      {kTunnel + "sel src 10.1.0.0/16 dst 10.2.0.0/16\n",
       "f:8: this association has a line 'sel' already; does a line 'src ADDRESS dst ADDRESS' miss before it?"},
      {kTunnel + kTunnel, "f:8: another association before it has the same SPI and destination"},
      {std::string("src 2001:db8::1\0zz dst 2001:db8::2\n", 35), "f:1: src is followed by no IP address"},
      {kTunnel.substr(0, kTunnel.find("\tsel")) + std::string("sel src ::1\0/8 dst ::/0\n", 24),
       "f:7: src is followed by no IP prefix"},
      {kTunnel + "stats:\n  replay-window 0 replay 0 failed 0\nsel src 10.1.0.0/16 dst bogus\n",
       "f:10: this association has a line 'sel' already; does a line 'src ADDRESS dst ADDRESS' miss before it?"},
      {kTunnel + "stats:\nmark 0x5\n",
       "f:9: 'mark' is not supported: packets have no marks here; take the line out, and have IPsecSequence choose by "
       "SPI or BY"},
      {"src 1.2.3.4 dst 1.2.3\n", "f:1: dst is followed by no IP address"},
  };
  for (auto& [text, error] : cases) {
    const auto found = mistakes(text);
    ASSERT_FALSE(found.empty()) << error;
    EXPECT_EQ(found[0], error);
    for (auto& line : found) EXPECT_EQ(line.find("00112233"), line.npos) << line;
  }
  EXPECT_EQ(mistakes(std::string(1000, '\n') + "x\n").size(), 1u);
}

std::vector<FileAssociation> read(const std::string& text) {
  std::vector<std::string> errors;
  const auto list = parse_associations(text, "f", errors);
  EXPECT_EQ(errors, std::vector<std::string>());
  return {list.begin(), list.end()};
}

// What iproute2 6.1 prints of associations that a key exchange has made, as it stands in reports on the web.
TEST(AssociationFile, ReadsExtendedNumbersAndUdp) {
  const std::string key = "0xe406a01083986e14d116488549094710e9c57bc6";
  const auto list = read(
      "src 192.169.101.2 dst 192.169.101.1\n"
      "        proto esp spi 0xc88b7652 reqid 1 mode tunnel\n"
      "        replay-window 0 flag af-unspec esn\n"
      "        aead rfc4106(gcm(aes)) " +
      key +
      " 128\n"
      "        encap type espinudp sport 4500 dport 4501 addr 0.0.0.0\n"
      "        lastused 2024-08-29 09:30:00\n"
      "        anti-replay esn context:\n"
      "         seq-hi 0x1, seq 0x1d, oseq-hi 0x2, oseq 0xffffffff\n"
      "         replay_window 128, bitmap-length 4\n"
      "         00000000 00000000 00000000 1fffffff\n"
      "        dir in\n"
      "src 2001:db8::1 dst 2001:db8::2\n"
      "\tproto esp spi 0x00001002 reqid 2 mode transport\n"
      "\treplay-window 0 flag esn\n"
      "\tauth-trunc hmac(sha256) 0x" +
      std::string(64, 'a') + " 128\n\tenc cbc(aes) 0x" + std::string(48, '5') +
      "\n\tanti-replay esn context:\t oseq-hi 0x0, oseq 0xa\n\t replay_window 4096, bitmap-length 128\n\t deadbeef\n"
      "\tsel src ::/0 dst 2001:db8::/32 uid 0\n");
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].sa.suite, (Suite{Cipher::aes_gcm, Hash::none, 16}));
  EXPECT_TRUE(list[0].sa.extended && !list[0].sa.transport && !list[0].sa.ip6);
  EXPECT_EQ(list[0].seen, 0x10000001du);
  EXPECT_EQ(list[0].sent, 0x2ffffffffu);
  EXPECT_EQ(list[0].window, 128u);
  EXPECT_EQ(list[0].sa.source_port, swapped16(4500));
  EXPECT_EQ(list[0].sa.destination_port, swapped16(4501));
  EXPECT_EQ(list[1].sa.suite, (Suite{Cipher::aes_cbc, Hash::hmac_sha256_128, 16}));
  EXPECT_TRUE(list[1].sa.extended && list[1].sa.transport && list[1].sa.ip6);
  EXPECT_EQ(list[1].sa.rounds, 12u);
  EXPECT_EQ(list[1].sent, 10u);
  EXPECT_EQ(list[1].window, 4096u);
  EXPECT_EQ(list[1].sa.destination6[3], swapped(2));
  EXPECT_EQ(list[1].selector.family, Selector::Family::ip6);
  EXPECT_EQ(list[1].selector.destination.length, 32);
}

TEST(AssociationFile, ReadsWhatIpPrintsWithStatistics) {
  const auto list = read(
      "src 1.2.3.4 dst 5.6.7.8\n"
      "\tproto esp spi 0x00001001(4097) reqid 1(0x00000001) mode transport\n"
      "\treplay-window 32 seq 0x00000000 flag  (0x00000000)\n"
      "\tauth-trunc hmac(sha1) " +
      kKey + " (160 bits) 96\n\tenc rfc3686(ctr(aes)) " + kKey +
      " (160 bits)\n"
      "\tanti-replay context: seq 0x0, oseq 0x0, bitmap 0x00000000\n"
      "\tlifetime config:\n"
      "\t  limit: soft 900(bytes), hard (INF)(bytes)\n"
      "\t  limit: soft (INF)(packets), hard 1000(packets)\n"
      "\t  expire add: soft 0(sec), hard 0(sec)\n"
      "\t  expire use: soft 0(sec), hard 0(sec)\n"
      "\tlifetime current:\n"
      "\t  840(bytes), 10(packets)\n"
      "\t  add 2026-01-01 10:00:00 use -\n"
      "\tstats:\n"
      "\t  replay-window 0 replay 0 failed 0\n" +
      "src 1.2.3.4 dst 5.6.7.8\n proto esp spi 5000 mode tunnel\n aead rfc4106(gcm(aes)) " + kKey +
      " 64\n limit packet-soft 7\n limit byte-hard 8 packet-hard 9\n");
  ASSERT_EQ(list.size(), 2u);
  EXPECT_TRUE(list[0].sa.transport);
  EXPECT_EQ(list[0].limits.soft_bytes, 900u);
  EXPECT_EQ(list[0].limits.hard_bytes, Limits::kNone);
  EXPECT_EQ(list[0].limits.soft_packets, Limits::kNone);
  EXPECT_EQ(list[0].limits.hard_packets, 1000u);
  EXPECT_EQ(list[0].used_bytes, 840u);
  EXPECT_EQ(list[0].used_packets, 10u);
  EXPECT_EQ(list[1].limits.soft_packets, 7u);
  EXPECT_EQ(list[1].limits.hard_packets, 9u);
  EXPECT_EQ(list[1].limits.hard_bytes, 8u);
  EXPECT_EQ(list[1].sa.suite.icv_bytes, 8);
}

// Lines of iproute2 6.1's ip-xfrm that say nothing of packets here, and what a key exchange may have set.
TEST(AssociationFile, IgnoresWhatChangesNothing) {
  const auto list = read(
      "src 1.2.3.4 dst 5.6.7.8\n"
      "\tproto esp spi 5000 reqid 1 mode tunnel\n"
      "\treplay-window 0 flag wildrecv align4\n"
      "\tflag nopmtudisc noecn\n"
      "\textra-flag dont-encap-dscp\n"
      "\toutput-mark 0x5/0xff\n"
      "\taead rfc4106(gcm(aes)) " +
      kKey +
      " 128\n"
      "\tcoa 2001:db8::1\n"
      "\tlastused 2024-08-29 09:30:00\n"
      "\tcrypto offload parameters: dev eth0 dir out\n"
      "\tsel src 10.0.0.0/8 dst 0.0.0.0/0 uid 0\n"
      "\tif_id 0x7\n\tdir out\n");
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].sa.flags, kNoPmtuDisc | kNoEcn | kDontEncapDscp);
}

TEST(AssociationFile, RefusesByNameWhatIsNotDone) {
  const std::string begin =
      "src 1.2.3.4 dst 5.6.7.8\nproto esp spi 5000 mode tunnel\naead rfc4106(gcm(aes)) " + kKey + " 128\n";
  const std::pair<std::string, std::string> cases[] = {
      {"mark 0x3/0xff", "'mark' is not supported: packets have no marks here"},
      {"tfcpad 100", "'tfcpad' is not supported: packets are not padded"},
      {"comp deflate 0x", "'comp' is not supported: packets are not compressed"},
      {"security context a:b:c", "'security' is not supported: packets have no security context"},
      {"replay-window 0 flag decap-dscp", "'decap-dscp' is not supported: IPsecDecap leaves the inner header's"},
      {"flag noecn icmp", "'icmp' is not supported: the sel line judges ICMP errors"},
      {"extra-flag oseq-may-wrap", "'oseq-may-wrap' is not supported: sequence numbers do not begin again"},
      {"flag 80", "the flags that are supported are noecn, nopmtudisc, af-unspec, esn, wildrecv, align4 and"},
      {"sel src 1.0.0.0/8 dst 2.0.0.0/8 proto tcp sport 80", "'proto' is not supported in a sel line: an association"},
      {"sel src 1.0.0.0/8 dst 2.0.0.0/8 uid 0 dev eth0", "'dev' is not supported in a sel line: an association has"},
      {"sel src 1.0.0.0/8 dst 2.0.0.0/8 sideways", "something is left over at the end of the line"},
      {"replay-windw 3", "it begins with 'replay-windw', no word that is supported here: src, proto, replay-window,"},
      {"deadbeef", "it begins with no word that is supported here: src, proto, replay-window, flag, extra-flag,"},
      {kKey.substr(2), "it begins with no word that is supported here: src, proto"},
      {"sixteenletterkey", "it begins with no word that is supported here: src, proto"},
  };
  for (auto& [line, why] : cases) {
    const auto found = mistakes(begin + line + "\n");
    ASSERT_FALSE(found.empty()) << line;
    EXPECT_EQ(found[0].substr(0, 5 + why.size()), "f:4: " + why);
  }
}

TEST(AssociationFile, ReadsLimitsInSeconds) {
  const std::string begin =
      "src 1.2.3.4 dst 5.6.7.8\nproto esp spi %d mode tunnel\naead rfc4106(gcm(aes)) " + kKey + " 128\n";
  const auto list = read(format(begin.c_str(), 5000) +
                         "\tlifetime config:\n"
                         "\t  limit: soft (INF)(bytes), hard (INF)(bytes)\n"
                         "\t  expire add: soft 2854(sec), hard 3600(sec)\n"
                         "\t  expire use: soft 0(sec), hard 7(sec)\n"
                         "\tlifetime current:\n"
                         "\t  0(bytes), 0(packets)\n"
                         "\t  add 2026-01-01 10:00:00 use 2026-01-01 10:00:05\n" +
                         format(begin.c_str(), 5001) + "limit time-soft 1 time-hard 2\n" + format(begin.c_str(), 5002) +
                         "limit time-use-soft 3 time-use-hard 0\nadd - use -\n");
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0].limits.soft_seconds, 2854u);
  EXPECT_EQ(list[0].limits.hard_seconds, 3600u);
  EXPECT_EQ(list[0].limits.soft_use_seconds, Limits::kNone);
  EXPECT_EQ(list[0].limits.hard_use_seconds, 7u);
  tm ten{};
  ten.tm_hour = 10, ten.tm_mday = 1, ten.tm_year = 126, ten.tm_isdst = -1;
  EXPECT_EQ(list[0].added_s, ::mktime(&ten));
  EXPECT_EQ(list[0].first_packet_s, list[0].added_s + 5);
  EXPECT_EQ(list[1].limits.soft_seconds, 1u);
  EXPECT_EQ(list[1].limits.hard_seconds, 2u);
  EXPECT_EQ(list[2].limits.soft_use_seconds, 3u);
  EXPECT_EQ(list[2].limits.hard_use_seconds, Limits::kNone);
  EXPECT_EQ(list[2].added_s, 0);
  EXPECT_EQ(list[2].first_packet_s, 0);
}

TEST(AssociationFile, SaysWhatDoesNotGoTogether) {
  const std::string begin = "src 1.2.3.4 dst 5.6.7.8\nproto esp spi 5000 mode tunnel\n",
                    gcm = "aead rfc4106(gcm(aes)) " + kKey + " 128\n", enc = "enc rfc3686(ctr(aes)) " + kKey + "\n",
                    udp = "encap type espinudp sport 4500 dport 4500 addr 0.0.0.0\n";
  const std::pair<std::string, std::string> cases[] = {
      {begin + gcm + "auth-trunc hmac(sha1) " + kKey + " 96\n",
       "f:1: rfc4106(gcm(aes)) authenticates as well: an auth line does not go with it"},
      {begin + gcm + "flag esn\n", "f:1: flag esn needs a window: replay-window, or replay_window of"},
      {begin + gcm + "replay-window 0 flag esn\n", "f:1: flag esn needs a window: replay-window, or replay_window of"},
      {begin + gcm + "anti-replay esn context:\nseq-hi 0x1, seq 0x0\n",
       "f:1: seq and oseq have 32 bits without flag esn"},
      {begin + gcm +
           "replay-window 0 flag esn\nanti-replay esn context:\nreplay_window 64\noseq-hi 0x80000000, oseq 0x0\n",
       "f:1: seq and oseq must be below 2^63"},
      {begin + gcm + "replay-window 64 flag esn\nanti-replay esn context:\nseq-hi 0xffffffff, oseq-hi 0x0\n",
       "f:1: seq and oseq must be below 2^63"},
      {begin + gcm + "anti-replay esn context:\nreplay_window 5000, bitmap-length 4\n",
       "f:5: replay_window must be 0 to 4096"},
      {begin + enc, "f:1: this association has no line 'auth-trunc hmac(sha1) KEY 96' or"},
      {begin, "f:1: this association has no line 'enc rfc3686(ctr(aes)) KEY', 'enc cbc(aes) KEY' or"},
      {begin + gcm + udp.substr(0, 30) + "\n", "f:4: encap needs sport and dport, 1 to 65535"},
      {begin + gcm + "encap type espintcp sport 1 dport 2\n", "f:4: the only encap that is supported is espinudp"},
      {"src ::1 dst ::2\nproto esp spi 5000 mode tunnel\n" + gcm + udp, "f:1: encap goes with IPv4 addresses only"},
      {"src 1.2.3.4 dst 5.6.7.8\nproto esp spi 5000 mode transport\n" + gcm + udp,
       "f:1: encap goes with mode tunnel only"},
      {"src 1.2.3.4 dst ::2\n", "f:1: src and dst must both be IPv4, or both IPv6"},
      {begin + gcm + "sel src ::/0 dst 0.0.0.0/0\n", "f:4: the prefixes of a sel line must both be IPv4, or both IPv6"},
      {begin + "aead rfc4106(gcm(aes)) " + kKey + " 100\n",
       "f:3: the ICV of rfc4106(gcm(aes)) must have 64, 96 or 128"},
      {begin + "auth hmac(sha256) 0x" + std::string(64, '1') + "\n", "f:3: hmac(sha256) must be truncated to 128 bits"},
      {begin + "enc cbc(aes) " + kKey + "\n", "f:3: the key of cbc(aes) must be 32 or 48 or 64 hexadecimal"},
      {begin + gcm + "limit: soft 9, hard 10\n", "f:4: expected 'limit: soft NUMBER(bytes), hard NUMBER(bytes)'"},
      {begin + gcm + "expire add: soft 0(sec), hard x(sec)\n", "f:4: limit is followed by no number of 64 bits"},
      {begin + gcm + "expire now: soft 0(sec)\n", "f:4: expected 'expire add: soft NUMBER(sec), hard NUMBER(sec)', or"},
      {begin + gcm + "expire add: firm 0(sec)\n", "f:4: expected 'expire add: soft NUMBER(sec), hard NUMBER(sec)', or"},
      {begin + gcm + "limit time-firm 5\n", "f:4: expected 'limit: soft NUMBER(bytes), hard NUMBER(bytes)'"},
      {begin + gcm + "add 2026-01-01 10:00 use -\n", "f:4: expected 'add YYYY-MM-DD HH:MM:SS use YYYY-MM-DD"},
      {begin + gcm + "add 2026-01-01 10:00:00\n", "f:4: expected 'add YYYY-MM-DD HH:MM:SS use YYYY-MM-DD"},
  };
  for (auto& [text, error] : cases) {
    const auto found = mistakes(text);
    ASSERT_FALSE(found.empty()) << error;
    EXPECT_EQ(found[0].substr(0, error.size()), error);
    for (auto& line : found) EXPECT_EQ(line.find("00112233"), line.npos) << line;
  }
}

TEST(AssociationFile, RefusesFilesThatOthersMayRead) {
  const std::string path = "/tmp/heddle_association_file_test_" + std::to_string(getpid());
  std::ofstream(path) << kTunnel;
  std::vector<std::string> errors;
  for (const mode_t mode : {0644, 0640, 0620, 0604, 0601}) {
    ::chmod(path.c_str(), mode);
    try {
      read_association_file(path, errors);
      FAIL() << mode;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(format("has mode %04o", static_cast<unsigned>(mode))),
                std::string::npos);
      EXPECT_NE(std::string(error.what()).find("chmod 0600"), std::string::npos);
    }
  }
  for (const mode_t mode : {0600, 0400}) {
    ::chmod(path.c_str(), mode);
    EXPECT_EQ(read_association_file(path, errors).size(), 1u);
  }
  std::filesystem::remove(path);
  EXPECT_THROW(read_association_file(path, errors), Error);
  EXPECT_THROW(read_association_file("/tmp", errors), Error);
}

/** What reading `path` throws. */
std::string refusal(const std::string& path) {
  std::vector<std::string> errors;
  try {
    read_association_file(path, errors);
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "it has been read";
  return "";
}

TEST(AssociationFile, ShowsNothingThatMayBeAssociationsInPlaceOfAPath) {
  for (const std::string& text : {kTunnel, kTunnel.substr(0, kTunnel.find(' ', 5)), kKey, kKey.substr(2),
                                  "enc\t" + kKey.substr(0, 6), "a/" + kKey.substr(0, 18), "x " + kKey}) {
    const std::string why = refusal(text);
    EXPECT_EQ(why.find("cannot read the associations in FILE (not shown, for it may have keys): "), 0u) << why;
    EXPECT_NE(why.find("; give the path of a readable file, not associations"), why.npos) << why;
    EXPECT_EQ(why.find("0011223"), why.npos) << why;
  }
  EXPECT_EQ(refusal("/nowhere/0011223344556/x").find("cannot read the associations in '/nowhere/0011223344556/x': No"),
            0u);
  EXPECT_EQ(refusal(std::string("/dev/null\0", 10) + kKey).find("00112233"), std::string::npos);
}

TEST(AssociationFile, RefusesFilesThatAreAnothers) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  const std::string path = "/tmp/heddle_association_file_owner_" + std::to_string(getpid());
  std::ofstream(path) << kTunnel;
  ::chmod(path.c_str(), 0600);
  ASSERT_EQ(::chown(path.c_str(), 1234, 0), 0);
  EXPECT_EQ(refusal(path), "'" + path +
                               "' holds keys and belongs to user 1234, who may use it; chown it to user 0, who "
                               "runs this program");
  ASSERT_EQ(::chown(path.c_str(), 0, 0), 0);
  std::vector<std::string> errors;
  EXPECT_EQ(read_association_file(path, errors).size(), 1u);
  std::filesystem::remove(path);
}

TEST(AssociationFile, RefusesZeroBytes) {
  const std::string path = "/tmp/heddle_association_file_zero_" + std::to_string(getpid());
  std::ofstream(path) << kTunnel << '\0';
  ::chmod(path.c_str(), 0600);
  EXPECT_EQ(refusal(path), "'" + path + "' holds no associations, for it has zero bytes; give the path of a text file");
  std::filesystem::remove(path);
}

TEST(AssociationFile, OneSpiIsThatOfSeveralReceivers) {
  const auto to = [](const std::string& ends) {
    return ends + "\nproto esp spi 5000 mode tunnel\naead rfc4106(gcm(aes)) " + kKey + " 128\n";
  };
  const auto list = read(to("src 10.0.0.1 dst 10.0.0.2") + to("src 10.0.0.2 dst 10.0.0.1") + to("src ::1 dst ::2") +
                         to("src ::2 dst ::1"));
  EXPECT_EQ(list.size(), 4u);
  EXPECT_EQ(mistakes(to("src ::1 dst ::2") + to("src 10.0.0.1 dst 10.0.0.2") + to("src ::3 dst ::2")),
            std::vector<std::string>{"f:7: another association before it has the same SPI and destination"});
  std::string many;
  for (int i = 0; i <= 1000; ++i) many += to(format("src 10.0.0.1 dst 10.1.%d.%d", i / 250, i % 250));
  EXPECT_EQ(mistakes(many),
            std::vector<std::string>{"f:3001: more than 1000 associations have its SPI; give it another"});
}

TEST(AssociationFile, TakesAHundredThousand) {
  std::string text;
  for (unsigned i = 0; i <= kMaxAssociations; ++i)
    text += format(
        "src 10.0.0.1 dst 10.0.0.2\nproto esp spi %u mode tunnel\nauth hmac(sha1) %s\nenc rfc3686(ctr(aes)) %s\n",
        1000 + i, kKey.c_str(), kKey.c_str());
  std::vector<std::string> errors;
  EXPECT_EQ(parse_associations(text, "f", errors).size(), kMaxAssociations);
  EXPECT_EQ(errors, std::vector<std::string>{"f:400001: there are more than 100000 associations"});
}

}  // namespace
}  // namespace heddle::ipsec
