#include "elements/basic/cpu_paint.h"

#include <algorithm>

#include "click/arguments.h"
#include "elements/basic/paint_annotation.h"

namespace heddle {

void CPUPaint::configure(click::Arguments& arguments) {
  PaintAnnotation anno;
  arguments.optional("ANNO", anno);
}

void CPUPaint::run_cpu(Batch& batch) {
  std::fill_n(batch.column(Column::paint), batch.size(), static_cast<uint32_t>(batch.thread));
}

HEDDLE_ELEMENT(CPUPaint);

}  // namespace heddle
