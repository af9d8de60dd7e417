#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "core/huge_pages.h"
#include "functions/classifier/engine.h"
#include "functions/classifier/tuple.h"
#include "functions/classifier/tuple_table.h"

namespace heddle::classifier {

/** A hash table as readers see it: chains of entries in ascending order of numbers. A head is an id + 1 (0: nothing),
 *  and in its upper half the filter bits of all rules of the chain. */
struct TupleWay {
  Words mask;
  const uint64_t* heads;
  uint32_t best;  ///< no rule of it has a lower number
  uint8_t shift;  ///< the head of a key is hash >> shift
  uint8_t link;   ///< the lane that its chains use
};

/** Tuple-space search with merged tuples, tables in the order of their best rules, so that a search ends where no table
 *  can have a better one. A change takes a microsecond or so: rules enter and leave the chains while readers go on.
 *  What makes it one step for them is a version: a reader takes the set's version, then the tables, and passes over
 *  rules that its version does not have. Rules leave the chains when no reader has a version that has them; their ids
 *  may be used again when no reader can have met them there either (RuleSet). */
class TupleEngine : public RuleEngine {
 public:
  explicit TupleEngine(const Limits& limits);
  ~TupleEngine() override;

  void load(std::span<const SetRule> rules) override;
  void change(std::span<const SetRule> added, std::span<const uint32_t> gone, const RuleSet& all) override;
  void classify(const uint32_t* const* keys, Outcome* outcomes, int n) const override;
  size_t bytes() const override;
  /** As large again, beside what classify() goes by. None with more than kMaxDimensions values in a key. */
  heddle::Table* table() override;
  bool has_retired() const override;
  void reclaim() override;

  size_t tables() const { return tables_.size(); }

 private:
  struct Heads {
    HugePages memory;
    int bits = 0;
    uint64_t* data() const { return reinterpret_cast<uint64_t*>(memory.get()); }
    uint64_t& of(uint64_t hash) const { return data()[hash >> (64 - bits)]; }
  };
  struct Table {
    Tuple tuple;
    Words mask;
    Heads heads;
    uint32_t best = kNoRule;
    size_t count = 0;
    uint8_t link = 0;      ///< 0 or 1: which of kLinks
    bool may_grow = true;  ///< no reader goes by the other link
  };
  using Tables = std::vector<std::unique_ptr<Table>>;
  using Ways = std::vector<TupleWay>;
  enum class Phase : uint8_t { none, fresh, settled, dead };
  struct State {
    Table* table = nullptr;
    Phase phase = Phase::none;
  };

  TupleEntry& entry(uint32_t id) const { return reinterpret_cast<TupleEntry*>(entries_.get())[id]; }
  uint32_t& link(const Table& table, uint32_t id) const { return entry(id).span[kLinks[table.link]]; }
  uint64_t hash_in(const Table& table, uint32_t id) const;
  State& state(uint32_t id);
  void check_room(size_t rules) const;
  static std::unique_ptr<Table> make_table(const Tuple& tuple, size_t rules);

  void write(const SetRule& rule, uint32_t version, uint32_t versions);
  void insert(const SetRule& rule, uint32_t version);
  void set_link(const Table& table, uint32_t id, uint32_t next);
  void set_head(const Table& table, uint64_t& head, uint64_t value);
  void link_in(Table& table, uint32_t id);
  void unlink(Table& table, uint32_t id);
  uint64_t filter_of(const Table& table, uint32_t first) const;
  int collisions(const Table& table, uint32_t id) const;
  Table& table_for(const SetRule& rule);
  Table& add_table(const Tuple& tuple);
  void grow(Table& table);
  static std::unique_ptr<Ways> ways_of(const Tables& tables);
  void publish_ways(std::unique_ptr<const Ways> ways);
  TupleTable::Tables tables_for_image(const Ways& ways) const;

  Limits limits_;
  HugePages entries_;
  HugePages checks_;           // TupleCheck[id][places]; none if there are no places
  std::vector<State> states_;  // by id
  Tables tables_;              // those that look at most bits first
  std::atomic<uint32_t> version_{0};
  std::atomic<const Ways*> ways_{nullptr};
  bool ways_changed_ = false;
  size_t rules_ = 0;
  uint32_t ids_ = 0;                    // all of rules so far are lower
  std::vector<uint32_t> fresh_, dead_;  // ids since the last reclaim()
  std::vector<std::unique_ptr<const Ways>> retired_ways_;
  std::vector<std::unique_ptr<Table>> retired_tables_;
  std::vector<Heads> retired_heads_;
  TupleTable image_;  // what GPUs have of this
};

}  // namespace heddle::classifier
