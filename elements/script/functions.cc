#include "elements/script/functions.h"

#include <arpa/inet.h>
#include <signal.h>

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <mutex>
#include <random>

#include "click/quoting.h"
#include "click/values.h"
#include "core/clock.h"
#include "core/error.h"
#include "elements/script/signals.h"
#include "elements/script/text.h"

namespace heddle::script {
namespace {

std::string shown(bool value) { return value ? "true" : "false"; }
std::string shown(double value) { return format("%.12g", value); }

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (auto& word : click::split_words(text)) words.emplace_back(word);
  return words;
}

// A number: an integer as long as it is written as one and stays one.
struct Number {
  bool whole = true;
  int64_t integer = 0;
  double real = 0;
  double value() const { return whole ? static_cast<double>(integer) : real; }
};

bool parse_number(const std::string& text, Number& number) {
  number = {};
  if (click::parse(text, number.integer)) return true;
  number.whole = false;
  return click::parse(text, number.real);
}

std::vector<Number> numbers(const std::string& arguments) {
  std::vector<Number> list;
  for (auto& word : words_of(arguments))
    if (!parse_number(word, list.emplace_back())) throw Error("expected list of numbers");
  return list;
}

std::vector<Number> numbers(const std::string& arguments, size_t count, const char* expected) {
  auto list = numbers(arguments);
  if (list.size() != count) throw Error(expected);
  return list;
}

std::string shown(const Number& number) { return number.whole ? std::to_string(number.integer) : shown(number.real); }

// Integers wrap round, as they do in Click.
using Wrapping = uint64_t (*)(uint64_t, uint64_t);
using Real = double (*)(double, double);

Number fold(const std::string& arguments, int64_t empty, Wrapping whole, Real real) {
  Number result{true, empty, 0};
  bool first = true;
  for (auto& number : numbers(arguments)) {
    if (first) {
      result = number;
    } else if (result.whole && number.whole && whole != nullptr) {
      result.integer =
          static_cast<int64_t>(whole(static_cast<uint64_t>(result.integer), static_cast<uint64_t>(number.integer)));
    } else {
      result = {false, 0, real(result.value(), number.value())};
    }
    first = false;
  }
  return result;
}

std::string add(const std::string& a) {
  return shown(fold(
      a, 0, [](uint64_t x, uint64_t y) { return x + y; }, [](double x, double y) { return x + y; }));
}
std::string sub(const std::string& a) {
  return shown(fold(
      a, 0, [](uint64_t x, uint64_t y) { return x - y; }, [](double x, double y) { return x - y; }));
}
std::string mul(const std::string& a) {
  return shown(fold(
      a, 1, [](uint64_t x, uint64_t y) { return x * y; }, [](double x, double y) { return x * y; }));
}
std::string div(const std::string& a) {
  return shown(fold(a, 1, nullptr, [](double x, double y) { return x / y; }).value());
}
std::string idiv(const std::string& a) {
  const double value = fold(a, 1, nullptr, [](double x, double y) { return x / y; }).value();
  if (!(std::fabs(value) < 9.2e18)) throw Error("division by zero");
  return std::to_string(static_cast<int64_t>(value));
}
std::string mod(const std::string& a) {
  const auto list = numbers(a, 2, "expected two integers");
  if (!list[0].whole || !list[1].whole) throw Error("expected two integers");
  if (list[1].integer == 0) throw Error("division by zero");
  return std::to_string(list[1].integer == -1 ? 0 : list[0].integer % list[1].integer);
}
std::string rem(const std::string& a) {
  const auto list = numbers(a, 2, "expected two numbers");
  return shown(std::fmod(list[0].value(), list[1].value()));
}
std::string neg(const std::string& a) {
  const Number number = numbers(a, 1, "expected a number")[0];
  return number.whole ? std::to_string(static_cast<int64_t>(0 - static_cast<uint64_t>(number.integer)))
                      : shown(-number.real);
}
std::string absolute(const std::string& a) {
  const Number number = numbers(a, 1, "expected a number")[0];
  return number.value() < 0 ? neg(a) : shown(number);
}

const Number& extreme(const std::vector<Number>& list, bool largest) {
  if (list.empty()) throw Error("expected list of numbers");
  const auto less = [](const Number& x, const Number& y) { return x.value() < y.value(); };
  return largest ? *std::max_element(list.begin(), list.end(), less)
                 : *std::min_element(list.begin(), list.end(), less);
}
std::string min(const std::string& a) { return shown(extreme(numbers(a), false)); }
std::string max(const std::string& a) { return shown(extreme(numbers(a), true)); }

// Less than, equal to or greater than zero. Two numbers as numbers, anything else bytewise.
int compare(const std::string& arguments) {
  const auto words = words_of(arguments);
  if (words.size() != 2) throw Error("expected two numbers");
  Number a, b;
  if (parse_number(words[0], a) && parse_number(words[1], b)) {
    if (a.whole && b.whole) return a.integer < b.integer ? -1 : a.integer > b.integer;
    return a.value() < b.value() ? -1 : a.value() > b.value();
  }
  return click::unquote(words[0]).compare(click::unquote(words[1]));
}
std::string eq(const std::string& a) { return shown(compare(a) == 0); }
std::string ne(const std::string& a) { return shown(compare(a) != 0); }
std::string lt(const std::string& a) { return shown(compare(a) < 0); }
std::string le(const std::string& a) { return shown(compare(a) <= 0); }
std::string gt(const std::string& a) { return shown(compare(a) > 0); }
std::string ge(const std::string& a) { return shown(compare(a) >= 0); }

bool all_or_any(const std::string& arguments, bool all) {
  bool result = all;
  for (auto& word : words_of(arguments)) result = all ? truth(word) && result : truth(word) || result;
  return result;
}
std::string logical_not(const std::string& a) { return shown(!truth(a)); }
std::string logical_and(const std::string& a) { return shown(all_or_any(a, true)); }
std::string logical_or(const std::string& a) { return shown(all_or_any(a, false)); }
std::string nand(const std::string& a) { return shown(!all_or_any(a, true)); }
std::string nor(const std::string& a) { return shown(!all_or_any(a, false)); }

std::string choose(const std::string& a) {
  const auto words = words_of(a);
  if (words.size() != 3) throw Error("expected a condition and two values");
  return click::unquote(truth(words[0]) ? words[1] : words[2]);
}
std::string in(const std::string& a) {
  auto words = words_of(a);
  if (words.empty()) throw Error("expected a value and a list");
  for (auto& word : words) word = click::unquote(word);
  return shown(std::find(words.begin() + 1, words.end(), words[0]) != words.end());
}
std::string first(const std::string& a) {
  const auto words = words_of(a);
  return words.empty() ? "" : words[0];
}
std::string length(const std::string& a) { return std::to_string(a.size()); }
std::string unquoted(const std::string& a) { return click::unquote(a); }

/** What `random` draws from. */
struct Generator {
  std::mutex mutex;
  std::mt19937_64 numbers{std::random_device{}()};
};
Generator& generator() {
  static Generator one;
  return one;
}

std::string random_integer(const std::string& a) {
  const auto list = numbers(a);
  if (list.size() > 2 || std::any_of(list.begin(), list.end(), [](auto& n) { return !n.whole; }))
    throw Error("expected no, one or two integers");
  int64_t low = 0, high = RAND_MAX;
  if (list.size() == 1) high = list[0].integer - 1;
  if (list.size() == 2) low = list[0].integer, high = list[1].integer;
  if (low > high) throw Error("expected an integer above 0, or two in their order");
  const std::lock_guard lock(generator().mutex);
  return std::to_string(std::uniform_int_distribution<int64_t>(low, high)(generator().numbers));
}

std::string now(const std::string&) {
  const uint64_t ns = RouterClock::wall_ns();
  return format("%" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
}

std::string cat(const std::string& a) {
  const std::string path = click::unquote(a);
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(path + ": cannot be read");
  std::string text;
  try {
    text.assign(std::istreambuf_iterator<char>(file), {});
  } catch (const std::ios_base::failure&) {
    throw Error(path + ": cannot be read");
  }
  return text;
}

std::string send(const std::string& a) {
  const auto words = words_of(a);
  if (words.size() < 2) throw Error("expected a signal and processes");
  const int number = words[0] == "0" ? 0 : words[0] == "KILL" || words[0] == "9" ? SIGKILL : signal_number(words[0]);
  if (number == 0 && words[0] != "0") throw Error("'" + words[0].substr(0, 80) + "' is no signal");
  for (size_t i = 1; i < words.size(); ++i) {
    int process = 0;
    if (!click::parse(words[i], process)) throw Error("'" + words[i].substr(0, 80) + "' is no process");
    send_signal(number, process);
  }
  return {};
}

// One conversion of a format: flags, width and precision, without length.
struct Conversion {
  std::string flags;
  int width = 0, precision = -1;
  char letter = 0, size = 0;
};

class Formatter {
 public:
  Formatter(std::string text, std::string_view arguments) : format_(std::move(text)), arguments_(arguments) {}

  std::string run() {
    std::string result;
    while (at_ < format_.size()) {
      if (format_[at_] != '%') {
        result += format_[at_++];
        continue;
      }
      ++at_;
      result += converted(conversion());
      if (result.size() > size_t{1} << 20) throw Error("sprintf: the text gets too long");
    }
    if (!arguments_.empty()) throw Error("sprintf: too many arguments");
    return result;
  }

 private:
  char next() const { return at_ < format_.size() ? format_[at_] : '\0'; }
  int64_t integer() {
    int64_t value = 0;
    if (!click::parse(take_word(arguments_), value)) throw Error("sprintf: expected an integer");
    return value;
  }
  // A width or precision: digits, or '*' for an argument.
  int amount() {
    int64_t value = 0;
    if (next() == '*') {
      ++at_;
      value = integer();
    } else {
      for (; next() >= '0' && next() <= '9'; ++at_) value = std::min<int64_t>(value * 10 + next() - '0', 1 << 20);
    }
    if (value < -65536 || value > 65536) throw Error("sprintf: a width is too large");
    return static_cast<int>(value);
  }
  Conversion conversion() {
    Conversion c;
    for (; next() != '\0' && std::string_view("0#- +").find(next()) != std::string_view::npos; ++at_) c.flags += next();
    c.width = amount();
    if (next() == '.') ++at_, c.precision = std::max(amount(), 0);
    for (; next() == 'h' || next() == 'l' || next() == 'L' || next() == 'q'; ++at_) c.size = next();
    c.letter = next();
    ++at_;
    return c;
  }
  // With a width, a precision and a value of type T: what every conversion is but for its letters.
  template <class T>
  static std::string print(const std::string& spec, const Conversion& c, T value) {
    char small[64];
    const int n = std::snprintf(small, sizeof small, spec.c_str(), c.width, c.precision, value);
    std::string text(static_cast<size_t>(std::max(n, 0)), '\0');
    std::snprintf(text.data(), text.size() + 1, spec.c_str(), c.width, c.precision, value);
    return text;
  }
  std::string converted(const Conversion& c) {
    const std::string spec = "%" + c.flags + "*.*";
    switch (c.letter) {
      case '%':
        return "%";
      case 's':
        return print(spec + "s", c, click::unquote(take_word(arguments_)).c_str());
      case 'd':
      case 'i':
        return print(spec + "lld", c, static_cast<long long>(c.size == 'h' ? int16_t(integer()) : integer()));
      case 'o':
      case 'x':
      case 'X':
      case 'u':
        return print(spec + "ll" + c.letter, c,
                     static_cast<unsigned long long>(c.size == 'h' ? uint16_t(integer()) : uint64_t(integer())));
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G': {
        Number number;
        if (!parse_number(take_word(arguments_), number)) throw Error("sprintf: expected a number");
        return print(spec + c.letter, c, number.value());
      }
      default:
        throw Error("sprintf: '%' is followed by no conversion that it knows");
    }
  }

  std::string format_;
  std::string_view arguments_;
  size_t at_ = 0;
};

/** The number with the bytes that `kSwap` gives it, of as many bits as it has. */
template <class Word, Word (*kSwap)(Word)>
std::string swapped(const std::string& a) {
  Word value = 0;
  if (!click::parse(click::trim(a), value)) throw Error(format("expected a number of %zu bits", 8 * sizeof value));
  return std::to_string(kSwap(value));
}
uint16_t network_order(uint16_t value) { return htons(value); }
uint32_t network_order(uint32_t value) { return htonl(value); }

std::string print_formatted(const std::string& a) {
  std::string_view rest = a;
  std::string text = click::unquote(take_word(rest));
  return Formatter(std::move(text), rest).run();
}

}  // namespace

bool truth(const std::string& text) {
  bool value = false;
  if (!click::parse(click::trim(text), value)) throw Error("'" + text.substr(0, 80) + "' is neither true nor false");
  return value;
}

void seed_random(uint64_t seed) {
  const std::lock_guard lock(generator().mutex);
  generator().numbers.seed(seed);
}

const std::vector<Function>& functions() {
  static const std::vector<Function> kAll = {{"add", add},
                                             {"sub", sub},
                                             {"mul", mul},
                                             {"div", div},
                                             {"idiv", idiv},
                                             {"mod", mod},
                                             {"rem", rem},
                                             {"neg", neg},
                                             {"abs", absolute},
                                             {"min", min},
                                             {"max", max},
                                             {"eq", eq},
                                             {"ne", ne},
                                             {"lt", lt},
                                             {"le", le},
                                             {"gt", gt},
                                             {"ge", ge},
                                             {"not", logical_not},
                                             {"and", logical_and},
                                             {"or", logical_or},
                                             {"nand", nand},
                                             {"nor", nor},
                                             {"if", choose},
                                             {"in", in},
                                             {"first", first},
                                             {"length", length},
                                             {"unquote", unquoted},
                                             {"sprintf", print_formatted},
                                             {"random", random_integer},
                                             {"now", now},
                                             {"htons", swapped<uint16_t, network_order>},
                                             {"htonl", swapped<uint32_t, network_order>},
                                             {"ntohs", swapped<uint16_t, network_order>},
                                             {"ntohl", swapped<uint32_t, network_order>},
                                             {"cat", cat, true},
                                             {"kill", send, true}};
  return kAll;
}

const Function* find_function(const std::string& name) {
  for (auto& function : functions())
    if (function.name == name) return &function;
  return nullptr;
}

}  // namespace heddle::script
