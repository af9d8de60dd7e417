#include "measure/campaign/record.h"

#include <cmath>

#include "core/error.h"

namespace heddle::bench {

using Json = nlohmann::ordered_json;

namespace {

std::vector<double> samples_of(const Json& list) {
  std::vector<double> samples;
  for (auto& sample : list) samples.push_back(sample.is_null() ? std::nan("") : sample.get<double>());
  return samples;
}

template <class AnyJson>
std::string one_line(const AnyJson& value) {  // file names need not be UTF-8
  return value.dump(-1, ' ', false, AnyJson::error_handler_t::replace);
}

}  // namespace

const Value* Record::find(const std::string& value) const {
  for (auto& [name, found] : values)
    if (name == value) return &found;
  return nullptr;
}

std::string Record::key() const {
  const nlohmann::json sorted = parameters;
  return one_line(Json{name, chain_hash, input_hash, measure, one_line(sorted), machine_id(), commit});
}

std::string Record::json() const {
  Json all = Json::object();
  for (auto& [value_name, value] : values)
    all[value_name] = {{"median", value.summary.median},   {"low", value.summary.low},
                       {"high", value.summary.high},       {"confidence", confidence(value.summary.measured())},
                       {"samples", value.summary.samples}, {"unit", value.unit}};
  Json line{{"schema", kSchema},  {"name", name},
            {"chain", chain},     {"chain_hash", chain_hash},
            {"measure", measure}, {"parameters", parameters},
            {"values", all},      {"machine", machine},
            {"commit", commit},   {"command", command},
            {"date", date},       {"warnings", warnings}};
  if (!input_hash.empty()) line["input_hash"] = input_hash;
  if (!histogram.empty()) line["histogram"] = histogram;
  return one_line(line);
}

Record Record::parse(const std::string& line) {
  try {
    const Json all = Json::parse(line);
    if (all.at("schema") != kSchema) throw Error("its schema is not " + std::string(kSchema));
    Record record;
    record.name = all.at("name"), record.chain = all.value("chain", "");
    record.chain_hash = all.value("chain_hash", ""), record.input_hash = all.value("input_hash", "");
    record.measure = all.value("measure", ""), record.histogram = all.value("histogram", "");
    record.parameters = all.at("parameters"), record.machine = all.at("machine");
    if (!record.parameters.is_object()) throw Error("it is not a record of heddle bench: its parameters are no object");
    record.machine.at("id").get<std::string>();
    for (auto& [value_name, value] : all.at("values").items())
      record.values.push_back(
          {value_name,
           {{value.at("median"), value.at("low"), value.at("high"), samples_of(value.at("samples"))},
            value.at("unit")}});
    record.commit = all.at("commit"), record.command = all.value("command", ""), record.date = all.value("date", "");
    record.warnings = all.value("warnings", std::vector<std::string>());
    return record;
  } catch (const Json::exception& error) {
    throw Error(std::string("it is not a record of heddle bench: ") + error.what());
  }
}

}  // namespace heddle::bench
