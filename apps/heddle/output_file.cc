#include "apps/heddle/output_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/error.h"

namespace heddle {
namespace {

/** Into an open file, which it closes unless it is standard output. 0 or the error's number. */
int write_and_close(std::FILE* file, std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0 &&
                       (file == stdout || fsync(fileno(file)) == 0 || errno == EINVAL || errno == EROFS);
  const int error = written ? 0 : errno;
  if (file == stdout) return error;
  return std::fclose(file) != 0 && error == 0 ? errno : error;
}

/** A new file beside `path` that takes its place once it is complete. */
int replace(const std::string& path, mode_t mode, std::string_view text) {
  std::string beside = path + ".XXXXXX";
  const int descriptor = mkstemp(beside.data());  // mode 0600
  if (descriptor < 0) return errno;
  std::FILE* file = fchmod(descriptor, mode) == 0 ? fdopen(descriptor, "wb") : nullptr;
  int error = file != nullptr ? write_and_close(file, text) : errno;
  if (file == nullptr) close(descriptor);
  if (error == 0 && std::rename(beside.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) unlink(beside.c_str());
  return error;
}

mode_t usual_mode() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

}  // namespace

void write_output(const std::string& path, std::string_view text, bool secret) {
  struct stat now {};
  int error = 0;
  const bool there = path != "-" && stat(path.c_str(), &now) == 0;
  const auto write_in_place = [&] {
    std::FILE* file = std::fopen(path.c_str(), "wb");
    return file != nullptr ? write_and_close(file, text) : errno;
  };
  if (path == "-") {
    error = write_and_close(stdout, text);
  } else if (there && !S_ISREG(now.st_mode)) {
    error = write_in_place();
  } else {
    const std::string target = there ? std::filesystem::canonical(path).string() : path;  // a link stays
    error = replace(target, secret ? 0600 : there ? now.st_mode & 0777 : usual_mode(), text);
    if (error == EACCES && there && !secret) error = write_in_place();  // the folder takes no new file
  }
  if (error != 0) throw Error("cannot write '" + path + "': " + std::strerror(error));
}

}  // namespace heddle
