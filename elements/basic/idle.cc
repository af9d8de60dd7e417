#include "elements/basic/idle.h"

namespace heddle {

HEDDLE_ELEMENT(Idle);

}  // namespace heddle
