#include "elements/basic/null.h"

namespace heddle {

HEDDLE_ELEMENT(Null);

}  // namespace heddle
