#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "click/values.h"

namespace heddle::script {

/** Takes the first word off `text`, quotes in place; "" at the end. */
std::string take_word(std::string_view& text);

/** A time in seconds, or with a unit: us, ms, s, m (minutes), h. */
bool parse_time(std::string_view text, click::Duration& time);

/** What a reference stands for: "x" of $x and ${x}, or, with `call`, "c.count" of $(c.count); nullopt: leave it as it
 *  is. */
using Meaning = std::function<std::optional<std::string>(const std::string& reference, bool call)>;

/** The text with its references replaced, as Click's cp_expand: not within single quotes; within double quotes the
 *  values are escaped; references within $(...) first. `quote`: values outside quotes are put into double quotes, so
 *  that a later unquote() gives them back as they are. */
std::string expand(std::string_view text, const Meaning& meaning, bool quote = false, int depth = 0);

}  // namespace heddle::script
