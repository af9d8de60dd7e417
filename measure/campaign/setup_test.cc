#include "measure/campaign/setup.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "measure/campaign/sweep.h"

namespace heddle::bench {
namespace {

using Strings = std::vector<std::string>;

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(SetupTest, Rates) {
  EXPECT_EQ(rate_of("2M"), 2e6);
  EXPECT_EQ(rate_of("1.5Mpps"), 1.5e6);
  EXPECT_EQ(rate_of("800k"), 8e5);
  EXPECT_EQ(rate_of("64"), 64);
  EXPECT_EQ(rate_of("1e6"), 1e6);
  EXPECT_EQ(rate_of("0.001"), 0.001);
  EXPECT_EQ(rate_of("1000M"), 1e9);
  for (const char* wrong : {"", "M", "0", "-1", "2Gbps", "2 M", "nan", "inf", "1e300", "0.0000001", "900000G", "2G"})
    EXPECT_THROW(rate_of(wrong), Error) << wrong;
}

TEST(SetupTest, Shares) {
  EXPECT_EQ(share_of("0"), 0);
  EXPECT_EQ(share_of("0.001"), 0.001);
  EXPECT_DOUBLE_EQ(share_of("0.1%"), 0.001);
  for (const char* wrong : {"", "%", "1", "100%", "-0.1", "0.1 %", "nan"})
    EXPECT_THROW(share_of(wrong), Error) << wrong;
}

TEST(SetupTest, ParametersAreReadAndRecorded) {
  bench::Setup setup;
  set_parameter(setup, "size", "imix");
  set_parameter(setup, "cores", "4");
  set_parameter(setup, "trial", "500ms");
  set_parameter(setup, "rate", "3M");
  set_parameter(setup, "ROUTES", "500000");
  set_parameter(setup, "NAME", "0064");
  set_parameter(setup, "$size", "7");
  set_parameter(setup, "$loss", "8");
  EXPECT_EQ(setup.trial_s, 0.5);
  auto latency = describe(setup, kLatency), zero_loss = describe(setup, kZeroLoss);
  EXPECT_EQ(latency["size"], "imix");
  EXPECT_EQ(latency["cores"], 4);
  EXPECT_EQ(latency["rate"], 3e6);
  EXPECT_EQ(latency["ROUTES"], 500000);
  EXPECT_EQ(latency["NAME"], "0064");
  EXPECT_EQ(latency["$size"], 7);  // the chain's own
  EXPECT_FALSE(latency.contains("loss"));
  EXPECT_EQ(latency["$loss"], 8);  // under one name whatever is measured
  EXPECT_FALSE(zero_loss.contains("rate"));
  EXPECT_EQ(zero_loss["resolution"], 0.01);
}

TEST(SetupTest, WhatIsWrongIsNamed) {
  bench::Setup setup;
  const auto error = [&](const char* name, const char* value) {
    return error_of([&] { set_parameter(setup, name, value); });
  };
  EXPECT_EQ(error("cores", "0"), "cores: '0' is not an integer from 1 to 128");
  EXPECT_EQ(error("size", "63"), "size: '63' is not an integer from 64 to 9216");
  EXPECT_EQ(error("device", "tpu"), "device: 'tpu' is not cpu, gpu, gpu0, gpu1, ..., auto, auto:gpu1, ... or simt");
  EXPECT_EQ(error("launch", "now"), "launch: 'now' is not sync, async, graph or persistent");
  EXPECT_EQ(error("protocol", "TCP"), "protocol: 'TCP' is not udp or tcp");
  EXPECT_EQ(error("trial", "long").substr(0, 21), "trial: 'long' is not ");
  EXPECT_EQ(error("loss", "2"), "loss: '2' is not a share such as 0, 0.001 or 0.1%");
  // What is written by default is what the parameters say of themselves.
  for (auto& parameter : parameters()) {
    const auto value = parameter.get(setup);
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    if (std::string(parameter.name) != "rate") parameter.set(setup, text);
    EXPECT_EQ(parameter.get(setup), value) << parameter.name;
  }
}

TEST(SweepTest, Axes) {
  EXPECT_EQ(parse_axis("size=64,128").values, (Strings{"64", "128"}));
  EXPECT_EQ(parse_axis("cores=1..4").values, (Strings{"1", "2", "3", "4"}));
  EXPECT_EQ(parse_axis("size=64..1024*2").values, (Strings{"64", "128", "256", "512", "1024"}));
  EXPECT_EQ(parse_axis("size=64..200+64,1500").values, (Strings{"64", "128", "192", "1500"}));
  EXPECT_EQ(parse_axis("FILE=../a,b..c").values, (Strings{"../a", "b..c"}));
  for (const char* wrong : {"", "size", "=1", "size=", "size=1,,2", "size=1,", "cores=4..1", "cores=1..8*1",
                            "cores=0..8*2", "cores=1..8+0", "cores=1..8*x", "size=64,64", "N=1..10000000"})
    EXPECT_THROW(parse_axis(wrong), Error) << wrong;
  for (const char* twice : {"X=1,01", "X=1..3,2", "cores=1,01", "rate=1M,1000k", "X=10,1e1"})
    EXPECT_NE(error_of([&] { parse_axis(twice); }).find("occurs twice"), std::string::npos) << twice;
  EXPECT_EQ(parse_axis("$PORT=a").name, "PORT");
  EXPECT_EQ(parse_axis("$size=1").name, "$size");  // not the parameter
}

TEST(SweepTest, RangesDoNotOverflow) {
  EXPECT_EQ(parse_axis("N=1..9223372036854775807*2").values.size(), 63u);
  EXPECT_EQ(parse_axis("N=9223372036854775800..9223372036854775807+5").values,
            (Strings{"9223372036854775800", "9223372036854775805"}));
  EXPECT_EQ(parse_axis("N=-3..-1").values, (Strings{"-3", "-2", "-1"}));
  for (const char* wrong : {"N=-9223372036854775807..9223372036854775807",
                            "N=-9000000000000000000..9000000000000000000", "N=-5..100000", "N=-5..8*2"})
    EXPECT_THROW(parse_axis(wrong), Error) << wrong;
}

std::vector<Strings> places(const std::vector<Group>& groups) {
  std::vector<Strings> all;
  for (auto& group : groups) {
    all.emplace_back();
    for (auto& point : group) {
      std::string text = point.measure;
      for (auto& [name, value] : point.at) text += " " + value;
      all.back().push_back(text);
    }
  }
  return all;
}

TEST(SweepTest, AllCombinations) {
  const std::vector<Axis> axes{parse_axis("size=64,128"), parse_axis("device=cpu,gpu")};
  EXPECT_EQ(places(expand({}, {"a", "b"}, axes)), (std::vector<Strings>{{"a 64 cpu"},
                                                                        {"a 64 gpu"},
                                                                        {"a 128 cpu"},
                                                                        {"a 128 gpu"},
                                                                        {"b 64 cpu"},
                                                                        {"b 64 gpu"},
                                                                        {"b 128 cpu"},
                                                                        {"b 128 gpu"}}));
  EXPECT_EQ(places(expand({}, {"a"}, axes, 0)),
            (std::vector<Strings>{{"a 64 cpu", "a 128 cpu"}, {"a 64 gpu", "a 128 gpu"}}));
  EXPECT_EQ(places(expand({}, {"a"}, axes, 1)),
            (std::vector<Strings>{{"a 64 cpu", "a 64 gpu"}, {"a 128 cpu", "a 128 gpu"}}));
  EXPECT_EQ(places(expand({}, {"a"}, {})), (std::vector<Strings>{{"a"}}));
  // A rate means nothing to throughput, which is measured once.
  const std::vector<Axis> with_rate{parse_axis("size=64,128"), parse_axis("rate=1k,2k")};
  EXPECT_EQ(places(expand({}, {kThroughput, kLatency}, with_rate, 1)),
            (std::vector<Strings>{{"throughput 64"},
                                  {"throughput 128"},
                                  {"latency 64 1k", "latency 64 2k"},
                                  {"latency 128 1k", "latency 128 2k"}}));
  const auto groups = expand({}, {"a"}, axes);
  EXPECT_EQ(groups[1][0].setup.device, "gpu");
  EXPECT_EQ(groups[2][0].setup.size, "128");
  EXPECT_THROW(expand({}, {"a"}, {parse_axis("cores=0..2")}), Error);
}

TEST(SetupTest, GeneratorCores) {
  bench::Setup setup;
  setup.cores = 4;
  EXPECT_EQ(generator_cores(setup, 64), 12);
  EXPECT_EQ(generator_cores(setup, 16), 12);
  EXPECT_EQ(generator_cores(setup, 13), 9);
  EXPECT_EQ(generator_cores(setup, 12), 8);
  EXPECT_EQ(generator_cores(setup, 11), 4);  // each sends and receives: more than packet threads do not help
  EXPECT_EQ(generator_cores(setup, 6), 2);
  EXPECT_EQ(generator_cores(setup, 2), 1);
  setup.generators = 3;
  EXPECT_EQ(generator_cores(setup, 2), 3);
  setup.cores = 12, setup.generators = 0;
  EXPECT_EQ(generator_cores(setup, 64), 28);  // a port has 16 queues to send to
  setup.elsewhere = true;
  EXPECT_EQ(generator_cores(setup, 64), 2);
  EXPECT_EQ(generator_cores(setup, 2), 1);  // one is left to the router
  EXPECT_EQ(generator_cores(setup, 1), 1);
  EXPECT_EQ(receiving_cores(7, 4), 0);
  EXPECT_EQ(receiving_cores(8, 4), 4);
  EXPECT_EQ(receiving_cores(12, 4), 4);
}

}  // namespace
}  // namespace heddle::bench
