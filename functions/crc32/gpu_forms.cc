#include "functions/crc32/gpu_forms.h"

namespace heddle {

HEDDLE_COMPOUND(GPUSetCRC32CommList);
HEDDLE_COMPOUND(GPUSetCRC32Coalescent);

}  // namespace heddle
