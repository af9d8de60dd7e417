#pragma once

#include "elements/endpoints/socket.h"

namespace heddle {

/** McastSocket: sends and receives packets' bytes as UDP datagrams of a multicast group.
 *
 *      McastSocket(MCASTIP, MCASTPORT [, SOURCEIP, SOURCEPORT, keywords LOOP, SNAPLEN, SNDBUF, RCVBUF, TIMESTAMP])
 *
 *  Packets that come in are sent to the group, and what others send to it goes out: nothing flows through. MCASTIP: the
 *  group, of 224.0.0.0/4. SOURCEIP, SOURCEPORT: where its datagrams come from; they are sent, and the group joined, on
 *  the interface that has this address; else the kernel's routes decide. What comes from just this address and port is
 *  its own, and dropped. LOOP: whether others on this host get its datagrams, default true; itself then, too, if it has
 *  no SOURCEIP. The other keywords, how it runs, and drops are those of Socket. At most one push input and one push
 *  output. (RFC 1112.)
 *
 *  Handlers: `received`, `sent` (r, packets).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Strip(42) -> m :: McastSocket(239.1.2.3, 9000, LOOP false) -> Discard;
 */
class McastSocket : public Socket {
 public:
  void configure(click::Arguments& arguments) override;

 protected:
  void open() override;
  bool is_own(const Address& from) const override;

 private:
  void join();

  bool loop_ = true;
};

}  // namespace heddle
