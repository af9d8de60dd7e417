#include "elements/basic/address_info.h"

#include <gtest/gtest.h>

#include "click/arguments.h"
#include "click/parser.h"

namespace heddle {
namespace {

/** The mistakes that the first element of a configuration, an AddressInfo, finds in its arguments. */
std::string mistakes(const std::string& text) {
  click::Diagnostics diagnostics;
  const click::Graph graph = click::parse(text, "t", {{"AddressInfo"}, {}}, diagnostics);
  if (!diagnostics.ok()) return diagnostics.text();
  click::Arguments arguments(graph.elements[0], diagnostics);
  AddressInfo element;
  element.name = graph.elements[0].name;
  element.configure(arguments);
  arguments.finish();
  return diagnostics.text();
}

TEST(AddressInfoTest, TakesNamesWithTheirAddresses) {
  EXPECT_EQ(mistakes("AddressInfo(mauer 10.0.0.1 00:50:BA:85:84:A9, NET 10/8, , host 18.26.4.15/24)"), "");
  EXPECT_EQ(mistakes("AddressInfo"), "");
  EXPECT_STREQ(AddressInfo().ports(), "0/0");
}

TEST(AddressInfoTest, ReportsEveryMistakeAtItsPlace) {
  EXPECT_EQ(
      mistakes("i :: AddressInfo(mauer,\n mazu 10.0.0.1 10.0.0.256,\n NET x)"),
      "t:1:18: AddressInfo 'i': 'mauer' is not a name and its addresses, such as 'host 10.0.0.1'\n"
      "t:2:2: AddressInfo 'i': 'mazu': '10.0.0.256' is not an IPv4 address, an IPv4 prefix or an Ethernet address\n"
      "t:3:2: AddressInfo 'i': 'NET': 'x' is not an IPv4 address, an IPv4 prefix or an Ethernet address\n");
}

}  // namespace
}  // namespace heddle
