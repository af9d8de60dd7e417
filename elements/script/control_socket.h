#pragma once

#include <memory>
#include <string>

#include "core/element.h"
#include "elements/script/control_server.h"

namespace heddle {

/** ControlSocket: lets other programs call handlers through a socket.
 *
 *      ControlSocket(tcp, PORT [, keywords READONLY, VERBOSE, LOCALHOST, PROXY, RETRIES, RETRY_WARNINGS])
 *      ControlSocket(unix, FILENAME [, the same keywords])
 *      ControlSocket(socket, DESCRIPTOR [, the same keywords])
 *
 *  PORT: TCP port, 1 to 65535; with + behind it: the first one from there on that is free. DESCRIPTOR: a connection
 *  that the program has been started with, a socket. FILENAME: a Unix socket, made with mode 0600 and removed at the
 *  end; one that a dead process has left is replaced. READONLY: refuse write handlers, default false. VERBOSE: report
 *  connections on standard error, default false. LOCALHOST: listen on 127.0.0.1 only, default true (Click's is false):
 *  nobody opens a port to the network without saying so. RETRIES: how often to try again, once a second, if the socket
 *  cannot be opened, default 0; the program stops when all have failed. RETRY_WARNINGS: report each failure, default
 *  true. PROXY: an element that is asked in the place of all others, a Script of TYPE PROXY: what a client reads or
 *  writes as "element.handler" is a call of its handler of that name; it may ask the element, or answer for one that
 *  there is not. No ports. The program runs until it is stopped.
 *
 *  The protocol is Click's, version 1.3: after the greeting "Click::ControlSocket/1.3" commands of one line each, READ
 *  HANDLER [ARGUMENTS], READDATA HANDLER BYTES, READUNTIL HANDLER TERMINATOR, WRITE, WRITEDATA, WRITEUNTIL, CHECKREAD,
 *  CHECKWRITE, HELP and QUIT. LLRPC is not supported. HANDLER is "element.handler", "NUMBER.handler" or "handler".
 *  Replies: 200 OK, 500 syntax error, 501 unimplemented, 510 no such element, 511 no such handler, 520 handler error,
 *  521 data too big, 530 permission denied, 590 read error. A line, and the data after it, may have up to 1 MiB.
 *
 *  Handlers run on the socket's own thread; clients, however slow, hold up neither packets nor each other. There may be
 *  256 connections at a time, fewer where the program has no file descriptors left: for one more, the one that has been
 *  silent for longest is closed.
 *
 *  Hot reconfiguration (`heddle run -R`, handler `hotconfig`): if the new chain has a ControlSocket of this name for
 *  the same port or file, clients stay connected, and the one that has written `hotconfig` gets its answer when the new
 *  chain runs; READONLY, VERBOSE and PROXY hold from the next command on. LOCALHOST cannot change at a port that stays.
 *  With another port or file the new one listens there, and the former one, with its clients, is closed once they have
 *  had their answers. One without a name is such a ControlSocket only if all its arguments are the same; give it a name
 *  if they are to change.
 *
 *  Handlers: `port` (r, of TCP).
 *
 *  Errors: the port or file is in use, maybe by a ControlSocket of the former chain that this one does not follow;
 *  FILENAME is longer than 107 bytes.
 *
 *  Example:
 *
 *      FromDPDKDevice(0) -> c :: Counter -> Discard; ControlSocket(unix, /tmp/heddle.sock);
 */
class ControlSocket : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "0/0"; }
  bool keeps_running() const override { return true; }
  void start(const Environment& environment) override;
  void handlers(Handlers& list) override;
  void take_state(Element& old) override;
  void run_cpu(Batch&) override {}
  std::string stop() override;

 private:
  void read_port(click::Arguments& arguments);

  ControlServer::Config config_;
  ControlServer::Manners manners_;  // its proxy as the argument says it, until start()
  std::unique_ptr<ControlServer> server_;
};

}  // namespace heddle
