#include "elements/script/driver_manager.h"

namespace heddle {

HEDDLE_ELEMENT(DriverManager);

}  // namespace heddle
