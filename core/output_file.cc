#include "core/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>

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

/** A new file beside `path` that takes its place once it is complete. `before`: the mode of the one that is there. */
int replace(const std::string& path, std::optional<mode_t> before, bool secret, std::string_view text) {
  static std::atomic<uint64_t> number{0};
  const std::string beside = format("%s.%d-%ju", path.c_str(), getpid(), uintmax_t{number++});
  const int descriptor = open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, secret ? 0600 : 0666);
  if (descriptor < 0) return errno;
  std::FILE* file = !before || secret || fchmod(descriptor, *before) == 0 ? fdopen(descriptor, "wb") : nullptr;
  int error = file != nullptr ? write_and_close(file, text) : errno;
  if (file == nullptr) close(descriptor);
  if (error == 0 && std::rename(beside.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) unlink(beside.c_str());
  return error;
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
    std::error_code code;
    const std::string target = there ? std::filesystem::canonical(path, code).string() : path;  // a link stays
    const std::optional<mode_t> before = there ? std::optional<mode_t>(now.st_mode & 0777) : std::nullopt;
    error = code ? code.value() : replace(target, before, secret, text);
    if (error == EACCES && there && !secret) error = write_in_place();  // the folder takes no new file
  }
  if (error != 0) throw Error("cannot write '" + path + "': " + std::strerror(error));
}

}  // namespace heddle
