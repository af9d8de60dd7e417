#include "elements/icmp/icmp_names.h"

#include "click/values.h"

namespace heddle {
namespace {

constexpr IcmpName kTypes[] = {{kUnreachable, 0, "unreachable"},
                               {kSourceQuench, 0, "sourcequench"},
                               {kRedirect, 0, "redirect"},
                               {kTimeExceeded, 0, "timeexceeded"},
                               {kParameterProblem, 0, "parameterproblem"}};
constexpr IcmpName kCodes[] = {{kUnreachable, 0, "net"},
                               {kUnreachable, 1, "host"},
                               {kUnreachable, 2, "protocol"},
                               {kUnreachable, 3, "port"},
                               {kUnreachable, 4, "needfrag"},
                               {kUnreachable, 5, "srcroutefail"},
                               {kUnreachable, 6, "netunknown"},
                               {kUnreachable, 7, "hostunknown"},
                               {kUnreachable, 8, "hostisolated"},
                               {kUnreachable, 9, "netprohibited"},
                               {kUnreachable, 10, "hostprohibited"},
                               {kUnreachable, 11, "nettos"},
                               {kUnreachable, 12, "hosttos"},
                               {kUnreachable, 13, "filterprohibited"},
                               {kUnreachable, 14, "hostprecedence"},
                               {kUnreachable, 15, "cutoff"},
                               {kRedirect, 0, "net"},
                               {kRedirect, 1, "host"},
                               {kRedirect, 2, "tosnet"},
                               {kRedirect, 3, "toshost"},
                               {kTimeExceeded, 0, "transit"},
                               {kTimeExceeded, 1, "reassembly"},
                               {kParameterProblem, 0, "erroratptr"},
                               {kParameterProblem, 1, "missingopt"},
                               {kParameterProblem, 2, "length"}};

}  // namespace

bool parse(std::string_view text, IcmpType& value) {
  for (const IcmpName& name : kTypes)
    if (text == name.text) {
      value.value = name.type;
      return true;
    }
  int number = 0;
  if (!click::parse(text, number, 0, 255) || !is_icmp_error(number)) return false;
  value.value = number;
  return true;
}
std::string expectation(IcmpType) {
  return "unreachable, sourcequench, redirect, timeexceeded, parameterproblem or one of their numbers";
}

int icmp_code(int type, std::string_view text) { return icmp_code(kCodes, type, text); }

int icmp_code(std::span<const IcmpName> codes, int type, std::string_view text) {
  for (const IcmpName& name : codes)
    if (type == name.type && text == name.text) return name.code;
  int number = -1;
  click::parse(text, number, 0, 255);
  return number;
}

}  // namespace heddle
