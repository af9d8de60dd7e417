#pragma once

#include <functional>

#include "gpu/device.h"
#include "gpu/program.h"

namespace heddle::gpu {

/** A program as the kernel runs it, and what it wants of a block and a slot. */
struct ProgramLayout {
  Program program;
  size_t shared_bytes;  ///< dynamic shared memory of a block
  size_t column_words;  ///< of a slot, in words of 32 bits a packet
};

/** Where on a device a spec's tables and states lie. */
struct ProgramAddresses {
  std::function<const void*(TableId)> table;
  std::function<void*(StateId)> state;
};

/** Places columns, scratch and what functions fill in a block's dynamic shared memory, one behind the other, and
 *  numbers the targets. `copy_bytes`: scratch that transport gather wants. Throws Error when there are too many
 *  elements or targets. */
ProgramLayout lay_out(const ProgramSpec& spec, size_t copy_bytes, const ProgramAddresses& addresses);

}  // namespace heddle::gpu
