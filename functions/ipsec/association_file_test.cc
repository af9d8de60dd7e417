#include "functions/ipsec/association_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "core/error.h"

namespace heddle::ipsec {
namespace {

const std::string kKey = "0x00112233445566778899aabbccddeeff00112233";
const std::string kGood =
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
  const auto list = parse_associations("# two\n" + kGood + "\n" +
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
  EXPECT_EQ(list[0].selector.destination, 0x0a020000u);
  EXPECT_EQ(list[0].selector.destination_length, 16);
  EXPECT_EQ(list[1].window, 0u);
  EXPECT_EQ(swapped(list[1].sa.spi), 4098u);
}

// FIPS 197, appendix A.1; RFC 3686, test vector 1, has its nonce behind the key.
TEST(AssociationFile, ExpandsKeys) {
  std::vector<std::string> errors;
  std::string text = kGood;
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
    std::string text = kGood;
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
    std::string all = kGood;
    return all.replace(all.find(old), old.size(), text);
  };
  const std::pair<std::string, std::string> cases[] = {
      {with("spi 0x00001001", "spi x"), "f:2: spi is followed by no number of 32 bits"},
      {with("spi 0x00001001", "spi 255"), "f:2: spi must be 256 or more (RFC 4303, 2.1)"},
      {with("mode tunnel", "mode transport"), "f:2: the only mode that is supported is tunnel"},
      {with("window 32", "window 65"), "f:3: replay-window must be 0 to 64"},
      {with("hmac(sha1)", "hmac(md5)"), "f:4: the only authentication that is supported is hmac(sha1)"},
      {with(" 96", " 160"), "f:4: hmac(sha1) must be truncated to 96 bits"},
      {with("2233 96", "22 96"), "f:4: the key of hmac(sha1) must be 0x and 40 hexadecimal digits"},
      {with("rfc3686", "cbc"), "f:5: the only cipher that is supported is rfc3686(ctr(aes))"},
      {with("context:", "esn context:"), "f:6: extended sequence numbers are not supported"},
      {with("10.1.0.0/16", "10.1.0.0/33"), "f:7: src is followed by no IPv4 prefix"},
      {kKey + "\n" + kGood, "f:1: expected 'src ADDRESS dst ADDRESS', which begins an association"},
      {kGood + kGood, "f:8: another association before it has the same SPI"},
      {"src 1.2.3.4 dst 1.2.3\n", "f:1: dst is followed by no IPv4 address"},
  };
  for (auto& [text, error] : cases) {
    const auto found = mistakes(text);
    ASSERT_FALSE(found.empty()) << error;
    EXPECT_EQ(found[0], error);
    for (auto& line : found) EXPECT_EQ(line.find("00112233"), line.npos) << line;
  }
  EXPECT_EQ(mistakes(std::string(1000, '\n') + "x\n").size(), 1u);
}

TEST(AssociationFile, RefusesFilesThatOthersMayRead) {
  const std::string path = "/tmp/heddle_association_file_test";
  std::ofstream(path) << kGood;
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

TEST(AssociationFile, TakesAHundredThousand) {
  std::string text;
  for (unsigned i = 0; i <= kMostAssociations; ++i)
    text += format(
        "src 10.0.0.1 dst 10.0.0.2\nproto esp spi %u mode tunnel\nauth hmac(sha1) %s\nenc rfc3686(ctr(aes)) %s\n",
        1000 + i, kKey.c_str(), kKey.c_str());
  std::vector<std::string> errors;
  EXPECT_EQ(parse_associations(text, "f", errors).size(), kMostAssociations);
  EXPECT_EQ(errors, std::vector<std::string>{"f:400001: there are more than 100000 associations"});
}

}  // namespace
}  // namespace heddle::ipsec
