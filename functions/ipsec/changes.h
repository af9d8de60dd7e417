#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/handlers.h"
#include "functions/ipsec/associations.h"

namespace heddle::ipsec {

/** How the associations of an element change while packets flow. Those of IPsecEncaps with one FILE change together,
 *  for packets may come to any of them with the places and numbers that an IPsecSequence has found in one. */
class Changes : public Retiring {
 public:
  /** Why an association cannot come while the chain runs, as it was planned; "": it can. */
  using Problem = std::function<std::string(const FileAssociation& from)>;

  /** `mine`: of the element that this is for. */
  Changes(Associations& mine, Problem problem) : mine_(mine), problem_(std::move(problem)) {}
  /** The associations of another element, which has the same FILE, change with these. */
  void include(Changes& other) { members_.push_back(&other); }
  /** Another element's, which may not have one that these have. `name`: for people. */
  void exclude(const Associations& other, const std::string& name) { others_.emplace_back(&other, name); }

  /** Adds the handlers that change them. */
  void handlers(Handlers& list, const std::string& file);

  bool has_retired() const override;
  void reclaim() override;

 private:
  /** Makes `list` the associations, or throws Error: what is wrong with it, by line. `from`: the file. */
  void change(AssociationList list, const std::string& from);
  void check(const AssociationList& list, const std::string& from) const;
  /** `place`: where it goes on, or kNone. */
  std::string problem_with(const FileAssociation& one, uint32_t place) const;
  void add(const std::string& file);
  void remove(const std::string& which);

  Associations& mine_;
  Problem problem_;
  std::vector<Changes*> members_{this};
  std::vector<std::pair<const Associations*, std::string>> others_;
};

}  // namespace heddle::ipsec
