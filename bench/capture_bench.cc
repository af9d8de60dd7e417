// capture: FromDump -> CheckIPHeader -> DirectIPLookup -> ToDump, as a process, against `tcpdump -r IN -w OUT`, which
// only copies. Both read the same file from the page cache and write to the same folder; the clock is that of the whole
// process.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <random>

#include "bench/bench.h"
#include "core/error.h"
#include "io/capture/reader.h"
#include "io/capture/writer.h"

namespace heddle::bench {
namespace {

constexpr int kRounds = 7;
constexpr uint64_t kInputBytes = 600 << 20;

// The capture in chains/, again and again with later time stamps.
void make_input(const std::string& from, const std::string& to) {
  capture::Writer writer(to, {});
  for (uint64_t lap = 0; writer.written_bytes() < kInputBytes; ++lap) {
    capture::Reader reader(from);
    capture::Record record{};
    while (reader.next(record))
      writer.write(record.data, record.captured, record.original, record.timestamp_ns + lap * 1000000000);
  }
  writer.close();
  if (writer.failed()) throw Error(writer.failure());
}

double run_process(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const double start = seconds_now();
  const pid_t child = fork();
  if (child == 0) {
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  const double elapsed = seconds_now() - start;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw Error(format("'%s' failed; is it installed?", words[0].c_str()));
  return elapsed;
}

std::vector<Result> run() {
  namespace fs = std::filesystem;
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path();
  const char* given = std::getenv("HEDDLE_CAPTURE");
  const std::string source = given != nullptr ? given : "chains/traffic.pcap";
  // In memory: neither program shall wait for a disk.
  const fs::path memory = "/dev/shm";
  std::string folder =
      ((fs::is_directory(memory) ? memory : fs::temp_directory_path()) / "heddle-bench-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) throw Error("cannot make a folder for the captures");
  const std::string in = folder + "/in.pcap", out = folder + "/out.pcap", copy = folder + "/copy.pcap";
  Result result;
  try {
    make_input(source, in);
    fs::path heddle = program / "heddle";
    if (!fs::exists(heddle)) heddle = program.parent_path() / "heddle";
    const double megabytes = static_cast<double>(fs::file_size(in)) * 1e-6;
    const std::string chain =
        "FromDump(" + in +
        ") -> CheckIPHeader(14) -> rt :: DirectIPLookup(10.0.0.0/8 0, 192.168.0.0/16 0, 0.0.0.0/0 0) -> ToDump(" + out +
        ")";
    result = paired(
        "capture", "MB/s", 3.0, kRounds,
        [&] {
          fs::remove(out);
          return megabytes / run_process({heddle.string(), "run", "-q", "-e", chain});
        },
        [&] {
          fs::remove(copy);
          return megabytes / run_process({"sh", "-c", "exec tcpdump -r " + in + " -w " + copy + " 2>/dev/null"});
        });
    result.note = "baseline: tcpdump -r IN -w OUT";
  } catch (...) {
    fs::remove_all(folder);
    throw;
  }
  fs::remove_all(folder);
  return {result};
}

const Register capture_bench("capture", false, run);

}  // namespace
}  // namespace heddle::bench
