#include "elements/ip/get_ip_address.h"

#include "click/arguments.h"

namespace heddle {
namespace {

/** Argument ANNO. Click has many annotations of four bytes; Heddle has DST_IP, which are bytes 0 to 3 of Click's. */
struct AddressAnnotation {};
bool parse(std::string_view text, AddressAnnotation&) { return text == "DST_IP" || text == "0"; }
std::string expectation(AddressAnnotation) { return "DST_IP, the only annotation of four bytes that there is"; }

}  // namespace

void GetIPAddress::configure(click::Arguments& arguments) {
  AddressAnnotation anno;
  arguments.required("OFFSET", offset_, 0, 16384).optional("ANNO", anno);
}

HEDDLE_ELEMENT(GetIPAddress);

}  // namespace heddle
