#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/packet.h"

namespace heddle {

/** Which bytes of a packet Print and IPPrint show: argument CONTENTS. */
enum class Contents : uint8_t { none, hex, ascii };
bool parse(std::string_view text, Contents& value);
std::string expectation(Contents);

/** Appends bytes, with a space between groups of 4 (hexadecimal) or 8 (ASCII; others than 32 to 126 as a dot). `rows`:
 *  in lines of 24 or 48 bytes, each after a newline and two spaces. */
void append_bytes(std::string& line, std::span<const uint8_t> bytes, Contents how, bool rows);

/** Appends the seconds since 1970 at which the packet was captured, with 6 digits behind the point, or 9 if it takes
 *  them; 0.000000 for packets that come from a port. */
void append_timestamp(std::string& line, const Packet* packet);

/** printf behind what is there. */
[[gnu::format(printf, 2, 3)]] void append(std::string& line, const char* text, ...);

}  // namespace heddle
