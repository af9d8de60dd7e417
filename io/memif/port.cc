#include "io/memif/port.h"

namespace heddle::memif {
namespace {

constexpr std::chrono::milliseconds kBetweenCalls{100};
constexpr std::chrono::seconds kGreetingTime{5};  ///< a peer that says nothing for so long keeps out others

}  // namespace

Port::Port(PortConfig config, const Region* rings, const Region* buffers)
    : config_(std::move(config)), rings_(rings), buffers_(buffers) {}

Port::~Port() { disconnect("the program ends"); }

void Port::open() {
  if (config_.role == Role::server)
    listener_ = listen_at(config_.socket, listener_file_);
  else
    call();
}

void Port::begin(std::unique_ptr<Session> session) {
  session_ = std::move(session);
  begun_ = Clock::now();
  ++number_;
}

void Port::call() {
  begun_ = Clock::now();
  File server = connect_to(config_.socket, problem_);
  unreachable_ = server ? "" : problem_;
  if (server) begin(std::make_unique<ClientSession>(Channel(std::move(server)), config_.interface, *rings_, *buffers_));
}

void Port::take_callers() {
  while (File caller = accept_from(listener_)) {
    auto next = std::make_unique<ServerSession>(Channel(std::move(caller)), config_.interface);
    if (session_)
      next->end("somebody is connected already");
    else
      begin(std::move(next));
  }
}

void Port::serve() {
  if (session_) {
    session_->serve();
    if (session_->state() == Session::State::greeting && Clock::now() - begun_ > kGreetingTime)
      session_->end("the greeting takes too long");
    was_up_ = was_up_ || session_->state() == Session::State::up;
    if (session_->state() == Session::State::ended) drop_session();
  }
  if (listener_)
    take_callers();
  else if (!session_ && config_.role == Role::client && Clock::now() - begun_ >= kBetweenCalls)
    call();
}

int Port::descriptor() const { return session_ ? session_->descriptor() : listener_.get(); }

const Session* Port::session() const {
  return session_ && session_->state() == Session::State::up ? session_.get() : nullptr;
}

void Port::disconnect(const std::string& reason) {
  if (!session_) return;
  session_->end(reason);
  drop_session();
}

void Port::drop_session() {
  problem_ = session_->why();
  refused_ = !was_up_;
  if (was_up_) on_down(*session_);
  was_up_ = false;
  session_.reset();
}

}  // namespace heddle::memif
