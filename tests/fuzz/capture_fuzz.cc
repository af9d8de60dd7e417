// Fuzzes the capture reader: the input is a file, read mapped and as a pipe; both must give the same records and the
// same damage, and nothing outside the input is touched.
//
// Needs io/capture/reader.cc, reader_pcapng.cc and core/error.h only.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "core/error.h"
#include "io/capture/reader.h"

namespace heddle::capture {
namespace {

/** What a Reader makes of a file: as text, because that compares. */
std::string listing(const std::string& path) {
  std::string text;
  try {
    Reader reader(path);
    text = format("%d %u\n", static_cast<int>(reader.file_format()), reader.link_type());
    uint64_t records = 0;
    for (Record record; reader.next(record); ++records) {
      uint32_t sum = 0;
      for (uint32_t i = 0; i < record.captured; ++i) sum = sum * 31 + record.data[i];  // reads every byte
      text += format("%ju %u %u %u %u\n", uintmax_t{record.timestamp_ns}, record.captured, record.original,
                     record.link_type, sum);
    }
    if (records != reader.records()) abort();
    text += reader.damage();
  } catch (const Error& error) {
    text = error.what();
  }
  // The reader names its file.
  for (size_t at; (at = text.find(path)) != text.npos;) text.replace(at, path.size(), "FILE");
  return text;
}

std::string path_of(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

std::string listing_of_file(const uint8_t* bytes, size_t size) {
  const int file = memfd_create("capture", MFD_CLOEXEC);
  if (file < 0 || write(file, bytes, size) != static_cast<ssize_t>(size)) abort();
  std::string text = listing(path_of(file));
  close(file);
  return text;
}

std::string listing_of_pipe(const uint8_t* bytes, size_t size) {
  int ends[2];
  if (pipe(ends) != 0) abort();
  std::thread writer([&] {
    for (size_t done = 0; done < size;) {
      const ssize_t written = write(ends[1], bytes + done, size - done);
      if (written <= 0) break;
      done += static_cast<size_t>(written);
    }
    close(ends[1]);
  });
  std::string text = listing(path_of(ends[0]));
  char rest[4096];
  while (read(ends[0], rest, sizeof rest) > 0) continue;  // a reader may end before its input
  writer.join();
  close(ends[0]);
  return text;
}

}  // namespace
}  // namespace heddle::capture

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace heddle::capture;
  const std::string mapped = listing_of_file(bytes, size);
  if (size % 4 == 0 && mapped != listing_of_pipe(bytes, size)) abort();
  return 0;
}
