#include "elements/script/control_socket.h"

#include <sys/un.h>

#include <algorithm>
#include <cctype>

#include "click/arguments.h"
#include "core/error.h"
#include "elements/basic/handler_call.h"

namespace heddle {

void ControlSocket::configure(click::Arguments& arguments) {
  std::string type;
  arguments.required("TYPE", type);
  std::transform(type.begin(), type.end(), type.begin(), [](unsigned char c) { return std::toupper(c); });
  config_.tcp = type == "TCP";
  if (config_.tcp) {
    read_port(arguments);
  } else if (type == "SOCKET") {
    arguments.required("DESCRIPTOR", config_.descriptor, 0, 1 << 20);
  } else if (type == "UNIX") {
    arguments.required("FILENAME", config_.path);
    if (config_.path.empty() || config_.path.size() >= sizeof(sockaddr_un::sun_path))
      arguments.error("FILENAME", format("a file name of 1 to %zu bytes", sizeof(sockaddr_un::sun_path) - 1));
  } else if (!type.empty()) {
    arguments.error("TYPE", "tcp, unix or socket");
    arguments.rest();
  }
  arguments.keyword("READONLY", manners_.read_only)
      .keyword("PROXY", manners_.proxy)
      .keyword("VERBOSE", manners_.verbose)
      .keyword("LOCALHOST", config_.localhost)
      .keyword("RETRIES", config_.retries)
      .keyword("RETRY_WARNINGS", config_.retry_warnings);
}

void ControlSocket::read_port(click::Arguments& arguments) {
  std::string text;
  arguments.required("PORT", text);
  config_.next_port = text.ends_with('+');
  if (config_.next_port) text.pop_back();
  click::Port port{.protocol = click::Port::kTcp};
  if (!arguments.read(text, port) || port.number == 0)
    arguments.error("PORT", "a port from 1 to 65535, or a name of one such as http");
  config_.port = port.number;
}

void ControlSocket::handlers(Handlers& list) {
  if (config_.tcp) list.read("port", [this] { return std::to_string(server_ ? server_->port() : config_.port); });
}

void ControlSocket::start(const Environment& environment) {
  if (const std::string proxy = manners_.proxy; !proxy.empty()) {
    manners_.proxy = full_handler_name(*environment.control, name, proxy + ".*");
    try {
      environment.control->find(manners_.proxy);
    } catch (const Error&) {
      throw Error("PROXY: there is no element '" + proxy +
                  "' with handlers of any name, such as a Script of TYPE PROXY");
    }
  }
  if (server_ && config_.tcp && server_->config().localhost != config_.localhost)
    throw Error("LOCALHOST cannot change while the port stays open; give another PORT as well");
  if (server_)
    server_->set(manners_);
  else
    server_ = std::make_unique<ControlServer>(name, config_, manners_, *environment.control);
}

void ControlSocket::take_state(Element& old_element) {
  auto& old = static_cast<ControlSocket&>(old_element);
  if (!old.server_ || !old.server_->is_at(config_)) return;
  std::swap(server_, old.server_);
  if (predecessor != &old) server_->set(manners_);  // taken back; else start() does it, when PROXY can be found
}

std::string ControlSocket::stop() {
  server_.reset();
  return {};
}

HEDDLE_ELEMENT(ControlSocket);

}  // namespace heddle
