#include "elements/ethernet/set_packet_type.h"

#include <algorithm>

#include "click/arguments.h"
#include "elements/ethernet/link_type.h"

namespace heddle {
namespace {

struct TypeArgument {
  LinkType type = kToHost;
};
bool parse(std::string_view text, TypeArgument& value) {
  static constexpr std::pair<const char*, LinkType> kWords[] = {
      {"HOST", kToHost},           {"BROADCAST", kBroadcast},   {"MULTICAST", kMulticast},
      {"OTHERHOST", kToOtherHost}, {"OUTGOING", kFromThisHost}, {"LOOPBACK", kLoopback}};
  for (const auto& [word, type] : kWords) {
    if (text != word) continue;
    value.type = type;
    return true;
  }
  return false;
}
std::string expectation(const TypeArgument&) { return "HOST, BROADCAST, MULTICAST, OTHERHOST, OUTGOING or LOOPBACK"; }

}  // namespace

void SetPacketType::configure(click::Arguments& arguments) {
  TypeArgument type;
  arguments.required("TYPE", type);
  type_ = type.type;
}

void SetPacketType::run_cpu(Batch& batch) { std::fill_n(batch.column(Column::link), batch.size(), type_); }

HEDDLE_ELEMENT(SetPacketType);

}  // namespace heddle
