#include "click/lexer.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <utility>

#include "click/quoting.h"
#include "core/error.h"
#include "core/text_file.h"

namespace heddle::click {

namespace {

constexpr size_t kLongestFileName = 255;  // of a #line; every location carries a copy
constexpr int kLastLine = 1'000'000'000;  // of a #line; leaves room to count on

/** The first character of `text`, which is not empty, as a message shows it: not half of it, and by its name what
 *  nobody sees. */
std::string first_character(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : uint8_t{0}; };
  const auto bytes = static_cast<size_t>(std::countl_one(byte(0)));  // in UTF-8; of ASCII 0
  if (bytes == 0) return in_quotes(text.substr(0, 1));
  bool whole = bytes <= 4 && byte(0) >= 0xc2;
  uint32_t code = byte(0) & 0x7fU >> bytes;
  for (size_t i = 1; i < bytes; ++i) {
    whole = whole && byte(i) >> 6 == 2;
    code = code << 6 | (byte(i) & 0x3fU);
  }
  if (!whole) return format("'\\x%02x', which is no UTF-8", byte(0));
  struct Name {
    uint32_t code;
    const char* name;
  };
  for (const Name& known : {Name{0xa0, "a no-break space"},
                            {0xad, "a soft hyphen"},
                            {0x200b, "a zero-width space"},
                            {0x202f, "a narrow no-break space"},
                            {0x2060, "a word joiner"},
                            {0x3000, "an ideographic space"},
                            {0xfeff, "a byte order mark"}})
    if (code == known.code) return format("U+%04X, %s", code, known.name);
  return in_quotes(text.substr(0, bytes)) + format(" (U+%04X)", code);
}

bool is_name_character(char c) { return is_word_character(c) || c == '@'; }

char closing(char open) { return open == '(' ? ')' : open == '[' ? ']' : '}'; }

}  // namespace

std::string Token::description() const {
  if (kind == kEnd) return "the end of the configuration";
  return in_quotes(kind == kVariable ? "$" + std::string(text) : std::string(text));
}

Lexer::Lexer(std::string_view text, std::string file, Diagnostics& diagnostics)
    : text_(without_byte_order_mark(text)),
      given_file_(std::move(file)),
      file_(given_file_),
      diagnostics_(&diagnostics) {}

void Lexer::advance(size_t count) {
  for (; count > 0 && !at_end(); --count) {
    ++column_;
    if (text_[position_++] == '\n') {
      ++line_;
      column_ = 1;
    }
  }
}

void Lexer::report_unterminated(std::string_view what, std::string_view end) {
  diagnostics_->error(here(), "unterminated " + std::string(what) + "; expected " + in_quotes(end));
  unterminated_ = true;
  stop();
}

bool Lexer::skip_comment() {
  if (starts_with("//")) {
    advance(std::min(text_.find('\n', position_), text_.size()) - position_);
  } else if (starts_with("/*")) {
    const size_t end = text_.find("*/", position_ + 2);
    if (end == text_.npos) {
      report_unterminated("comment", "*/");
    } else {
      advance(end + 2 - position_);
    }
  } else {
    return false;
  }
  return true;
}

void Lexer::skip_hash_line() {
  const Location start = here();
  const bool interpreter = position_ == 0 && starts_with("#!");
  const size_t length = std::min(text_.find('\n', position_), text_.size()) - position_;
  std::string_view line = trim(text_.substr(position_ + 1, length - 1));
  advance(length + 1);
  if (interpreter) return;

  if (line.starts_with("line")) line = trim(line.substr(4));
  int number = 0;
  const auto [end, failure] = std::from_chars(line.data(), line.data() + line.size(), number);
  std::string_view file = trim(line.substr(static_cast<size_t>(end - line.data())));
  // The C preprocessor puts flags behind the name.
  while (file.size() > 2 && file.back() >= '1' && file.back() <= '4' && is_space(file[file.size() - 2]))
    file = trim(file.substr(0, file.size() - 1));
  const bool has_file =
      file.size() >= 2 && file.size() <= kLongestFileName && file.front() == '"' && file.back() == '"';
  if (failure != std::errc() || number < 0 || number > kLastLine || !(file.empty() || has_file)) {
    diagnostics_->error(start, "unknown '#' line; expected '#line NUMBER \"FILE\"'");
    return;
  }
  line_ = number;
  if (has_file) file_ = file.size() > 2 ? std::string(file.substr(1, file.size() - 2)) : given_file_;
}

void Lexer::skip_space() {
  while (!at_end()) {
    if (is_space(text_[position_])) {
      advance();
    } else if (text_[position_] == '#' && column_ == 1) {
      skip_hash_line();
    } else if (!skip_comment()) {
      return;
    }
  }
}

size_t Lexer::symbol_length() const {
  for (const std::string_view symbol :
       {"...", "->", "=>", "::", "||", "|", ";", ",", "(", ")", "[", "]", "{", "}", "-"})
    if (starts_with(symbol)) return symbol.size();
  return 0;
}

bool Lexer::at_token() const {
  const char c = text_[position_];
  const bool variable = c == '$' && position_ + 1 < text_.size() && is_word_character(text_[position_ + 1]);
  return is_name_character(c) || variable || symbol_length() > 0;
}

void Lexer::skip_unknown() {
  for (skip_space(); !at_end() && !at_token(); skip_space()) {
    diagnostics_->error(here(), "unexpected character " + first_character(text_.substr(position_)));
    while (!at_end() && !is_space(text_[position_]) && !at_token()) advance();  // what follows belongs to it
    if (diagnostics_->full()) stop();
  }
}

Token Lexer::next() {
  skip_unknown();
  Token token{Token::kEnd, {}, here()};
  if (at_end()) return token;

  const auto name_length = [&](size_t start, auto accepts) {
    size_t end = start;
    while (end < text_.size() && accepts(end)) ++end;
    return end - start;
  };
  const auto take = [&](Token::Kind kind, size_t skip, size_t length) {
    token.kind = kind;
    token.text = text_.substr(position_ + skip, length);
    advance(skip + length);
    return token;
  };

  const char c = text_[position_];
  if (is_name_character(c)) {
    return take(Token::kName, 0, name_length(position_, [&](size_t i) {
                  // A slash joins two parts of a name; "//" and "/*" begin comments.
                  return is_name_character(text_[i]) ||
                         (text_[i] == '/' && i + 1 < text_.size() && is_name_character(text_[i + 1]));
                }));
  }
  if (c == '$') {
    return take(Token::kVariable, 1, name_length(position_ + 1, [&](size_t i) { return is_word_character(text_[i]); }));
  }
  return take(Token::kSymbol, 0, symbol_length());
}

bool Lexer::skip_quoted() {
  const size_t end = end_of_quoted(text_, position_);
  if (end == text_.npos) {
    const char c = text_[position_];
    report_unterminated(c == '\\' ? "data string" : "string", c == '\\' ? ">" : text_.substr(position_, 1));
    return false;
  }
  advance(end - position_);
  return true;
}

std::vector<Argument> Lexer::configuration(const Location& open) {
  std::vector<Argument> arguments;
  std::vector<std::pair<char, Location>> brackets = {{'(', open}};
  Argument current;  // has no line before its first character
  const auto finish_argument = [&] {
    if (current.where.line == 0) current.where = here();
    current.text = trim(current.text);
    arguments.push_back(std::exchange(current, {}));
  };
  const auto report_open = [&](const std::pair<char, Location>& bracket) {
    const char close = closing(bracket.first);
    diagnostics_->error(bracket.second, std::string("unterminated '") + bracket.first + "'; expected '" + close + "'");
  };

  while (!at_end()) {
    const size_t start = position_, errors = diagnostics_->errors().size();
    const char c = text_[position_];
    if (skip_comment()) {
      if (diagnostics_->errors().size() > errors) return arguments;
      current.text += ' ';
      continue;
    }
    if (c == ',' && brackets.size() == 1) {
      finish_argument();
      advance();
      continue;
    }
    if (c == ')') {
      for (; brackets.back().first != '('; brackets.pop_back()) report_open(brackets.back());
      if (brackets.size() == 1) {
        finish_argument();
        advance();
        if (arguments.back().text.empty()) arguments.pop_back();
        return arguments;
      }
    }
    if (current.where.line == 0 && !is_space(c)) current.where = here();
    if (c == '(' || c == '[' || c == '{') {
      brackets.emplace_back(c, here());
    } else if (c == ')' || c == ']' || c == '}') {
      if (closing(brackets.back().first) == c) {
        brackets.pop_back();
      } else {
        diagnostics_->error(here(), std::string("'") + c + "' closes nothing; expected '" +
                                        closing(brackets.back().first) + "' or ','");
      }
    }
    if (c == '"' || c == '\'' || starts_with("\\<")) {
      if (!skip_quoted()) return arguments;
    } else {
      advance();
    }
    current.text += text_.substr(start, position_ - start);
  }
  report_open(brackets.back());
  unterminated_ = true;
  return arguments;
}

}  // namespace heddle::click
