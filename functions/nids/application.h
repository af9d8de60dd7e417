#pragma once

#include <cstdint>
#include <string_view>

namespace heddle::nids {

/** What a connection or a datagram speaks, as rules name it (Suricata 7.0, 8.1, Protocol). */
enum class Application : uint8_t { none, http, smtp, ftp, ssh, smb, tls, dns };

/** none: there is none with this name. */
Application application_named(std::string_view name);
std::string_view name_of(Application application);

/** Who says it: the client, or the server. */
enum Side : uint8_t { kRequest, kResponse };

/** What a connection speaks of which a side has begun with `text`, as Suricata 7.0.10 knows it; none: nothing that is
 *  known, or it cannot be said yet. `server_port`: host byte order. */
Application recognise(Side side, uint16_t server_port, std::string_view text);

}  // namespace heddle::nids
