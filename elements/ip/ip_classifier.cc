#include "elements/ip/ip_classifier.h"

#include "click/arguments.h"
#include "core/error.h"

namespace heddle {

void IPClassifier::configure(click::Arguments& arguments) { ports_ = format("1/%zu", compile(arguments, false)); }

HEDDLE_ELEMENT(IPClassifier);

}  // namespace heddle
