#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "functions/flow/table.h"
#include "functions/nids/http.h"

namespace heddle::nids {

/** The TCP connections that speak HTTP, by any number of threads: both directions of one find the same. */
class HttpTable {
 public:
  /** `most_bytes`: that all of them may take. */
  explicit HttpTable(size_t most_bytes) : most_bytes_(most_bytes) {}

  /** A connection, which nobody else uses while this is there. */
  class Use {
   public:
    Use() = default;
    /** Sets `http` and `side` of the window. */
    void show(Window& window) const { window.http = connection_, window.side = side_; }
    /** Whether it is not followed any more from now on, as it took too much or is no HTTP. */
    bool gave_up() const { return gave_up_; }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    Use(Use&& other) noexcept;
    Use& operator=(Use&&) = delete;
    ~Use();

   private:
    friend class HttpTable;
    HttpTable* table_ = nullptr;
    std::unique_lock<std::mutex> lock_;
    std::unique_ptr<HttpConnection>* owner_ = nullptr;
    HttpConnection* connection_ = nullptr;
    HttpSide side_{};
    size_t before_ = 0;  // bytes that it took
    bool gave_up_ = false;
  };

  /** Takes what has come of the direction that `key` names. `closed`: nothing comes behind it. */
  Use take(const flow::Key& key, const Window& window, bool closed);
  /** A direction has ended, and its connection with it. */
  void end(const flow::Key& key);

  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  static constexpr size_t kShards = 64;
  struct Hash {
    size_t operator()(const flow::Key& key) const;
  };
  struct Shard {
    std::mutex busy;
    /** By the client's direction; null: it is over. */
    std::unordered_map<flow::Key, std::unique_ptr<HttpConnection>, Hash> connections;
  };
  Shard& shard_of(const flow::Key& key) { return shards_[Hash{}(key) % kShards]; }
  void count(size_t before, size_t after) { bytes_.fetch_add(after - before, std::memory_order_relaxed); }

  const size_t most_bytes_;
  std::atomic<size_t> bytes_{0};
  Shard shards_[kShards];
};

}  // namespace heddle::nids
