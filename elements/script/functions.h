#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::script {

/** A function of scripts, such as `add`: takes its arguments as one text; throws Error if they do not suit it. */
struct Function {
  const char* name;
  std::string (*call)(const std::string& arguments);
  bool local = false;  ///< for scripts themselves only, not for ControlSocket: it reads files, or sends signals
};

const std::vector<Function>& functions();
const Function* find_function(const std::string& name);

/** `random` gives numbers that follow from `seed`. Any thread. */
void seed_random(uint64_t seed);

/** true, false, yes, no, 1, 0; throws Error. */
bool truth(const std::string& text);

}  // namespace heddle::script
