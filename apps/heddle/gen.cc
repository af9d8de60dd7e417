// `heddle gen`: tables and traffic with the statistics of real ones, the same for the same seed.

#include <cstdio>
#include <cstring>
#include <memory>

#include "apps/heddle/commands.h"
#include "apps/heddle/options.h"
#include "click/values.h"
#include "core/error.h"
#include "core/output_file.h"
#include "io/capture/writer.h"
#include "measure/generate/associations.h"
#include "measure/generate/filter_set.h"
#include "measure/generate/macs.h"
#include "measure/generate/names.h"
#include "measure/generate/patterns.h"
#include "measure/generate/random.h"
#include "measure/generate/random_rules.h"
#include "measure/generate/routes.h"
#include "measure/generate/text.h"
#include "measure/wire/traffic.h"

namespace heddle {
namespace {

using namespace bench;

constexpr size_t kMaxCount = 1'000'000;

/** A command of `heddle gen`. */
struct Command {
  explicit Command(CLI::App* app) : app(app) {}
  virtual ~Command() = default;
  virtual void run() const = 0;

  CLI::App* app;
  size_t count = 0;
  uint64_t seed = 1;
  std::string output = "-";

 protected:
  void add_common(const char* things) {
    app->add_option("-n", count, std::string("How many ") + things + ", 1 to 1000000")
        ->required()
        ->check(CLI::Range(size_t{1}, kMaxCount))
        ->type_name("N");
    app->add_option("--seed", seed, "The same seed gives the same bytes on every machine; default: 1")->type_name("S");
    add_output();
  }
  void add_output() {
    app->add_option("-o,--output", output, "File to write; default: standard output")->type_name("FILE");
  }
  void require_output() {
    app->get_option("--output")->required()->description("File to write; - for standard output");
  }
};

struct Routes : Command {
  explicit Routes(CLI::App* gen)
      : Command(gen->add_subcommand("routes", "A routing table: PREFIX OUTPUT a line, as DirectIPLookup reads it")) {
    add_common("routes");
    app->add_option(
           "--like", like,
           "Take lengths and nesting from FILE: a table (lines that begin with a prefix) or a profile; default: a "
           "BGP table of RouteViews")
        ->type_name("FILE");
    app->add_option("--hops", hops, "Outputs 0 to K - 1; default: 4")->check(CLI::Range(1, INT32_MAX))->type_name("K");
    app->add_flag("--ipv6", ipv6, "IPv6 prefixes");
  }
  void run() const override {
    const Family family = ipv6 ? Family::ipv6 : Family::ipv4;
    const auto prefixes =
        generate_prefixes(like.empty() ? real_profile(family) : profile_like(like, family), count, seed);
    write_output(output, route_file(prefixes, family, hops, seed));
  }

  std::string like;
  uint32_t hops = 4;
  bool ipv6 = false;
};

struct Profile : Command {
  explicit Profile(CLI::App* gen)
      : Command(gen->add_subcommand("profile", "What --like of routes takes from a table, without its prefixes")) {
    app->add_option("table", table, "Lines that begin with a prefix")->required()->type_name("FILE");
    app->add_flag("--ipv6", ipv6, "IPv6 prefixes");
    add_output();
  }
  void run() const override { write_output(output, to_text(profile_like(table, ipv6 ? Family::ipv6 : Family::ipv4))); }

  std::string table;
  bool ipv6 = false;
};

struct Filters : Command {
  explicit Filters(CLI::App* gen)
      : Command(gen->add_subcommand("filters", "A filter set as ClassBench's db_generator makes it")) {
    add_common("filters");
    app->add_option(
           "--like", like,
           "ClassBench parameter file, or one of ours: acl (default), fw, ipc; random: ranges of no structure, "
           "those of the protocol among them, which ClassBench's format does not have")
        ->type_name("PARAMETERS");
    app->add_option("--smoothness", options.smoothness, "Spread prefix lengths over so many around them, 0 to 64")
        ->check(CLI::Range(0, 64));
    app->add_option("--address-scope", options.address_scope, "-1 to 1: longer (negative) or shorter prefixes")
        ->check(number_in(-1, 1));
    app->add_option("--port-scope", options.port_scope, "-1 to 1: more (negative) or less specific ports")
        ->check(number_in(-1, 1));
    app->add_flag("!--no-address-scaling", options.address_scaling,
                  "No more different addresses than the parameters have (db_generator without -b)");
  }
  void run() const override {
    if (like == "random") {
      for (const char* option : {"--smoothness", "--address-scope", "--port-scope", "--no-address-scaling"})
        if (app->count(option) > 0) throw Error(format("%s: --like random has no structure to change", option));
      return write_output(output, random_rules(count, seed));
    }
    auto all = options;
    all.count = count;
    all.seed = seed;
    const auto filters = generate_filters(parameters_like(like), all);
    write_output(output, to_text(filters));
    if (filters.size() < count)
      std::fprintf(stderr, "heddle: only %zu different filters: these parameters have no more; try --smoothness\n",
                   filters.size());
  }

  std::string like = "acl";
  FilterSetOptions options;
};

struct Parameters : Command {
  explicit Parameters(CLI::App* gen)
      : Command(gen->add_subcommand("parameters", "The parameter file that a filter set would come from")) {
    app->add_option("filters", filters, "Filter set in ClassBench's format")->required()->type_name("FILE");
    add_output();
  }
  void run() const override {
    write_output(output, to_text(parameters_of(parse_filters(filters, read_file(filters)))));
  }

  std::string filters;
};

struct Headers : Command {
  explicit Headers(CLI::App* gen)
      : Command(gen->add_subcommand("headers",
                                    "A header trace for a filter set, as ClassBench's trace_generator makes it")) {
    add_common("headers");
    app->get_option("-n")->required(false);
    app->add_option("--filters", filters, "Filter set in ClassBench's format")->required()->type_name("FILE");
    app->add_option("--scale", scale, "In place of -n: so many times the number of filters")
        ->check(number_in(0, kMaxCount))
        ->excludes("-n");
    app->add_option("--pareto", pareto, "Shape and scale of the repetitions; default: 1 0.1; 1 0: none; 1 1: many")
        ->expected(2)
        ->check(number_in(0, 1e6))
        ->type_name("A B");
  }
  void run() const override {
    const auto set = parse_filters(filters, read_file(filters));
    if (count == 0 && scale == 0) throw Error("gen headers: missing the number of headers; -n N or --scale S gives it");
    const size_t wanted = count != 0 ? count : static_cast<size_t>(static_cast<double>(set.size()) * scale + 0.5);
    if (wanted < 1 || wanted > kMaxCount)
      throw Error(format("gen headers: --scale %g of %zu filters is %zu headers, not 1 to %zu", scale, set.size(),
                         wanted, kMaxCount));
    write_output(output, to_text(generate_headers(set, wanted, pareto[0], pareto[1], seed)));
  }

  std::string filters;
  double scale = 0;
  std::vector<double> pareto = {1, 0.1};
};

struct Patterns : Command {
  explicit Patterns(CLI::App* gen)
      : Command(
            gen->add_subcommand("patterns", "Patterns of an intrusion detection system, as Snort's content option")) {
    add_common("patterns");
    app->add_flag("--rules", rules, "Whole rules, which NIDS reads: an alert for each pattern");
  }
  void run() const override {
    const auto patterns = generate_patterns(count, seed);
    write_output(output, rules ? to_rules(patterns) : to_text(patterns));
  }

  bool rules = false;
};

struct Associations : Command {
  explicit Associations(CLI::App* gen)
      : Command(gen->add_subcommand("associations",
                                    "Security associations, as IPsecEncap and IPsecDecap read them, with keys from the "
                                    "seed: for measurements only")) {
    add_common("associations");
    require_output();
    app->add_option("--suite", suite, "ctr-sha1 (default), ctr-sha256 or gcm, with AES of 128 bits")
        ->transform(CLI::CheckedTransformer(std::map<std::string, EspSuite>{
            {"ctr-sha1", EspSuite::ctr_sha1}, {"ctr-sha256", EspSuite::ctr_sha256}, {"gcm", EspSuite::gcm}}));
  }
  void run() const override {
    if (count > kMax) throw Error(format("-n: IPsecEncap takes up to %zu associations", kMax));
    write_output(output, generate_associations(count, suite, seed), true);
  }

  static constexpr size_t kMax = 100'000;
  EspSuite suite = EspSuite::ctr_sha1;
};

struct Names : Command {
  explicit Names(CLI::App* gen) : Command(gen->add_subcommand("names", "Names of content, as NDN has them, or URLs")) {
    add_common("names");
    app->add_option("--form", form,
                    "ndn (default): /org/wikipedia/en/wiki/Click; url: http://en.wikipedia.org/wiki/Click")
        ->check(CLI::IsMember({"ndn", "url"}));
    app->add_option("--hops", hops, "Behind each name an output, 0 to K - 1, as NDNLookup reads it; default: none")
        ->check(CLI::Range(1, UINT16_MAX))
        ->type_name("K");
  }
  void run() const override {
    Random random(seed);
    std::string text;
    for (const auto& name : generate_names(count, form == "ndn" ? NameForm::ndn : NameForm::url, seed)) {
      text += name;
      if (hops != 0) text += " " + std::to_string(random.below(hops));
      text += "\n";
    }
    write_output(output, text);
  }

  std::string form = "ndn";
  uint32_t hops = 0;
};

struct Macs : Command {
  explicit Macs(CLI::App* gen)
      : Command(gen->add_subcommand("macs", "Ethernet addresses of hosts: ADDRESS PORT a line, as L2Switch reads it")) {
    add_common("addresses");
    app->add_option("--ports", ports, "Ports 0 to K - 1; default: 4")->check(CLI::Range(1, UINT16_MAX))->type_name("K");
  }
  void run() const override { write_output(output, mac_file(count, ports, seed)); }

  uint32_t ports = 4;
};

struct Packets : Command {
  explicit Packets(CLI::App* gen)
      : Command(gen->add_subcommand("packets",
                                    "A capture (pcap) of the traffic that a generator of `heddle bench` sends")) {
    add_common("packets");
    require_output();
    app->add_option("--size", options.sizes, "Bytes of a frame with FCS, 64 to 9216; imix; or a capture. Default: 64");
    app->add_option(
        "--addresses", options.addresses,
        "uniform (default); routes:FILE, destinations in a route table; trace:FILE, a header trace; "
        "uniform6, routes6:FILE: the same of IPv6; macs:FILE, Ethernet addresses of a table; names:FILE, NDN "
        "Interests for names of a table");
    app->add_option("--protocol", options.protocol,
                    "Of the flows: udp (default; IPv6: 84 bytes or more a frame), or tcp (76, IPv6: 96)")
        ->check(CLI::IsMember({"udp", "tcp"}));
    app->add_option("--flows", options.flows, "Different 5-tuples; default: 1024")->type_name("N");
    app->add_option("--zipf", options.zipf, "Flow k has a share of 1 / k^S, S up to 10; default: 0, all the same")
        ->check(number_in(0, 10))
        ->type_name("S");
    app->add_option("--rate", rate_mpps, "Packets a microsecond by their time stamps; default: 1")
        ->check(number_in(1e-6, 1e6))
        ->type_name("MPPS");
  }
  void run() const override {
    auto all = options;
    all.seed = seed;
    all.signatures = false;
    const Traffic traffic(all, 1, 1);
    const Stream& stream = traffic.stream(0, 0);
    capture::Writer writer(output, {});
    std::vector<uint8_t> packet(traffic.longest_bytes());
    for (size_t i = 0; i < count; ++i) {
      const size_t at = i % stream.frames.size(), length = stream.frames[at].length;
      const size_t in_head = std::min(length, sizeof stream.heads[at].bytes);
      std::memcpy(packet.data(), stream.heads[at].bytes, in_head);
      std::memcpy(packet.data() + in_head, traffic.rests() + stream.frames[at].rest, length - in_head);
      const auto time_ns = static_cast<uint64_t>(static_cast<double>(i) * 1000 / rate_mpps);
      writer.write(packet.data(), static_cast<uint32_t>(length), static_cast<uint32_t>(length), time_ns);
    }
    writer.close();
    if (writer.failed()) throw Error(writer.failure());
  }

  TrafficOptions options;
  double rate_mpps = 1;
};

}  // namespace

std::function<int()> add_gen_commands(CLI::App& gen) {
  gen.require_subcommand(1);
  const std::vector<std::shared_ptr<const Command>> commands = {
      std::make_shared<Routes>(&gen),      std::make_shared<Profile>(&gen), std::make_shared<Filters>(&gen),
      std::make_shared<Parameters>(&gen),  std::make_shared<Headers>(&gen), std::make_shared<Patterns>(&gen),
      std::make_shared<Names>(&gen),       std::make_shared<Macs>(&gen),    std::make_shared<Packets>(&gen),
      std::make_shared<Associations>(&gen)};
  return [commands] {
    for (const auto& command : commands)
      if (*command->app) command->run();
    return 0;
  };
}

}  // namespace heddle
