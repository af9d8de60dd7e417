#include "tests/support/random_chain.h"

#include <algorithm>

#include "core/error.h"

namespace heddle::test {
namespace {

constexpr int kMaxStripped = 20;

class Maker {
 public:
  Maker(std::mt19937& random, const ChainOptions& options, std::vector<Step>& steps)
      : random_(random), options_(options), steps_(steps) {}

  /** The steps behind output `output` of step `parent`. `stripped`: bytes before the start there. */
  void branch(int parent, int output, int stripped, bool has_crc) {
    while (static_cast<int>(steps_.size()) < options_.most_steps && below(8) != 0) {
      Step step = any(stripped, has_crc);
      parent = add(std::move(step), parent, output);
      const Step& made = steps_[static_cast<size_t>(parent)];
      stripped += made.head, has_crc = made.tail > 0, output = 0;
      if (made.outputs == 1) continue;
      for (int k = 0, count = made.outputs; k < count; ++k) branch(parent, k, stripped, false);
      return;
    }
    Step sink{.name = "", .text = "", .reads = {{0, Field::kOpen}}, .column_reads = below(4), .outputs = 0};
    const char* const names[] = {"", "dst", "paint", "dst paint"};
    sink.text = format("TestSink(READS \"%s\")", names[sink.column_reads]);
    add(std::move(sink), parent, output);
  }

 private:
  unsigned below(unsigned limit) { return static_cast<unsigned>(random_() % limit); }

  int add(Step step, int parent, int output) {
    step.name = format("n%zu", steps_.size()), step.parent = parent, step.output = output;
    steps_.push_back(std::move(step));
    return static_cast<int>(steps_.size()) - 1;
  }

  Step any(int stripped, bool has_crc) {
    const Field whole{0, Field::kOpen}, addresses{0, 12};
    const int at = static_cast<int>(below(36));
    constexpr unsigned kOftenWhole[] = {3, 3, 3, 2, 5, 6, 6, 6, 9, 10, 12, 16, 16, 0, 14, 8};
    const unsigned kind = options_.whole ? kOftenWhole[below(std::size(kOftenWhole))] : below(17);
    switch (kind) {
      case 0:
      case 1:
        return {.text = "EtherMirror", .reads = {addresses}, .writes = {addresses}, .function = true};
      case 2:
        return {.text = "EtherMirror(DEVICE cpu)", .reads = {addresses}, .writes = {addresses}};
      case 3:
        return {.text = format("XOR(%u)", below(256)), .reads = {whole}, .writes = {whole}, .function = true};
      case 4:
        return {.text = format("XOR(%u, DEVICE cpu)", below(256)), .reads = {whole}, .writes = {whole}};
      case 5:
        return {.text = "EtherRewrite(00:00:00:00:00:01, 00:00:00:00:00:02)", .writes = {addresses}};
      case 6:
        return {.text = "AverageCounter"};
      case 7:
        return {.text = "Counter"};
      case 8:
        return {.text = format("Paint(%u)", below(256)), .column_writes = kPaint};
      case 9:
        if (const int n = 1 + static_cast<int>(below(14)); stripped + n <= kMaxStripped)
          return {.text = format("Strip(%d)", n), .head = n};
        return {.text = "Null"};
      case 10:
        if (stripped > 0) {
          const int n = 1 + static_cast<int>(below(static_cast<unsigned>(stripped)));
          return {.text = format("Unstrip(%d)", n), .head = -n};
        }
        return {.text = "Null"};
      case 11:
        return {.text = format("GetIPAddress(%d)", at), .reads = {{at, at + 4}}, .column_writes = kDst};
      case 12:
      case 13:
        return look_up();
      case 14:
        return {.text = "SetCRC32", .reads = {whole}, .writes = {whole}, .tail = 4, .function = true};
      case 15:
        if (has_crc || (options_.drops && below(3) == 0))
          return {.text = "CheckCRC32", .reads = {whole}, .writes = {whole}, .tail = -4, .function = true};
        return {.text = "AverageCounter"};
      default:
        return {.text = format("StoreData(%d, \"abcd\")", at), .reads = {{at, at + 4}}, .writes = {{at, at + 4}}};
    }
  }

  Step look_up() {
    const char* const classes[] = {"DirectIPLookup", "RadixIPLookup", "LinearIPLookup"};
    Step step{.text = "", .column_reads = kDst, .column_writes = kDst, .function = true};
    step.outputs = options_.forks ? 1 + static_cast<int>(below(2)) : 1;
    std::string routes = step.outputs == 2 ? "0.0.0.0/1 0, 128.0.0.0/1 192.0.2.1 1" : "0.0.0.0/0 0";
    if (step.outputs == 1 && options_.drops && below(2) == 0) routes = "0.0.0.0/1 0";
    step.text = format("%s(%s%s)", classes[below(3)], routes.c_str(), below(4) == 0 ? ", DEVICE cpu" : "");
    return step;
  }

  std::mt19937& random_;
  const ChainOptions& options_;
  std::vector<Step>& steps_;
};

}  // namespace

RandomChain::RandomChain(std::mt19937& random, const ChainOptions& options) {
  Maker(random, options, steps).branch(-1, 0, 0, false);
}

std::string RandomChain::text() const {
  std::string text = "source :: TestSource(SETS \"dst paint\");\n";
  for (const Step& step : steps) {
    const std::string from = step.parent < 0
                                 ? "source"
                                 : format("%s[%d]", steps[static_cast<size_t>(step.parent)].name.c_str(), step.output);
    text += from + " -> " + step.name + " :: " + step.text + ";\n";
  }
  return text;
}

std::vector<std::vector<int>> RandomChain::paths() const {
  std::vector<std::vector<int>> list;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (!steps[i].is_sink()) continue;
    std::vector<int> path;
    for (int at = static_cast<int>(i); at >= 0; at = steps[static_cast<size_t>(at)].parent) path.push_back(at);
    std::reverse(path.begin(), path.end());
    list.push_back(std::move(path));
  }
  return list;
}

}  // namespace heddle::test
