#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "measure/campaign/statistics.h"

namespace heddle::bench {

constexpr const char* kSchema = "heddle-bench/1";

/** A measured quantity over all repetitions. */
struct Value {
  Summary summary;
  std::string unit;
};

/** One measured point: a line of a results file. */
struct Record {
  std::string name = "bench";  ///< of the series, such as "thesis-4.12"
  std::string chain;           ///< as it was named: a file, or the text
  std::string chain_hash;      ///< of its text
  std::string input_hash;      ///< of the files that the point reads; "" = none
  std::string measure;
  nlohmann::ordered_json parameters;
  std::vector<std::pair<std::string, Value>> values;
  nlohmann::ordered_json machine;
  std::string histogram;  ///< the file with the distribution of the latencies; "" = none
  std::string commit, command, date;
  std::vector<std::string> warnings;

  const Value* find(const std::string& value) const;
  std::string machine_id() const { return machine.value("id", ""); }
  /** What makes a point the same as another, so that it need not be measured again. */
  std::string key() const;
  std::string json() const;                      ///< one line, without its end
  static Record parse(const std::string& line);  ///< throws Error
};

}  // namespace heddle::bench
