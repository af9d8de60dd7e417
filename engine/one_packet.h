#pragma once

#include <string>

#include "engine/plan.h"

/** Columns that are good for one packet (`one_packet` in columns.def), such as a nonce: whoever copies a packet, or
 *  makes others of it, would use them twice. So packets leave such elements without them, and those that read them as
 *  well. */
namespace heddle {

/** The columns that packets leave `node` without, though they had them. */
ColumnSet taken_by(const Node& node, const Access& access);

/** Why node `to` lacks the column, if an element before it has taken it; else "". */
std::string why_taken(const Router& router, const Plan& plan, int to, Column which);

}  // namespace heddle
