#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "functions/flow/table.h"
#include "functions/nids/transaction.h"

namespace heddle::nids {

/** What TCP connections speak, and their dialogues, by any number of threads: both directions of one find the same. */
class Conversations {
  struct Conversation;

 public:
  /** `most_bytes`: that all of them may take. */
  explicit Conversations(size_t most_bytes) : most_bytes_(most_bytes) {}

  /** A connection, which nobody else uses while this is there. */
  class Use {
   public:
    Use() = default;
    /** Says in the window what it speaks, if that is known. */
    void show(Window& window) const;
    /** Whether it is not followed any more from now on, as it took too much or is not what it seemed. */
    bool gave_up() const { return gave_up_; }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    Use(Use&& other) noexcept;
    Use& operator=(Use&&) = delete;
    ~Use();

   private:
    friend class Conversations;
    Conversations* table_ = nullptr;
    std::unique_lock<std::mutex> lock_;
    Conversation* conversation_ = nullptr;
    Dialogue* dialogue_ = nullptr;  // that has news
    Side side_{};
    uint32_t fresh_ = 0;  // as Window::fresh_to_it
    size_t before_ = 0;   // bytes that the dialogue took
    bool gave_up_ = false;
  };

  /** Takes what has come of the direction that `key` names, that of the client or the server (`side`), if something
   *  has. `closed`: nothing comes behind it. `established`: its handshake has been seen, so that `side` is certain. */
  Use take(const flow::Key& key, Side side, const Window& window, bool closed, bool established);
  /** A direction has ended, and its connection with it. */
  void end(const flow::Key& key);

  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  static constexpr size_t kShards = 64;
  struct Hash {
    size_t operator()(const flow::Key& key) const;
  };
  struct Conversation {
    Application application = Application::none;
    Side first{};                        // who has said something first
    bool spoke[2] = {};                  // [Side]
    bool failed = false;                 // it will not be known: TLS where the server has said something first
    uint64_t judged[2] = {};             // bytes of each side that rules for the application have seen
    std::unique_ptr<Dialogue> dialogue;  // null: there is none, or it is over

    static constexpr size_t kBytes = 96;  // with its key and its place in the table
    size_t memory() const { return kBytes + (dialogue ? dialogue->memory() : 0); }
  };
  struct Shard {
    std::mutex busy;
    std::unordered_map<flow::Key, Conversation, Hash> conversations;  // by the client's direction
  };
  using Place = std::unordered_map<flow::Key, Conversation, Hash>::iterator;
  Shard& shard_of(const flow::Key& key) { return shards_[Hash{}(key) % kShards]; }
  void erase(Shard& shard, Place place);
  /** Makes it known what it speaks, if a side that begins with `text` says so. False: there is no memory. */
  bool recognise(Conversation& conversation, Side side, uint16_t server_port, std::string_view text);
  void count(size_t before, size_t after) { bytes_.fetch_add(after - before, std::memory_order_relaxed); }

  const size_t most_bytes_;
  std::atomic<size_t> bytes_{0};
  Shard shards_[kShards];
};

}  // namespace heddle::nids
