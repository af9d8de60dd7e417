#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "click/diagnostics.h"
#include "click/graph.h"

namespace heddle::click {

/** What Heddle has of Click's and FastClick's packages and features. */
inline std::vector<std::string> default_packages() {
  return {"batch", "click", "dpdk",        "fastclick", "flow",         "heddle",
          "int64", "linux", "multithread", "pcap",      "umultithread", "userlevel"};
}

/** The file that mistakes in a prelude name. */
inline constexpr const char* kPrelude = "<prelude>";

/** What a configuration may refer to. */
struct ParseOptions {
  std::vector<std::string> known_classes;                  // the engine's element classes
  std::map<std::string, std::string> variables;            // from the command line; win over define() at the top level
  std::vector<std::string> packages = default_packages();  // what require() may name
  std::string prelude{};  // elementclass statements before the configuration; elements made by them are
                          // where the compound stands that they are for
  /** The text of the file that `require(library FILE)` in `from` names; nullopt: cannot be read. Null: no libraries. */
  std::function<std::optional<std::string>(const std::string& file, const std::string& from)> read_library{};
};

/** Reads a configuration in the Click language (E. Kohler et al., "The Click Modular Router", TOCS 2000; Click's
 *  click(5) manual) and expands its compound elements. `file` names the text in messages. All mistakes go to
 *  `diagnostics`; the graph is meaningless unless diagnostics.ok().
 *
 *  Beyond Click: names may be used before their declaration. Not as in Click: a variable without a value is a mistake
 *  (in a Script, where it may be one of the script's own, it stays). `require(library FILE)` reads the statements of
 *  FILE in its place, the first time that it is named.
 *  Limits: compound elements and groups nest 64 deep; 100,000 elements and 1,000,000 connections after expansion. */
Graph parse(std::string_view text, const std::string& file, const ParseOptions& options, Diagnostics& diagnostics);

}  // namespace heddle::click
