// Sweeps on simulated devices: what is measured when, what is kept, and what an interruption leaves.

#include "measure/campaign/campaign.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "measure/campaign/machine.h"

namespace heddle::bench {
namespace {

using Strings = std::vector<std::string>;

/** A file of its own that is gone afterwards. */
class CampaignTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    file_ = testing::TempDir() + "heddle_" + info->name() + "_" + std::to_string(getpid()) + ".jsonl";
    std::filesystem::remove(file_);
    setup_.repetitions = 3;
  }
  void TearDown() override { std::filesystem::remove(file_); }

  std::string text() const {
    std::ifstream input(file_);
    return {std::istreambuf_iterator<char>(input), {}};
  }
  void write(const std::string& text) const { std::ofstream(file_) << text; }

  // A device of which mpps is what its point says: size / 64 + repetition.
  Campaign campaign() {
    Campaign campaign;
    campaign.frame.chain = "test.click", campaign.frame.chain_hash = "00";
    campaign.frame.machine = {{"id", "m"}};
    campaign.frame.commit = "abc", campaign.frame.command = "heddle bench";
    campaign.measure = [this](const Point& point) {
      std::string place = point.measure;
      for (auto& [name, value] : point.at) place += " " + value;
      order_.push_back(place);
      if (interrupt_after_ == order_.size()) throw Interrupted{};
      const double mpps = std::stod(point.setup.size) / 64 + static_cast<double>(count_[place]++);
      return Measurement{{{"mpps", mpps, "Mpps"}}, {"a warning"}};
    };
    return campaign;
  }

  std::string file_;
  bench::Setup setup_;
  Strings order_;
  std::map<std::string, int> count_;
  size_t interrupt_after_ = 0;
};

TEST_F(CampaignTest, RecordsHoldEveryRepetition) {
  Store store("");
  Campaign run = campaign();
  run.run(expand(setup_, {kThroughput}, {parse_axis("size=64,128")}), store);
  EXPECT_EQ(order_, (Strings{"throughput 64", "throughput 64", "throughput 64", "throughput 128", "throughput 128",
                             "throughput 128"}));
  ASSERT_EQ(store.records().size(), 2u);
  const Record& record = store.records()[1];
  EXPECT_EQ(record.find("mpps")->summary.samples, (std::vector<double>{2, 3, 4}));
  EXPECT_EQ(record.find("mpps")->summary.median, 3);
  EXPECT_EQ(record.find("nothing"), nullptr);
  EXPECT_EQ(record.parameters["size"], 128);
  EXPECT_EQ(record.warnings, Strings{"a warning"});  // once
  EXPECT_EQ(record.date.size(), 20u);
}

TEST_F(CampaignTest, RecordsComeBackAsTheyWere) {
  Store store("");
  Campaign run = campaign();
  setup_.variables["FILE"] = "a\xff.txt";  // need not be UTF-8
  run.run(expand(setup_, {kThroughput}, {}), store);
  const Record& record = store.records()[0];
  const Record again = Record::parse(record.json());
  EXPECT_EQ(again.json(), record.json());
  EXPECT_EQ(record.json().find('\n'), std::string::npos);
  const auto json = nlohmann::json::parse(record.json());
  for (const char* name : {"schema", "name", "chain", "chain_hash", "measure", "parameters", "values", "machine",
                           "commit", "command", "date", "warnings"})
    EXPECT_TRUE(json.contains(name)) << name;
  for (const char* name : {"median", "low", "high", "confidence", "samples", "unit"})
    EXPECT_TRUE(json["values"]["mpps"].contains(name)) << name;
}

TEST_F(CampaignTest, GoesOnWhereItStopped) {
  const auto groups = expand(setup_, {kThroughput}, {parse_axis("size=64,128,256")});
  interrupt_after_ = 5;  // within the second point
  {
    Store store(file_);
    Campaign run = campaign();
    EXPECT_THROW(run.run(groups, store), Interrupted);
  }
  EXPECT_EQ(read_records(file_).size(), 1u);
  order_.clear(), interrupt_after_ = 0;
  {
    Store store(file_);
    Campaign run = campaign();
    int before = 0, now = 0;
    run.finished = [&](const Point&, const Record&, bool measured) { ++(measured ? now : before); };
    run.run(groups, store);
    EXPECT_EQ(before, 1);
    EXPECT_EQ(now, 2);
  }
  EXPECT_EQ(order_.size(), 6u);
  EXPECT_EQ(order_[0], "throughput 128");
  order_.clear();
  Store store(file_);
  campaign().run(groups, store);
  EXPECT_TRUE(order_.empty());
}

TEST_F(CampaignTest, WhatMakesAnotherPoint) {
  const auto groups = expand(setup_, {kThroughput}, {});
  const auto measured = [&](const std::function<void(Campaign&)>& change) {
    Store store(file_);
    Campaign run = campaign();
    change(run);
    order_.clear();
    run.run(groups, store);
    return order_.size() / 3;
  };
  EXPECT_EQ(measured([](Campaign&) {}), 1u);
  EXPECT_EQ(measured([](Campaign& run) { run.frame.command = "another", run.frame.chain = "copy.click"; }), 0u);
  EXPECT_EQ(measured([](Campaign& run) { run.frame.commit = "abd"; }), 1u);
  EXPECT_EQ(measured([](Campaign& run) { run.frame.chain_hash = "01"; }), 1u);
  EXPECT_EQ(measured([](Campaign& run) { run.frame.machine = {{"id", "n"}}; }), 1u);
  EXPECT_EQ(measured([](Campaign& run) { run.frame.name = "thesis-4.12"; }), 1u);
  EXPECT_EQ(measured([](Campaign& run) { run.frame.parameters["--packets"] = 9; }), 1u);
  EXPECT_EQ(measured([](Campaign& run) { run.compare = "size=64,128"; }),
            0u);  // a point alone is compared with nothing
  auto other = groups;
  other[0][0].input_hash = "02";
  Store store(file_);
  order_.clear();
  campaign().run(other, store);
  EXPECT_EQ(order_.size(), 3u);
  campaign().run(other, store);
  EXPECT_EQ(order_.size(), 3u);
}

TEST_F(CampaignTest, ATornLineIsMeasuredAgain) {
  const auto groups = expand(setup_, {kThroughput}, {parse_axis("size=64,128")});
  {
    Store store(file_);
    campaign().run(groups, store);
  }
  const std::string whole = text();
  const size_t first = whole.find('\n') + 1;
  for (const size_t cut : {first + 1, first + 15, first + 40, whole.size() - 2, whole.size() - 1}) {
    SCOPED_TRACE(cut);
    write(whole.substr(0, cut));
    EXPECT_EQ(read_records(file_).size(), 1u);
    order_.clear(), count_.clear();
    {
      Store store(file_);
      EXPECT_EQ(store.records().size(), 1u);
      campaign().run(groups, store);
    }
    EXPECT_EQ(order_.size(), 3u);
    EXPECT_EQ(read_records(file_).size(), 2u);  // whole lines, nothing left of the torn one
  }
}

// What a file that was growing looks like after a power cut.
TEST_F(CampaignTest, ATailOfZerosIsMeasuredAgain) {
  const auto groups = expand(setup_, {kThroughput}, {parse_axis("size=64,128")});
  {
    Store store(file_);
    campaign().run(groups, store);
  }
  const std::string whole = text();
  const size_t first = whole.find('\n') + 1;
  for (const size_t cut : {first, first + 3, first + 40}) {
    SCOPED_TRACE(cut);
    write(whole.substr(0, cut) + std::string(500, '\0'));
    EXPECT_EQ(read_records(file_).size(), 1u);
    {
      Store store(file_);
      campaign().run(groups, store);
    }
    EXPECT_EQ(read_records(file_).size(), 2u);
    EXPECT_EQ(text().find('\0'), std::string::npos);
  }
}

TEST_F(CampaignTest, BadRecordsAreNamed) {
  {
    Store store(file_);
    campaign().run(expand(setup_, {kThroughput}, {}), store);
  }
  const std::string good = text();
  const auto error = [&](const char* name, const nlohmann::ordered_json& value) -> std::string {
    auto record = nlohmann::ordered_json::parse(good);
    record[name] = value;
    write(good + record.dump() + "\n");
    try {
      read_records(file_);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  const auto named = file_ + ":2: it is not a record of heddle bench";
  EXPECT_TRUE(error("machine", 3).starts_with(named)) << error("machine", 3);
  EXPECT_TRUE(error("machine", {{"id", 3}}).starts_with(named));
  EXPECT_TRUE(error("parameters", {1}).starts_with(named));
  EXPECT_TRUE(error("values", 1).starts_with(named));
  try {
    read_records(testing::TempDir());
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("cannot be read"), std::string::npos);
  }
}

TEST_F(CampaignTest, DistributionsOfLatencies) {
  const std::string folder = file_ + ".d";
  std::filesystem::create_directories(folder);
  const auto groups = expand(setup_, {kLatency}, {parse_axis("FILE=a/b,c")});
  Campaign run = campaign();
  run.histograms = folder;
  run.measure = [&](const Point&) {
    order_.emplace_back();
    Measurement result{{{"latency_p50_us", 1.0, "us"}}, {}, Histogram{}};
    result.latency_ns->record(1000 * order_.size());
    return result;
  };
  {
    Store store(file_);
    run.run(groups, store);
  }
  const auto records = read_records(file_);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_TRUE(records[0].histogram.starts_with(folder + "/latency-FILE=a-b-")) << records[0].histogram;
  EXPECT_TRUE(records[1].histogram.ends_with(".hgrm"));
  std::ifstream file(records[0].histogram);
  const std::string shown{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(shown.find("Total count    =            3"), std::string::npos) << shown;
  EXPECT_NE(shown.find("Max     =        3.0"), std::string::npos) << shown;  // microseconds
  // One that is gone is measured again.
  std::filesystem::remove(records[0].histogram);
  {
    Store store(file_);
    run.run(groups, store);
  }
  EXPECT_EQ(order_.size(), 9u);
  EXPECT_TRUE(std::filesystem::exists(records[0].histogram));
  std::filesystem::remove_all(folder);
}

TEST_F(CampaignTest, WhatIsNoResultsFileIsNotTouched) {
  for (const char* content : {"a shopping list", "a shopping list\n", "{}\n", "{\"schema\":\"heddle-bench/2\"}\n",
                              "{\"schema\":\"heddle-bench/1\"}\n", "\n"}) {
    write(content);
    EXPECT_THROW(Store store(file_), Error) << content;
    EXPECT_EQ(text(), content);
  }
  EXPECT_THROW(Store store("/nowhere/at/all"), Error);
  EXPECT_THROW(read_records("/nowhere/at/all"), Error);
  write("");
  Store store(file_);
  EXPECT_TRUE(store.records().empty());
  EXPECT_THROW(Store second(file_), Error);  // one writer
}

TEST_F(CampaignTest, ComparedPointsTakeTurns) {
  Store store("");
  Campaign run = campaign();
  run.compare = "size=64,128";
  run.run(expand(setup_, {kThroughput}, {parse_axis("size=64,128")}, 0), store);
  EXPECT_EQ(order_, (Strings{"throughput 64", "throughput 128", "throughput 128", "throughput 64", "throughput 64",
                             "throughput 128"}));
  ASSERT_EQ(store.records().size(), 2u);
  EXPECT_EQ(store.records()[0].parameters["compare"], "size=64,128");
}

TEST_F(CampaignTest, AComparedGroupIsMeasuredTogether) {
  const auto groups = expand(setup_, {kThroughput}, {parse_axis("size=64,128")}, 0);
  Campaign run = campaign();
  run.compare = "size=64,128";
  {
    Store store(file_);
    run.run(groups, store);
  }
  const std::string whole = text();
  write(whole.substr(0, whole.find('\n') + 1));  // stopped between the two
  order_.clear();
  Store store(file_);
  run.run(groups, store);
  EXPECT_EQ(order_.size(), 6u);
}

// Repetitions stay side by side when one of them lacks a value.
TEST_F(CampaignTest, WhatARepetitionLacksIsAGap) {
  Store store(file_);
  Campaign run = campaign();
  run.compare = "size=64,128";
  run.measure = [&](const Point& point) {
    const int repetition = count_[point.setup.size]++;
    Measurement result{{{"mpps", 1.0 + repetition, "Mpps"}}, {}};
    if (point.setup.size == "64" ? repetition != 0 : repetition != 1)
      result.samples.push_back({"p99", (point.setup.size == "64" ? 1 : 2) * (1.0 + repetition), "us"});
    return result;
  };
  run.run(expand(setup_, {kThroughput}, {parse_axis("size=64,128")}, 0), store);
  EXPECT_NE(text().find("\"samples\":[null,2.0,3.0]"), std::string::npos) << text();
  const auto records = read_records(file_);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_TRUE(std::isnan(records[1].find("p99")->summary.samples[1]));
  const auto ratios = compare(records[1], records[0]);
  ASSERT_EQ(ratios.size(), 2u);
  EXPECT_EQ(ratios[1].second.measured(), 1u);  // the third repetition alone has both
  EXPECT_EQ(ratios[1].second.median, 2);
  const auto json = nlohmann::json::parse(records[1].json());
  EXPECT_EQ(json["values"]["mpps"]["confidence"], 0.75);
  EXPECT_EQ(json["values"]["p99"]["confidence"], 0.5);
}

// A machine that is twice as fast from one repetition to the next: medians say nothing, paired ratios do.
TEST_F(CampaignTest, PairedRatiosSeeThroughDrift) {
  Record slow, fast;
  for (double drift : {1.0, 2.0, 0.5, 1.5, 3.0, 0.7}) {
    if (slow.values.empty()) slow.values = {{"mpps", {{}, "Mpps"}}}, fast.values = slow.values;
    slow.values[0].second.summary.samples.push_back(drift);
    fast.values[0].second.summary.samples.push_back(1.25 * drift);
  }
  for (Record* record : {&slow, &fast})
    record->values[0].second.summary = summarise(record->values[0].second.summary.samples);
  slow.parameters = {{"device", "cpu"}, {"size", 64}};
  fast.parameters = {{"device", "gpu"}, {"size", 64}};
  slow.measure = fast.measure = kThroughput;
  const auto ratios = compare(fast, slow);
  ASSERT_EQ(ratios.size(), 1u);
  EXPECT_DOUBLE_EQ(ratios[0].second.low, 1.25);
  EXPECT_DOUBLE_EQ(ratios[0].second.high, 1.25);
  const Record record = comparison_record(fast, slow, "device");
  EXPECT_EQ(record.measure, "throughput-ratio");
  EXPECT_EQ(record.parameters["device"], "gpu/cpu");
  EXPECT_EQ(record.find("mpps")->unit, "ratio");
  const auto unpaired = unpaired_ratios(fast, slow);
  EXPECT_LT(unpaired[0].second.low, 1);  // honest about knowing less
  EXPECT_GT(unpaired[0].second.high, 2);
  slow.values[0].second.summary.samples[2] = 0;  // a ratio to nothing
  EXPECT_TRUE(compare(fast, slow).empty());
}

// ---- machines

nlohmann::ordered_json machine() {
  nlohmann::ordered_json all{
      {"cpu", "A CPU"},      {"cores", 16},   {"flags", {"avx2", "avx512f"}}, {"memory_bytes", int64_t{64} << 30},
      {"kernel", "Linux 6"}, {"gpu", "A GPU"}};
  all["id"] = machine_id(all);
  return all;
}

TEST_F(CampaignTest, MachinesAreKnownByTheirHardware) {
  const auto changed = [](const char* name, const nlohmann::ordered_json& value) {
    auto other = machine();
    other[name] = value;
    return other;
  };
  const auto here = machine();
  EXPECT_EQ(machine_id(changed("kernel", "Linux 7")), machine_id(here));
  EXPECT_EQ(machine_id(changed("memory_bytes", (int64_t{64} << 30) - 12345678)), machine_id(here));
  EXPECT_EQ(machine_id(changed("flags", {"avx512f", "avx2"})), machine_id(here));
  EXPECT_NE(machine_id(changed("cores", 2)), machine_id(here));
  EXPECT_NE(machine_id(changed("gpu", "B GPU")), machine_id(here));
  EXPECT_EQ(machine_differences(here, here), "");
  EXPECT_EQ(machine_differences(changed("cores", 2), here), "cores: 2 there, 16 here");
  EXPECT_EQ(machine_differences(changed("flags", {"avx2", "sse"}), here), "flags: sse there, avx512f here");
  auto no_gpu = here;
  no_gpu.erase("gpu");
  EXPECT_EQ(machine_differences(no_gpu, here), "gpu: none there, A GPU here");
}

TEST_F(CampaignTest, ResultsOfOtherMachinesAreRefused) {
  Record record;
  record.machine = machine();
  auto here = machine();
  EXPECT_NO_THROW(expect_machine({record, record}, here, "old.jsonl"));
  here["cores"] = 2;
  here["id"] = machine_id(here);
  try {
    expect_machine({record}, here, "old.jsonl");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("old.jsonl"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("cores: 16 there, 2 here"), std::string::npos);
  }
}

TEST_F(CampaignTest, ThisMachine) {
  const auto here = describe_machine({});
  EXPECT_EQ(here["id"], describe_machine({})["id"]);
  EXPECT_GE(here["cores"].get<int>(), 1);
  EXPECT_GT(here["memory_bytes"].get<int64_t>(), 1 << 28);
  EXPECT_FALSE(here["flags"].empty());
  EXPECT_FALSE(here.contains("gpu"));  // absent, not empty
  GpuFacts gpu;
  gpu.model = "A GPU", gpu.driver = "580";
  EXPECT_NE(describe_machine(gpu)["id"], here["id"]);
  EXPECT_EQ(describe_machine(gpu)["driver"], "580");
}

}  // namespace
}  // namespace heddle::bench
