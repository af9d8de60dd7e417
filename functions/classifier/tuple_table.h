#pragma once

#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/huge_pages.h"
#include "core/table.h"
#include "functions/classifier/engine.h"
#include "functions/classifier/image.h"
#include "functions/classifier/tuple_image.h"

namespace heddle::classifier {

struct TupleWay;

/** The hash tables of a TupleEngine as a GPU looks packets up in them: an Image with copies of the engine's entries,
 *  heads and lists of tables. It is made when bytes() is called first, and from then on follows the engine, which tells
 *  what it writes, and ends each change with publish(). Copies on devices get the words in an order by which a reader
 *  who has fetched the moment first finds all rules of that moment, as readers of the engine do. Where there is no room
 *  in the image, another one takes its place. */
class TupleTable : public Table {
 public:
  /** What the engine has at present. */
  struct Tables {
    std::span<const TupleWay> ways;  ///< in the order of their best rules
    uint32_t ids;                    ///< all entries with rules have lower ids
    uint32_t version;
  };
  /** `entries` and `checks` are the engine's, by id, and outlive this; `checks` is null if the layout has no places. */
  TupleTable(const TupleEntry* entries, const TupleCheck* checks, const RuleEngine::Limits& limits,
             std::function<Tables()> now)
      : entries_(entries), checks_(checks), limits_(limits), now_(std::move(now)) {}

  std::span<const std::byte> bytes() const override;
  /** The places for lists of tables are about to run out. */
  bool has_retired() const override { return built_ != nullptr && built_->lists_used >= kLists / 2; }
  /** No reader has a list of tables before the present one. */
  void reclaim() override {
    if (built_ != nullptr) built_->lists_used = 1;
  }

  // What has been written since publish(): a whole entry, which no reader has met, with its checks; a lane of one that
  // readers must see before the others, or with the others; a head of the table with `heads`. Nothing is noted of what
  // the image has no room for: make_room() sees to that.
  void note_entry(uint32_t id);
  void note_first(const uint32_t& lane) { note_lane(lane, first_); }
  void note(const uint32_t& lane) { note_lane(lane, rest_); }
  void note(const uint64_t* heads, const uint64_t& head);
  void note_ways() { ways_changed_ = true; }

  /** Takes memory for `tables` where the image has no room for them, or, if `anew`, in any case; publish() makes use of
   *  it. Throws Error. */
  void make_room(const Tables& tables, bool anew = false);
  /** Shows readers what has been noted, and the version. */
  void publish();
  /** Forgets what has been noted: the image stays as it is until make_room() is called the next time. */
  void fall_behind();

 private:
  static constexpr uint32_t kLists = 16;
  struct Note {
    uint64_t offset;   ///< in the image
    const void* from;  ///< the engine's word
    uint32_t bytes;
  };
  using Notes = std::vector<Note>;
  struct Built {
    HugePages memory;
    size_t bytes = 0;
    uint32_t ids = 0, most_ways = 0;                   // that there is room for
    uint64_t next_heads = 0, end_heads = 0;            // free room for heads
    std::unordered_map<const uint64_t*, uint64_t> at;  // offsets of tables' heads
    uint32_t list = 0, lists_used = 1;                 // the present list; those that a reader may have
    Image& image() const { return *reinterpret_cast<Image*>(memory.get()); }
  };

  size_t places() const { return limits_.layout.size(); }
  std::unique_ptr<Built> lay_out(const Tables& tables) const;
  void fill(Built& built, const Tables& tables) const;
  bool has_room(const Tables& tables) const;
  static uint64_t put_heads(Built& built, const TupleWay& way);
  static uint64_t put_list(Built& built, std::span<const TupleWay> ways);
  void note_lane(const uint32_t& lane, Notes& notes) const;
  void send(Notes& notes) const;
  void send_word(uint64_t offset, uint64_t value) const;

  const TupleEntry* entries_;
  const TupleCheck* checks_;
  const RuleEngine::Limits& limits_;
  std::function<Tables()> now_;
  mutable std::unique_ptr<Built> built_;  // null until it is asked for
  std::unique_ptr<Built> next_;           // takes the place of `built_` when it is published
  Notes first_, rest_;
  bool ways_changed_ = false, behind_ = false;
};

}  // namespace heddle::classifier
