// The protocol between two ends of ours, and against peers that send what they should not. (Against DPDK's driver:
// tests/test_gpu_ports.py.)
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "core/error.h"
#include "io/memif/interrupts.h"
#include "io/memif/port.h"

namespace heddle::memif {
namespace {

class MemifProtocol : public ::testing::Test {
 protected:
  MemifProtocol() : folder_(std::filesystem::temp_directory_path() / ("memif" + std::to_string(getpid()))) {
    std::filesystem::create_directory(folder_);
    path_ = folder_ / "socket";
  }
  ~MemifProtocol() override { std::filesystem::remove_all(folder_); }

  PortConfig config(Role role, Interface interface) const { return {path_, role, std::move(interface)}; }
  /** Serves both until both are up, or one has a problem. */
  static bool connect(Port& one, Port& other) {
    for (int i = 0; i < 1000; ++i) {
      one.serve(), other.serve();
      if (one.session() != nullptr && other.session() != nullptr) return true;
      usleep(1000);
    }
    return false;
  }

  std::filesystem::path folder_;
  std::string path_;
};

Interface interface_of(int queues, int log2_size = 6) { return {7, queues, queues, log2_size, "hush"}; }

TEST_F(MemifProtocol, TwoEndsShareRings) {
  const Interface wanted = interface_of(3);
  const Region rings(ClientSession::rings_bytes(wanted)), buffers(1 << 16);
  Port server(config(Role::server, wanted), nullptr, nullptr), client(config(Role::client, wanted), &rings, &buffers);
  server.open(), client.open();
  struct stat file {};
  ASSERT_EQ(stat(path_.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
  ASSERT_TRUE(connect(server, client)) << server.problem() << client.problem();
  const ServerSession& up = *server.server_session();
  ASSERT_EQ(up.regions().size(), 2u);
  EXPECT_EQ(up.regions()[1].bytes(), buffers.bytes());
  buffers.base()[77] = std::byte{42};
  EXPECT_EQ(up.regions()[1].base()[77], std::byte{42});
  ASSERT_EQ(up.receiving().size(), 3u);
  ASSERT_EQ(up.transmitting().size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    // What one end receives is what the other transmits; the memory is the same at two places.
    client.session()->transmitting()[i].ring->head = static_cast<uint16_t>(100 + i);
    client.session()->receiving()[i].ring->descriptors()[63].length = static_cast<uint32_t>(200 + i);
    EXPECT_EQ(up.receiving()[i].ring->head, 100 + i);
    EXPECT_EQ(up.transmitting()[i].ring->descriptors()[63].length, 200 + i);
    EXPECT_EQ(up.transmitting()[i].log2_size, 6);
    EXPECT_EQ(up.receiving()[i].ring->flags, kPolls);
    EXPECT_EQ(client.session()->receiving()[i].ring->flags, kPolls);
  }
}

TEST_F(MemifProtocol, MoreRingsOneWayThanTheOther) {
  const Interface of_server{7, 1, 3, 6, ""}, of_client{7, 3, 1, 6, ""};
  const Region rings(ClientSession::rings_bytes(of_client)), buffers(4096);
  Port server(config(Role::server, of_server), nullptr, nullptr),
      client(config(Role::client, of_client), &rings, &buffers);
  server.open(), client.open();
  ASSERT_TRUE(connect(server, client)) << server.problem() << client.problem();
  ASSERT_EQ(client.session()->receiving().size(), 3u);
  ASSERT_EQ(server.session()->transmitting().size(), 3u);
  ASSERT_EQ(client.session()->transmitting().size(), 1u);
  ASSERT_EQ(server.session()->receiving().size(), 1u);
  for (size_t i = 0; i < 3; ++i) {
    server.session()->transmitting()[i].ring->tail = static_cast<uint16_t>(10 + i);
    EXPECT_EQ(client.session()->receiving()[i].ring->tail, 10 + i);
  }
  client.session()->transmitting()[0].ring->head = 77;
  EXPECT_EQ(server.session()->receiving()[0].ring->head, 77);
}

TEST_F(MemifProtocol, PeersComeAndGo) {
  const Interface wanted = interface_of(1);
  const Region rings(ClientSession::rings_bytes(wanted)), buffers(4096);
  int downs = 0;
  Port server(config(Role::server, wanted), nullptr, nullptr);
  server.open();
  server.on_down = [&](Session&) {
    ++downs;
    EXPECT_EQ(server.server_session(), nullptr);
  };
  for (int turn = 1; turn < 4; ++turn) {
    Port client(config(Role::client, wanted), &rings, &buffers);
    client.open();
    ASSERT_TRUE(connect(server, client));
    EXPECT_EQ(server.number(), static_cast<uint64_t>(turn));
    EXPECT_EQ(client.session()->receiving()[0].ring->head, 0);
    client.session()->receiving()[0].ring->head = 5;
    client.disconnect("enough");
    server.serve();
    EXPECT_EQ(server.session(), nullptr);
    EXPECT_EQ(server.problem(), "the peer has ended it: enough");
    EXPECT_EQ(downs, turn);
  }
  // A second caller is told so, and the first stays.
  Port first(config(Role::client, wanted), &rings, &buffers);
  const Region more(rings.bytes());
  first.open();
  ASSERT_TRUE(connect(server, first));
  Port second(config(Role::client, wanted), &more, &buffers);
  second.open();
  for (int i = 0; i < 1000 && second.problem().empty(); ++i) server.serve(), second.serve(), usleep(1000);
  EXPECT_EQ(second.problem(), "the peer has ended it: somebody is connected already");
  EXPECT_NE(first.session(), nullptr);
}

TEST_F(MemifProtocol, TheEndsMustAgree) {
  const struct {
    Interface server, client;
    const char* problem;
  } cases[] = {
      {{7, 1, 1, 6, "hush"}, {8, 1, 1, 6, "hush"}, "interface 8 is not here, but 7"},
      {{7, 1, 1, 6, "hush"}, {7, 1, 1, 6, "no"}, "the secret is another one"},
      {{7, 2, 1, 6, ""}, {7, 1, 1, 6, ""}, "ring 1 to the server is missing"},
      {{7, 1, 2, 6, ""}, {7, 1, 1, 6, ""}, "ring 1 to the client is missing"},
      {{7, 1, 1, 6, ""}, {7, 2, 1, 6, ""}, "the peer sends by 1 rings, and this end wants 2"},
      {{7, 1, 1, 6, ""}, {7, 1, 2, 6, ""}, "the peer receives from 1 rings, and this end has 2"},
  };
  for (const auto& [here, there, problem] : cases) {
    const Region rings(ClientSession::rings_bytes(there)), buffers(4096);
    Port server(config(Role::server, here), nullptr, nullptr), client(config(Role::client, there), &rings, &buffers);
    server.open(), client.open();
    for (int i = 0; i < 1000 && client.problem().empty(); ++i) server.serve(), client.serve(), usleep(1000);
    EXPECT_NE(client.problem().find(problem), std::string::npos) << client.problem();
    EXPECT_EQ(server.session(), nullptr);
    server.serve();
    EXPECT_NE(server.problem().find(problem), std::string::npos) << server.problem();
  }
}

TEST_F(MemifProtocol, PlacesThatAreTaken) {
  const auto open = [&] { Port(config(Role::server, interface_of(1)), nullptr, nullptr).open(); };
  const auto problem = [&]() -> std::string {
    try {
      open();
    } catch (const Error& error) {
      return error.what();
    }
    return "none";
  };
  {
    Port server(config(Role::server, interface_of(1)), nullptr, nullptr);
    server.open();
    EXPECT_NE(problem().find("a program listens there already"), std::string::npos);
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
  SocketFile of_dead;
  { const File dead = listen_at(path_, of_dead); }  // its socket stays
  EXPECT_TRUE(std::filesystem::exists(path_));
  EXPECT_EQ(problem(), "none");
  std::ofstream(path_) << "x";
  EXPECT_NE(problem().find("something else is there"), std::string::npos);
  path_ = std::string(200, 'a');
  EXPECT_NE(problem().find("a path of 1 to 107 bytes"), std::string::npos);
}

TEST_F(MemifProtocol, ASocketThatTookThePlaceStays) {
  Port second(config(Role::server, interface_of(1)), nullptr, nullptr);
  {
    Port first(config(Role::server, interface_of(1)), nullptr, nullptr);
    first.open();
    std::filesystem::remove(path_);
    second.open();
  }
  EXPECT_TRUE(std::filesystem::exists(path_));
}

/** What an eventfd counts, which is 0 from now on. */
uint64_t taken(int event) {
  eventfd_t count = 0;
  return eventfd_read(event, &count) == 0 ? count : 0;
}

TEST_F(MemifProtocol, ReceiversThatWaitAreInterrupted) {
  using Found = Interrupts::Found;
  const Interface wanted = interface_of(2);
  const Region rings(ClientSession::rings_bytes(wanted)), buffers(4096);
  Port server(config(Role::server, wanted), nullptr, nullptr), client(config(Role::client, wanted), &rings, &buffers);
  server.open(), client.open();
  ASSERT_TRUE(connect(server, client)) << server.problem() << client.problem();
  for (const auto& [role, sender, receiver] :
       {std::tuple{Role::client, &client, &server}, {Role::server, &server, &client}}) {
    const SharedRing &first = sender->session()->transmitting()[0], &second = sender->session()->transmitting()[1];
    const int event = receiver->session()->receiving()[1].event;
    EXPECT_EQ(first.ring->flags, kPolls);
    uint16_t& index = role == Role::client ? second.ring->head : second.ring->tail;
    EventWriter writer;
    Interrupts interrupts;
    interrupts.begin(*sender->session(), role);
    index = 1;
    EXPECT_EQ(interrupts.look(writer), Found::only_polling);
    EXPECT_EQ(taken(event), 0u);
    second.ring->flags = 0;  // packets are there
    EXPECT_EQ(interrupts.look(writer), Found::packets);
    EXPECT_EQ(taken(event), 1u);
    EXPECT_EQ(interrupts.look(writer), Found::nothing);
    index = 5;
    EXPECT_EQ(interrupts.look(writer), Found::packets);
    EXPECT_EQ(taken(event), 1u);
    second.ring->flags = kPolls;  // for a while, as has been seen now
    EXPECT_EQ(interrupts.look(writer), Found::nothing);
    index = 6;
    EXPECT_EQ(interrupts.look(writer), Found::packets);
    EXPECT_EQ(interrupts.look(writer), Found::nothing);
    EXPECT_EQ(taken(event), 0u);
    second.ring->flags = 0;
    EXPECT_EQ(interrupts.look(writer), Found::packets);
    EXPECT_EQ(taken(event), 1u);
    ASSERT_EQ(eventfd_write(event, UINT64_MAX - 1), 0);
    for (index = 7; index < 10; ++index) EXPECT_EQ(interrupts.look(writer), Found::packets);
    EXPECT_GE(taken(event), UINT64_MAX - 1);
    interrupts.begin(*sender->session(), role);
    second.ring->flags = kPolls;
    index = 0;
    EXPECT_EQ(interrupts.look(writer), Found::only_polling);
  }
}

// A peer that says what the test wants, and hears what is made of it.
class Liar {
 public:
  explicit Liar(const std::string& path, Interface wanted)
      : port_({path, Role::server, std::move(wanted)}, nullptr, nullptr) {
    port_.open();
    std::string problem;
    File server = connect_to(path, problem);
    EXPECT_TRUE(server) << problem;
    channel_.emplace(std::move(server));
    port_.serve(), port_.serve();
    EXPECT_EQ(hear().type, Type::hello);
  }
  Message hear() {
    const auto received = channel_->receive();
    return received ? received->message : Message();
  }
  void say(const Message& message, int file = -1) {
    EXPECT_TRUE(channel_->send(message, file));
    port_.serve();
  }
  void say_well(const Message& message, int file = -1) {
    say(message, file);
    EXPECT_EQ(hear().type, Type::ack);
  }
  std::string refusal() {
    const Message message = hear();
    return message.type == Type::disconnect ? message.disconnect.reason.text() : "none";
  }
  int descriptor() const { return channel_->descriptor(); }
  Port& port() { return port_; }

 private:
  Port port_;
  std::optional<Channel> channel_;
};

Message init() {
  Message message(Type::init);
  message.init.version = kVersion;
  message.init.id = 7;
  message.init.secret.set("hush");
  return message;
}
Message region(uint16_t index, uint64_t size) {
  Message message(Type::add_region);
  message.add_region.index = index;
  message.add_region.size = size;
  return message;
}
Message ring(uint16_t index, bool to_server, uint16_t region, uint32_t offset, uint8_t log2_size) {
  Message message(Type::add_ring);
  message.add_ring.flags = to_server ? kToServer : 0;
  message.add_ring.index = index;
  message.add_ring.region = region;
  message.add_ring.offset = offset;
  message.add_ring.log2_size = log2_size;
  return message;
}
File memory(size_t bytes, bool sealed = true) {
  File file(memfd_create("test", MFD_ALLOW_SEALING));
  EXPECT_EQ(ftruncate(file.get(), static_cast<off_t>(bytes)), 0);
  EXPECT_EQ(fcntl(file.get(), F_ADD_SEALS, sealed ? F_SEAL_SHRINK : F_SEAL_GROW), 0);
  return file;
}

TEST_F(MemifProtocol, HostileMessagesAreRefused) {
  const File event(eventfd(0, 0)), good = memory(1 << 16), open = memory(1 << 16, false), small = memory(4096);
  constexpr uint64_t kLargest = uint64_t{8} << 30;
  const File large = memory(kLargest);
  const File plain(::open(folder_.c_str(), O_TMPFILE | O_RDWR, 0600));
  ASSERT_EQ(ftruncate(plain.get(), 1 << 16), 0);
  const auto with = [](Message message, const std::function<void(Message&)>& change) {
    change(message);
    return message;
  };
  struct Case {
    std::vector<std::pair<Message, int>> before;  // is right
    Message last;
    int file;
    const char* refusal;
  };
  const std::pair<Message, int> in{init(), -1}, memory_there{region(0, 1 << 16), good.get()};
  const std::vector<Case> cases = {
      {{}, region(0, 4096), good.get(), "a message of type 4 is not expected now"},
      {{in}, init(), -1, "a message of type 3 is not expected now"},
      {{in}, Message(static_cast<Type>(77)), -1, "a message of type 77 is not expected"},
      {{in}, Message(Type::hello), -1, "a message of type 2 is not expected"},
      {{}, with(init(), [](Message& m) { m.init.version = 0x100; }), -1, "version 2.0 is expected, not 1.0"},
      {{}, with(init(), [](Message& m) { m.init.mode = 1; }), -1, "only Ethernet interfaces"},
      {{}, with(init(), [](Message& m) { m.init.secret.set("hus"); }), -1, "the secret is another one"},
      {{in}, region(0, 1 << 16), -1, "region 0: its file is missing"},
      {{in}, region(1, 1 << 16), good.get(), "region 1: 0, 1, ... to 15 are expected in turn"},
      {{in}, region(0, 0), good.get(), "region 0: a size of 1 to"},
      {{in}, region(0, ~uint64_t{0}), good.get(), "region 0: a size of 1 to"},
      {{in, {region(0, kLargest), large.get()}, {region(1, kLargest), large.get()}},
       region(2, 1 << 16),
       good.get(),
       "region 2: all together have more than 16 GiB"},
      {{in}, region(0, 1 << 16), small.get(), "region 0: its file has 4096 bytes of 65536"},
      {{in}, region(0, 1 << 16), open.get(), "region 0: its file can become shorter"},
      {{in}, region(0, 1 << 16), plain.get(), "region 0: its file can become shorter"},
      {{in}, region(0, 1 << 16), event.get(), "region 0: its file is no memory"},
      {{in}, ring(1, true, 0, 0, 6), event.get(), "ring 1 to the server: there are 1"},
      {{in}, ring(0, true, 0, 0, 6), -1, "ring 0: its eventfd is missing"},
      {{in}, ring(0, true, 0, 0, 15), event.get(), "ring 0: at most 16384 descriptors"},
      {{in},
       with(ring(0, true, 0, 0, 6), [](Message& m) { m.add_ring.private_header_bytes = 8; }),
       event.get(),
       "ring 0: headers of its own"},
      {{in, {ring(0, true, 0, 0, 6), event.get()}}, ring(0, true, 0, 0, 6), event.get(), "ring 0 comes twice"},
      {{in, memory_there}, Message(Type::connect), -1, "ring 0 to the server is missing"},
      {{in, memory_there, {ring(0, true, 1, 0, 6), event.get()}},
       Message(Type::connect),
       -1,
       "ring 0 to the server: region 1 is missing"},
      {{in, memory_there, {ring(0, true, 0, 8, 6), event.get()}}, Message(Type::connect), -1, "multiple of 16"},
      {{in, memory_there, {ring(0, true, 0, (1 << 16) - 16, 6), event.get()}},
       Message(Type::connect),
       -1,
       "leaves its region"},
      {{in, memory_there, {ring(0, true, 0, 0xfffffff0, 6), event.get()}},
       Message(Type::connect),
       -1,
       "leaves its region"},
      {{in, memory_there, {ring(0, true, 0, 0, 14), event.get()}}, Message(Type::connect), -1, "leaves its region"},
      {{in, memory_there, {ring(0, true, 0, 0, 6), event.get()}}, Message(Type::connect), -1, "the cookie is wrong"},
  };
  for (const Case& one : cases) {
    Liar liar(path_, interface_of(1));
    for (const auto& [message, file] : one.before) liar.say_well(message, file);
    liar.say(one.last, one.file);
    const std::string refusal = liar.refusal();
    EXPECT_NE(refusal.find(one.refusal), std::string::npos) << refusal << " instead of " << one.refusal;
    EXPECT_EQ(liar.port().session(), nullptr);
    EXPECT_NE(liar.port().problem().find(one.refusal), std::string::npos);
  }
}

TEST_F(MemifProtocol, WhatIsNoMessageIsRefused) {
  const File event(eventfd(0, 0));
  {
    Liar liar(path_, interface_of(1));
    EXPECT_EQ(send(liar.descriptor(), "short", 5, 0), 5);
    liar.port().serve();
    EXPECT_NE(liar.refusal().find("has 128 bytes"), std::string::npos);
  }
  {
    Liar liar(path_, interface_of(1));
    char large[200] = {};
    EXPECT_EQ(send(liar.descriptor(), large, sizeof large, 0), 200);
    liar.port().serve();
    EXPECT_NE(liar.refusal().find("has 128 bytes"), std::string::npos);
  }
  // Files that nobody asked for are closed.
  const auto files = [] { return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}); };
  Liar liar(path_, interface_of(1));
  liar.say_well(init(), event.get());
  const auto before = files();
  liar.say(Message(Type::ack), event.get());
  EXPECT_NE(liar.refusal(), "none");
  EXPECT_LE(files(), before);
}

TEST_F(MemifProtocol, ServersThatLieAreLeft) {
  Message hello(Type::hello);
  hello.hello.min_version = hello.hello.max_version = kVersion;
  hello.hello.max_region = 5;
  hello.hello.max_log2_ring_size = 14;
  const struct {
    std::function<void(Message&)> change;
    const char* problem;
  } cases[] = {
      {[](Message& m) { m.hello.min_version = 0x300, m.hello.max_version = 0x400; }, "version 2.0 is not among"},
      {[](Message& m) { m.hello.max_region = 0; }, "the peer takes one region"},
      {[](Message& m) { m.hello.max_log2_ring_size = 3; }, "the peer takes rings of 8, NDESC says 64"},
      {[](Message& m) { m.type = Type::connected; }, "a message of type 7 is not expected now"},
      {[](Message& m) { m.type = Type::ack; }, "a message of type 1 is not expected now"},
  };
  const Interface wanted = interface_of(1);
  const Region rings(ClientSession::rings_bytes(wanted)), buffers(4096);
  for (const auto& [change, problem] : cases) {
    SocketFile file;
    const File listener = listen_at(path_, file);
    Port client(config(Role::client, wanted), &rings, &buffers);
    client.open();
    File caller = accept_from(listener);
    ASSERT_TRUE(caller);
    Channel server(std::move(caller));
    Message message = hello;
    change(message);
    EXPECT_TRUE(server.send(message));
    client.serve();
    EXPECT_NE(client.problem().find(problem), std::string::npos) << client.problem();
  }
}

}  // namespace
}  // namespace heddle::memif
