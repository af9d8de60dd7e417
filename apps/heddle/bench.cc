// `heddle bench`: measures a chain. The parts are in measure/campaign; this file checks what was asked for, runs it,
// and shows what comes out.

#include <fcntl.h>
#include <rte_config.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "apps/heddle/bench_display.h"
#include "apps/heddle/commands.h"
#include "apps/heddle/options.h"
#include "click/diagnostics.h"
#include "click/quoting.h"
#include "core/cores.h"
#include "core/error.h"
#include "gpu/device.h"
#include "measure/campaign/beside.h"
#include "measure/campaign/campaign.h"
#include "measure/campaign/machine.h"
#include "measure/campaign/measures.h"
#include "measure/campaign/memif_router.h"
#include "measure/campaign/router.h"
#include "measure/campaign/table.h"
#include "measure/wire/traffic.h"

namespace heddle {
namespace {

using namespace bench;
namespace fs = std::filesystem;

volatile sig_atomic_t times_interrupted = 0;
void on_interrupt_of_bench(int) {
  times_interrupted = times_interrupted + 1;
  if (times_interrupted > 2) _exit(130);  // someone insists
}

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_interrupt_of_bench;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGHUP, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

/** One `heddle bench` from its command line to its results. */
class Bench {
 public:
  explicit Bench(BenchCommand& command) : command_(command) {}

  int run() {
    read_command_line();
    check_points();
    find_machine();
    check_outputs();
    Store store(command_.json_file);
    expect_machine(store.records(), machine_, command_.json_file);
    const auto earlier = earlier_records();
    catch_interrupts();
    const bool whole = measure_all(store);
    if (command_.json_file != "-") show(store, earlier);
    if (!whole) {
      std::fprintf(stderr, "heddle: interrupted; %s\n",
                   command_.json_file.empty() || command_.json_file == "-"
                       ? "with --json FILE the same command would go on here"
                       : "the same command goes on here");
      return 130;
    }
    if (!drawings_.empty()) draw(command_.json_file, drawings_);
    return 0;
  }

 private:
  // ---- what was asked for

  void read_command_line() {
    if (command_.memif.empty())
      chain_.text = read_chain_text(command_.chain);
    else
      chain_.text = expect_no_chain();
    chain_.file = command_.chain.file;
    for (auto& variable : command_.chain.variables) {
      const size_t equals = variable.find('=');
      command_.setup.variables[variable.substr(0, equals)] = variable.substr(equals + 1);
    }
    if (chain_.text.find("library") == std::string::npos) warn_of_unknown(command_.chain.variables, chain_.text);
    chain_.packets = command_.packets, chain_.pin = !command_.no_pin;
    chain_.dpdk_args = split_dpdk_arguments(command_.dpdk);

    std::vector<Axis> axes;
    for (auto& sweep : command_.sweeps) axes.push_back(axis_of("--sweep", sweep));
    int compared = -1;
    if (!command_.compare.empty()) {
      axes.push_back(axis_of("--compare", command_.compare));
      if (axes.back().values.size() < 2) throw Error("--compare " + command_.compare + ": give at least two values");
      compared = static_cast<int>(axes.size()) - 1, compared_ = axes.back().name;
    }
    const auto sweeps = [&](const std::string& name) {
      return std::count_if(axes.begin(), axes.end(), [&](auto& axis) { return axis.name == name; });
    };
    for (auto& axis : axes)
      if (sweeps(axis.name) > 1) throw Error(axis.name + ": is swept twice; give all its values in one --sweep");

    const bool has_rate = command_.setup.rate_pps > 0 || sweeps("rate") > 0;
    auto& measures = command_.measures;
    if (measures.empty()) measures.emplace_back(has_rate ? kLatency : kThroughput);
    for (auto& measure : measures)
      if (measure != kThroughput && measure != kLatency && measure != kZeroLoss)
        throw Error("--measure '" + measure + "': expected throughput, latency or zero-loss" +
                    click::suggestion(measure, {kThroughput, kLatency, kZeroLoss}));
    const auto measured = [&](const char* measure) {
      return std::find(measures.begin(), measures.end(), measure) != measures.end();
    };
    if (measured(kLatency) && !has_rate)
      throw Error("latency is measured at a given rate; add --rate, such as --rate 1M");
    for (auto& parameter : parameters())
      if (parameter.measure != nullptr && sweeps(parameter.name) > 0 && !measured(parameter.measure))
        throw Error(format("--sweep %s=...: it matters to --measure %s only", parameter.name, parameter.measure));
    if (command_.setup.elsewhere)
      for (auto& parameter : parameters())
        if (parameter.of_router && (sweeps(parameter.name) > 0 || parameter.get(command_.setup) != parameter.get({})))
          throw Error(parameter.name + std::string(": with --memif that is a matter of the other process"));
    groups_ = expand(command_.setup, measures, axes, compared);
    read_outputs();
  }

  // What is measured is at the other end of memif sockets; returns their names.
  std::string expect_no_chain() {
    auto& chain = command_.chain;
    if (!chain.file.empty() || chain.expression || !chain.operands.empty())
      throw Error("--memif: the router is another process; give no chain here");
    if (!command_.dpdk.empty() || command_.packets != 0) throw Error("--memif: --dpdk and --packets are for chains");
    command_.setup.elsewhere = fed_ = true;
    chain.file = "memif";
    for (auto& socket : command_.memif) {
      chain.file += " " + socket;
      ports_.push_back({"memif " + socket, !socket.ends_with(kReceiveOnly), true});
    }
    if (std::none_of(ports_.begin(), ports_.end(), [](auto& port) { return port.receives; }))
      throw Error("--memif: all sockets are only received from; packets must be sent somewhere");
    return chain.file;
  }

  Axis axis_of(const char* option, const std::string& text) {
    try {
      Axis axis = parse_axis(text);
      std::vector<std::string> known;
      for (auto& parameter : parameters()) known.emplace_back(parameter.name);
      if (std::find(known.begin(), known.end(), axis.name) != known.end() || has_variable(axis.name)) return axis;
      throw Error("'" + axis.name + "' is neither a parameter of heddle bench nor a variable of the chain" +
                  hint(axis.name, known, "`heddle bench --help` lists the parameters"));
    } catch (const Error& error) {
      throw Error(std::string(option) + " " + error.what());
    }
  }

  bool has_variable(std::string_view name) const {
    if (name.starts_with("$")) name.remove_prefix(1);
    return mentions_variable(chain_.text, name);
  }

  void read_outputs() {
    const std::pair<const char*, std::string*> forms[] = {
        {"--html", &command_.html_file}, {"--svg", &command_.svg_file}, {"--png", &command_.png_file}};
    for (auto& [form, file] : forms)
      if (!file->empty()) drawings_.emplace_back(form, *file);
    if (drawings_.empty()) return;
    if (command_.json_file == "-") throw Error("--json -: pictures are drawn from a file; name one");
    if (command_.json_file.empty()) command_.json_file = drawings_[0].second + ".jsonl";  // so that nothing is lost
    // A picture takes the place of what is there.
    const auto place = [](const std::string& file) { return fs::weakly_canonical(fs::absolute(file)); };
    std::map<fs::path, std::string> taken = {{place(command_.json_file), "--json " + command_.json_file}};
    if (!command_.against_file.empty())
      taken.emplace(place(command_.against_file), "--against " + command_.against_file);
    if (!chain_.file.empty() && chain_.file != "-") taken.emplace(place(chain_.file), "the chain, " + chain_.file);
    for (auto& [form, file] : drawings_)
      if (const auto [found, is_new] = taken.emplace(place(file), form + (" " + file)); !is_new)
        throw Error(form + (" " + file) + ": that is " + found->second + ", which would be lost; name another file");
  }

  // ---- whether it can be done

  // Before anything is measured: a mistake must not cost the time that this takes.
  void check_outputs() {
    for (auto& [form, file] : drawings_) {
      const bool there = fs::exists(file);
      const int descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
      if (descriptor < 0) throw Error(form + (" " + file) + ": cannot be written: " + std::strerror(errno));
      close(descriptor);
      if (!there) fs::remove(file);
    }
    if (!drawings_.empty()) expect_drawing();
    if (command_.histograms.empty()) return;
    if (command_.measures == std::vector<std::string>{kThroughput})
      throw Error("--histogram: throughput has no latencies; --measure latency or zero-loss has");
    std::error_code error;
    fs::create_directories(command_.histograms, error);
    if (error || access(command_.histograms.c_str(), W_OK | X_OK) != 0)
      throw Error("--histogram " + command_.histograms +
                  ": cannot be written to: " + (error ? error.message() : std::strerror(errno)));
  }

  void check_points() {
    const int cores = core_count();
    std::map<std::string, Checked> chains;
    for (auto& group : groups_) {
      for (auto& point : group) {
        Setup& setup = point.setup;
        if (!std::has_single_bit(static_cast<unsigned>(setup.descriptors)) || setup.descriptors < 64)
          throw Error(format("descriptors: %d is not a power of two from 64 on", setup.descriptors));
        if (setup.trial_s <= 0) throw Error("trial: a trial takes more than 0 seconds");
        if (point.measure == kLatency && setup.rate_pps * setup.trial_s < 1)
          throw Error(format("rate, trial: no packet is due in a trial of %g s at %g packets a second", setup.trial_s,
                             setup.rate_pps));
        setup.generators = generator_cores(setup, cores);
        if (setup.elsewhere) {
          if (setup.generators > kGeneratorsElsewhere)
            throw Error(format("generators: with --memif at most %d: one sends, one receives", kGeneratorsElsewhere));
          point.input_hash = hash_of_inputs(setup, {});
          longest_ = std::max(longest_, longest_of(setup));
          continue;
        }
        if (const std::string device = device_of(setup); device.starts_with("gpu")) expect_gpu(device);
        std::string chain = setup.device + " " + setup.launch;
        for (auto& [name, value] : setup.variables) chain += "\n" + name + "=" + value;
        const auto [checked, new_chain] = chains.try_emplace(chain);
        if (new_chain) checked->second = check(point);
        const int senders = setup.generators - receiving_cores(setup.generators, setup.cores);
        if (fed_ && std::max(setup.cores, senders) > kQueues)
          throw Error(
              format("cores, generators: %d, and %d that send, but a port of the wire has %d queues at most, one each",
                     setup.cores, senders, kQueues));
        point.input_hash = hash_of_inputs(setup, checked->second.files);
        if (!fed_) continue;
        const unsigned room = checked->second.data_room;
        const uint32_t longest = longest_of(setup);
        if (room != 0 && RTE_PKTMBUF_HEADROOM + longest > room)
          throw Error(format("size: frames of %u bytes, but the chain's DPDKInfo(MBUF_SIZE) leaves packets room for %u",
                             longest + kFcsBytes, room - RTE_PKTMBUF_HEADROOM + kFcsBytes));
      }
    }
  }

  struct Checked {
    unsigned data_room;           // as WiredChain has it
    std::set<std::string> files;  // that the chain reads
  };
  Checked check(const Point& point) {
    const WiredChain wired = check_chain(chain_, point.setup);
    if (!wired.fed() && point.measure != kThroughput)
      throw Error(point.measure +
                  ": the chain makes its own packets; give it a source on the wire, such as FromDevice, or "
                  "--measure throughput");
    if (ports_.empty()) ports_ = wired.ports, fed_ = wired.fed();
    std::set<std::string> files;
    for (auto& element : wired.graph.elements)
      for (auto& argument : element.arguments)
        for (const auto word : click::split_words(argument.text))
          if (const std::string file = click::unquote(word); is_file(file)) files.insert(file);
    return {wired.data_room, files};
  }

  static bool is_file(const std::string& name) {
    std::error_code none;
    return fs::is_regular_file(name, none);
  }

  // Another content makes another point.
  std::string hash_of_inputs(const Setup& setup, const std::set<std::string>& chain_files) {
    std::vector<std::string> files(chain_files.begin(), chain_files.end());
    if (fed_) files.insert(files.end(), {setup.size, setup.addresses.substr(setup.addresses.find(':') + 1)});
    std::string hashes;
    for (auto& file : files) {
      if (!is_file(file)) continue;
      std::string& hash = file_hashes_[file];
      if (hash.empty()) hash = hash_of_file(file);
      hashes += hash;
    }
    return hashes.empty() ? "" : hash_of(hashes);
  }

  // Checks what is sent, and returns the bytes of its longest frame in memory.
  uint32_t longest_of(const Setup& setup) {
    const auto [bytes, is_new] =
        longest_frames_.try_emplace(setup.size + "\n" + setup.protocol + "\n" + setup.addresses);
    if (!is_new) return bytes->second;
    TrafficOptions options;
    options.sizes = setup.size, options.addresses = setup.addresses, options.protocol = setup.protocol;
    options.flows = 1;
    return bytes->second = Traffic(options, 1, 1).longest_bytes();
  }

  static std::string device_of(const Setup& setup) {
    PlanOptions options;
    options.set_device(setup.device);
    return options.device;
  }

  void expect_gpu(const std::string& device) {
    look_for_gpus();
    for (auto& gpu : gpus_)
      if (device == "gpu" || device == gpu.name) return;
    std::string names;
    for (auto& gpu : gpus_) names += " " + gpu.name;
    throw Error("--device " + device + ": " +
                (gpus_.empty() ? "there is no GPU: " + no_gpu_ : "it is not there; there are" + names) +
                "; --device cpu runs without one");
  }

  void look_for_gpus() {
    if (!looked_for_gpus_) gpus_ = gpu::devices(no_gpu_);
    looked_for_gpus_ = true;
  }

  void find_machine() {
    look_for_gpus();
    GpuFacts facts;
    for (auto& gpu : gpus_) nvml_.push_back(Nvml::open(gpu.pci));
    if (!gpus_.empty()) {
      if (nvml_[0]) facts = nvml_[0]->facts();
      facts.model = gpus_[0].model;  // the same with and without NVML
    }
    machine_ = describe_machine(facts);
  }

  // ---- measuring

  // False if it was interrupted.
  bool measure_all(Store& store) {
    Display display(command_.quiet);
    if (!command_.quiet)
      for (size_t i = 0; i < ports_.size(); ++i)
        std::fprintf(stderr, "wire port %zu: %s (%s)\n", i, ports_[i].stands_for.c_str(),
                     !ports_[i].transmits  ? "sent to"
                     : !ports_[i].receives ? "received from"
                                           : "sent to and received from");
    size_t all = 0;
    for (auto& group : groups_) all += group.size();
    Campaign campaign;
    campaign.compare = command_.compare;
    campaign.histograms = command_.histograms;
    auto& parameters = campaign.frame.parameters;
    if (command_.packets != 0) parameters["--packets"] = command_.packets;
    if (command_.no_pin) parameters["--no-pin"] = true;
    if (!command_.dpdk.empty()) parameters["--dpdk"] = command_.dpdk;
    campaign.frame.name = command_.name;
    campaign.frame.chain = chain_.file == "<expression>" ? chain_.text : chain_.file;
    campaign.frame.chain_hash = hash_of(chain_.text);
    campaign.frame.machine = machine_;
    campaign.frame.commit = command_.commit.empty() ? commit_of_program() : command_.commit;
    campaign.frame.command = command_line();
    campaign.measure = [&](const Point& point) { return measure_once(point, display); };
    campaign.progress = [&](const Point& point, size_t done, size_t count, int repetition) {
      display.begin(point, done, count, repetition);
    };
    campaign.finished = [&](const Point& point, const Record& record, bool measured) {
      rows_.push_back({point, record});
      display.finished(rows_.back(), measured, rows_.size(), all);
    };
    try {
      campaign.run(groups_, store);
    } catch (const Interrupted&) {
      return false;
    }
    return true;
  }

  Measurement measure_once(const Point& point, const Display& display) {
    if (times_interrupted > 0) throw Interrupted{};
    const TrialWatch watch = [&](const TrialProgress& progress) {
      display.trial(progress);
      return times_interrupted == 0;
    };
    const auto router = point.setup.elsewhere
                            ? connected().target(point.setup, !command_.no_pin, watch)
                            : start_router(chain_, point.setup, nvml_of(device_of(point.setup)), watch);
    Measurement result = measure(*router, point.setup, point.measure);
    if (point.setup.elsewhere) return result;
    const int wanted = point.setup.cores + (fed_ ? point.setup.generators : 0), cores = core_count();
    if (wanted > cores)
      result.warnings.push_back(
          format("%d packet threads and %d generators share %d cores: they hold each other up, and "
                 "nothing here says what either can do",
                 point.setup.cores, wanted - point.setup.cores, cores));
    return result;
  }

  // The router of --memif, from its first point on.
  MemifRouter& connected() {
    if (memif_) return *memif_;
    memif_ = std::make_unique<MemifRouter>(command_.memif, longest_);
    std::fprintf(stderr, "waiting for a router, such as\n  heddle run -e '%s'\n", memif_->example().c_str());
    memif_->wait([] { return times_interrupted == 0; });
    return *memif_;
  }

  const Nvml* nvml_of(const std::string& device) const {
    if (!device.starts_with("gpu")) return nullptr;
    for (size_t i = 0; i < gpus_.size(); ++i)
      if (device == "gpu" || device == gpus_[i].name) return nvml_[i].get();
    return nullptr;
  }

  // ---- results

  std::optional<std::vector<Record>> earlier_records() const {
    if (command_.against_file.empty()) return std::nullopt;
    auto records = read_records(command_.against_file);
    expect_machine(records, machine_, command_.against_file);
    return records;
  }

  void show(Store& store, const std::optional<std::vector<Record>>& earlier) {
    if (rows_.empty()) return;
    std::printf("%s", table_of(rows_).c_str());
    if (!command_.compare.empty()) show_comparisons(store);
    if (earlier) show_against(*earlier);
    if (!command_.json_file.empty()) std::printf("results: %s\n", command_.json_file.c_str());
    std::fflush(stdout);
  }

  // Of each group every further point against the first one.
  void show_comparisons(Store& store) {
    for (size_t first = 0; first < rows_.size();) {
      size_t last = first + 1;
      while (last < rows_.size() && same_group(rows_[first].point, rows_[last].point)) ++last;
      for (size_t i = first + 1; i < last; ++i) {
        const Record record = comparison_record(rows_[i].record, rows_[first].record, compared_);
        if (store.find(record.key()) == nullptr) store.append(record);
        std::printf("%s against %s, %s: median of paired ratios\n%s", label_of(rows_[i].point).c_str(),
                    rows_[first].point.at.back().second.c_str(), rows_[i].point.measure.c_str(),
                    ratio_lines(compare(rows_[i].record, rows_[first].record)).c_str());
      }
      first = last;
    }
  }

  // The compared axis is the last one, where it matters to the measure.
  bool same_group(const Point& a, const Point& b) const {
    return a.measure == b.measure && !a.at.empty() && a.at.back().first == compared_ &&
           std::equal(a.at.begin(), a.at.end() - 1, b.at.begin(), b.at.end() - 1);
  }

  void show_against(const std::vector<Record>& earlier) const {
    for (auto& row : rows_) {
      const Record* before = nullptr;  // the last one of the same point
      for (auto& record : earlier)
        if (record.chain == row.record.chain && record.measure == row.record.measure &&
            nlohmann::json(record.parameters) == nlohmann::json(row.record.parameters))
          before = &record;
      if (before == nullptr) {
        std::printf("%s: %s does not have this point\n", label_of(row.point).c_str(), command_.against_file.c_str());
        continue;
      }
      std::printf(
          "%s against commit %s of %s: ratio of medians, and of the ends of their intervals (not interleaved)\n%s",
          label_of(row.point).c_str(), before->commit.c_str(), before->date.c_str(),
          ratio_lines(unpaired_ratios(row.record, *before)).c_str());
    }
  }

  BenchCommand& command_;
  bench::Chain chain_;
  std::vector<Group> groups_;
  std::string compared_;  // the axis of --compare
  std::map<std::string, std::string> file_hashes_;
  std::vector<WiredChain::Port> ports_;
  bool fed_ = false;
  std::map<std::string, uint32_t> longest_frames_;  // bytes in memory, by traffic
  uint32_t longest_ = 0;                            // of all, if the router is elsewhere
  std::unique_ptr<MemifRouter> memif_;
  Drawings drawings_;
  std::vector<gpu::DeviceInfo> gpus_;
  std::vector<std::unique_ptr<Nvml>> nvml_;  // of each GPU, null where NVML does not know it
  std::string no_gpu_;
  bool looked_for_gpus_ = false;
  nlohmann::ordered_json machine_;
  std::vector<Row> rows_;
};

}  // namespace

int BenchCommand::run() { return Bench(*this).run(); }

}  // namespace heddle
