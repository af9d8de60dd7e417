#pragma once

#include <map>
#include <optional>
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
  /** One element of a connection as written: `[in_ports] name :: Class(arguments) [out_ports]`. */
  struct Item {
    std::string name;                  // of the element; empty for a class without an element name
    std::optional<ElementClass> type;  // absent for a bare name, which may be an element or a class
    std::vector<Argument> arguments;
    std::vector<int> in_ports, out_ports;  // empty: not given
    Location where;
    int node = 0;  // set by resolve()
  };

  /** A port of an element that takes part in a connection. */
  struct End {
    int node, port;
  };

  /** A body whose statements are being read. */
  struct Frame {
    Body* body;
    std::string class_name;                       // that an elementclass statement gives to it
    std::unordered_map<std::string, int> nodes;   // by declared or referenced name
    std::map<std::string, ElementClass> classes;  // of elementclass statements
    std::unordered_map<std::string, Location> variables;
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
  Body* compound(const std::string& class_name);
  void parameters();
  bool add_variable(const std::string& name, const Location& where);

  // Connections, in connections.cc.
  void chain();
  bool list(std::vector<Item>& items, bool first);
  bool item(Item& result, bool first);
  bool ports(std::vector<int>& result);
  std::optional<int> port();
  bool pseudo_element(Item& result, bool first);
  void declare_names(std::vector<Item>& items);
  void connect(const std::vector<Item>& left, const std::vector<Item>& right, bool pairwise, const Location& where);
  std::vector<End> ends(const std::vector<Item>& items, bool outputs, size_t partners) const;

  // Names, in names.cc.
  std::optional<ElementClass> type();
  std::optional<ElementClass> find_class(const std::string& name) const;
  ElementClass require_class(const Token& name);
  void resolve(Item& item);
  int reference(const std::string& name, const Location& where);
  int declare(const Item& item);
  int add_node(Node node);
  void finish_names();
  void report_unknown(const std::string& name, const Location& where, bool is_class);
  Frame& frame() { return frames_.back(); }

  const ParseOptions& options_;
  Diagnostics& diagnostics_;
  Lexer lexer_;
  Token token_;
  Program program_;
  std::vector<Frame> frames_;
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
