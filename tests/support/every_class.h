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
  std::string before{};                ///< elements between the source and each input, "Queue -> "
  std::string after{};                 ///< and between each output and its sink, "Unqueue -> "
  std::string beside{};                ///< further statements
  std::vector<std::string> refuses{};  ///< arguments, each a mistake; of the listed: test_every_element.py has them
  /** The chain, behind FilesOfElements::definitions(). */
  std::string chain() const;
};
void PrintTo(const ClassInChain& it, std::ostream* out);

/** Those that packets come to from a chain: those of a list, and those that their own tests have added. */
const std::vector<ClassInChain>& classes_in_chains();
/** Adds one, before main(). */
bool add_class_in_chain(ClassInChain it);

/** Stands in the test of an element, beside it, and puts its class among those that are tested all together, by
 *  packets that lie, starts that fail and arguments that are wrong:
 *
 *      HEDDLE_TESTED_WITH_ALL(XOR, .text = "XOR(3)", .refuses = {"-1", "256", "x"});
 *
 *  Behind the name: fields of ClassInChain, in their order; `refuses` always. */
#define HEDDLE_TESTED_WITH_ALL(Name, ...) \
  static const bool heddle_tested_with_all_##Name = ::heddle::test::add_class_in_chain({.name = #Name, __VA_ARGS__})

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
