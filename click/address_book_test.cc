#include "click/address_book.h"

#include <gtest/gtest.h>

#include "click/arguments.h"
#include "click/parse_for_test.h"

namespace heddle::click {
namespace {

class AddressBookTest : public testing::Test {
 protected:
  /** What the first argument of the element called `user` means. */
  template <class T>
  T read(const std::string& text, T otherwise = {}) {
    ParseOptions options = options_for_test();
    options.known_classes.push_back("AddressInfo");
    options.known_classes.push_back("PortInfo");
    diagnostics_ = {};
    const Graph graph = parse(text, "t", options, diagnostics_);
    EXPECT_TRUE(diagnostics_.ok()) << diagnostics_.text();
    const AddressBook book(graph);
    for (const ElementDeclaration& element : graph.elements)
      if (element.name.ends_with("user")) Arguments(element, diagnostics_, &book).required("V", otherwise).finish();
    return otherwise;
  }

  Diagnostics diagnostics_;
};

TEST_F(AddressBookTest, TheArgumentSaysWhatKindIsMeant) {
  const std::string info = "AddressInfo(mauer 10.0.0.1 00:50:BA:85:84:A9 18.26.4/24, mazu 10.0.0.10); ";
  EXPECT_EQ(read<Ipv4Address>(info + "user :: A(mauer)").value, 0x0a000001u);
  EXPECT_EQ(read<Ipv4Address>(info + "user :: A(mazu)").value, 0x0a00000au);
  EXPECT_EQ(to_text(read<EthernetAddress>(info + "user :: A(mauer)")), "00-50-BA-85-84-A9");
  EXPECT_EQ(to_text(read<Ipv4Prefix>(info + "user :: A(V mauer)")), "18.26.4.0/24");
  EXPECT_EQ(read<std::vector<Ipv4Address>>(info + "user :: A(mazu 1.2.3.4 mauer:ip)"),
            (std::vector<Ipv4Address>{{0x0a00000a}, {0x01020304}, {0x0a000001}}));
  EXPECT_EQ(diagnostics_.text(), "");
}

TEST_F(AddressBookTest, ASuffixSaysIt) {
  const std::string info = "AddressInfo(net 10.1.2.3/16 1:2:3:4:5:6); ";
  for (const std::string suffix : {"", ":ip", ":ip4", ":IP"})
    EXPECT_EQ(to_text(read<Ipv4Address>(info + "user :: A(net" + suffix + ")")), "10.1.2.3") << suffix;
  for (const std::string suffix : {"", ":net", ":ipnet", ":ip4net"})
    EXPECT_EQ(to_text(read<Ipv4Prefix>(info + "user :: A(net" + suffix + ")")), "10.1.0.0/16") << suffix;
  for (const std::string suffix : {"", ":eth", ":ethernet"})
    EXPECT_EQ(to_text(read<EthernetAddress>(info + "user :: A(net" + suffix + ")")), "01-02-03-04-05-06") << suffix;
  EXPECT_EQ(to_text(read<Ipv4Address>(info + "user :: A(net:bcast)")), "10.1.255.255");
  EXPECT_EQ(to_text(read<Ipv4Address>(info + "user :: A(net:gw)")), "10.1.0.1");
  EXPECT_EQ(to_text(read<Ipv4Address>("AddressInfo(all 0.0.0.0/0, one 1.2.3.4/32); user :: A(all:bcast)")),
            "255.255.255.255");
  EXPECT_EQ(to_text(read<Ipv4Address>("AddressInfo(one 1.2.3.4/32); user :: A(one:bcast)")), "1.2.3.4");
  EXPECT_EQ(diagnostics_.text(), "");
  for (const std::string suffix : {":eth", ":ipnet", ":", ":foo", "x"})
    EXPECT_EQ(read<Ipv4Address>(info + "user :: A(net" + suffix + ")", {7}).value, 7u) << suffix;
  EXPECT_EQ(diagnostics_.text(), "t:1:53: A 'user': V: 'netx' is not an IPv4 address such as 10.0.0.1\n");
}

TEST_F(AddressBookTest, NamesAreLocalToCompoundElements) {
  // The example of Click's AddressInfo.
  const std::string text = "AddressInfo(mauer 10.0.0.1); c :: { AddressInfo(mazu 10.0.0.10); ";
  EXPECT_EQ(read<Ipv4Address>(text + "user :: A(mazu) }").value, 0x0a00000au);
  EXPECT_EQ(read<Ipv4Address>(text + "user :: A(mauer) }").value, 0x0a000001u);
  EXPECT_EQ(read<Ipv4Address>(text + "d :: { user :: A(mazu) } }").value, 0x0a00000au);
  EXPECT_EQ(diagnostics_.text(), "");
  EXPECT_EQ(read<Ipv4Address>(text + "}; user :: A(mazu)", {7}).value, 7u);
  EXPECT_EQ(diagnostics_.text(), "t:1:79: A 'user': V: 'mazu' is not an IPv4 address such as 10.0.0.1\n");
  EXPECT_EQ(read<Ipv4Address>("AddressInfo(x 1.1.1.1); c :: { AddressInfo(x 2.2.2.2); user :: A(x) }").value,
            0x02020202u);
  // An inner name without an address of the kind does not hide an outer one that has it.
  EXPECT_EQ(read<Ipv4Address>("AddressInfo(x 1.1.1.1); c :: { AddressInfo(x 0:0:0:0:0:1); user :: A(x) }").value,
            0x01010101u);
}

TEST_F(AddressBookTest, TheLastAddressCountsAndOrderDoesNot) {
  EXPECT_EQ(read<Ipv4Address>("user :: A(X); AddressInfo(X 1.1.1.1, X 2.2.2.2); AddressInfo(X 1:1:1:1:1:1)").value,
            0x02020202u);
}

TEST_F(AddressBookTest, AddressesAreNoNames) {
  EXPECT_EQ(read<Ipv4Address>("AddressInfo(1.2.3.4 5.6.7.8); user :: A(1.2.3.4)").value, 0x01020304u);
}

TEST_F(AddressBookTest, PortsHaveNames) {
  const std::string info = "PortInfo(web 8080/tcp, web 8081/udp, dns 5353/udp, , ssh 2222 shell-of-old # comment); ";
  const auto port = [&](const std::string& name, Port::Protocol protocol) {
    return read<Port>(info + "c :: { PortInfo(inner 7); user :: A(" + name + ") }", {protocol, 1}).number;
  };
  EXPECT_EQ(port("web", Port::kTcp), 8080);
  EXPECT_EQ(port("V web", Port::kUdp), 8081);
  EXPECT_EQ(port("ssh", Port::kTcpOrUdp), 2222);
  EXPECT_EQ(port("shell-of-old", Port::kUdp), 2222);
  EXPECT_EQ(port("inner", Port::kUdp), 7);
  EXPECT_EQ(port("dns", Port::kUdp), 5353);
  EXPECT_EQ(port("dns", Port::kTcpOrUdp), 5353);
  EXPECT_EQ(port("dns", Port::kTcp), 53);  // a well-known service
  EXPECT_EQ(port("443", Port::kTcp), 443);
  EXPECT_EQ(diagnostics_.text(), "");
  for (const std::string name : {"web", "nobody", "65536", "#"}) EXPECT_EQ(port(name, Port::kTcpOrUdp), 1) << name;
  EXPECT_EQ(read<Port>(info + "c :: { PortInfo(inner 7) }; user :: A(inner)", {Port::kUdp, 1}).number, 1);
  EXPECT_EQ(diagnostics_.text(),
            "t:1:126: A 'user': V: 'inner' is not a UDP port from 0 to 65535, or a name of one such as domain\n");
}

TEST(AddressBookAddTest, SaysWhatIsWrongWithPorts) {
  AddressBook book;
  EXPECT_EQ(book.add_port("PortInfo@1", "http 80/tcp www # World Wide Web"), "");
  EXPECT_EQ(book.add_port("PortInfo@1", "# nothing"), "");
  EXPECT_EQ(book.add_port("PortInfo@1", "http # 80"),
            "'http' is not a name and its port, such as 'http 80' or 'dns 53/udp'");
  for (const std::string port : {"65536", "80/sctp", "80/", "/tcp", "x"})
    EXPECT_EQ(book.add_port("PortInfo@1", "x " + port),
              "'x': '" + port + "' is not a port such as 80, 80/tcp or 53/udp");
}

TEST(AddressBookAddTest, SaysWhatIsWrong) {
  AddressBook book;
  EXPECT_EQ(book.add("AddressInfo@1", ""), "");
  EXPECT_EQ(book.add("AddressInfo@1", "x 1.2.3.4"), "");
  EXPECT_EQ(book.add("AddressInfo@1", "x"), "'x' is not a name and its addresses, such as 'host 10.0.0.1'");
  EXPECT_EQ(book.add("AddressInfo@1", "x 1.2.3.4 1.2.3"),
            "'x': '1.2.3' is not an IPv4 address, an IPv4 prefix or an Ethernet address");
}

}  // namespace
}  // namespace heddle::click
