#include "elements/ip/combos.h"

namespace heddle {

HEDDLE_COMPOUND(IPInputCombo);
HEDDLE_COMPOUND(IPOutputCombo);
HEDDLE_COMPOUND(CheckIPHeader2);

}  // namespace heddle
