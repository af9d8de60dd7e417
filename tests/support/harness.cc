#include "tests/support/harness.h"

#include <cstdlib>
#include <set>
#include <thread>

#include "click/parser.h"
#include "core/error.h"
#include "tests/support/lab.h"

namespace heddle::test {

void PrintTo(const Backend& backend, std::ostream* out) { *out << backend.name; }

namespace {

bool is_set(const char* variable) {
  const char* text = std::getenv(variable);
  return text != nullptr && *text == '1';
}

}  // namespace

const std::vector<Backend>& backends() {
  static const std::vector<Backend> list = [] {
    std::vector<Backend> all = {{"cpu", "cpu", LaunchMode::persistent}};
    const auto add = [&](const std::string& device) {
      all.push_back({device + "_sync", device, LaunchMode::sync, Transport::direct});
      all.push_back({device + "_persistent", device, LaunchMode::persistent, Transport::direct});
      all.push_back({device + "_async_coalescent", device, LaunchMode::async, Transport::coalescent});
      all.push_back({device + "_gather", device, LaunchMode::persistent, Transport::gather});
      all.push_back({device + "_landing", device, LaunchMode::persistent, Transport::landing});
      all.push_back({device + "_and_cpu", device, LaunchMode::persistent, Transport::direct, true, true});
    };
    add("simt");
    std::string reason;
    if (!gpu::devices(reason).empty() || is_set("HEDDLE_REQUIRE_GPU")) add("gpu");
    for (Backend& backend : all) backend.workers = is_set("HEDDLE_WORKERS") && backend.on_gpu();
    return all;
  }();
  return list;
}

std::vector<Backend> gpu_backends() {
  std::vector<Backend> list;
  for (auto& backend : backends())
    if (backend.on_gpu() && !backend.by_load) list.push_back(backend);
  return list;
}

std::vector<Backend> fixed_backends() {
  std::vector<Backend> list = backends();
  std::erase_if(list, [](const Backend& backend) { return backend.by_load; });
  return list;
}

std::vector<Backend> all_ways() {
  std::set<std::string> devices;
  for (const Backend& backend : gpu_backends()) devices.insert(backend.device);
  std::vector<Backend> list;
  for (const std::string& device : devices)
    for (size_t l = 0; l < kLaunchModes.size(); ++l)
      for (size_t t = 0; t < kTransports.size(); ++t) {
        const auto launch = static_cast<LaunchMode>(l);
        const auto transport = static_cast<Transport>(t);
        if (copies_by_engine(transport) && launch == LaunchMode::persistent) continue;
        list.push_back({format("%s_%s_%s", device.c_str(), name(launch), name(transport)), device, launch, transport});
        list.back().workers = is_set("HEDDLE_WORKERS");
      }
  return list;
}

std::vector<Backend> backends_and_all_ways() {
  std::vector<Backend> list = backends();
  std::erase_if(list, [](const Backend& backend) { return backend.on_gpu() && !backend.by_load; });
  for (Backend& way : all_ways()) list.push_back(std::move(way));
  return list;
}

std::string backend_name(const testing::TestParamInfo<Backend>& info) { return info.param.name; }

std::vector<Bytes> Result::bytes(const std::string& sink) const {
  std::vector<Bytes> list;
  if (!sinks.contains(sink)) return list;
  for (auto& packet : sinks.at(sink)) list.push_back(packet.bytes);
  return list;
}

Chain read(const std::string& text, const PlanOptions& options, click::Diagnostics& diagnostics) {
  Chain chain;
  const click::Graph graph = click::parse(text, "chain", language(), diagnostics);
  if (diagnostics.ok()) chain.router = Router::build(graph, diagnostics);
  if (diagnostics.ok()) chain.plan = make_plan(chain.router, options, diagnostics);
  return chain;
}

std::string mistakes(const std::string& chain, const std::string& device) {
  click::Diagnostics diagnostics;
  read(chain, {device, LaunchMode::persistent}, diagnostics);
  return diagnostics.text();
}

void wait_for_more(Broker& handlers, const std::string& name) {
  for (int i = 0; i < 2; ++i) {
    const std::string count = handlers.read(name);
    wait_while([&] { return handlers.read(name) == count; });
  }
}

std::string plan_text(const std::string& text, const std::string& device) {
  click::Diagnostics diagnostics;
  const Chain chain = read(text, {device, LaunchMode::persistent}, diagnostics);
  return diagnostics.ok() ? chain.plan.text(chain.router) : diagnostics.text();
}

namespace {

// What run() must know of a chain once the engine has it.
struct Shape {
  bool copies = false, only_test_sources = true;
  std::set<std::string> ends;  // elements without outputs
  explicit Shape(const Router& router) {
    for (auto& node : router.nodes) {
      copies = copies || node.element->copies() > 1;
      if (dynamic_cast<const Source*>(node.element.get()) != nullptr && node.element->class_name != "TestSource")
        only_test_sources = false;
      if (node.targets.empty()) ends.insert(node.element->name);
    }
  }
};

void collect(Engine& engine, Lab& lab, const Shape& shape, Result& result) {
  result.report = engine.report();
  uint64_t arrived = 0, dropped_before = 0, left = 0;  // left: in queues, at the end
  for (auto& element : result.report.elements) {
    const bool end = shape.ends.contains(element.name);
    if (end) arrived += element.packets;
    if (!end)
      for (auto& drop : element.drops) dropped_before += drop.second;
    result.processor[element.name] = element.processor;
    for (auto& [reason, count] : element.drops) result.drops[element.name + "." + reason] = count;
    for (auto& [name, value] : element.statistics) {
      result.statistics[element.name + "." + name] = value;
      if (name == "left") left += value;
    }
    if (element.class_name == "TestSink") {
      result.sinks[element.name];
      // An element that changes lengths without saying so (changes_length, moves_head) shows here.
      EXPECT_EQ(element.bytes, lab.bytes[element.name]) << element.name;
    }
  }
  result.received = result.report.received;
  result.dropped = result.report.dropped;
  result.delivered = lab.delivered;
  for (auto& [name, packets] : lab.sinks) result.sinks[name] = std::move(packets);
  for (auto& problem : result.report.problems) ADD_FAILURE() << problem;
  EXPECT_EQ(lab.damaged, 0u) << lab.first_damage;
  // Queues stop after the source that counts.
  EXPECT_EQ(lab.not_returned, static_cast<int64_t>(left)) << "packets that never came back to their pool";
  if (shape.only_test_sources) {
    EXPECT_EQ(result.received, lab.given);
  }
  if (!shape.copies) {
    EXPECT_EQ(result.received, arrived + dropped_before + left);
  }
}

}  // namespace

Result run(const std::string& text, const Backend& backend, const std::vector<Frame>& frames, Options options) {
  Result result;
  click::Diagnostics diagnostics;
  Chain chain = read(text, backend.plan(), diagnostics);
  if (!diagnostics.ok()) {
    ADD_FAILURE() << diagnostics.text();
    return result;
  }
  const Shape shape(chain.router);
  Lab lab;
  lab.frames = &frames;
  lab.options = options;
  Lab::current() = &lab;
  try {
    RunOptions run;
    run.threads = options.threads + (backend.workers ? 1 : 0), run.batch_size = options.batch_size,
    run.slots = options.slots;
    run.packets = options.packets;
    run.batches_a_side = 2;
    Engine engine(std::move(chain.router), std::move(chain.plan), run);
    engine.start();
    if (options.meanwhile) {
      options.meanwhile(engine);
      if (options.endless) engine.stop();
    }
    engine.wait();
    collect(engine, lab, shape, result);
  } catch (const Error& error) {
    ADD_FAILURE() << error.what();
  }
  Lab::current() = nullptr;
  return result;
}

testing::AssertionResult same(const std::vector<Bytes>& got, const std::vector<Bytes>& wanted) {
  if (got.size() != wanted.size())
    return testing::AssertionFailure() << got.size() << " packets instead of " << wanted.size();
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] == wanted[i]) continue;
    if (got[i].size() != wanted[i].size())
      return testing::AssertionFailure() << "packet " << i << " has " << got[i].size() << " bytes instead of "
                                         << wanted[i].size();
    size_t at = 0;
    while (got[i][at] == wanted[i][at]) ++at;
    return testing::AssertionFailure() << format("packet %zu of %zu bytes: byte %zu is %02x instead of %02x", i,
                                                 got[i].size(), at, got[i][at], wanted[i][at]);
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult in_order(const std::vector<Received>& packets) {
  for (size_t i = 1; i < packets.size(); ++i)
    if (packets[i].serial <= packets[i - 1].serial)
      return testing::AssertionFailure() << "frame " << packets[i].serial << " came behind frame "
                                         << packets[i - 1].serial;
  return testing::AssertionSuccess();
}

}  // namespace heddle::test
