#pragma once

#include <string_view>
#include <vector>

namespace heddle::bench {

/** A file of measure/generate/data/, which the build puts into the program; "" if there is none of that name. */
std::string_view data_file(std::string_view name);
std::vector<std::string_view> data_files();

}  // namespace heddle::bench
