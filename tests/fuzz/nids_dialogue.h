#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "functions/nids/rule_file.h"
#include "functions/nids/table.h"

namespace heddle::fuzz {

/** Rules for `application`: with each of these options in each of these buffers. */
inline const nids::RuleTable& rules_for(nids::Application application, std::initializer_list<const char*> buffers,
                                        std::initializer_list<const char*> options) {
  std::string text;
  int sid = 0;
  for (const char* buffer : buffers)
    for (const char* option : options)
      text += "alert " + std::string(name_of(application)) + " any any -> any any (" + buffer + "; " + option +
              " sid:" + std::to_string(++sid) + ";)\n";
  nids::Variables variables;
  std::vector<std::string> errors;
  nids::RuleSet set = nids::parse_rules("rules", text, false, variables, errors);
  if (!errors.empty()) abort();
  auto* made = new nids::RuleTable;
  made->load(std::move(set), true);
  made->prepare(1, false);
  return *made;
}

/** A connection of any bytes: the rules look into it, and it stays within its memory. A byte before each piece says
 *  whose it is, and how long. */
inline void feed(nids::Dialogue& dialogue, nids::Application application, const nids::RuleTable& rules,
                 const uint8_t* data, size_t size) {
  uint64_t offsets[2] = {};
  nids::View view{};
  view.protocol = nids::Protocol::tcp, view.has_ports = true;
  for (size_t at = 0; at < size && !dialogue.over();) {
    const uint8_t about = data[at++];
    const size_t bytes = std::min<size_t>(size - at, about >> 2);
    const auto side = static_cast<nids::Side>(about & 1);
    uint64_t& offset = offsets[side];
    if ((about & 2) != 0) offset += bytes * 20;  // a gap
    nids::Window window{{data + at, bytes}, 0, offset};
    window.application = application, window.dialogue = &dialogue, window.side = side;
    view.payload = window.bytes;
    dialogue.take(side, window);
    if (bytes == 0) dialogue.close(side);
    rules.now().confirm(view, window, 0);
    if (dialogue.memory() > 2 * nids::Dialogue::kMaxBytes) abort();
    at += bytes, offset += bytes;
  }
}

}  // namespace heddle::fuzz
