#include "functions/nids/conversations.h"

#include <algorithm>
#include <random>
#include <utility>

#include "functions/cuckoo/bucket_rule.h"
#include "functions/nids/dns.h"
#include "functions/nids/http.h"
#include "functions/nids/tls.h"

namespace heddle::nids {
namespace {

flow::Key reversed(flow::Key key) {
  std::swap(key.source, key.destination);
  std::swap(key.source_port, key.destination_port);
  return key;
}

/** Whether rules look into what is said. */
bool has_dialogue(Application application) {
  return application == Application::http || application == Application::tls || application == Application::dns;
}

/** Null: there is none. */
std::unique_ptr<Dialogue> dialogue_in(Application application) {
  switch (application) {
    case Application::http:
      return std::make_unique<HttpConnection>();
    case Application::tls:
      return std::make_unique<TlsConnection>();
    case Application::dns:
      return std::make_unique<DnsConnection>();
    default:
      return nullptr;
  }
}

}  // namespace

/** The same for both directions. */
size_t Conversations::Hash::operator()(const flow::Key& key) const {
  static const uint64_t seed = [] {  // nobody else can tell which connections have one bucket
    std::random_device random;
    return uint64_t{random()} << 32 | random();
  }();
  const auto mixed = [](uint64_t address, uint64_t port) { return cuckoo::mixed((address << 16 | port) ^ seed); };
  const uint64_t sum = mixed(key.source, key.source_port) + mixed(key.destination, key.destination_port);
  return static_cast<size_t>(sum ^ sum >> 29);
}

void Conversations::erase(Shard& shard, Place place) {
  count(place->second.memory(), 0);
  shard.conversations.erase(place);
}

bool Conversations::recognise(Conversation& conversation, Side side, uint16_t server_port, std::string_view text) {
  const Application application = nids::recognise(side, server_port, text);
  if (application == Application::none) return true;
  // As Suricata has it: a server that says something before the client does not speak TLS.
  conversation.failed = application == Application::tls && conversation.first == kResponse;
  if (conversation.failed) return true;
  conversation.application = application;
  if (!has_dialogue(application)) return true;
  if (bytes() + HttpConnection::kMinBytes > most_bytes_) return false;
  const size_t before = conversation.memory();
  conversation.dialogue = dialogue_in(application);
  count(before, conversation.memory());
  return true;
}

Conversations::Use Conversations::take(const flow::Key& key, Side side, const Window& window, bool closed,
                                       bool established) {
  Use use;
  Shard& shard = shard_of(key);
  std::unique_lock lock(shard.busy);
  const flow::Key back = reversed(key);
  Place found = shard.conversations.find(key);
  if (found != shard.conversations.end()) {
    side = kRequest;
  } else if ((found = shard.conversations.find(back)) != shard.conversations.end()) {
    side = kResponse;
  }
  const std::string_view text(reinterpret_cast<const char*>(window.bytes.data()), window.bytes.size());
  const bool has_beginning = !text.empty() && window.offset == 0;
  if (found != shard.conversations.end() && has_beginning && window.fresh == 0 && found->second.spoke[side]) {
    erase(shard, found);  // the next connection between the same ports
    found = shard.conversations.end();
  }
  // Where it has not been seen who the client is, HTTP says so.
  const bool is_client = has_beginning && !established && HttpConnection::begins(text).value_or(false);
  if (is_client && found != shard.conversations.end() && side == kResponse &&
      found->second.application == Application::none) {
    erase(shard, found);
    found = shard.conversations.end();
  }
  if (found == shard.conversations.end()) {
    if (!has_beginning) return use;
    if (bytes() + Conversation::kBytes > most_bytes_) {
      use.gave_up_ = window.fresh == 0;  // counted once
      return use;
    }
    if (is_client) side = kRequest;
    found = shard.conversations.emplace(side == kRequest ? key : back, Conversation{}).first;
    found->second.first = side;
    count(0, found->second.memory());
  }
  Conversation& conversation = found->second;
  if (conversation.application == Application::none && !conversation.failed && has_beginning &&
      !recognise(conversation, side, found->first.destination_port, text))
    use.gave_up_ = true;
  conversation.spoke[side] = conversation.spoke[side] || !text.empty();
  use.conversation_ = &conversation, use.side_ = side, use.table_ = this;
  if (conversation.application != Application::none && !text.empty()) {
    uint64_t& judged = conversation.judged[side];
    use.fresh_ = static_cast<uint32_t>(std::min<uint64_t>(judged - std::min(judged, window.offset), window.fresh));
    judged = window.offset + text.size();
  }
  if (Dialogue* const dialogue = conversation.dialogue.get()) {
    const bool has_news = !text.empty() && dialogue->seen(side).value_or(0) < window.offset + text.size();
    if (has_news || closed) {
      use.dialogue_ = dialogue, use.before_ = dialogue->memory();
      dialogue->take(side, window);
      if (closed) dialogue->close(side);
      use.gave_up_ = dialogue->gave_up() || bytes() + dialogue->memory() - use.before_ > most_bytes_;
    }
  }
  use.lock_ = std::move(lock);
  return use;
}

void Conversations::Use::show(Window& window) const {
  if (conversation_ == nullptr) return;
  window.application = conversation_->application, window.fresh_to_it = fresh_;
  window.dialogue = dialogue_, window.side = side_;
}

Conversations::Use::Use(Use&& other) noexcept
    : table_(other.table_),
      lock_(std::move(other.lock_)),
      conversation_(other.conversation_),
      dialogue_(std::exchange(other.dialogue_, nullptr)),
      side_(other.side_),
      fresh_(other.fresh_),
      before_(other.before_),
      gave_up_(other.gave_up_) {}

Conversations::Use::~Use() {
  if (dialogue_ == nullptr) return;
  table_->count(before_, dialogue_->memory());
  if (!gave_up_ && !dialogue_->over()) return;
  table_->count(dialogue_->memory(), 0);
  conversation_->dialogue.reset();
}

void Conversations::end(const flow::Key& key) {
  Shard& shard = shard_of(key);
  const std::lock_guard lock(shard.busy);
  for (const flow::Key& one : {key, reversed(key)})
    if (const Place found = shard.conversations.find(one); found != shard.conversations.end()) erase(shard, found);
}

}  // namespace heddle::nids
