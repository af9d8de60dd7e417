#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "click/lexer.h"
#include "click/parser.h"
#include "click/syntax.h"

namespace heddle::click {

/** Reads the statements of a configuration; compound elements and variables stay as written. */
class StatementParser {
 public:
  StatementParser(std::string_view text, const std::string& file, const ParseOptions& options,
                  Diagnostics& diagnostics);

  Program parse();

 private:
  static constexpr int kUnresolved = -4;

  /** Ports between brackets. */
  struct Ports {
    std::vector<int> list;  // empty: not given
    bool given = false;     // in brackets; those of a group need not be
    bool open = false;      // further ports may follow: `[]`, `[1-]`
  };

  /** One element of a connection as written: `[in] name :: Class(arguments) [out]`, or a group. */
  struct Item {
    std::string name;                  // of the element; empty for a class without an element name
    std::optional<ElementClass> type;  // absent for a bare name, which may be an element or a class
    std::string class_name;            // as written, of a class without an element name
    std::vector<Argument> arguments;
    Ports in, out;
    Location where;
    int in_node = kUnresolved, out_node = kUnresolved;  // where connections to it and from it go; set by resolve()
    std::vector<int> group_inputs, group_outputs;       // of a group: the ports that it has
  };

  /** A port of an element that takes part in a connection. */
  struct End {
    int node, port;
  };

  /** One side of a connection. */
  struct Side {
    std::vector<End> ends;
    int open = 0;       // number of items that stand for any number of ports
    bool bare = false;  // a single element without ports
    size_t last = 0;    // the end after which further ports would follow
    /** Adds ports until there are as many ends as `size`. */
    void fill(size_t size);
  };

  /** The nodes that pass connections into and out of an element group. */
  struct Group {
    int input, output;
    Location where;
  };

  /** A body whose statements are being read. */
  struct Frame {
    Body* body;
    std::string class_name;                       // that an elementclass statement gives to it
    std::unordered_map<std::string, int> nodes;   // by declared or referenced name
    std::map<std::string, ElementClass> classes;  // of elementclass statements
    std::unordered_map<std::string, Location> variables;
    std::vector<Group> groups;         // being read, one inside the other
    std::vector<Group> closed_groups;  // those read
    std::map<std::string, Item> named_groups{};
    int numbered = 0;  // elements beyond the body's nodes, as Click counts them
  };

  // Tokens, in statements.cc.
  void next() { token_ = lexer_.next(); }
  bool accept(std::string_view symbol);
  bool at_arrow() const { return token_.is("->") || token_.is("=>"); }
  std::vector<Argument> configuration();
  void error(const Location& where, std::string message);
  void unexpected(const std::string& expected);
  void stop(const Location& where, const std::string& message);
  /** Skips to the end of the statement or, if `whole_body`, of the compound element. */
  void recover(bool whole_body = false);

  // Statements, in statements.cc.
  void statements();
  void element_class();
  void define();
  void require();
  void require_library(const Argument& argument, const std::string& file);
  void provide();
  Body* compound(const std::string& class_name);
  Body* definition(const std::string& class_name, const Location& open);
  void extend(Body& last, const std::string& class_name);
  void parameters();
  bool add_variable(const std::string& name, const Location& where);

  // Connections, in connections.cc.
  void chain();
  bool list(std::vector<Item>& items, bool first);
  bool item(Item& result, bool first, bool alone);
  bool group(Item& result);
  bool ports(Ports& result);
  std::optional<int> port();
  bool pseudo_element(Item& result, bool first, bool alone);
  void declare_names(std::vector<Item>& items);
  void connect(const std::vector<Item>& left, const std::vector<Item>& right, bool pairwise, const Location& where);
  static Side side(const std::vector<Item>& items, bool outputs);
  void finish_groups();
  void check_sequence(const std::set<int>& ports, const std::string& kind, const Location& where);

  /** Up to the end of the text. */
  void all_statements();

  // Names, in names.cc.
  std::optional<ElementClass> type();
  std::optional<ElementClass> find_class(const std::string& name) const;
  ElementClass require_class(const Token& name);
  void resolve(Item& item);
  int reference(const std::string& name, const Location& where);
  int declare(const Item& item);
  void name_group(const Token& name, const Item& group);
  int add_node(Node node);
  int add_anonymous(const std::string& class_name, const ElementClass& type, std::vector<Argument> arguments,
                    const Location& where);
  void finish_names();
  void report_unknown(const std::string& name, const Location& where, bool is_class);
  /** Classes are reported once each, when all their places are known. */
  void add_unknown_class(const std::string& name, const Location& where, const std::string& hint);
  void report_unknown_classes();
  Frame& frame() { return frames_.back(); }

  const ParseOptions& options_;
  Diagnostics& diagnostics_;
  std::map<std::string, std::string> libraries_;  // texts by name
  Lexer lexer_;
  Token token_;
  Program program_;
  struct UnknownClass {
    Location where;
    std::string hint;
    std::string also{};  // further places
    size_t places = 1;
  };
  std::map<std::string, UnknownClass> unknown_;
  std::map<std::pair<const Body*, std::string>, std::vector<Location>>
      again_;  // names that are not declared, after the first
  std::vector<Frame> frames_;
  int nesting_ = 0;                 // compound elements and groups around the current token
  std::set<std::string> packages_;  // that a require statement may name
  bool stopped_ = false;
  size_t port_budget_ = 1'000'000;  // ports in lists: a range is short to write
};

/** The words elementclass, define, require and provide, which name no elements. */
inline bool is_reserved(const Token& token) {
  return token.is_name("elementclass") || token.is_name("define") || token.is_name("require") ||
         token.is_name("provide");
}

/** See StatementParser. */
inline Program parse_statements(std::string_view text, const std::string& file, const ParseOptions& options,
                                Diagnostics& diagnostics) {
  return StatementParser(text, file, options, diagnostics).parse();
}

}  // namespace heddle::click
