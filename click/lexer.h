#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "click/diagnostics.h"
#include "click/graph.h"

namespace heddle::click {

/** A word of the Click language. `text` refers to the text given to the Lexer. */
struct Token {
  enum Kind {
    kEnd,
    kName,      // letters, digits, '_', '@' and '/'; port numbers are names too
    kVariable,  // text is without the dollar sign
    kSymbol,    // -> => :: ... || | ; , ( ) [ ] { } -
  };

  Kind kind = kEnd;
  std::string_view text;
  Location where;

  bool is(std::string_view symbol) const { return kind == kSymbol && text == symbol; }
  bool is_name(std::string_view name) const { return kind == kName && text == name; }
  /** How error messages name this token: its quoted text or "the end of the configuration". */
  std::string description() const;
};

/** Cuts a configuration into tokens; skips white space, comments and lines that begin with '#'. */
class Lexer {
 public:
  Lexer(std::string_view text, std::string file, Diagnostics& diagnostics);

  /** The next token; kEnd for ever at the end. Reports characters that belong to no token. */
  Token next();

  /** To be called when next() has just returned '(': the comma-separated arguments up to its ')', which is consumed.
   *  Quotes, brackets and data strings protect commas. Comments become spaces; an empty last argument is dropped. */
  std::vector<Argument> configuration(const Location& open);

  /** Makes every further token kEnd. */
  void stop() { position_ = text_.size(); }
  bool at_end() const { return position_ == text_.size(); }
  /** The text ended within a string, a comment or a bracket of a configuration; this has been reported. */
  bool unterminated() const { return unterminated_; }

 private:
  bool starts_with(std::string_view prefix) const { return text_.substr(position_).starts_with(prefix); }
  Location here() const { return {file_, line_, column_}; }
  void advance(size_t count = 1);
  bool skip_comment();
  void skip_hash_line();
  void skip_space();
  void skip_unknown();
  bool at_token() const;
  size_t symbol_length() const;
  /** Reports what begins here and never ends. */
  void report_unterminated(std::string_view what, std::string_view end);
  bool skip_quoted();

  std::string_view text_;
  std::string given_file_;  // that "#line NUMBER \"\"" returns to
  std::string file_;
  Diagnostics* diagnostics_;
  size_t position_ = 0;
  int line_ = 1;
  int column_ = 1;
  bool unterminated_ = false;
};

}  // namespace heddle::click
