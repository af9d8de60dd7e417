// HTTP that is cut in all ways and hostile; rules in it are judged by Suricata (tests/test_nids_http.py).

#include "functions/nids/http.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <map>
#include <string>
#include <vector>

#include "functions/nids/buffer_rules.h"
#include "functions/nids/conversations.h"
#include "functions/nids/rule_file.h"
#include "tests/support/frames.h"

namespace heddle::test {
namespace {

using namespace nids;

/** Feeds bytes in order, as a direction of a connection has them. */
class Feeder {
 public:
  Window window(Side side, const std::string& bytes) {
    auto& [text, offset] = last_[side];
    offset += text.size();
    text = bytes;
    return {{reinterpret_cast<const uint8_t*>(text.data()), text.size()}, 0, offset};
  }

 private:
  std::pair<std::string, uint64_t> last_[2];
};

const std::string kRequest1 =
    "POST /a%20b/../c?x=%41 HTTP/1.1\r\nHost: Some.Example:80\r\nUser-Agent: one\r\nCookie: k=v\r\n"
    "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n";
const std::string kResponse1 = "HTTP/1.1 200 Fine\r\nServer: some\r\nSet-Cookie: s=1\r\nContent-Length: 4\r\n\r\nbody";
const std::string kRequest2 = "GET / HTTP/1.0\r\n\r\n", kResponse2 = "HTTP/1.0 404 No\r\nContent-Length: 0\r\n\r\n";

/** All buffers of all transactions that a connection still has. */
std::vector<std::map<Buffer, std::string>> buffers_of(HttpConnection& connection, Side side) {
  std::vector<std::map<Buffer, std::string>> list;
  for (const Transaction* transaction : connection.transactions()) {
    auto& all = list.emplace_back();
    for (size_t b = 0; b < kBuffers; ++b) {
      std::string_view text;
      std::string scratch;
      const auto buffer = static_cast<Buffer>(b);
      if (transaction->look(buffer, side, 0, text, scratch) == Transaction::State::whole) all[buffer] = text;
    }
  }
  return list;
}

TEST(NidsHttp, BuffersOfARequestAndAResponse) {
  using enum Buffer;
  HttpConnection spoken;
  Feeder feeder;
  spoken.take(kRequest, feeder.window(kRequest, kRequest1));
  auto asked = buffers_of(spoken, kRequest);
  ASSERT_EQ(asked.size(), 1u);
  const std::map<Buffer, std::string> wanted = {
      {method, "POST"},
      {uri, "/c?x=A"},
      {raw_uri, "/a%20b/../c?x=%41"},
      {protocol, "HTTP/1.1"},
      {request_line, "POST /a%20b/../c?x=%41 HTTP/1.1"},
      {host, "some.example"},
      {raw_host, "Some.Example:80"},
      {user_agent, "one"},
      {request_body, "hello world"},
      {file_data, "hello world"},
      {header, "Host: Some.Example:80\r\nUser-Agent: one\r\nTransfer-Encoding: chunked\r\n"},
      {raw_header, "Host: Some.Example:80\r\nUser-Agent: one\r\nCookie: k=v\r\nTransfer-Encoding: chunked\r\n\r\n\r\n"},
      {header_names, "\r\nHost\r\nUser-Agent\r\nCookie\r\nTransfer-Encoding\r\n\r\n"},
      {cookie, "k=v"},
      {start,
       "POST /a%20b/../c?x=%41 HTTP/1.1\r\nHost: Some.Example:80\r\nUser-Agent: one\r\nCookie: k=v\r\n"
       "Transfer-Encoding: chunked\r\n\r\n"}};
  for (const auto& [buffer, text] : wanted) EXPECT_EQ(asked[0][buffer], text) << static_cast<int>(buffer);
  spoken.take(kResponse, feeder.window(kResponse, kResponse1));
  auto answered = buffers_of(spoken, kResponse);
  EXPECT_EQ(answered[0][status_code], "200");
  EXPECT_EQ(answered[0][status_message], "Fine");
  EXPECT_EQ(answered[0][response_body], "body");
  EXPECT_EQ(answered[0][cookie], "s=1");
  EXPECT_FALSE(answered[0].contains(uri));
  spoken.forget(kResponse);
  EXPECT_TRUE(buffers_of(spoken, kRequest).empty()) << "both have ended";
}

TEST(NidsHttp, CutsDoNotMatter) {
  const std::string asks = kRequest1 + kRequest2, answers = kResponse1 + kResponse2;
  const auto run = [&](size_t cut, size_t step) {
    HttpConnection connection;
    Feeder feeder;
    std::vector<std::vector<std::map<Buffer, std::string>>> seen;
    for (const auto& [side, text] : {std::pair(kRequest, asks), std::pair(kResponse, answers)}) {
      for (size_t at = 0; at < text.size();) {
        const size_t end = at == 0 ? std::min(cut, text.size()) : std::min(at + step, text.size());
        connection.take(side, feeder.window(side, text.substr(at, end - at)));
        at = end;
      }
      seen.push_back(buffers_of(connection, side));
    }
    EXPECT_FALSE(connection.over());
    return seen;
  };
  const auto whole = run(asks.size() + answers.size(), 1);
  ASSERT_EQ(whole[0].size(), 2u);
  EXPECT_EQ(run(1, 1), whole) << "a byte each";
  for (size_t cut = 1; cut < std::max(asks.size(), answers.size()); ++cut) {
    // libhtp 0.5.50 takes a first line for two that is cut where a message before it is in the same piece.
    const auto cuts_line = [&](const std::string& before, const std::string& message) {
      return cut > before.size() && cut < before.size() + message.find('\n');
    };
    if (cuts_line(kRequest1, kRequest2) || cuts_line(kResponse1, kResponse2)) continue;
    ASSERT_EQ(run(cut, 10000), whole) << cut;
  }
}

std::string gzip(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

TEST(NidsHttp, CompressedBodiesAreBounded) {
  const std::string bomb = gzip(gzip(std::string(64 << 20, 'x')));
  HttpConnection connection;
  Feeder feeder;
  connection.take(kRequest, feeder.window(kRequest, kRequest2));
  connection.take(kResponse,
                  feeder.window(kResponse, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip, gzip\r\nContent-Length: " +
                                               std::to_string(bomb.size()) + "\r\n\r\n"));
  for (size_t at = 0; at < bomb.size(); at += 100) {
    connection.take(kResponse, feeder.window(kResponse, bomb.substr(at, 100)));
    ASSERT_LT(connection.memory(), HttpConnection::kMaxBytes);
    for (const Transaction* one : connection.transactions()) ASSERT_LE(one->body(kResponse).total(), Body::kMax);
  }
}

/** Repeats `more` behind `first` until the connection is given up; how much it took. */
size_t until_given_up(const std::string& first, const std::string& more) {
  HttpConnection connection;
  Feeder feeder;
  connection.take(kRequest, feeder.window(kRequest, first));
  size_t most = 0;
  for (int k = 0; k < 100000 && !connection.over(); ++k) {
    connection.take(kRequest, feeder.window(kRequest, more));
    connection.forget(kRequest);
    most = std::max(most, connection.memory());
  }
  EXPECT_TRUE(connection.gave_up()) << first << more;
  return most;
}

TEST(NidsHttp, WhatDoesNotEndIsGivenUp) {
  const size_t most = HttpConnection::kMaxBytes + (64 << 10);
  EXPECT_LT(until_given_up("GET / HTTP/1.1\r\n", "X-Some: header\r\n"), most);
  EXPECT_LT(until_given_up("GET / HTTP/1.1\r\nA: ", "bbbbbbbbbbbbbbbbbbbb"), most);
  EXPECT_LT(until_given_up("GET / HTTP/1.1\r\nA: b\r\n", " folded, and folded again\r\n"), most);
  EXPECT_LT(until_given_up("GET /", "aaaaaaaaaaaaaaaaaaaaaa"), most);
  EXPECT_LT(until_given_up("", "GET / HTTP/1.1\r\n\r\n"), most) << "requests that nobody answers";
  EXPECT_LT(until_given_up("", "GET /" + std::string(3000, 'a') + " HTTP/1.1\r\n\r\n"), most);
}

TEST(NidsHttp, BodiesThatDoNotEndAreForgotten) {
  HttpConnection connection;
  Feeder feeder;
  connection.take(kRequest, feeder.window(kRequest, "POST / HTTP/1.1\r\nContent-Length: 100000000\r\n\r\n"));
  for (int k = 0; k < 1000; ++k) {
    connection.take(kRequest, feeder.window(kRequest, std::string(1000, static_cast<char>('a' + k % 26))));
    connection.forget(kRequest);
    ASSERT_LT(connection.memory(), size_t{200} << 10);
  }
  EXPECT_FALSE(connection.over());
}

TEST(NidsHttp, AnyBytesAreTaken) {
  auto random = random_for("hostile http");
  const std::string pieces[] = {kRequest1,
                                kResponse1,
                                kRequest2,
                                kResponse2,
                                "\r\n",
                                "\r\n\r\n",
                                "Content-Length: -1\r\n",
                                "HTTP/1.1 100 Go\r\n\r\n",
                                "Content-Length: 99999999999999999999\r\n",
                                "Transfer-Encoding: chunked\r\n",
                                "ffffffffffffffff\r\n",
                                "-1\r\n",
                                "0\r\n",
                                "Content-Encoding: gzip\r\n",
                                "\x1f\x8b\x08",
                                "GET ",
                                "CONNECT a:1 HTTP/1.1\r\n\r\n",
                                " ",
                                ":",
                                std::string(300, '%')};
  for (int round = 0; round < 3000; ++round) {
    HttpConnection connection;
    Feeder feeder;
    uint64_t skipped = 0;
    for (int k = 0; k < 20; ++k) {
      const auto side = static_cast<Side>(random() % 2);
      std::string text = pieces[random() % std::size(pieces)];
      if (random() % 3 == 0) text.resize(random() % (text.size() + 1));
      if (random() % 3 == 0 && !text.empty()) text[random() % text.size()] = static_cast<char>(random());
      Window window = feeder.window(side, text);
      skipped += random() % 20 == 0 ? random() % 3000 : 0;  // a gap
      window.offset += skipped;
      connection.take(side, window);
      buffers_of(connection, kRequest), buffers_of(connection, kResponse);
      if (random() % 2 == 0) connection.forget(side);
      if (random() % 30 == 0) connection.close(side);
      ASSERT_LT(connection.memory(), HttpConnection::kMaxBytes + (128 << 10));
    }
  }
}

TEST(NidsHttp, BothDirectionsFindAConnection) {
  Conversations table(1 << 20);
  Feeder feeder;
  const flow::Key there{1, 2, 1000, 80, 6}, back{2, 1, 80, 1000, 6};
  const auto spoken = [&](const flow::Key& key, Side side, const std::string& text) {
    Window window = feeder.window(side, text);
    const Conversations::Use use = table.take(key, side, window, false, false);
    use.show(window);
    return window.dialogue != nullptr && window.side == side;
  };
  EXPECT_FALSE(spoken(back, kResponse, "220 hello\r\n")) << "no client has said anything";
  EXPECT_TRUE(spoken(there, kRequest, kRequest1));
  EXPECT_TRUE(spoken(back, kResponse, kResponse1));
  EXPECT_GT(table.bytes(), 0u);
  table.end(back);
  EXPECT_EQ(table.bytes(), 0u);
  EXPECT_FALSE(spoken(there, kRequest, kRequest1)) << "its beginning has not been seen";
}

TEST(NidsHttp, OnlyWhatBeginsWithAMethodIsHttp) {
  for (const char* text : {"GET /", "get /", "POST\t", "VERSION-CONTROL "})
    EXPECT_EQ(HttpConnection::begins(text), true) << text;
  for (const char* text : {"", "G", "GET", "VERSION-"}) EXPECT_EQ(HttpConnection::begins(text), std::nullopt) << text;
  for (const char* text : {"X", "GETS /", "HTTP/1.1 200 OK", " GET /", "220 hello"})
    EXPECT_EQ(HttpConnection::begins(text), false) << text;
}

TEST(NidsHttp, ConnectionsBeyondTheMemoryAreGivenUp) {
  Conversations table(64 << 10);
  int followed = 0, lost = 0;
  for (uint32_t k = 0; k < 100; ++k) {
    Feeder feeder;
    Window window = feeder.window(kRequest, kRequest1);
    const Conversations::Use use = table.take({k, 2, 1000, 80, 6}, kRequest, window, false, false);
    use.show(window);
    followed += window.dialogue != nullptr, lost += use.gave_up();
  }
  EXPECT_LE(table.bytes(), size_t{64} << 10);
  EXPECT_GT(followed, 2);
  EXPECT_GT(lost, 80);
}

TEST(NidsHttp, Transforms) {
  using Kind = Transform::Kind;
  const auto made = [](Kind kind, const std::string& text, const std::string& key = "") {
    const Transform transform{kind, key};
    return transformed(text, {&transform, 1});
  };
  EXPECT_EQ(made(Kind::dotprefix, "a.b"), ".a.b");
  EXPECT_EQ(made(Kind::to_lowercase, "aB1"), "ab1");
  EXPECT_EQ(made(Kind::to_uppercase, "aB1"), "AB1");
  EXPECT_EQ(made(Kind::header_lowercase, "User-Agent: Me\r\nHost: A"), "user-agent: Me\r\nhost: A");
  EXPECT_EQ(made(Kind::strip_whitespace, " a \t\r\n b"), "ab");
  EXPECT_EQ(made(Kind::compress_whitespace, "a \t b\r\nc"), "a b\rc");
  EXPECT_EQ(made(Kind::url_decode, "a+%41%2g%"), "a A%2g%");
  EXPECT_EQ(made(Kind::exclusive_or, "abc", std::string("\x01\x02", 2)), "``b");
}

}  // namespace
}  // namespace heddle::test
