#include "functions/ether_mirror/gpu_forms.h"

namespace heddle {

HEDDLE_COMPOUND(GPUEtherMirrorCommList);
HEDDLE_COMPOUND(GPUEtherMirrorCoalescent);

}  // namespace heddle
