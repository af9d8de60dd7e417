#include "elements/ip/ip_classifier.h"

#include "click/arguments.h"
#include "core/error.h"

namespace heddle {

void IPClassifier::configure(click::Arguments& arguments) {
  const std::vector<click::Argument> patterns = arguments.rest();
  compile(arguments, patterns, false);
  ports_ = format("1/%zu", patterns.size());
}

HEDDLE_ELEMENT(IPClassifier);

}  // namespace heddle
