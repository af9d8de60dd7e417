#pragma once

#include <string>
#include <string_view>

namespace heddle::capture {

/** A file that this program writes, or its standard output. Two at a time never mean the same one: what they write
 *  would lie between each other's. (Devices such as /dev/null may be opened several times.) */
class Output {
 public:
  /** Opens `path` for writing, new or emptied; "-": standard output, which is left as it is. Throws Error, and leaves
   *  the file alone, when it is a capture that a Reader has mapped (which would lose its packets under the Reader's
   *  hands), or when another Output writes there, whose `owner` the message names. */
  Output(const std::string& path, const std::string& owner);
  ~Output() { close(); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  int descriptor() const { return descriptor_; }  ///< -1: closed
  /** Closes the file, but not standard output. Returns 0 or what went wrong (errno). */
  int close();

 private:
  bool is_standard() const { return path_ == "-"; }
  void claim();

  std::string path_, owner_;
  int descriptor_ = -1;
  unsigned long device_ = 0, file_ = 0;
  bool shareable_ = false;
};

/** Writes all of `text`, and waits where the other end has no room. Returns 0 or what went wrong (errno). */
int write_all(int descriptor, std::string_view text);

}  // namespace heddle::capture
