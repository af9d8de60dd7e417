#pragma once

#include <set>
#include <string>
#include <vector>

/** A chain for every element class, for tests of all of them. */
namespace heddle::test {

/** How a class is put into a chain. */
struct ClassInChain {
  const char* name;
  std::string text{};  ///< the element, if it wants arguments; or a whole chain, from TestSources to TestSinks
  int outputs = 1, inputs = 1;
  std::string before{};  ///< elements between the source and each input, "Queue -> "
  std::string after{};   ///< and between each output and its sink, "Unqueue -> "
  std::string beside{};  ///< further statements
  /** The chain, behind FilesOfElements::definitions(). */
  std::string chain() const;
};
void PrintTo(const ClassInChain& it, std::ostream* out);

/** Those that packets come to from a chain. */
const std::vector<ClassInChain>& classes_in_chains();
/** The others, and those that want a network. */
const std::set<std::string>& classes_apart();

/** Files that elements read, which say something for each kind of frame. */
class FilesOfElements {
 public:
  FilesOfElements();
  ~FilesOfElements();
  FilesOfElements(const FilesOfElements&) = delete;
  FilesOfElements& operator=(const FilesOfElements&) = delete;
  /** Names them for chains. */
  std::string definitions() const;

 private:
  std::string keys_, signatures_, patterns_;
};

}  // namespace heddle::test
