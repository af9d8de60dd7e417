// Which association a packet gets, and which number; what check says of chains where these would be wrong.

#include "core/load.h"
#include "functions/ipsec/chains_for_test.h"

namespace heddle::test {
namespace {

using namespace esp;

TEST(Ipsec, SequenceChoosesBySelector) {
  const KeyFile keys(associations({{0x1001, "sel src 0.0.0.0/0 dst 10.0.0.0/8\n"},
                                   {0x1002, "sel src 0.0.0.0/0 dst 10.2.0.0/16\n"},
                                   {0x1003, "sel src 192.0.2.0/24 dst 10.2.0.0/16\n"},
                                   {0x1004, "sel src 192.0.2.0/24 dst 10.3.0.0/16\n"}}));
  const std::pair<uint32_t, unsigned> cases[] = {
      {ip(10, 1, 2, 3), 0x1001}, {ip(10, 2, 2, 3), 0x1002}, {ip(10, 3, 2, 3), 0x1001}, {ip(11, 3, 2, 3), 0}};
  std::vector<Frame> frames;
  for (auto& [destination, spi] : cases) frames.push_back(ip_frame(ip(198, 18, 0, 1), destination, 30));
  frames.push_back(ip_frame(ip(192, 0, 2, 9), ip(10, 3, 2, 3), 30));
  const Result out = run(encap_chain(keys), cpu(), frames);
  ASSERT_EQ(out.at("sink").size(), 4u);
  const unsigned spis[] = {0x1001, 0x1002, 0x1001, 0x1004}, sequences[] = {1, 1, 2, 1};
  for (size_t k = 0; k < 4; ++k) {
    EXPECT_EQ(get_u32(out.at("sink")[k].bytes, 34), spis[k]);
    EXPECT_EQ(get_u32(out.at("sink")[k].bytes, 38), sequences[k]);
  }
  EXPECT_EQ(out.drop("q.no_sa"), 1u);
}

// With another OFFSET every packet would be lost, as no_sa.
TEST(Ipsec, OffsetIsWhereHeadersHaveBeenFound) {
  const KeyFile keys(associations({{0x1001}}));
  const std::string found = "c :: CheckIPHeader(14) -> Counter";
  const auto mistakes_of = [&](bool encap, const std::string& before, const std::string& offset) {
    const std::string esp =
        (encap ? "IPsecSequence(e) -> e :: IPsecEncap(" : "e :: IPsecDecap(") + keys.path() + offset;
    return mistakes("TestSource -> " + before + " -> " + esp + ") -> TestSink;");
  };
  for (const bool encap : {true, false}) {
    const std::string text = mistakes_of(encap, found, "");
    EXPECT_NE(text.find("'c' before it has found the IP header at byte 14, and OFFSET of 'e' says 0; give that OFFSET "
                        "14"),
              text.npos)
        << text;
    EXPECT_NE(mistakes_of(encap, found + " -> Strip(4)", ", OFFSET 14").find("give that OFFSET 10"), text.npos);
    EXPECT_EQ(mistakes_of(encap, found, ", OFFSET 14"), "");
    EXPECT_EQ(mistakes_of(encap, found + " -> Strip(14)", ""), "");
    EXPECT_EQ(mistakes_of(encap, "CheckIPHeader -> EtherEncap(0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2)", ", OFFSET 14"), "");
    EXPECT_EQ(mistakes_of(encap, "Counter", ""), "");
  }
}

TEST(Ipsec, SequenceNumbersEnd) {
  const KeyFile keys(associations({{0x1001, "anti-replay context: seq 0x0, oseq 0xfffffffd, bitmap 0x0\n"}}));
  auto random = random_for("ipsec exhausted");
  const std::vector<Frame> frames(5, inner_frame(random, 64));
  const Result out = run(encap_chain(keys), cpu(), frames);
  ASSERT_EQ(out.at("sink").size(), 2u);
  EXPECT_EQ(get_u32(out.at("sink")[1].bytes, 38), 0xffffffffu);
  EXPECT_EQ(out.drop("q.exhausted"), 3u);
}

TEST(Ipsec, SpiIsThatOfOneAssociation) {
  std::string text = associations({{0x1001}}), other = text;
  const KeyFile keys(text + other.replace(other.find("203.0.113.1"), 11, "203.0.113.2"));
  const auto said = [&](const std::string& more) {
    return mistakes("TestSource -> IPsecSequence(e" + more + ") -> e :: IPsecEncap(" + keys.path() + ") -> TestSink;");
  };
  EXPECT_NE(said(", SPI 0x1001").find("SPI: 'e' has several associations with SPI 0x00001001; leave SPI out"),
            std::string::npos);
  EXPECT_NE(said("").find("one selector"), std::string::npos);
}

TEST(Ipsec, SecondsEndAnAssociation) {
  for (const bool ended : {true, false}) {
    const std::string added = ended ? "2020-01-01 10:00:00" : "2090-01-01 10:00:00";
    const KeyFile keys(associations({{0x1001, "limit time-hard 1000\nadd " + added + " use -\n"}}));
    auto random = random_for("ipsec seconds");
    const std::vector<Frame> frames(5, inner_frame(random, 64));
    const Result out = run(encap_chain(keys), cpu(), frames);
    EXPECT_EQ(out.drop("q.expired"), ended ? 5u : 0u);
  }
}

// Another run with the same keys has other initialisation vectors: CTR must not repeat its key stream.
TEST(Ipsec, EachRunHasItsOwnKeyStream) {
  const KeyFile keys(associations({{0x1001}}));
  auto random = random_for("ipsec iv");
  const std::vector<Frame> frames = {inner_frame(random, 64)};
  const auto iv = [&] {
    const Bytes bytes = run(encap_chain(keys), cpu(), frames).bytes().at(0);
    return load_u64(&bytes[42]);
  };
  EXPECT_NE(iv(), iv());
}

// Places in one file are other associations in another, and numbers that came with packets have been used.
TEST(Ipsec, NumbersAreForItsAssociations) {
  const KeyFile one(associations({{0x1001}, {0x1002}})), same(associations({{0x1001}, {0x1002}, {0x1003}})),
      turned(associations({{0x1002}, {0x1001}})), extended(associations({{0x1001, "", 64, {}, {.extended_from = 1}}}));
  const auto mistakes_of = [](const std::string& chain) {
    click::Diagnostics diagnostics;
    read("TestSource -> " + chain + "Idle -> one;", {}, diagnostics);
    return diagnostics.text();
  };
  const auto chain = [&](const KeyFile& encap, const std::string& more = ", SPI 0x1001") {
    return "q :: IPsecSequence(one" + more + ") -> e :: IPsecEncap(" + encap.path() +
           ") -> TestSink; one :: IPsecEncap(" + one.path() + ") -> TestSink; ";
  };
  EXPECT_EQ(mistakes_of(chain(same)), "");
  EXPECT_EQ(mistakes_of(chain(same, ", BY column")).find("is set by"), std::string::npos);
  for (const std::string more : {", SPI 0x1001", ", BY column"})
    EXPECT_NE(mistakes_of(chain(turned, more))
                  .find("IPsecEncap 'e': the esp_sequence annotation of its packets is set by 'q', to numbers for "
                        "'one', which has other associations; name 'e' there, or put an IPsecSequence(e) between the "
                        "two"),
              std::string::npos);
  EXPECT_NE(mistakes_of("d :: IPsecDecap(" + extended.path() + ") -> e :: IPsecEncap(" + extended.path() +
                        ") -> TestSink; one :: IPsecEncap(" + one.path() + ") -> TestSink; ")
                .find("IPsecEncap 'e': the esp_sequence annotation of its packets is set by 'd', to the number that "
                      "they came with, which would be used again; put an IPsecSequence(e) between the two"),
            std::string::npos);
}

}  // namespace
}  // namespace heddle::test
