#pragma once

#include "core/element.h"
#include "functions/crc32/rule.h"

namespace heddle {

/** What SetCRC32 and CheckCRC32 share: the VARIANT, and the table of the GPU side. */
class Crc32Element : public Element {
 public:
  bool changes_length() const override { return true; }
  void start(const Environment&) override;

 protected:
  /** Reads VARIANT and makes the table. */
  void read_variant(click::Arguments& arguments, bool second_output);

  crc32::Variant variant_ = crc32::Variant::ieee;

 private:
  FixedTable<crc32::Tables> tables_;
};

}  // namespace heddle
