#include "elements/arp/arp_handler.h"

namespace heddle {

HEDDLE_COMPOUND(ARPHandler);

}  // namespace heddle
