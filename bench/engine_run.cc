#include "bench/engine_run.h"

#include <unistd.h>

#include <thread>

#include "bench/bench.h"
#include "click/parser.h"
#include "core/error.h"

namespace heddle::bench {

std::unique_ptr<Engine> make_engine(const std::string& chain, const PlanOptions& plan_options,
                                    const RunOptions& options, const std::map<std::string, std::string>& variables) {
  click::Diagnostics diagnostics;
  click::ParseOptions parse = language();
  parse.variables = variables;
  const click::Graph graph = click::parse(chain, "<benchmark>", parse, diagnostics);
  Router router;
  Plan plan;
  if (diagnostics.ok()) router = Router::build(graph, diagnostics);
  if (diagnostics.ok()) plan = make_plan(router, plan_options, diagnostics);
  if (!diagnostics.ok()) throw Error(diagnostics.text());
  return std::make_unique<Engine>(std::move(router), std::move(plan), options);
}

double running_mpps(Engine& engine, double seconds, const std::vector<Beside>& beside) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> others;
  for (auto& other : beside) others.emplace_back([&] { other(engine, stop); });
  usleep(20000);  // caches and pools fill
  const uint64_t before = engine.received();
  const double start = seconds_now();
  usleep(static_cast<useconds_t>(seconds * 1e6));
  const double packets = static_cast<double>(engine.received() - before);
  const double elapsed = seconds_now() - start;
  stop = true;
  for (auto& other : others) other.join();
  return packets / elapsed * 1e-6;
}

void end(Engine& engine) {
  engine.stop();
  engine.wait();
  const Report report = engine.report();
  if (!report.problems.empty()) throw Error(report.problems[0]);
  if (report.dropped != 0) throw Error("packets were dropped");
}

double engine_mpps(const std::string& chain, const PlanOptions& plan, const RunOptions& options, double seconds) {
  const auto engine = make_engine(chain, plan, options);
  engine->start();
  const double mpps = running_mpps(*engine, seconds);
  end(*engine);
  return mpps;
}

}  // namespace heddle::bench
