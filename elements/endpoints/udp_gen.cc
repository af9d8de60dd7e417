#include "elements/endpoints/udp_gen.h"

namespace heddle {

HEDDLE_COMPOUND(UDPGen);

}  // namespace heddle
