#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/** An element class that is written in the Click language, of others. It stands in a header beside its manual:
 *
 *      class PushPull : public Compound {
 *       public:
 *        static constexpr const char* kText = "{ input -> Queue -> Unqueue -> output }";
 *      };
 *
 *  and HEDDLE_COMPOUND(PushPull); in a source makes it known. */
class Compound {
 public:
  struct Entry {
    std::string class_name, text;
  };
  static void add(Entry entry) { entries().push_back(std::move(entry)); }
  static const Entry* find(std::string_view class_name);
  static std::vector<std::string> names();  ///< sorted
  /** All of them as elementclass statements. */
  static std::string prelude();

 private:
  static std::vector<Entry>& entries();
};

#define HEDDLE_COMPOUND(Class)                       \
  static const bool heddle_registered_##Class = [] { \
    ::heddle::Compound::add({#Class, Class::kText}); \
    return true;                                     \
  }()

}  // namespace heddle
