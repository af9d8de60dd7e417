#pragma once

#include "functions/crc32/rule.h"

namespace heddle::crc32 {

Tables make_tables(Variant variant, bool second_output);

}  // namespace heddle::crc32
