// start() may fail at any element: those behind it are then stopped, too.

#include <gtest/gtest.h>

#include "core/element.h"

namespace heddle::test {
namespace {

TEST(EveryElement, StopsWithoutHavingStarted) {
  const auto names = Catalog::instance().names();
  ASSERT_GT(names.size(), 50u);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const std::unique_ptr<Element> element = Catalog::instance().find(name)->make();
    element->name = element->class_name = name;
    EXPECT_EQ(element->stop(), "");
    element->statistics();
    if (auto* source = dynamic_cast<Source*>(element.get())) {
      source->exhausted();
      source->release();
      source->progress();
    }
    EXPECT_EQ(element->stop(), "");  // and again
  }
}

}  // namespace
}  // namespace heddle::test
