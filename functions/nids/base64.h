#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "functions/nids/match.h"

namespace heddle::nids {

/** Replaces `bytes` by what `text` stands for in Base64 (RFC 4648, 4), up to the first character that is none of it.
 *  As Suricata 7.0.10 reads it, "=" may stand anywhere, for six bits that are 0: four characters are three bytes, the
 *  last of which are left out, one for each "="; of one to three that are left at the end all but the last are a byte,
 *  and a single one is, too, if not the end of `text` is behind it. Returns how many characters it has read. */
size_t decode_base64(std::span<const uint8_t> text, std::vector<uint8_t>& bytes);

/** The last of the contents of `text`, which decodes Base64: whether what it asks for stands there, behind one of the
 *  ways on which the contents before have ended. `is_fresh`: one of these ended behind text.fresh, on all ways. */
bool leads_on_decoded(const Content& content, const Text& text, bool is_fresh, const Ways& ways, Workspace& workspace);

}  // namespace heddle::nids
