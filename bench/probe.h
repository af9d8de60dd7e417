#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace heddle::bench {

/** A measurement with parameters that is no chain, for sweeps:
 *
 *      heddle_bench --probe NAME [--json FILE] [--commit ID] "parameter=value parameter=value ..." ...
 *
 *  measures each point once, in that order, and writes a record for each (bench/figures pools them). */
struct Probe {
  /** Values of the parameters; takes each by name and says what is wrong. */
  class Parameters {
   public:
    explicit Parameters(std::map<std::string, std::string> values) : values_(std::move(values)) {}
    /** The value of `name`, or `otherwise` if it was not given; Error if it is not one of `allowed` (when there are
     *  any). */
    std::string text(const std::string& name, const std::string& otherwise,
                     const std::vector<std::string>& allowed = {});
    /** The same of a number from `low` to `high`. */
    int number(const std::string& name, int otherwise, int low, int high);
    /** Throws Error if a parameter was given that nobody has asked for. */
    void expect_all_used() const;
    /** All parameters that were asked for, with their values. */
    const std::map<std::string, std::string>& used() const { return used_; }

   private:
    std::map<std::string, std::string> values_, used_;
  };
  struct Value {
    std::string name, unit;
    double value;
  };

  std::string name;
  std::function<std::vector<Value>(Parameters&)> run;
};
std::vector<Probe>& probes();
struct RegisterProbe {
  RegisterProbe(const char* name, std::function<std::vector<Probe::Value>(Probe::Parameters&)> run) {
    probes().push_back({name, std::move(run)});
  }
};

/** The program with --probe: the words behind it. Returns the exit status. */
int probe_main(const std::vector<std::string>& words);

/** The program with --machine: prints this machine as records have it. Returns the exit status. */
int machine_main();

}  // namespace heddle::bench
