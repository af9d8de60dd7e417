#include "elements/basic/strip.h"

#include "click/arguments.h"

namespace heddle {

void Strip::configure(click::Arguments& arguments) { arguments.required("LENGTH", bytes_, 0, 16384); }

HEDDLE_ELEMENT(Strip);

}  // namespace heddle
