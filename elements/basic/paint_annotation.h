#pragma once

#include <string>
#include <string_view>

namespace heddle {

/** Argument ANNO of elements that work with paint. Click has many annotations of one byte; Heddle has PAINT, which is
 *  byte 20 of Click's. */
struct PaintAnnotation {};

inline bool parse(std::string_view text, PaintAnnotation&) { return text == "PAINT" || text == "20"; }
inline std::string expectation(PaintAnnotation) { return "PAINT, the only annotation of one byte that there is"; }

}  // namespace heddle
