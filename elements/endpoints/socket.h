#pragma once

#include <netinet/in.h>
#include <sys/un.h>

#include <functional>
#include <mutex>

#include "core/address_set.h"
#include "core/element.h"
#include "core/socket_file.h"

namespace heddle {

/** Socket: sends and receives packets' bytes over a socket.
 *
 *      Socket(TCP, ADDRESS, PORT [, LOCALADDRESS, LOCALPORT, keywords SNAPLEN, NODELAY, CLIENT, SNDBUF, RCVBUF,
 *             TIMESTAMP, ALLOW, DENY, VERBOSE, HEADROOM, PROPER])
 *      Socket(UDP, ADDRESS, PORT [, LOCALADDRESS, LOCALPORT, keywords])
 *      Socket(UNIX, FILE [, keywords])
 *      Socket(UNIX_DGRAM, FILE [, LOCALFILE, keywords])
 *
 *  Packets that come in are sent, and what the other side sends goes out: nothing flows through. A server (default)
 *  listens at ADDRESS or FILE; TCP and UNIX serve one client at a time, UDP and UNIX_DGRAM answer whoever has sent
 *  last. A client (CLIENT true; also if a local address is given, or there is no output) connects when the chain
 *  starts. Of a stream, each packet is what one read gives, so its limits are not those of the packets that were sent.
 *  A client's program ends with its connection.
 *
 *  SNAPLEN: longest packet that is received, default 2048; longer datagrams are cut. NODELAY: TCP sends at once,
 *  default true. SNDBUF, RCVBUF: the kernel's buffers, bytes. TIMESTAMP: packets get the time of their arrival, default
 *  true. ALLOW, DENY, of a server over TCP or UDP: names of tables of routes (RadixIPLookup, DirectIPLookup, ...),
 *  which handlers may change. A client whose address has a route in ALLOW is served; of the others one whose address
 *  has none in DENY, so that it takes a route for 0/0 in DENY to serve nobody but those in ALLOW. Connections of others
 *  are closed at once, and their datagrams thrown away; handler and statistic `denied` count both. VERBOSE: whether
 *  connections of a server's clients are told on standard error, default false. HEADROOM, up to the 128 bytes that
 *  there always are, and PROPER are accepted for Click's sake.
 *
 *  Push input and push output, at least one of them; runs on the first packet thread, or where StaticThreadSched
 *  puts it. Nobody to send to: "no_peer"; a peer that takes nothing for 100 ms: "blocked" (a stream is then closed);
 *  what the kernel refuses: "refused".
 *
 *  Handlers: `received`, `sent` (r, packets), `denied` (r).
 *
 *  Example, whatever comes to UDP port 9000 goes back:
 *
 *      s :: Socket(UDP, 127.0.0.1, 9000) -> s;
 */
class Socket : public Source {
 public:
  ~Socket() override;
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "0-1/0-1"; }
  bool changes_length() const override { return true; }  // what leaves is not what came
  const char* processing() const override { return "h/h"; }
  bool leads(int, int) const override { return false; }  // packets that come end here
  Access access(Processor) const override { return {.reads = {kWholePacket}}; }
  std::span<const char* const> drop_reasons() const override;
  void link(const Directory& directory) override;
  void start(const Environment& environment) override;
  void take_state(Element& old) override;
  void run_cpu(Batch& batch) override;
  void receive(Batch& batch) override;
  bool exhausted() const override { return outputs == 0 || over_ || (stopping_ && stopping_()); }
  std::string stop() override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

 protected:
  struct Address {
    union {
      sockaddr any;
      sockaddr_in inet;
      sockaddr_un local;
    } at{};
    socklen_t bytes = 0;
  };
  /** Makes what it sends and receives through. Throws Error. */
  virtual void open();
  /** Whether what comes from there is its own, and not received. */
  virtual bool is_own(const Address& /*from*/) const { return false; }
  /** Of an address and a port in host byte order. */
  static Address inet(uint32_t ip, uint16_t port);
  void set_options(int descriptor) const;
  void read_options(click::Arguments& arguments);

  std::string type_ = "UDP";
  Address address_, local_;
  bool client_ = false;
  int socket_ = -1;      // the listening one, or the only one
  int peer_ = -1;        // a stream's connection, or what datagrams are sent through if that is another one
  Address last_;         // whom a datagram server answers
  bool answers_ = true;  // whoever has sent last

 private:
  enum Reason : int { kNoPeer, kBlocked, kRefused };

  /** Whether `heir` takes the socket of `old`, its predecessor. */
  static bool goes_on(const Socket& heir, const Element* old);
  void read_inet(click::Arguments& arguments);
  void read_files(click::Arguments& arguments);
  static Address file(const std::string& path);
  void accept_client();
  /** Whether a server serves it, by ALLOW and DENY; counts it if not. */
  bool serves(const Address& client);
  /** 0, or why it was not sent, a drop reason and 1. */
  int send(const uint8_t* bytes, size_t count);
  /** Receives into `packet`; false: nothing is there. */
  bool receive_one(Packet* packet);
  /** Of VERBOSE: what has become of the client. */
  void tell(const char* what) const;
  /** Of a stream: the other side is gone. */
  void close_peer();

  bool stream_ = false, no_delay_ = true, timestamp_ = true, verbose_ = false;
  uint32_t snap_length_ = 2048;
  int send_buffer_ = 0, receive_buffer_ = 0;
  PacketPool* packets_ = nullptr;
  std::function<bool()> stopping_;

  std::string allow_name_, deny_name_;  // as given
  const AddressSet *allow_ = nullptr, *deny_ = nullptr;
  std::atomic<uint64_t> denied_{0};

  std::mutex mutex_;  // of the sockets: the threads that send, and the one that receives
  SocketFile file_;   // of a Unix socket that has been bound
  std::atomic<bool> over_{false};
  PerThreadCounts received_{counts}, sent_{counts};
};

}  // namespace heddle
