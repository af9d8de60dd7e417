#pragma once

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "click/diagnostics.h"
#include "click/graph.h"

namespace heddle::click {

struct Body;

/** What an element is: a compound element if it has a body, else a class of the engine. */
struct ElementClass {
  std::string name;
  const Body* body = nullptr;
};

/** An element as declared within a body; its arguments still contain variables. The `input` and the `output` of an
 *  element group are nodes as well, which pass through what is connected to them and have no name. */
struct Node {
  std::string name;  // of an element without a name: "Class@", completed at the end of the body
  ElementClass type;
  std::vector<Argument> arguments;
  Location where;
  enum State { kDeclared, kAnonymous, kUsed, kGroupPort } state = kDeclared;  // kUsed: to be declared later
  int number = 0;                                                             // of an element without a name
  int inputs = 0, outputs = 0;  // one more than the highest port that a connection mentions
};

/** Stand for the pseudo-elements `input` and `output` of a compound element where a node's index is expected. */
constexpr int kInput = -1;
constexpr int kOutput = -2;
/** Where `output` is used as an output or `input` as an input. */
constexpr int kNowhere = -3;

/** A connection within a body: indices into Body::nodes, kInput or kOutput. */
struct Wire {
  int from = 0;
  int from_port = 0;
  int to = 0;
  int to_port = 0;
  Location where;
};

/** A parameter of a compound element: `$variable` or `KEYWORD $variable`. The keyword __REST__ takes the arguments that
 *  are left over. */
struct Parameter {
  std::string keyword;
  std::string variable;
};

/** `define($variable value)`. */
struct Definition {
  std::string variable;
  Argument value;
};

/** The statements between the braces of a compound element or between its "||", or those of the whole configuration. */
struct Body {
  Location where;
  int depth = 0;        // the number of bodies around this one in the text
  bool broken = false;  // has mistakes: what it lacks may be what could not be read
  std::vector<Parameter> parameters;
  std::vector<Definition> definitions;
  std::vector<Node> nodes;
  std::vector<Wire> wires;
  std::set<int> inputs, outputs;          // the ports of `input` and `output` in use
  std::optional<ElementClass> otherwise;  // after "||": what to try when this definition does not fit
};

/** A parsed configuration. The first body is the configuration itself. Bodies refer to each other by address. */
struct Program {
  std::deque<Body> bodies;
  bool complete = true;  // false if reading stopped before the end
};

/** "Class 'name'": how messages name an element. */
inline std::string element_label(const std::string& class_name, const std::string& name) {
  return (class_name.empty() ? "compound element" : class_name.substr(0, 80)) + " " + in_quotes(name);
}

}  // namespace heddle::click
