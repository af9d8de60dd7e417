#include "elements/basic/hub.h"

#include "click/arguments.h"
#include "core/error.h"

namespace heddle {

void Hub::configure(click::Arguments& arguments) {
  if (inputs != outputs) arguments.error(format("expected as many inputs as outputs, not %d and %d", inputs, outputs));
}

int Hub::copies_to(Batch& batch, int output, uint16_t* which) {
  const uint32_t* input = batch.column(Column::input);
  int count = 0;
  for (int i = 0; i < batch.size(); ++i) {
    which[count] = static_cast<uint16_t>(i);
    count += input[i] != static_cast<uint32_t>(output) ? 1 : 0;
  }
  return count;
}

HEDDLE_ELEMENT(Hub);

}  // namespace heddle
