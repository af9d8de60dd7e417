#include "measure/campaign/setup.h"

#include <algorithm>

#include "click/values.h"
#include "core/counters.h"
#include "core/error.h"
#include "engine/modes.h"
#include "engine/plan.h"
#include "measure/wire/generator.h"

namespace heddle::bench {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Parameter number(const char* name, T Setup::*field, T least, T most, const char* help, const char* measure = nullptr) {
  return {name,
          help,
          "N",
          measure,
          [=](Setup& setup, const std::string& text) { setup.*field = click::value_of<T>(text, least, most); },
          [=](const Setup& setup) { return Json(setup.*field); }};
}

double seconds_of(const std::string& text) {
  return static_cast<double>(click::value_of<click::Duration>(text).microseconds) / 1e6;
}

Parameter seconds(const char* name, double Setup::*field, const char* help, const char* measure = nullptr) {
  return {name,
          help,
          "SECONDS",
          measure,
          [=](Setup& setup, const std::string& text) { setup.*field = seconds_of(text); },
          [=](const Setup& setup) { return Json(setup.*field); }};
}

// What is written as JSON writes a number is one in the record.
Json number_or_text(const std::string& text) {
  double value = 0;
  if (!click::parse(text, value)) return text;
  const Json whole = static_cast<int64_t>(value), real = value;
  return whole.dump() == text ? whole : real.dump() == text ? real : Json(text);
}

void set_device(Setup& setup, const std::string& text) {
  PlanOptions().set_device(text);
  setup.device = text;
}

void set_size(Setup& setup, const std::string& text) {
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  if (digits) click::value_of<int>(text, 64, 9216);
  if (text.empty()) throw Error("'' is not a frame size, imix or a capture file");
  setup.size = text;
}

std::vector<Parameter> make_parameters() {
  std::vector<Parameter> list;
  list.push_back({"size", "Bytes of a frame on the wire, check sequence included (64 to 9216), imix, or a capture",
                  "BYTES", nullptr, set_size, [](auto& setup) { return number_or_text(setup.size); }});
  list.push_back(number("cores", &Setup::cores, 1, kMaxThreads, "Packet threads, each on a core of its own"));
  list.push_back({"device",
                  "Where functions without DEVICE run: cpu, gpu, gpu0, gpu1, ..., auto (by load), or simt (tests)",
                  "NAME", nullptr, set_device, [](auto& setup) { return Json(setup.device); }});
  list.push_back({"launch", "How GPU segments get work: sync, async, graph or persistent", "MODE", nullptr,
                  [](Setup& setup, const std::string& text) {
                    if (!mode_named<LaunchMode>(text, kLaunchModes))
                      throw Error("'" + text + "' is not sync, async, graph or persistent");
                    setup.launch = text;
                  },
                  [](auto& setup) { return Json(setup.launch); }});
  list.push_back({"transport",
                  "How packet bytes get to GPU segments: direct, gather, coalescent, zerocopy, commlist, landing; "
                  "auto: the plan chooses",
                  "NAME", nullptr,
                  [](Setup& setup, const std::string& text) {
                    if (text != "auto" && !mode_named<Transport>(text, kTransports))
                      throw Error("'" + text +
                                  "' is not auto, direct, gather, coalescent, zerocopy, commlist or landing");
                    setup.transport = text;
                  },
                  [](auto& setup) { return Json(setup.transport); }});
  list.push_back(
      {"share", "Transport gather: a GPU segment does not gather what one before it has left on the GPU: yes or no",
       "BOOL", nullptr, [](Setup& setup, const std::string& text) { setup.share = click::value_of<bool>(text); },
       [](auto& setup) { return Json(setup.share ? "yes" : "no"); }});
  list.push_back(
      {"isolate",
       "Each function on a GPU is a segment of its own and shares no packets, as with heddle run --isolate: yes or no",
       "BOOL", nullptr, [](Setup& setup, const std::string& text) { setup.isolate = click::value_of<bool>(text); },
       [](auto& setup) { return Json(setup.isolate ? "yes" : "no"); }});
  list.push_back(
      {"workers", "The last packet thread drives the GPU for the others, as with heddle run --workers: yes or no",
       "BOOL", nullptr, [](Setup& setup, const std::string& text) { setup.workers = click::value_of<bool>(text); },
       [](auto& setup) { return Json(setup.workers ? "yes" : "no"); }});
  list.push_back(number("batch", &Setup::batch, 32, 16384, "Packets that a batch holds at most"));
  list.push_back(number("slots", &Setup::slots, 0, 4096, "GPU: slots of 32 packets in flight; 0: as heddle run"));
  list.push_back(number("descriptors", &Setup::descriptors, 32, 32768, "Packets that a queue of the wire holds"));
  list.push_back(number<uint32_t>("flows", &Setup::flows, 1, 1u << 24, "Flows that are sent"));
  list.push_back({"addresses",
                  "Where packets go: uniform, routes:FILE, trace:FILE; uniform6, routes6:FILE; macs:FILE; names:FILE",
                  "KIND", nullptr, [](Setup& setup, const std::string& text) { setup.addresses = text; },
                  [](auto& setup) { return Json(setup.addresses); }});
  list.push_back(
      {"protocol",
       "Of the flows: udp (of IPv6 frames have 84 bytes at least), or tcp (76, of IPv6 96; not of names); a trace or "
       "capture has its own",
       "NAME", nullptr,
       [](Setup& setup, const std::string& text) {
         if (text != "udp" && text != "tcp") throw Error("'" + text + "' is not udp or tcp");
         setup.protocol = text;
       },
       [](auto& setup) { return Json(setup.protocol); }});
  list.push_back(number("zipf", &Setup::zipf, 0.0, 10.0, "Flow k has a share in proportion to 1 / k^N; 0: all alike"));
  list.push_back(
      number("generators", &Setup::generators, 0, 64, "Cores that generate; 0: up to three for each packet thread"));
  list.push_back(number<uint64_t>("seed", &Setup::seed, 0, UINT64_MAX, "Of what is random in the traffic"));
  list.push_back(number("repetitions", &Setup::repetitions, 1, 1000, "Times that each point is measured"));
  list.push_back(seconds("warmup", &Setup::warmup_s, "Load before each trial that does not count"));
  list.push_back(seconds("trial", &Setup::trial_s, "Length of a trial"));
  list.push_back(seconds("drain", &Setup::drain_s, "A trial is over when nothing has come out for so long"));
  list.push_back({"rate", "Measure loss and latency at this rate (2M, 1.5Mpps, 800k)", "PPS", kLatency,
                  [](Setup& setup, const std::string& text) { setup.rate_pps = rate_of(text); },
                  [](auto& setup) { return Json(setup.rate_pps); }});
  list.push_back({"low", "Share of the rate that is sent in every other period (5%); 1: it does not change", "SHARE",
                  kLatency,
                  [](Setup& setup, const std::string& text) {
                    double value = 0;
                    setup.swing.low = click::parse(text, value) && value == 1 ? 1 : share_of(text);
                  },
                  [](auto& setup) { return Json(setup.swing.low); }});
  list.push_back({"period", "Length of such a period", "SECONDS", kLatency,
                  [](Setup& setup, const std::string& text) {
                    setup.swing.period_s = seconds_of(text);
                    if (setup.swing.period_s < 0.001) throw Error("'" + text + "' is less than a millisecond");
                  },
                  [](auto& setup) { return Json(setup.swing.period_s); }});
  list.push_back({"loss", "Share of packets that a trial may lose (0, 0.001, 0.1%)", "SHARE", kZeroLoss,
                  [](Setup& setup, const std::string& text) { setup.loss = share_of(text); },
                  [](auto& setup) { return Json(setup.loss); }});
  list.push_back({"start", "Rate of the first trial; 0: what the router forwards at maximum load", "PPS", kZeroLoss,
                  [](Setup& setup, const std::string& text) {
                    double value = 1;
                    setup.start_pps = click::parse(text, value) && value == 0 ? 0 : rate_of(text);
                  },
                  [](auto& setup) { return Json(setup.start_pps); }});
  list.push_back({"resolution", "Share of the rate within which it is found (1%)", "SHARE", kZeroLoss,
                  [](Setup& setup, const std::string& text) {
                    setup.resolution = share_of(text);
                    if (setup.resolution < 1e-5) throw Error("'" + text + "' is less than 0.001 %");
                  },
                  [](auto& setup) { return Json(setup.resolution); }});
  list.push_back(seconds("final", &Setup::final_s, "Length of the trial that decides; 0: as the others", kZeroLoss));
  list.push_back(seconds("rest", &Setup::rest_s, "Pause after a trial that lost packets", kZeroLoss));
  list.push_back(number("retries", &Setup::retries, 0, 100, "Times that a trial with loss is made again", kZeroLoss));
  for (auto& parameter : list)
    for (const char* name :
         {"cores", "device", "launch", "transport", "share", "isolate", "workers", "batch", "slots", "descriptors"})
      parameter.of_router = parameter.of_router || parameter.name == std::string(name);
  return list;
}

double number_before(const std::string& text, size_t& end) {
  try {
    return std::stod(text, &end);
  } catch (const std::exception&) {
    end = 0;
    return 0;
  }
}

}  // namespace

const std::vector<Parameter>& parameters() {
  static const std::vector<Parameter> list = make_parameters();
  return list;
}

void set_parameter(Setup& setup, const std::string& name, const std::string& text) {
  for (auto& parameter : parameters()) {
    if (name != parameter.name) continue;
    try {
      return parameter.set(setup, text);
    } catch (const Error& error) {
      throw Error(name + ": " + error.what());
    }
  }
  setup.variables[name.starts_with("$") ? name.substr(1) : name] = text;
}

Json describe(const Setup& setup, const std::string& measure) {
  Json all = Json::object();
  const auto matters = [&](const Parameter& parameter) {
    const std::string name = parameter.name;
    if (setup.swing.low == 1 && (name == "low" || name == "period")) return false;
    return (parameter.measure == nullptr || measure == parameter.measure) && !(parameter.of_router && setup.elsewhere);
  };
  for (auto& parameter : parameters())
    if (matters(parameter)) all[parameter.name] = parameter.get(setup);
  for (auto& variable : setup.variables) {
    const std::string& name = variable.first;
    const bool taken = std::any_of(parameters().begin(), parameters().end(), [&](auto& p) { return p.name == name; });
    all[taken ? "$" + name : name] = number_or_text(variable.second);
  }
  return all;
}

int generator_cores(const Setup& setup, int available) {
  if (setup.generators > 0) return setup.generators;
  if (setup.elsewhere) return std::clamp(available - 1, 1, kGeneratorsElsewhere);
  const int left = available - setup.cores;
  if (left < 2 * setup.cores) return std::clamp(left, 1, setup.cores);
  return std::min({left, kGeneratorsPerThread * setup.cores, setup.cores + kQueues});
}

int receiving_cores(int generators, int cores) { return generators >= 2 * cores ? cores : 0; }

double rate_of(const std::string& text) {
  size_t end = 0;
  double value = number_before(text, end);
  std::string unit = text.substr(end);
  if (unit.ends_with("pps")) unit.resize(unit.size() - 3);
  const std::map<std::string, double> factors{{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}};
  const auto factor = factors.find(unit);
  if (factor != factors.end()) value *= factor->second;
  if (end == 0 || factor == factors.end() || !(value >= kMinRate_pps && value <= kMaxRate_pps))
    throw Error(format("'%s' is not a rate from %g to %g packets a second such as 2M, 1.5Mpps or 800k", text.c_str(),
                       kMinRate_pps, kMaxRate_pps));
  return value;
}

double share_of(const std::string& text) {
  size_t end = 0;
  const double value = number_before(text, end);
  const std::string unit = text.substr(end);
  const double share = unit == "%" ? value / 100 : value;
  if (end == 0 || (!unit.empty() && unit != "%") || !(share >= 0 && share < 1))
    throw Error("'" + text + "' is not a share such as 0, 0.001 or 0.1%");
  return share;
}

}  // namespace heddle::bench
