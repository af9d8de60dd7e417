// Heddle as a library: a program with an element and a chain of its own. It counts the packets of a capture by their IP
// protocol, behind functions that run on the CPU or, if you name one, on a GPU.
//
//     build/cpu/examples/protocols chains/traffic.pcap [simt|gpu]

#include <array>
#include <cstdio>
#include <string>

#include "click/parser.h"
#include "core/element.h"
#include "core/error.h"
#include "engine/engine.h"

namespace {

using namespace heddle;

/** An element: one input, one output, no arguments. Chains know it by its class name as soon as it is registered. */
class Protocols : public Element {
 public:
  // The plan brings these bytes to the CPU, from wherever they have last been changed.
  Access access(Processor) const override { return {.reads = {kProtocol}}; }

  // Called on packet threads: each has counters of its own, so nothing is shared.
  void run_cpu(Batch& batch) override {
    auto& mine = counts_[static_cast<size_t>(batch.thread)];
    for (int i = 0; i < batch.size(); ++i)
      if (batch.length(i) >= kProtocol.to) ++mine[batch.frame(i)[kProtocol.from]];
  }

  uint64_t count(size_t protocol) const {
    uint64_t sum = 0;
    for (auto& thread : counts_) sum += thread[protocol];
    return sum;
  }

 private:
  static constexpr Interval kProtocol{Base::head, 23, 24};  // RFC 791, 3.1, behind an Ethernet header
  std::array<std::array<uint64_t, 256>, kMaxThreads> counts_{};
};
HEDDLE_ELEMENT(Protocols);

constexpr const char* kChain = R"(
    FromDump($IN) -> CheckIPHeader(14) -> EtherMirror -> rt :: DirectIPLookup(10.0.0.0/8 0, 0.0.0.0/0 1);
    rt[0] -> inside :: Protocols -> Discard;
    rt[1] -> outside :: Protocols -> Discard;
)";

void run(const std::string& capture, const std::string& device) {
  // Text to graph, graph to elements, elements to plan. Mistakes are collected, with their places in the text.
  click::Diagnostics mistakes;
  Router router;
  Plan plan;
  const click::ParseOptions names{.known_classes = Catalog::instance().names(), .variables = {{"IN", capture}}};
  const click::Graph graph = click::parse(kChain, "chain", names, mistakes);
  if (mistakes.ok()) router = Router::build(graph, mistakes);
  if (mistakes.ok()) plan = make_plan(router, {.device = device}, mistakes);
  if (!mistakes.ok()) throw Error(mistakes.text());

  Engine engine(std::move(router), std::move(plan), RunOptions());
  engine.start();
  engine.wait();  // until the capture ends

  for (const char* name : {"inside", "outside"}) {
    const Node& node = engine.router().nodes[static_cast<size_t>(engine.router().find(name))];
    for (size_t protocol = 0; protocol < 256; ++protocol)
      if (const uint64_t count = dynamic_cast<const Protocols&>(*node.element).count(protocol); count > 0)
        std::printf("%s: protocol %zu: %lu packets\n", name, protocol, count);
  }
  const Report report = engine.report();
  std::printf("%lu packets received, %lu dropped\n", report.received, report.dropped);
  for (auto& problem : report.problems) throw Error(problem);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) return std::fprintf(stderr, "Usage: protocols CAPTURE [DEVICE]\n"), 2;
  try {
    run(argv[1], argc == 3 ? argv[2] : "cpu");
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "protocols: %s\n", error.what()), 1;
  }
}
