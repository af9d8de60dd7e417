#include "measure/campaign/beside.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "measure/campaign/machine.h"

extern char** environ;

namespace heddle::bench {
namespace {

namespace fs = std::filesystem;

fs::path program_folder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

/** Runs a program found in PATH. Returns its exit code, 127 if it is not there; its output goes to `output` if that is
 *  not null. */
int run_program(std::vector<std::string> words, std::string* output, bool silent) {
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::array<int, 2> ends{-1, -1};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (output != nullptr && pipe2(ends.data(), O_CLOEXEC) == 0) posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  if (silent) posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failure = posix_spawnp(&child, words[0].c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (ends[1] >= 0) close(ends[1]);
  if (failure == 0 && ends[0] >= 0) {
    std::array<char, 4096> part{};
    for (ssize_t n; (n = read(ends[0], part.data(), part.size())) > 0;)
      output->append(part.data(), static_cast<size_t>(n));
  }
  if (ends[0] >= 0) close(ends[0]);
  int status = 0;
  if (failure != 0 || waitpid(child, &status, 0) != child) return 127;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

std::string find_draw() {
  const fs::path folder = program_folder();
  std::error_code error;
  for (const char* place : {"draw.py", "figures/draw.py"})
    if (fs::exists(folder / place, error)) return folder / place;
  for (fs::path at = folder; !at.empty(); at = at.parent_path()) {
    if (fs::exists(at / "bench/figures/draw.py", error)) return at / "bench/figures/draw.py";
    if (at == at.parent_path()) break;
  }
  throw Error(
      "bench/figures/draw.py is neither beside the program nor in the folders above it; use the copy of the "
      "source tree: python3 bench/figures/draw.py RESULTS.jsonl --html OUT.html");
}

}  // namespace

std::string command_line() {
  constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./%@";
  std::ifstream input("/proc/self/cmdline", std::ios::binary);
  std::string all;
  for (std::string word; std::getline(input, word, '\0');) {
    if (word.empty() || word.find_first_not_of(kPlain) != word.npos) {
      for (size_t at = 0; (at = word.find('\'', at)) != word.npos; at += 4) word.replace(at, 1, "'\\''");
      word = "'" + word + "'";
    }
    all += (all.empty() ? "" : " ") + word;
  }
  return all;
}

namespace {

std::string commit_of_tree() {
  const fs::path folder = program_folder();
  std::string commit;
  if (std::ifstream file(folder / "COMMIT"); file >> commit) return commit;
  if (run_program({"git", "-C", folder.string(), "describe", "--always", "--dirty"}, &commit, true) != 0)
    return "unknown";
  commit.erase(commit.find_last_not_of("\r\n") + 1);
  return commit.empty() ? "unknown" : commit;
}

// The interpreter that has matplotlib. `again`: the command with which to draw elsewhere.
std::string find_python(const std::string& again) {
  bool python = false;
  for (const char* interpreter :
       {"python3", "/usr/bin/python3"}) {  // the second one is the system's, with its packages
    std::string ignored;
    const int code = run_program({interpreter, "-c", "import matplotlib"}, &ignored, true);
    if (code == 0) return interpreter;
    python = python || code != 127;
  }
  throw Error(format("drawing needs %s (apt-get install python3 python3-matplotlib); then, here or where these are: %s",
                     python ? "Python's matplotlib" : "python3", again.c_str()));
}

}  // namespace

std::string commit_of_program() {
  const std::string commit = commit_of_tree();
  if (!commit.ends_with("-dirty") && commit != "unknown") return commit;
  return commit + "-" + hash_of_file("/proc/self/exe").substr(0, 8);
}

void expect_drawing() {
  find_python("python3 " + find_draw() + " RESULTS.jsonl --html OUT.html (with --json RESULTS.jsonl)");
}

void draw(const std::string& results, const Drawings& drawings) {
  const std::string script = find_draw();
  std::string again = "python3 " + script + " " + results;
  std::vector<std::string> arguments{script, results};
  for (auto& [form, file] : drawings) again += " " + form + " " + file, arguments.insert(arguments.end(), {form, file});
  arguments.insert(arguments.begin(), find_python(again));
  if (run_program(arguments, nullptr, false) != 0) throw Error("drawing failed; when that is mended: " + again);
}

}  // namespace heddle::bench
