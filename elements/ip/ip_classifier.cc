#include "elements/ip/ip_classifier.h"

#include "click/arguments.h"
#include "core/error.h"

namespace heddle {

void IPClassifier::configure(click::Arguments& arguments) {
  const std::vector<click::Argument> patterns = arguments.rest();
  for (auto& pattern : patterns) patterns_.push_back(pattern.text);
  compile(arguments, patterns, false);
  ports_ = format("1/%zu", patterns.size());
}

void IPClassifier::handlers(Handlers& list) {
  IPFilter::handlers(list);
  for (size_t i = 0; i < patterns_.size(); ++i) list.read(format("pattern%zu", i), [this, i] { return patterns_[i]; });
}

HEDDLE_ELEMENT(IPClassifier);

}  // namespace heddle
