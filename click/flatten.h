#pragma once

#include "click/parser.h"
#include "click/syntax.h"

namespace heddle::click {

constexpr int kMaxCompoundDepth = 64;
constexpr int kMaxElements = 100'000;
constexpr int kMaxConnections = 1'000'000;

/** Replaces every compound element of the program by its contents and every variable by its value. */
Graph flatten(const Program& program, const ParseOptions& options, Diagnostics& diagnostics);

}  // namespace heddle::click
