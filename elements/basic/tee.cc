#include "elements/basic/tee.h"

#include "click/arguments.h"
#include "core/error.h"

namespace heddle {

void Tee::configure(click::Arguments& arguments) {
  int n = outputs;
  arguments.optional("N", n, 1, 256);
  if (n != outputs) arguments.error("N", format("the number of connected outputs, %d", outputs));
}

HEDDLE_ELEMENT(Tee);
HEDDLE_ELEMENT(PullTee);

}  // namespace heddle
