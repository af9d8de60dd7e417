#include "functions/nids/http_table.h"

#include <functional>
#include <utility>

namespace heddle::nids {
namespace {

flow::Key reversed(flow::Key key) {
  std::swap(key.source, key.destination);
  std::swap(key.source_port, key.destination_port);
  return key;
}

}  // namespace

/** The same for both directions. */
size_t HttpTable::Hash::operator()(const flow::Key& key) const {
  const auto mixed = [](uint64_t address, uint64_t port) {
    uint64_t value = (address << 16 | port) * 0x9e3779b97f4a7c15;
    value ^= value >> 32;
    return value * 0xd6e8feb86659fd93;
  };
  const uint64_t sum = mixed(key.source, key.source_port) + mixed(key.destination, key.destination_port);
  return static_cast<size_t>(sum ^ sum >> 29);
}

HttpTable::Use HttpTable::take(const flow::Key& key, const Window& window, bool closed) {
  Use use;
  if (window.bytes.empty() && !closed) return use;
  Shard& shard = shard_of(key);
  std::unique_lock lock(shard.busy);
  auto found = shard.connections.find(key);
  use.side_ = kRequest;
  if (found == shard.connections.end()) {
    found = shard.connections.find(reversed(key));
    if (found != shard.connections.end()) use.side_ = kResponse;
  }
  const uint64_t begin = window.offset + window.fresh;
  const bool may_begin = !window.bytes.empty() && window.offset == 0 && use.side_ == kRequest;
  if (may_begin && (found == shard.connections.end() || window.fresh == 0)) {
    // The client's first bytes, or those of the next connection between the same ports.
    const std::string_view text(reinterpret_cast<const char*>(window.bytes.data()), window.bytes.size());
    if (!HttpConnection::begins(text).value_or(false)) {
      if (found != shard.connections.end()) {
        if (found->second) count(found->second->memory(), 0);
        shard.connections.erase(found);
      }
      return use;
    }
    if (found == shard.connections.end()) found = shard.connections.emplace(key, nullptr).first;
    if (found->second) count(found->second->memory(), 0);
    found->second.reset();
    if (bytes() + HttpConnection::kMinBytes > most_bytes_) {
      use.gave_up_ = true;
      return use;
    }
    found->second = std::make_unique<HttpConnection>();
    count(0, found->second->memory());
  }
  if (found == shard.connections.end() || !found->second) return use;
  HttpConnection& connection = *found->second;
  const bool is_news =
      !window.bytes.empty() && connection.seen(use.side_).value_or(begin) < window.offset + window.bytes.size();
  if (!is_news && !closed) return use;
  use.table_ = this, use.owner_ = &found->second, use.connection_ = &connection;
  use.before_ = connection.memory();
  connection.take(use.side_, window);
  if (closed) connection.close(use.side_);
  use.gave_up_ = connection.gave_up() || bytes() + connection.memory() - use.before_ > most_bytes_;
  use.lock_ = std::move(lock);
  return use;
}

HttpTable::Use::Use(Use&& other) noexcept
    : table_(other.table_),
      lock_(std::move(other.lock_)),
      owner_(other.owner_),
      connection_(std::exchange(other.connection_, nullptr)),
      side_(other.side_),
      before_(other.before_),
      gave_up_(other.gave_up_) {}

HttpTable::Use::~Use() {
  if (connection_ == nullptr) return;
  table_->count(before_, connection_->memory());
  if (!gave_up_ && !connection_->over() && !connection_->gave_up()) return;
  table_->count(connection_->memory(), 0);
  owner_->reset();
}

void HttpTable::end(const flow::Key& key) {
  Shard& shard = shard_of(key);
  const std::lock_guard lock(shard.busy);
  for (const flow::Key& one : {key, reversed(key)}) {
    const auto found = shard.connections.find(one);
    if (found == shard.connections.end()) continue;
    if (found->second) count(found->second->memory(), 0);
    shard.connections.erase(found);
  }
}

}  // namespace heddle::nids
