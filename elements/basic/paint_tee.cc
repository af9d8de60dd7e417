#include "elements/basic/paint_tee.h"

#include <algorithm>
#include <numeric>

#include "click/arguments.h"
#include "elements/basic/paint_annotation.h"

namespace heddle {
namespace {

uint32_t read_color(click::Arguments& arguments) {
  uint32_t color = 0;
  PaintAnnotation anno;
  arguments.required("COLOR", color, 0u, 255u).optional("ANNO", anno);
  return color;
}

void add_handlers(Handlers& list, std::atomic<uint32_t>& color) {
  list.read("color", [&color] { return std::to_string(color.load()); })
      .write("color", [&color](const std::string& text) { color = click::value_of<uint32_t>(text, 0u, 255u); });
}

}  // namespace

void PaintTee::configure(click::Arguments& arguments) { color_ = read_color(arguments); }
void PaintTee::handlers(Handlers& list) { add_handlers(list, color_); }
void CheckPaint::configure(click::Arguments& arguments) { color_ = read_color(arguments); }
void CheckPaint::handlers(Handlers& list) { add_handlers(list, color_); }

int PaintTee::copies_to(Batch& batch, int output, uint16_t* which) {
  const int n = batch.size();
  if (output == 0) {
    std::iota(which, which + n, uint16_t{0});
    return n;
  }
  const uint32_t* paint = batch.column(Column::paint);
  const uint32_t color = color_.load(std::memory_order_relaxed);
  if (std::count(paint, paint + n, color) == 0) return 0;  // as nearly always
  int count = 0;
  for (int i = 0; i < n; ++i) {
    which[count] = static_cast<uint16_t>(i);
    count += paint[i] == color ? 1 : 0;
  }
  return count;
}

std::span<const char* const> CheckPaint::drop_reasons() const {
  static constexpr const char* kReasons[] = {"other_paint"};
  return kReasons;
}

void CheckPaint::run_cpu(Batch& batch) {
  const uint32_t* paint = batch.column(Column::paint);
  const uint32_t color = color_.load(std::memory_order_relaxed);
  const uint16_t elsewhere = outputs > 1 ? 1 : kDrop;
  for (int i = 0; i < batch.size(); ++i)
    if (paint[i] != color) batch.next()[i] = elsewhere;
}

HEDDLE_ELEMENT(PaintTee);
HEDDLE_ELEMENT(CheckPaint);

}  // namespace heddle
