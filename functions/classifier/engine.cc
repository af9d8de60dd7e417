#include "functions/classifier/engine.h"

#include "functions/classifier/acl_engine.h"
#include "functions/classifier/image_engine.h"
#include "functions/classifier/tuple_engine.h"

namespace heddle::classifier {
std::string_view name_of(EngineKind kind) {
  constexpr std::string_view kNames[] = {"bitvector", "acl", "tuple", "hypersplit"};
  return kNames[static_cast<int>(kind)];
}

std::unique_ptr<RuleEngine> make_engine(EngineKind kind, const RuleEngine::Limits& limits) {
  switch (kind) {
    case EngineKind::acl:
      return std::make_unique<AclEngine>(limits);
    case EngineKind::tuple:
      return std::make_unique<TupleEngine>(limits);
    case EngineKind::bitvector:
    case EngineKind::hypersplit:
      break;
  }
  return std::make_unique<ImageEngine>(kind, limits);
}

}  // namespace heddle::classifier
