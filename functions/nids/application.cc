#include "functions/nids/application.h"

#include <algorithm>
#include <utility>

#include "functions/nids/buffers.h"
#include "functions/nids/dns.h"
#include "functions/nids/http.h"

namespace heddle::nids {
namespace {

constexpr std::pair<std::string_view, Application> kNames[] = {
    {"http", Application::http}, {"http1", Application::http}, {"smtp", Application::smtp},
    {"ftp", Application::ftp},   {"ssh", Application::ssh},    {"smb", Application::smb},
    {"tls", Application::tls},   {"ssl", Application::tls},    {"dns", Application::dns}};

/** What a side begins with, in letters of any case. */
struct Beginning {
  Application application;
  unsigned sides;  // bit kRequest, bit kResponse
  std::string_view text;
};
constexpr unsigned kOfRequest = 1u << kRequest, kOfResponse = 1u << kResponse;
constexpr Beginning kBeginnings[] = {{Application::smtp, kOfRequest, "ehlo"},
                                     {Application::smtp, kOfRequest, "helo"},
                                     {Application::smtp, kOfRequest, "quit"},
                                     {Application::ftp, kOfRequest, "feat"},
                                     {Application::ftp, kOfRequest, "user "},
                                     {Application::ftp, kOfRequest, "pass "},
                                     {Application::ftp, kOfRequest, "port "},
                                     {Application::ftp, kOfResponse, "220 ("},
                                     {Application::ssh, kOfRequest | kOfResponse, "ssh-"}};

constexpr uint16_t kTlsPort = 443;
constexpr size_t kMinSmbBytes = 36;  // the headers of NetBIOS and SMB

/** Records of TLS 1.0 to 1.3 and SSL 3 (RFC 8446, 5.1), or what SSL 2 begins with (RFC 6101, E.1). */
bool is_tls(Side side, uint16_t server_port, std::string_view text) {
  const auto byte = [&](size_t at) { return static_cast<uint8_t>(text[at]); };
  if (text.size() < 3) return false;
  const bool has_version = byte(1) == 3 && byte(2) <= 3;
  if (side == kResponse) return has_version && byte(0) >= 0x15 && byte(0) <= 0x17;
  if (has_version && (byte(0) == 0x16 || byte(0) == 1)) return true;
  return (byte(0) & 0x80) != 0 && byte(2) == 1 &&
         (server_port == kTlsPort || (text.size() >= 5 && byte(3) == 0 && byte(4) == 2));
}

/** Behind the header of a NetBIOS session (RFC 1002, 4.3.1) the mark of SMB 1, 2 or 3, or of what is encrypted. */
bool is_smb(std::string_view text) {
  if (text.size() < kMinSmbBytes || text.substr(5, 3) != "SMB") return false;
  const auto type = static_cast<uint8_t>(text[0]), mark = static_cast<uint8_t>(text[4]);
  return (type == 0 || (type >= 0x81 && type <= 0x85)) && mark >= 0xfd;
}

}  // namespace

Application application_named(std::string_view name) {
  const auto* const found = std::ranges::find(kNames, name, &std::pair<std::string_view, Application>::first);
  return found == std::end(kNames) ? Application::none : found->second;
}

std::string_view name_of(Application application) {
  const auto* const found = std::ranges::find(kNames, application, &std::pair<std::string_view, Application>::second);
  return found == std::end(kNames) ? "" : found->first;
}

Application recognise(Side side, uint16_t server_port, std::string_view text) {
  if (side == kRequest && HttpConnection::begins(text).value_or(false)) return Application::http;
  for (const Beginning& beginning : kBeginnings)
    if ((beginning.sides >> side & 1) != 0 && text.size() >= beginning.text.size() &&
        std::ranges::equal(text.substr(0, beginning.text.size()), beginning.text, {}, lowered))
      return beginning.application;
  if (is_tls(side, server_port, text)) return Application::tls;
  if (is_smb(text)) return Application::smb;
  if (server_port == kDnsPort && begins_dns(text)) return Application::dns;
  return Application::none;
}

}  // namespace heddle::nids
