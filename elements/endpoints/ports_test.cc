// The handlers of ports, and that their counters agree with the port's own.

#include "tests/support/harness.h"

namespace heddle::test {
namespace {

/** Runs a chain of which the harness' own source and sink are no part, and calls `look` meanwhile. */
void run_ports(const std::string& chain, const std::function<void(Broker&)>& look) {
  run(chain + " TestSource -> Discard;", backends()[0], {},
      {.endless = true, .meanwhile = [&](Engine& engine) { look(engine.handlers()); }});
}
uint64_t number(Control& control, const std::string& handler) { return std::stoull(control.read(handler)); }

TEST(Ports, CountersAgreeWithThePortsOwn) {
  run_ports(
      "InfiniteSource(LENGTH 80, LIMIT 5000, BURST 32) -> to :: ToDPDKDevice(net_ring0);"
      "from :: FromDPDKDevice(net_ring0) -> Discard;",
      [](Broker& control) {
        wait_while([&] { return number(control, "from.count") < 5000; });
        for (const char* element : {"from", "to"}) {
          const std::string name = element;
          EXPECT_EQ(control.read(name + ".count"), "5000");
          EXPECT_EQ(control.read(name + ".byte_count"), "400000");
          EXPECT_EQ(control.read(name + ".hw_count"), "5000");
          EXPECT_EQ(control.read(name + ".hw_errors"), "0");
          EXPECT_EQ(control.read(name + ".device"), "net_ring0");
        }
        EXPECT_EQ(control.read("from.hw_dropped"), "0");
        EXPECT_EQ(control.read("to.dropped"), "0");
        EXPECT_EQ(control.read("from.link_status"), "up");
        EXPECT_EQ(control.read("from.carrier"), "1");
        EXPECT_EQ(control.read("from.nb_rx_queues"), "1");
        EXPECT_EQ(control.read("from.xstats", "rx_good_packets"), "5000");
        EXPECT_NE(control.read("from.xstats").find("rx_good_packets 5000\n"), std::string::npos);
        EXPECT_THROW(control.read("from.xstats", "nonsense"), Error);
        EXPECT_EQ(control.read("from.mac").size(), 17u);
        control.write("from.reset_counts", "");
        EXPECT_EQ(control.read("from.count"), "0");
      });
}

TEST(Ports, ActiveStopsReceiving) {
  run_ports(
      "from :: FromDPDKDevice(net_null0, ACTIVE false) -> Discard; InfiniteSource -> others :: Counter -> Discard;",
      [](Broker& control) {
        EXPECT_EQ(control.read("from.active"), "false");
        wait_for_more(control, "others.count");
        EXPECT_EQ(control.read("from.count"), "0");
        control.write("from.active", "true");
        wait_while([&] { return number(control, "from.count") == 0; });
        EXPECT_THROW(control.write("from.active", "perhaps"), Error);
      });
}

TEST(Ports, MoreQueuesThanThreads) {
  run_ports(
      "from :: FromDPDKDevice(net_null0, N_QUEUES 3) -> Discard; one :: FromDPDKDevice(net_null1, QUEUE 1) -> Discard;",
      [](Broker& control) {
        EXPECT_EQ(control.read("from.nb_rx_queues"), "3");
        EXPECT_EQ(control.read("one.nb_rx_queues"), "2");
        wait_while([&] { return number(control, "one.count") == 0; });
      });
}

}  // namespace
}  // namespace heddle::test
