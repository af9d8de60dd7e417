#include "elements/basic/clipboard.h"

#include <algorithm>
#include <cstring>

#include "click/arguments.h"

namespace heddle {

void Clipboard::configure(click::Arguments& arguments) {
  const std::vector<click::Argument> given = arguments.rest();
  if (given.empty()) arguments.error("expected OFFSET/LENGTH");
  for (const auto& argument : given) {
    const std::string_view text = argument.text;
    const size_t slash = text.find('/');
    uint32_t offset = 0, bytes = 0;
    if (slash != text.npos && click::parse(click::trim(text.substr(0, slash)), offset, 0u, 16384u) &&
        click::parse(click::trim(text.substr(slash + 1)), bytes, 1u, 4096u))
      pieces_.push_back({offset, std::string(bytes, '\0')});
    else
      arguments.error(argument, "OFFSET/LENGTH, integers from 0 to 16384 and from 1 to 4096");
  }
}

Access Clipboard::access(Processor) const {
  Access access{.column_reads = columns(Column::input)};
  for (const Piece& piece : pieces_) {
    const auto begin = static_cast<int>(piece.offset);
    const Interval place{Base::head, begin, begin + static_cast<int>(piece.bytes.size())};
    access.reads.push_back(place), access.writes.push_back(place);
  }
  return access;
}

std::span<const char* const> Clipboard::drop_reasons() const {
  static constexpr const char* kReasons[] = {"not_connected"};
  return kReasons;
}

void Clipboard::run_cpu(Batch& batch) {
  const uint32_t* input = batch.column(Column::input);
  while (taken_.test_and_set(std::memory_order_acquire)) __builtin_ia32_pause();
  for (int i = 0; i < batch.size(); ++i) {
    const uint32_t length = batch.length(i);
    for (Piece& piece : pieces_) {
      const auto bytes = static_cast<uint32_t>(piece.bytes.size());
      const uint32_t there = std::min(length - std::min(length, piece.offset), bytes);
      uint8_t* const at = batch.frame(i) + piece.offset;
      if (input[i] != 0) {
        std::memcpy(at, piece.bytes.data(), std::min(there, piece.remembered));
      } else {
        std::memcpy(piece.bytes.data(), at, there);
        piece.remembered = std::max(piece.remembered, there);
      }
    }
    if (input[i] < static_cast<uint32_t>(outputs))
      batch.next()[i] = static_cast<uint16_t>(input[i]);
    else
      batch.drop(i, 0);
  }
  taken_.clear(std::memory_order_release);
}

HEDDLE_ELEMENT(Clipboard);

}  // namespace heddle
