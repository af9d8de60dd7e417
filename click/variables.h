#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "click/diagnostics.h"
#include "click/graph.h"

namespace heddle::click {

struct Variable {
  enum State {
    kWritten,     // the value still contains variables
    kEvaluating,  // met again in this state, the variable is defined in terms of itself
    kReady,
  };

  std::string value;
  Location where;
  State state = kReady;
};

/** The variables that one instance of a body adds to those of the body around it. */
struct Scope {
  Scope* parent = nullptr;
  int depth = 0;  // Body::depth
  std::map<std::string, Variable, std::less<>> variables;
};

/** Replaces variables by their values: $NAME, ${NAME} and ${NAME-default}, not within '...'; ${NAME[N]} and
 *  ${NAME[N]-default} by the value's N-th word, the first being number 0, or nothing. N may be a variable. */
class Substitution {
 public:
  explicit Substitution(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  /** The arguments with their variables as `scope` defines them; a value may bring commas and so further arguments.
   *  Reports undefined variables at the argument's place as mistakes of `label`, unless `undefined_stay`. */
  std::vector<Argument> arguments(const std::vector<Argument>& written, Scope& scope, const std::string& label,
                                  bool undefined_stay = false);

  /** Counts bytes that expansion has copied. */
  void charge(size_t bytes) { total_ += bytes; }
  /** The expanded configuration is longer than any sensible one. */
  bool exhausted() const { return total_ > kMaxTotal; }

 private:
  static constexpr size_t kMaxTotal = 64 << 20;
  static constexpr size_t kMaxValue = 1 << 20;
  static constexpr int kMaxDepth = 64;

  std::string text(std::string_view written, Scope& scope, int depth);
  std::string reference(std::string_view name, std::string_view written, const std::string_view* fallback, Scope& scope,
                        int depth);
  void error(const std::string& message);

  Diagnostics& diagnostics_;
  Location where_;  // of the argument at work
  std::string label_;
  bool undefined_stay_ = false;
  size_t total_ = 0;
};

}  // namespace heddle::click
