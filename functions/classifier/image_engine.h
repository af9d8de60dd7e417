#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "functions/classifier/engine.h"
#include "functions/classifier/image_table.h"
#include "functions/classifier/listing.h"
#include "functions/classifier/set_changes.h"

namespace heddle::classifier {

/** Engines whose structure takes long to build: bit vectors and a tree, each as an Image, on CPU and GPU. A change
 *  lists the rules that come and marks those that go. When kRebuiltAt rules are listed, or marked, a thread builds an
 *  image of all anew, while traffic and changes go on; the first change after it has ended makes that the set. A change
 *  for which there is no room waits for the thread, or builds all itself if the thread has failed, so that its error is
 *  the change's. */
class ImageEngine : public RuleEngine {
 public:
  ImageEngine(EngineKind kind, const Limits& limits);  ///< bitvector or hypersplit
  ~ImageEngine() override;                             ///< stops the thread

  void load(std::span<const SetRule> rules) override;
  void change(std::span<const SetRule> added, std::span<const uint32_t> gone, const RuleSet& all) override;
  void classify(const uint32_t* const* keys, Outcome* outcomes, int n) const override;
  size_t bytes() const override { return table_.bytes().size(); }
  Table* table() override { return &table_; }
  bool has_retired() const override { return table_.has_retired(); }
  void reclaim() override { table_.reclaim(); }

  /** Rules that are looked at beside the structure; for the thread that changes rules. */
  uint32_t listed() const { return listing_->moment().listed; }
  /** Whether a thread builds; the same. */
  bool rebuilds() const { return rebuild_ != nullptr; }

 private:
  struct Structure {
    BuiltImage image;
    std::unique_ptr<Listing> listing;
  };
  struct Rebuild;
  Structure build(std::vector<SetRule> rules, const CheckWanted& check_wanted) const;
  void take(Structure structure);
  void begin_rebuild();
  /** Makes what the thread has built, or is building, the set as it is now. */
  void end_rebuild();

  EngineKind kind_;
  Limits limits_;
  ImageTable table_;
  std::unique_ptr<Listing> listing_;
  SetChanges changes_;   // since the image was built
  bool failed_ = false;  // to build an image of as many rules; until the next load()
  std::unique_ptr<Rebuild> rebuild_;
};

}  // namespace heddle::classifier
