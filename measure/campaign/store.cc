#include "measure/campaign/store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "core/error.h"
#include "measure/campaign/machine.h"

namespace heddle::bench {
namespace {

// How every line begins: what is cut off behind it was a record.
const std::string kBeginning = "{\"schema\":\"" + std::string(kSchema) + "\"";

bool is_torn_record(const std::string& line) {
  return line.compare(0, kBeginning.size(), kBeginning, 0, std::min(line.size(), kBeginning.size())) == 0;
}

}  // namespace

std::vector<Record> read_records(const std::string& file, size_t* end) {
  std::ifstream input(file, std::ios::binary);
  std::string text;
  try {
    text.assign(std::istreambuf_iterator<char>(input), {});
  } catch (const std::ios_base::failure&) {  // a folder
    input.setstate(std::ios::badbit);
  }
  if (!input.is_open() || input.bad()) throw Error(file + ": cannot be read: " + std::strerror(errno));
  const size_t written =
      text.find_last_not_of('\0') + 1;  // a file that was growing when the power failed ends in zeros
  std::vector<Record> records;
  size_t at = 0;
  for (int number = 1; at < text.size(); ++number) {
    const size_t newline = text.find('\n', at);
    const std::string line = text.substr(at, std::min(newline, std::max(written, at)) - at);
    if (newline == std::string::npos && is_torn_record(line)) break;
    try {
      if (newline == std::string::npos) throw Error("it has no end, and is not the beginning of a record");
      records.push_back(Record::parse(line));
    } catch (const Error& error) {
      throw Error(format("%s:%d: %s; give the file of an earlier `heddle bench --json`, or a new one", file.c_str(),
                         number, error.what()));
    }
    at = newline + 1;
  }
  if (end != nullptr) *end = at;
  return records;
}

void expect_machine(const std::vector<Record>& records, const nlohmann::ordered_json& here, const std::string& file) {
  for (auto& record : records) {
    if (record.machine_id() == here.value("id", "")) continue;
    const std::string differences = machine_differences(record.machine, here);
    throw Error(file + " has results of another machine, which are not compared with those of this one (" +
                (differences.empty() ? "their ids differ" : differences) + "); give a file of this machine");
  }
}

Store::Store(const std::string& file) : file_(file) {
  if (file.empty()) return;
  if (file == "-") {
    file_ = "standard output", descriptor_ = STDOUT_FILENO;
    return;
  }
  struct stat status {};
  const bool resumable = stat(file.c_str(), &status) != 0 || S_ISREG(status.st_mode);
  // Not for reading if it is a pipe, or its own reader would keep it open for ever.
  descriptor_ = open(file.c_str(), (resumable ? O_RDWR | O_CREAT : O_WRONLY | O_APPEND) | O_CLOEXEC, 0666);
  if (descriptor_ < 0) throw Error(file + ": cannot be written: " + std::strerror(errno));
  if (!resumable) return;
  try {
    if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0)
      throw Error(file + ": another heddle bench is writing to it; give another file, or wait");
    size_t whole = 0;
    records_ = read_records(file, &whole);
    if (ftruncate(descriptor_, static_cast<off_t>(whole)) != 0 || lseek(descriptor_, 0, SEEK_END) < 0)
      throw Error(file + ": " + std::strerror(errno));
  } catch (const Error&) {
    close(descriptor_);
    throw;
  }
  for (size_t i = 0; i < records_.size(); ++i) by_key_[records_[i].key()] = i;
}

Store::~Store() {
  if (descriptor_ >= 0 && descriptor_ != STDOUT_FILENO) close(descriptor_);
}

const Record* Store::find(const std::string& key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : &records_[found->second];
}

void Store::append(Record record) {
  const std::string line = record.json() + "\n";
  by_key_[record.key()] = records_.size();
  records_.push_back(std::move(record));
  if (descriptor_ < 0) return;
  for (size_t done = 0; done < line.size();) {
    const ssize_t n = write(descriptor_, line.data() + done, line.size() - done);
    if (n < 0 && errno == EINTR) throw Interrupted{};
    if (n < 0) throw Error(file_ + ": cannot be written: " + std::strerror(errno));
    done += static_cast<size_t>(n);
  }
  fdatasync(descriptor_);  // a pipe has none, and needs none
}

}  // namespace heddle::bench
