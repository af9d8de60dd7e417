#include "measure/generate/filter_parameters.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>

#include "core/error.h"
#include "measure/generate/address_trie.h"
#include "measure/generate/data.h"
#include "measure/generate/text.h"

namespace heddle::bench {
namespace {

using Fields = std::vector<std::string_view>;

/** Reads one section after the other. */
class Parser {
 public:
  Parser(const std::string& name, std::string_view text) : reader_(name, text) {
    sections_["scale"] = [this](const Fields& words) { result_.scale = number<size_t>(words, 0, "number of filters"); };
    sections_["prots"] = [this](const Fields& words) { read_protocol(words); };
    sections_["flags"] = [this](const Fields& words) { read_flags(words); };
    sections_["extra"] = [this](const Fields& words) {
      if (number<size_t>(words, 0, "number of extra fields") != 0)
        reader_.fail("extra fields are not supported; 0 would be right");
    };
    for (const auto& [section, list] : {std::pair("spar", &result_.source_ranges),
                                        {"spem", &result_.source_exact},
                                        {"dpar", &result_.destination_ranges},
                                        {"dpem", &result_.destination_exact}})
      sections_[section] = [this, list = list](const Fields& words) { read_ports(words, *list); };
    for (size_t i = 0; i < kPortPairs; ++i)
      sections_[name_of(kPortPairOrder[i])] = [this, i](const Fields& words) {
        read_lengths(words, result_.lengths[i]);
      };
    for (const auto& [side, shape] : {std::pair("s", &result_.source), {"d", &result_.destination}}) {
      sections_[side + std::string("nest")] = [this, shape = shape](const Fields& words) {
        shape->nesting = number<int>(words, 0, "nesting threshold", 1, 33);
      };
      sections_[side + std::string("skew")] = [this, shape = shape](const Fields& words) {
        shape->levels[number<size_t>(words, 0, "level", 0, 32)] = {share(words, 1), share(words, 2), share(words, 3)};
      };
    }
    sections_["pcorr"] = [this](const Fields& words) {
      result_.correlation[number<size_t>(words, 0, "level", 1, 32)] = share(words, 1);
    };
  }

  FilterParameters read() {
    const std::function<void(const Fields&)>* section = nullptr;
    bool inside = false;
    for (std::string_view line; reader_.next(line);) {
      const Fields words = words_of(line, ",");
      if (words.empty()) continue;
      if (words[0] == "#") {
        inside = false;
      } else if (!inside) {
        if (words[0].size() < 2 || words[0][0] != '-' || words.size() != 1)
          reader_.fail("'" + std::string(line) + "' where a section such as -scale must begin");
        const auto found = sections_.find(words[0].substr(1));
        section = found == sections_.end() ? nullptr : &found->second;
        inside = true;
        seen_.insert(std::string(words[0].substr(1)));
      } else if (section != nullptr) {
        (*section)(words);
      }
    }
    if (inside) reader_.fail("the last section has no end; a line '#' would be right");
    check();
    return std::move(result_);
  }

 private:
  std::string_view word(const Fields& words, size_t at, const char* what) const {
    if (at >= words.size()) reader_.fail(std::string("the line ends where a ") + what + " was expected");
    return words[at];
  }
  template <class T>
  T number(const Fields& words, size_t at, const char* what, T least = 0, T most = T(1) << 30) const {
    T value{};
    const std::string_view text = word(words, at, what);
    if (!parse_number(text, value) || value < least || value > most)
      reader_.fail("'" + std::string(text) + "' is not a " + what);
    return value;
  }
  // A few ten-thousandths more than 1: files round.
  double share(const Fields& words, size_t at) const { return number<double>(words, at, "share of 0 to 1", 0, 1.001); }

  void read_protocol(const Fields& words) {
    FilterParameters::Protocol protocol{number<int>(words, 0, "protocol number", 0, 255), share(words, 1), {}};
    for (size_t i = 0; i < kPortPairs; ++i) protocol.port_pairs[i] = share(words, 2 + i);
    result_.protocols.push_back(protocol);
  }

  void read_flags(const Fields& words) {
    auto& list = result_.flags[number<int>(words, 0, "protocol number", 0, 255)];
    for (size_t i = 1; i < words.size(); i += 2) {
      FilterParameters::Flags flags{};
      const size_t slash = words[i].find('/');
      if (slash == words[i].npos || !parse_hexadecimal(words[i].substr(0, slash), flags.value) ||
          !parse_hexadecimal(words[i].substr(slash + 1), flags.mask))
        reader_.fail("'" + std::string(words[i]) + "' is not a value and mask such as 0x0000/0x0200");
      flags.value &= flags.mask;
      flags.probability = share(words, i + 1);
      list.push_back(flags);
    }
  }

  void read_ports(const Fields& words, std::vector<FilterParameters::Ports>& list) {
    FilterParameters::Ports ports{share(words, 0), {}};
    const std::string_view range = word(words, 1, "port range");
    const size_t colon = range.find(':');
    if (colon == range.npos || !parse_number(range.substr(0, colon), ports.range.low) ||
        !parse_number(range.substr(colon + 1), ports.range.high) || ports.range.low > ports.range.high)
      reader_.fail("'" + std::string(range) + "' is not a port range such as 20:23");
    list.push_back(ports);
  }

  void read_lengths(const Fields& words, FilterParameters::Lengths& lengths) {
    const auto total = number<size_t>(words, 0, "total prefix length", 0, 64);
    lengths.total[total] = share(words, 1);
    if (words.size() < 4) reader_.fail("a total prefix length without a source prefix length");
    for (size_t i = 2; i < words.size(); i += 2) {
      const auto source = number<size_t>(words, i, "source prefix length", 0, 32);
      if (source > total || total - source > 32)
        reader_.fail(format("with a source prefix of /%zu, a total of %zu leaves no destination prefix of /0 to /32",
                            source, total));
      lengths.source[total][source] = share(words, i + 1);
    }
  }

  // What is used must be there.
  void check() const {
    for (const char* section : {"scale", "prots", "snest", "sskew", "dnest", "dskew"})
      if (!seen_.contains(section)) reader_.fail(std::string("section -") + section + " is missing");
    if (result_.protocols.empty()) reader_.fail("section -prots is empty");
    for (const auto& protocol : result_.protocols)
      for (size_t i = 0; i < kPortPairs; ++i) {
        if (protocol.port_pairs[i] == 0) continue;
        const auto need = [&](PortClass used, PortClass kind, const auto& list, const char* section) {
          if (used == kind && list.empty())
            reader_.fail(format("protocol %d uses %s, but section -%s is empty", protocol.number,
                                name_of(kPortPairOrder[i]).c_str(), section));
        };
        need(kPortPairOrder[i].source, PortClass::ar, result_.source_ranges, "spar");
        need(kPortPairOrder[i].source, PortClass::em, result_.source_exact, "spem");
        need(kPortPairOrder[i].destination, PortClass::ar, result_.destination_ranges, "dpar");
        need(kPortPairOrder[i].destination, PortClass::em, result_.destination_exact, "dpem");
        const auto& total = result_.lengths[i].total;
        if (std::all_of(total.begin(), total.end(), [](double share) { return share == 0; }))
          reader_.fail(format("protocol %d uses %s, but section -%s is empty", protocol.number,
                              name_of(kPortPairOrder[i]).c_str(), name_of(kPortPairOrder[i]).c_str()));
      }
  }

  LineReader reader_;
  std::map<std::string, std::function<void(const Fields&)>, std::less<>> sections_;
  std::set<std::string> seen_;
  FilterParameters result_;
};

void count_ports(std::vector<FilterParameters::Ports>& list, const PortRange& range) {
  for (auto& ports : list)
    if (ports.range == range) {
      ++ports.probability;
      return;
    }
  list.push_back({1, range});
}

// Counts to shares.
template <class List, class Member>
void normalise(List& list, Member member) {
  double sum = 0;
  for (auto& one : list) sum += member(one);
  for (auto& one : list)
    if (sum != 0) member(one) /= sum;
}
constexpr auto kProbability = [](auto& one) -> double& { return one.probability; };
constexpr auto kItself = [](double& one) -> double& { return one; };

}  // namespace

FilterParameters parse_parameters(const std::string& name, std::string_view text) { return Parser(name, text).read(); }

std::string to_text(const FilterParameters& parameters) {
  std::string text = format("-scale\n%zu\n#\n-prots\n", parameters.scale);
  for (const auto& protocol : parameters.protocols) {
    text += format("%d\t%.8f", protocol.number, protocol.probability);
    for (const double share : protocol.port_pairs) text += format("\t%.8f", share);
    text += "\n";
  }
  text += "#\n-flags\n";
  for (const auto& [protocol, list] : parameters.flags) {
    text += std::to_string(protocol) + "\t";
    for (const auto& flags : list) text += format("0x%04x/0x%04x,%.8f\t", flags.value, flags.mask, flags.probability);
    text += "\n";
  }
  text += "#\n-extra\n0\n#\n";
  for (const auto& [section, list] : {std::pair("spar", &parameters.source_ranges),
                                      {"spem", &parameters.source_exact},
                                      {"dpar", &parameters.destination_ranges},
                                      {"dpem", &parameters.destination_exact}}) {
    text += format("-%s\n", section);
    for (const auto& ports : *list)
      text += format("%.8f\t%u:%u\n", ports.probability, ports.range.low, ports.range.high);
    text += "#\n";
  }
  for (size_t pair = 0; pair < kPortPairs; ++pair) {
    text += "-" + name_of(kPortPairOrder[pair]) + "\n";
    const auto& lengths = parameters.lengths[pair];
    for (size_t total = 0; total < lengths.total.size(); ++total) {
      if (lengths.total[total] == 0) continue;
      text += format("%zu,%.8f", total, lengths.total[total]);
      for (size_t source = 0; source <= 32; ++source)
        if (lengths.source[total][source] != 0) text += format("\t%zu,%.8f", source, lengths.source[total][source]);
      text += "\n";
    }
    text += "#\n";
  }
  for (const auto& [side, shape] : {std::pair('s', &parameters.source), {'d', &parameters.destination}}) {
    text += format("-%cnest\n%d\n#\n-%cskew\n", side, shape->nesting, side);
    for (size_t level = 0; level < shape->levels.size(); ++level)
      text += format("%zu\t%.8f\t%.8f\t%.8f\n", level, shape->levels[level].one_child,
                     shape->levels[level].two_children, shape->levels[level].skew);
    text += "#\n";
  }
  text += "-pcorr\n";
  for (size_t level = 1; level <= 32; ++level) text += format("%zu\t%.8f\n", level, parameters.correlation[level]);
  return text + "#\n";
}

FilterParameters parameters_of(const std::vector<Filter>& filters) {
  if (filters.empty()) throw Error("there is no filter to compute parameters of");
  FilterParameters result;
  result.scale = filters.size();
  std::map<int, FilterParameters::Protocol> protocols;
  std::vector<Prefix> sources, destinations;
  std::array<double, 33> reached{}, equal{};
  for (const Filter& filter : filters) {
    const int number = filter.protocol_exact ? filter.protocol : 0;
    const size_t pair = port_pair_of(filter);
    auto& protocol = protocols[number];
    protocol.number = number;
    ++protocol.probability;
    ++protocol.port_pairs[pair];

    auto& flags = result.flags[number];
    const auto same = std::find_if(flags.begin(), flags.end(), [&](const auto& one) {
      return one.value == filter.flags && one.mask == filter.flags_mask;
    });
    if (same == flags.end())
      flags.push_back({filter.flags, filter.flags_mask, 1});
    else
      ++same->probability;

    const auto count = [](const PortRange& range, auto& ranges, auto& exact) {
      if (class_of(range) == PortClass::ar) count_ports(ranges, range);
      if (class_of(range) == PortClass::em) count_ports(exact, range);
    };
    count(filter.source_ports, result.source_ranges, result.source_exact);
    count(filter.destination_ports, result.destination_ranges, result.destination_exact);

    auto& lengths = result.lengths[pair];
    const size_t total = filter.source_length + filter.destination_length;
    ++lengths.total[total];
    ++lengths.source[total][filter.source_length];

    sources.push_back({Address{filter.source} << 96, filter.source_length});
    destinations.push_back({Address{filter.destination} << 96, filter.destination_length});
    const uint32_t differ = filter.source ^ filter.destination;
    for (int length = 1; length <= std::min(filter.source_length, filter.destination_length); ++length) {
      ++reached[static_cast<size_t>(length)];
      if (differ >> (32 - length) != 0) break;
      ++equal[static_cast<size_t>(length)];
    }
  }
  for (auto& [number, protocol] : protocols) {
    normalise(protocol.port_pairs, kItself);
    result.protocols.push_back(protocol);
  }
  normalise(result.protocols, kProbability);
  for (auto& [number, flags] : result.flags) normalise(flags, kProbability);
  for (auto* list :
       {&result.source_ranges, &result.source_exact, &result.destination_ranges, &result.destination_exact})
    normalise(*list, kProbability);
  for (auto& lengths : result.lengths) {
    normalise(lengths.total, kItself);
    for (auto& source : lengths.source) normalise(source, kItself);
  }
  result.source = shape_of(std::move(sources));
  result.destination = shape_of(std::move(destinations));
  for (size_t level = 1; level <= 32; ++level)
    result.correlation[level] = reached[level] == 0 ? 0 : equal[level] / reached[level];
  return result;
}

FilterParameters parameters_like(const std::string& like) {
  const std::string_view ours = data_file(like + ".parameters");
  if (!ours.empty()) return parse_parameters(like, ours);
  if (!std::filesystem::exists(like))
    throw Error("'" + like + "' is neither a parameter file nor one of acl, fw and ipc");
  return parse_parameters(like, read_file(like));
}

}  // namespace heddle::bench
