// DNS, TLS and what connections begin with, cut in all ways and hostile; rules for them are judged by Suricata
// (tests/test_nids_applications.py).

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "functions/nids/conversations.h"
#include "functions/nids/dns.h"
#include "functions/nids/tls.h"
#include "tests/support/frames.h"

namespace heddle::test {
namespace {

using namespace nids;

using Strings = std::vector<std::string>;

std::string big_endian(size_t value, size_t bytes) {
  std::string text;
  for (size_t k = bytes; k-- > 0;) text += static_cast<char>(value >> 8 * k);
  return text;
}

std::string counted(const std::string& text, size_t bytes) { return big_endian(text.size(), bytes) + text; }

Window window_of(const std::string& text, uint64_t offset) {
  return {{reinterpret_cast<const uint8_t*>(text.data()), text.size()}, 0, offset};
}

/** Feeds a side piece by piece. */
void feed(Dialogue& dialogue, Side side, const std::string& text, size_t piece) {
  for (size_t at = 0; at < text.size(); at += piece) dialogue.take(side, window_of(text.substr(at, piece), at));
}

/** All of a list that transactions have. */
Strings list_of(Dialogue& dialogue, Buffer buffer, Side side) {
  Strings list;
  for (const Transaction* one : dialogue.transactions()) {
    std::string_view text;
    std::string scratch;
    for (size_t k = 0; one->look(buffer, side, k, text, scratch) == Transaction::State::whole; ++k) {
      list.emplace_back(text);
      if (!is_list(buffer)) break;
    }
  }
  return list;
}

std::string dns_message(const std::string& questions, size_t count, size_t flags = 0x100) {
  return big_endian(7, 2) + big_endian(flags, 2) + big_endian(count, 2) + std::string(6, '\0') + questions;
}

const std::string kIn = big_endian(1, 2) + big_endian(1, 2);  // type A, class IN
const std::string kName = "\3www\4some\7example" + std::string(1, '\0');

Strings names_in(const std::string& message) {
  DnsMessage read;
  if (!read.read(message)) return {"none"};
  Strings names;
  std::string_view text;
  std::string scratch;
  for (size_t k = 0; read.look(Buffer::dns_query, kRequest, k, text, scratch) == Transaction::State::whole; ++k)
    names.emplace_back(text);
  return names;
}

TEST(NidsDns, NamesOfQuestions) {
  EXPECT_EQ(names_in(dns_message(kName + kIn, 1)), Strings{"www.some.example"});
  EXPECT_EQ(names_in(dns_message(kName + kIn + "\1a\xc0\x10" + kIn, 2)),
            (Strings{"www.some.example", "a.some.example"}));
  EXPECT_EQ(names_in(dns_message(std::string(1, '\0') + kIn, 1)), Strings{}) << "the root";
  EXPECT_EQ(names_in(dns_message(kName + kIn, 1, 0x8180)), Strings{}) << "an answer asks for nothing";
  EXPECT_EQ(names_in(dns_message(kName + kIn + "more", 1)), Strings{"www.some.example"});
}

TEST(NidsDns, WhatIsNoMessageIsNone) {
  const Strings none{"none"};
  EXPECT_EQ(names_in(dns_message("", 1)), none) << "no room for a question";
  EXPECT_EQ(names_in(dns_message(kName, 1)), none) << "type and class are missing";
  EXPECT_EQ(names_in(dns_message("\3ww", 1)), none);
  EXPECT_EQ(names_in(dns_message("\xc0\x0c" + kIn, 1)), none) << "a name that is itself";
  EXPECT_EQ(names_in(dns_message("\1a\xcf\xff" + kIn, 1)), none) << "a pointer behind the message";
  EXPECT_EQ(names_in(dns_message("\1a\x41" + kIn, 1)), none) << "a label of a kind that there is not";
  EXPECT_EQ(names_in(""), none);
  std::string labels;
  for (int k = 0; k < 255; ++k) labels += "\1a";
  const std::string end(1, '\0');
  EXPECT_EQ(names_in(dns_message(labels + end + kIn, 1))[0].size(), 509u);
  EXPECT_EQ(names_in(dns_message(labels + "\1a" + end + kIn, 1)), none) << "256 labels";
}

TEST(NidsDns, LoopsAndLongNamesEnd) {
  const Strings looped = names_in(dns_message("\4loop\xc0\x0c" + kIn, 1));
  ASSERT_EQ(looped.size(), 1u);
  EXPECT_LE(looped[0].size(), 1025u);
  std::string long_name;
  for (int k = 0; k < 20; ++k) long_name += "\x3f" + std::string(63, 'a');
  EXPECT_EQ(names_in(dns_message(long_name + std::string(1, '\0') + kIn, 1))[0].size(), 1025u);
  // Each question is a pointer to the longest name: together they have no more than a message may have.
  std::string many = long_name + std::string(1, '\0') + kIn;
  for (int k = 0; k < 9000; ++k) many += "\xc0\x0c" + kIn;
  size_t bytes = 0;
  for (const std::string& name : names_in(dns_message(many, 9001))) bytes += name.size();
  EXPECT_LE(bytes, size_t{64} << 10);
}

TEST(NidsDns, AMessageHasSoManyNames) {
  std::string many;
  for (int k = 0; k < 300; ++k) many += "\2" + std::to_string(10 + k % 90) + std::string(1, '\0') + kIn;
  EXPECT_EQ(names_in(dns_message(many, 300)).size(), 256u);
  // Each name is 250 pointers; then none is followed any more, and none is taken for whole that is not.
  std::string chain = std::string(1, '\0') + kIn;
  for (size_t k = 0; k < 250; ++k) chain += big_endian(0xc000 | (k == 0 ? 12 : 17 + 6 * (k - 1)), 2) + kIn;
  std::string names = chain;
  for (size_t k = 0; k < 100; ++k) names += "\1a" + big_endian(0xc000 | (17 + 6 * 249), 2) + kIn;
  const Strings found = names_in(dns_message(names, 351));
  EXPECT_LT(found.size(), 100u);
  for (const std::string& name : found) EXPECT_EQ(name, "a");
}

TEST(NidsDns, MessagesOverTcpInPieces) {
  const std::string text = counted(dns_message(kName + kIn, 1), 2) + std::string(2, '\0') +
                           counted(dns_message("\1b\0" + kIn, 1), 2) +
                           counted(dns_message("\1c" + std::string(1, '\0') + kIn, 1), 2);
  const std::string good = counted(dns_message(kName + kIn, 1), 2) + std::string(2, '\0') +
                           counted(dns_message("\1c" + std::string(1, '\0') + kIn, 1), 2);
  for (const size_t piece : {size_t{1}, size_t{2}, size_t{5}, good.size()}) {
    DnsConnection connection;
    feed(connection, kRequest, good, piece);
    EXPECT_EQ(list_of(connection, Buffer::dns_query, kRequest), (Strings{"www.some.example", "c"})) << piece;
    EXPECT_FALSE(connection.over());
    connection.forget(kRequest);
    EXPECT_EQ(list_of(connection, Buffer::dns_query, kRequest), Strings{});
  }
  DnsConnection connection;
  feed(connection, kRequest, text.substr(0, 40) + counted("no message", 2) + text, 1000);
  EXPECT_TRUE(connection.gave_up());
}

std::string record(size_t type, const std::string& text) { return big_endian(type, 1) + "\3\3" + counted(text, 2); }
std::string handshake(size_t type, const std::string& body) { return big_endian(type, 1) + counted(body, 3); }

std::string client_hello(const std::string& name) {
  const std::string names = counted(std::string(1, '\0') + counted(name, 2), 2);
  const std::string extensions = big_endian(23, 2) + counted("", 2) + big_endian(0, 2) + counted(names, 2);
  return handshake(1, "\3\3" + std::string(32, 'r') + counted("session", 1) + counted("\x13\x01", 2) +
                          counted(std::string(1, '\0'), 1) + counted(extensions, 2));
}

std::string certificates(const Strings& chain) {
  std::string all;
  for (const std::string& one : chain) all += counted(one, 3);
  return handshake(11, counted(all, 3));
}

TEST(NidsTls, HandshakesInRecordsAndPieces) {
  const Strings chain{std::string(1000, 'a'), "second", std::string(70000, 'c')};
  const std::string hello = record(22, client_hello("some.example"));
  std::string answer = handshake(2, std::string(70, 's')) + certificates(chain) + handshake(14, ""), records;
  for (size_t at = 0; at < answer.size(); at += 16384) records += record(22, answer.substr(at, 16384));
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{1460}, size_t{1} << 20}) {
    TlsConnection connection;
    feed(connection, kRequest, hello + record(20, "\1") + record(22, "encrypted"), piece);
    feed(connection, kResponse, records, piece);
    EXPECT_EQ(list_of(connection, Buffer::tls_sni, kRequest), Strings{"some.example"});
    EXPECT_EQ(list_of(connection, Buffer::tls_certificates, kResponse), chain) << piece;
    EXPECT_FALSE(connection.over());
    connection.close(kResponse);
    EXPECT_TRUE(connection.over() && !connection.gave_up());
  }
}

TEST(NidsTls, LengthsThatReachTooFarReachNothing) {
  const std::string hello = client_hello("some.example");
  for (size_t cut = 0; cut < hello.size(); ++cut) {  // the message is as long as it says, what is in it is not
    TlsConnection connection;
    const std::string body = hello.substr(4, cut);
    feed(connection, kRequest, record(22, handshake(1, body)), 1000);
    const Strings names = list_of(connection, Buffer::tls_sni, kRequest);
    if (cut < hello.size() - 4)
      EXPECT_EQ(names, Strings{}) << cut;
    else
      EXPECT_EQ(names, Strings{"some.example"});
  }
  TlsConnection longer;
  feed(longer, kResponse, record(22, handshake(11, big_endian(1000, 3) + counted("abc", 3))), 1000);
  EXPECT_EQ(list_of(longer, Buffer::tls_certificates, kResponse), Strings{});
  TlsConnection endless;
  feed(endless, kResponse, record(22, big_endian(11, 1) + big_endian(0xffffff, 3)), 1000);
  EXPECT_TRUE(endless.gave_up());
}

TEST(NidsTls, AChainHasSoManyCertificates) {
  Strings chain;
  for (int k = 0; k < 100; ++k) chain.push_back(std::to_string(k));
  TlsConnection connection;
  feed(connection, kResponse, record(22, certificates(chain)), 1000);
  chain.resize(64);
  EXPECT_EQ(list_of(connection, Buffer::tls_certificates, kResponse), chain);
}

TEST(NidsDialogues, AnyBytesAreTaken) {
  auto random = random_for("hostile dialogues");
  const Strings pieces = {record(22, client_hello("some.example")),
                          record(22, certificates({"one", "two"})),
                          record(22, handshake(2, "hello")),
                          record(20, "\1"),
                          record(23, "encrypted"),
                          record(21, "\2\x28"),
                          big_endian(22, 1) + "\3\3\x48\x01",
                          counted(dns_message(kName + kIn, 1), 2),
                          counted(dns_message("\4loop\xc0\x0c" + kIn, 1), 2),
                          counted(dns_message(kName + kIn, 1, 0x8180), 2),
                          counted(dns_message("", 0), 2),
                          std::string(300, '\xc0'),
                          std::string(2, '\0')};
  for (int round = 0; round < 2000; ++round) {
    TlsConnection tls;
    DnsConnection dns;
    for (Dialogue* const dialogue : {static_cast<Dialogue*>(&tls), static_cast<Dialogue*>(&dns)}) {
      uint64_t offsets[2] = {};
      for (int k = 0; k < 20; ++k) {
        const auto side = static_cast<Side>(random() % 2);
        std::string text = pieces[random() % pieces.size()];
        if (random() % 3 == 0) text.resize(random() % (text.size() + 1));
        if (random() % 3 == 0 && !text.empty()) text[random() % text.size()] = static_cast<char>(random());
        if (random() % 20 == 0) offsets[side] += random() % 3000;  // a gap
        dialogue->take(side, window_of(text, offsets[side]));
        offsets[side] += text.size();
        for (const Buffer buffer : {Buffer::tls_sni, Buffer::tls_certificates, Buffer::dns_query, Buffer::dns_opcode})
          list_of(*dialogue, buffer, side);
        if (random() % 2 == 0) dialogue->forget(side);
        if (random() % 30 == 0) dialogue->close(side);
        ASSERT_LT(dialogue->memory(), Dialogue::kMaxBytes + (512 << 10));
      }
    }
  }
}

TEST(NidsTls, LongMessagesAreBounded) {
  TlsConnection tls;
  uint64_t offset = 0;
  const std::string more = record(22, certificates({std::string(16000, 'x')}));
  tls.take(kResponse, window_of(record(22, big_endian(11, 1) + big_endian(1 << 18, 3)), 0));
  for (offset = 9; offset < (8 << 20) && !tls.over(); offset += more.size())
    tls.take(kResponse, window_of(more, offset));
  EXPECT_LT(tls.memory(), Dialogue::kMaxBytes);
}

TEST(NidsApplications, AreKnownByWhatASideBeginsWith) {
  const auto known = [](Side side, const std::string& text, uint16_t port = 80) { return recognise(side, port, text); };
  EXPECT_EQ(known(kRequest, "ehlo you"), Application::smtp);
  EXPECT_EQ(known(kRequest, "EHL"), Application::none);
  EXPECT_EQ(known(kResponse, "EHLO you"), Application::none);
  EXPECT_EQ(known(kRequest, "USER me"), Application::ftp);
  EXPECT_EQ(known(kResponse, "220 (us)"), Application::ftp);
  EXPECT_EQ(known(kRequest, "SSH-2.0"), Application::ssh);
  EXPECT_EQ(known(kResponse, "SSH-2.0"), Application::ssh);
  EXPECT_EQ(known(kRequest, "GET / "), Application::http);
  EXPECT_EQ(known(kRequest, "\x16\3\1"), Application::tls);
  EXPECT_EQ(known(kRequest, "\x17\3\1"), Application::none);
  EXPECT_EQ(known(kResponse, "\x17\3\1"), Application::tls);
  EXPECT_EQ(known(kRequest, "\x80\x2e\1\3\1", 443), Application::tls);
  EXPECT_EQ(known(kRequest, "\x80\x2e\1\3\1"), Application::none);
  const std::string smb = std::string(4, '\0') + "\xffSMB" + std::string(28, '\0');
  EXPECT_EQ(known(kResponse, smb), Application::smb);
  EXPECT_EQ(known(kResponse, smb.substr(0, 35)), Application::none);
  const std::string dns = counted(dns_message(kName + kIn, 1), 2);
  EXPECT_EQ(known(kRequest, dns, 53), Application::dns);
  EXPECT_EQ(known(kRequest, dns.substr(0, 14), 53), Application::dns) << "its header is enough";
  EXPECT_EQ(known(kRequest, dns.substr(0, 13), 53), Application::none);
  EXPECT_EQ(known(kRequest, dns), Application::none);
  EXPECT_EQ(known(kRequest, ""), Application::none);
}

TEST(NidsApplications, AServerThatAsksIsNoClient) {
  const std::string ask = "GET / HTTP/1.0\r\n\r\n";
  const flow::Key there{1, 2, 1000, 80, 6}, back{2, 1, 80, 1000, 6};
  for (const bool established : {false, true}) {
    Conversations table(1 << 20);
    const auto side_of = [&](const flow::Key& key, Side side) {
      Window window = window_of(ask, 0);
      table.take(key, side, window, false, established).show(window);
      return window.side;
    };
    side_of(back, kResponse);
    EXPECT_EQ(side_of(there, kRequest), established ? kRequest : kResponse) << "who has begun is not known: HTTP says";
  }
}

TEST(NidsApplications, WhatWasSaidBeforeCountsOnceItIsKnown) {
  Conversations table(1 << 20);
  const flow::Key there{1, 2, 1000, 25, 6}, back{2, 1, 25, 1000, 6};
  const auto shown = [&](const flow::Key& key, Side side, const std::string& text, uint64_t offset, uint32_t fresh) {
    Window window = window_of(text, offset);
    window.fresh = fresh;
    table.take(key, side, window, false, false).show(window);
    return std::pair(window.application, window.fresh_to_it);
  };
  EXPECT_EQ(shown(back, kResponse, "220 hello\r\n", 0, 0).first, Application::none);
  EXPECT_EQ(shown(there, kRequest, "EHLO\r\n", 0, 0), std::pair(Application::smtp, 0u));
  EXPECT_EQ(shown(back, kResponse, "220 hello\r\n250 fine\r\n", 0, 11), std::pair(Application::smtp, 0u));
  EXPECT_EQ(shown(back, kResponse, "220 hello\r\n250 fine\r\nmore", 0, 21), std::pair(Application::smtp, 21u));
  EXPECT_EQ(shown(there, kRequest, "", 6, 0).first, Application::smtp) << "packets without news, too";
  EXPECT_EQ(shown(there, kRequest, "hello\r\n", 0, 0).first, Application::none) << "the next connection";
  table.end(back);
  EXPECT_EQ(table.bytes(), 0u);
}

}  // namespace
}  // namespace heddle::test
