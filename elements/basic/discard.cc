#include "elements/basic/discard.h"

namespace heddle {

HEDDLE_ELEMENT(Discard);

}  // namespace heddle
