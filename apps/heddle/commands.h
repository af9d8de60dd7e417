#pragma once

#include <string>
#include <vector>

#include "engine/engine.h"
#include "functions/ip_lookup/convert/convert.h"

namespace heddle {

/** A chain on the command line. */
struct ChainOptions {
  std::string file, expression;
  std::vector<std::string> variables;  ///< NAME=VALUE
  PlanOptions plan;
  std::string launch = "persistent";
  bool json = false;
};

/** A chain that has been read and planned. */
struct Chain {
  Router router;
  Plan plan;
};

/** Reads, checks and plans. All mistakes are printed to standard error; throws Error if there are any. */
Chain read_chain(ChainOptions options);

struct RunCommand {
  RunOptions options;
  double seconds = 0;
  bool quiet = false;
  std::string dpdk;
  int run(const ChainOptions& chain);
};

struct RoutesCommand {
  std::string file;
  std::vector<std::string> addresses;
  bool json = false;
  int run() const;
};

struct ConvertCommand {
  ip_lookup::ConvertOptions options;
  std::string output = "-";
  int run() const;
};

int check(const ChainOptions& chain);
int show_plan(const ChainOptions& chain);
int show_elements(const std::string& name, bool json);
int show_gpus(bool json);

/** The manual of an element class, its header comment; "" if there is none. Made by the build. */
std::string manual(const std::string& class_name);

}  // namespace heddle
