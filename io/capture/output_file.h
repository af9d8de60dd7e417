#pragma once

#include <string>

namespace heddle::capture {

/** Opens a file for writing, new or emptied; returns its descriptor. "-": standard output, which is left as it is.
 *  Throws Error, and leaves the file alone, when it is a capture that a Reader has mapped (which would lose its packets
 *  under the Reader's hands) or a file that has been opened in this way and is still open. */
int open_output(const std::string& path);

}  // namespace heddle::capture
