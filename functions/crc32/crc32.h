#pragma once

#include <vector>

#include "core/element.h"
#include "functions/crc32/rule.h"

namespace heddle {

/** What SetCRC32 and CheckCRC32 share: the VARIANT, and the table of the GPU side. */
class Crc32Element : public Element {
 public:
  bool changes_length() const override { return true; }
  std::span<const std::byte> table() const override { return table_; }
  void start(const Environment&) override;

 protected:
  /** Reads VARIANT and makes the table. */
  void read_variant(click::Arguments& arguments, bool second_output);

  crc32::Variant variant_ = crc32::Variant::ieee;

 private:
  std::vector<std::byte> table_;
};

}  // namespace heddle
