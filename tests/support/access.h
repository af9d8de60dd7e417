#pragma once

#include <string>
#include <vector>

#include "tests/support/harness.h"

namespace heddle::test {

struct AccessOptions {
  size_t shortest = 0, longest = 96;  ///< lengths of the frames
  int outputs = 1;
  int tail = 0;  ///< bytes by which it changes the length of packets that leave by output 0
  int frames = 200, rounds = 4;
  /** Gives a frame's declared reads values worth having (addresses that match a route); all else is random. */
  std::function<void(Frame&, std::mt19937&)> shape{};
};

/** Tries to refute the declaration Element::access() of an element, written as in a chain ("EtherMirror"). Runs it on
 * random frames with random columns, then again with other garbage in every byte and column that it does not declare to
 * read. Returns what contradicts the declaration: a byte or column outside the declared writes that has changed; bytes
 * or columns within them, an output or a drop that depend on the garbage; another length. */
std::vector<std::string> access_violations(const std::string& element, const Backend& backend,
                                           const AccessOptions& options = {});

}  // namespace heddle::test
