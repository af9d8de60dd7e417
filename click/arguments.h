#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "click/address_book.h"
#include "click/diagnostics.h"
#include "click/graph.h"
#include "click/values.h"

namespace heddle::click {

/** Typed access to the arguments of one element. A call takes the argument `NAME value` if there is one; required() and
 *  optional() else take the next argument that does not look like `KEYWORD value`. What does not fit is reported, and
 *  the variable then keeps its value:
 *
 *    Arguments(declaration, diagnostics)
 *        .required("CAPACITY", capacity, 1, 65536)
 *        .optional("FILE", path)
 *        .choice("POLICY", policy, {{"drop", Policy::kDrop}, {"block", Policy::kBlock}})
 *        .finish();
 *
 *  `limits` are what parse() and expectation() of the variable's type accept: for numbers a minimum and a maximum. An
 *  address or a port may be given by its name in the address book. */
class Arguments {
 public:
  /** Diagnostics and address book must outlive this object. */
  Arguments(const ElementDeclaration& element, Diagnostics& diagnostics, const AddressBook* addresses = nullptr);

  /** Reports its absence, and that of characters in a string: files, devices. */
  template <class T, class... Limits>
  Arguments& required(const char* name, T& value, Limits... limits) {
    const int index = take(name, true);
    if (index < 0) error("missing argument " + std::string(name) + "; expected " + expectation(value, limits...));
    assign(index, name, value, limits...);
    if constexpr (std::is_same_v<T, std::string>)
      if (index >= 0 && value.empty()) error(std::string(name) + " is empty");
    return *this;
  }

  /** Keeps the value if absent. */
  template <class T, class... Limits>
  Arguments& optional(const char* name, T& value, Limits... limits) {
    return assign(take(name, true), name, value, limits...);
  }

  /** Only as `NAME value`; keeps the value if absent. */
  template <class T, class... Limits>
  Arguments& keyword(const char* name, T& value, Limits... limits) {
    return assign(take(name, false), name, value, limits...);
  }

  /** Only as `NAME word` with one of the words; keeps the value if absent. */
  template <class E>
  Arguments& choice(const char* name, E& value,
                    std::initializer_list<std::pair<const char*, std::type_identity_t<E>>> words) {
    const int index = take(name, false);
    if (index < 0) return *this;
    std::string known;
    for (const auto& [word, meaning] : words) {
      if (value_text(index) == word) {
        value = meaning;
        return *this;
      }
      known += (known.empty() ? "one of " : ", ") + std::string(word);
    }
    error(name, known);
    return *this;
  }

  /** The arguments that are left and do not look like `KEYWORD value`; nothing else sees them any more. */
  std::vector<Argument> rest();
  /** All that are left, whatever they look like. */
  std::vector<Argument> rest_with_keywords();

  /** parse() for parts of rest(): knows the names of addresses and ports, too. */
  template <class T, class... Limits>
  bool read(std::string_view text, T& value, Limits... limits) const {
    if (parse(text, value, limits...)) return true;
    if constexpr (requires(const AddressBook& book) { book.find(name_, text, value); })
      return addresses_ != nullptr && addresses_->find(name_, text, value);
    return false;
  }

  /** The names of addresses and ports that the element sees. */
  AddressNames names() const { return addresses_ == nullptr ? AddressNames{} : AddressNames{*addresses_, name_}; }

  /** Reports a mistake of the element as a whole: "Class 'name': MESSAGE". */
  void error(const std::string& message);
  /** Reports a mistake in one of rest(): "Class 'name': MESSAGE". */
  void error_at(const Argument& argument, const std::string& message);
  /** Reports one of rest(): "Class 'name': 'text' is not EXPECTED". */
  void error(const Argument& argument, const std::string& expected);
  /** Reports the value given to a name: "Class 'name': NAME: 'value' is not EXPECTED". */
  void error(const char* name, const std::string& expected);

  /** Reports every argument that nothing took: unknown keywords, repeated ones, too many arguments. */
  void finish();

 private:
  struct Entry {
    Argument argument;
    std::string keyword;  // "" if it does not look like `KEYWORD value`
    bool taken = false;
  };

  std::vector<Argument> take_rest(bool keywords);
  /** The index of the argument for `name`, now taken, or -1. */
  int take(const char* name, bool positional);
  /** What follows the keyword of an argument taken by name, or the whole argument. */
  std::string_view value_text(int index) const;

  template <class T, class... Limits>
  Arguments& assign(int index, const char* name, T& value, Limits... limits) {
    if (index >= 0 && !read(value_text(index), value, limits...)) error(name, expectation(value, limits...));
    return *this;
  }

  std::string name_, label_;
  Location where_;
  Diagnostics& diagnostics_;
  const AddressBook* addresses_;
  std::vector<Entry> entries_;
  std::vector<std::pair<std::string, int>> names_;  // asked for so far, with the index of the argument or -1
};

}  // namespace heddle::click
