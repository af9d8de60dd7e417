#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace heddle::bench {

/** The GPU that a chain uses, as far as it is known. */
struct GpuFacts {
  std::string model, driver;
  nlohmann::ordered_json clocks = nlohmann::ordered_json::object();  ///< "gpu_sm_mhz" and so on
};

/** This machine as records have it: "cpu", "cores", "flags", "memory_bytes", "kernel", "gpu", "driver", "clocks", and
 *  an "id" made of what is hardware. What cannot be found out is absent. */
nlohmann::ordered_json describe_machine(const GpuFacts& gpu);

/** The "id" for a machine so described: two are the same if processor, number of cores, processor flags, memory (in
 *  GiB) and GPU are. */
std::string machine_id(const nlohmann::ordered_json& machine);

/** Where the hardware of two machines differs: "cores: 16 there, 2 here; ..."; "" if their ids agree. */
std::string machine_differences(const nlohmann::ordered_json& there, const nlohmann::ordered_json& here);

/** 64 bits of FNV-1a as 16 hexadecimal digits. */
std::string hash_of(const std::string& text);
std::string hash_of_file(const std::string& file);

}  // namespace heddle::bench
