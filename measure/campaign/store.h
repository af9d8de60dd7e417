#pragma once

#include <map>
#include <string>
#include <vector>

#include "measure/campaign/record.h"

namespace heddle::bench {

/** Reads a results file: a record a line. A last line that was cut off while it was written is left out; anything else
 *  that is no record throws Error. `end`: bytes up to the last whole line. */
std::vector<Record> read_records(const std::string& file, size_t* end = nullptr);

/** Throws Error unless all records are of the machine `here`; it says what differs. `file`: for the message. */
void expect_machine(const std::vector<Record>& records, const nlohmann::ordered_json& here, const std::string& file);

/** Someone has pressed Ctrl-C. */
struct Interrupted {};

/** A results file that grows by whole lines, so that a sweep goes on where it stopped. Without a file it only
 *  remembers. */
class Store {
 public:
  /** Opens or creates `file` ("": none) for one writer at a time. "-" is standard output: it is written to and no more,
   *  as are pipes and devices. Throws Error. */
  explicit Store(const std::string& file);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  const std::vector<Record>& records() const { return records_; }
  /** The record with that key, or null. */
  const Record* find(const std::string& key) const;
  /** Safe on the disk when it returns. Throws Error, and Interrupted when a signal comes while a reader is waited
   *  for. */
  void append(Record record);

 private:
  std::string file_;
  int descriptor_ = -1;
  std::vector<Record> records_;
  std::map<std::string, size_t> by_key_;
};

}  // namespace heddle::bench
