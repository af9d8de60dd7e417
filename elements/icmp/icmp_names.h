#pragma once

#include <span>
#include <string>
#include <string_view>

namespace heddle {

/** Arguments TYPE and CODE of ICMPError: a number or one of Click's names (RFC 792, RFC 1122, RFC 1812). */
struct IcmpType {
  int value = 0;
};
bool parse(std::string_view text, IcmpType& value);
std::string expectation(IcmpType);

/** A code of `type` by its name or number; -1: it has no such code. */
int icmp_code(int type, std::string_view text);

/** What a type is called, or a code of it. */
struct IcmpName {
  int type, code;
  std::string_view text;
};
/** The same by other names: ICMPv6's. */
int icmp_code(std::span<const IcmpName> codes, int type, std::string_view text);

constexpr int kUnreachable = 3, kSourceQuench = 4, kRedirect = 5, kTimeExceeded = 11, kParameterProblem = 12;
constexpr int kEchoReply = 0, kEcho = 8;
/** Whether a message of this type reports an error, so that none may answer it (RFC 1122, 3.2.2). */
constexpr bool is_icmp_error(int type) {
  return type == kUnreachable || type == kSourceQuench || type == kRedirect || type == kTimeExceeded ||
         type == kParameterProblem;
}

}  // namespace heddle
