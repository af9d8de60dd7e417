#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/batch.h"

namespace heddle {

/** Whether packets of this LINKTYPE_ (as captures number them) can hold IP, and we know where. */
bool is_ip_link(uint32_t link_type);

/** The offset of the IPv4 header in a captured packet, -1 if there is none or it is not whole and sound. VLAN tags are
 *  skipped. */
int ip_offset(uint32_t link_type, const uint8_t* packet, uint32_t bytes);

/** Sets the header and destination annotations of packet `i`, whose IPv4 header is sound and begins at byte `at`. */
void annotate_ip(Batch& batch, int i, uint32_t at);

/** Click's name for a LINKTYPE_ (ETHER, IP, ...), or its number as text. */
std::string link_type_name(uint32_t link_type);
/** A LINKTYPE_ as people see it: its number, and its name in tcpdump and Wireshark if it is a common one. */
std::string link_type_for_people(uint32_t link_type);
std::optional<uint32_t> link_type_of_name(const std::string& name);
std::string link_type_names();

}  // namespace heddle
