#include "elements/basic/paint.h"

#include "click/arguments.h"
#include "core/error.h"
#include "elements/basic/paint_annotation.h"

namespace heddle {

void Paint::configure(click::Arguments& arguments) {
  int color = 0;
  PaintAnnotation anno;
  arguments.required("COLOR", color, 0, 255).optional("ANNO", anno);
  color_ = color;
}

void Paint::handlers(Handlers& list) {
  list.read("color", [this] { return std::to_string(color_.load()); }).write("color", [this](const std::string& value) {
    if (on_gpu) throw Error("it runs on a GPU, where the color stays; give the function beside it DEVICE cpu");
    color_ = click::value_of<int>(value, 0, 255);
  });
}

HEDDLE_ELEMENT(Paint);

}  // namespace heddle
