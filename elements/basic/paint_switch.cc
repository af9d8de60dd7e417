#include "elements/basic/paint_switch.h"

#include "click/arguments.h"
#include "elements/basic/paint_annotation.h"

namespace heddle {

void PaintSwitch::configure(click::Arguments& arguments) {
  PaintAnnotation anno;
  arguments.optional("ANNO", anno);
}

std::span<const char* const> PaintSwitch::drop_reasons() const {
  static constexpr const char* kReasons[] = {"no_output"};
  return kReasons;
}

void PaintSwitch::run_cpu(Batch& batch) {
  const uint32_t* paint = batch.column(Column::paint);
  const auto n = static_cast<uint32_t>(outputs);
  for (int i = 0; i < batch.size(); ++i) batch.next()[i] = paint[i] < n ? static_cast<uint16_t>(paint[i]) : kDrop;
}

HEDDLE_ELEMENT(PaintSwitch);

}  // namespace heddle
