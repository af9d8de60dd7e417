#include "functions/ip_lookup/gpu_forms.h"

namespace heddle {

HEDDLE_COMPOUND(GPUIPLookup);
HEDDLE_COMPOUND(GPUIPLookupWithCopy);

}  // namespace heddle
