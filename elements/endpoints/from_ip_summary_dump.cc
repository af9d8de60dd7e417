#include "elements/endpoints/from_ip_summary_dump.h"

#include <algorithm>
#include <cstring>

#include "click/arguments.h"
#include "click/quoting.h"
#include "core/error.h"
#include "core/load.h"
#include "core/packet_pool.h"

namespace heddle {
namespace {

constexpr const char* kEnds[] = {"ip_src", "sport", "ip_dst", "dport"};  // in the order of a "!flowid" line
constexpr int kLineWaitMs = 1;  ///< how long an idle pipe is waited for at a time
constexpr uint64_t kPassBytes =
    64 << 10;  ///< read at a time: lines may make no packets, and the program can be stopped

/** Takes the next word, which may be quoted, off the line. */
std::string_view next_word(std::string_view& line) {
  line = click::trim(line);
  size_t end = 0;
  while (end < line.size() && !click::is_space(line[end])) {
    const size_t behind = click::end_of_quoted(line, end);
    end = behind == line.npos ? line.size() : behind > end ? behind : end + 1;
  }
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end);
  return word;
}

}  // namespace

void FromIPSummaryDump::configure(click::Arguments& arguments) {
  configure_reading(arguments);
  arguments.keyword("DEFAULT_FIELDS", fields_).keyword("CONTENTS", fields_).keyword("DEFAULT_CONTENTS", fields_);
  arguments.keyword("FIELDS", fields_).keyword("PROTO", protocol_).keyword("DEFAULT_PROTO", protocol_);
  arguments.keyword("MULTIPACKET", multipacket_);
}

void FromIPSummaryDump::configure_reading(click::Arguments& arguments) {
  bool active = true, zero = true;
  arguments.required("FILENAME", file_).keyword("CHECKSUM", checksum_).keyword("ZERO", zero);
  arguments.keyword("SAMPLE", sample_, 0.0, 1.0).keyword("ACTIVE", active).keyword("BURST", burst_, 1, 16384);
  pace_.configure(arguments);
  end_call_.configure(arguments);
  active_ = active;
}

Access FromIPSummaryDump::access(Processor) const {
  return {.column_writes = columns(Column::dst, Column::l3, Column::l4, Column::paint, Column::aggregate)};
}

bool FromIPSummaryDump::goes_on_from(const Element* other) const {
  return other != nullptr && static_cast<const FromIPSummaryDump*>(other)->file_ == file_;
}

void FromIPSummaryDump::take_state(Element& old_element) {
  auto& old = static_cast<FromIPSummaryDump&>(old_element);
  if (!goes_on_from(&old)) return;
  if (says_fields_ || old.says_fields_) std::swap(fields_, old.fields_);
  if (says_protocol_ || old.says_protocol_) std::swap(protocol_, old.protocol_);
  std::swap(says_fields_, old.says_fields_), std::swap(says_protocol_, old.says_protocol_);
  look_at_fields(), old.look_at_fields();
  std::swap(reader_, old.reader_), std::swap(draft_, old.draft_), std::swap(left_, old.left_);
  std::swap(first_problem_, old.first_problem_);
  std::swap(flow_, old.flow_), std::swap(says_flow_, old.says_flow_);
  ended_ = old.ended_.exchange(ended_);
  end_call_.go_on(ended_);
  for (auto number : {&FromIPSummaryDump::count_, &FromIPSummaryDump::bad_lines_, &FromIPSummaryDump::position_})
    (this->*number) = (old.*number).exchange(this->*number);
}

void FromIPSummaryDump::look_at_fields() {
  const auto field = std::find(fields_.list.begin(), fields_.list.end(), summary::find_field("ip_proto"));
  protocol_field_ = field == fields_.list.end() ? SIZE_MAX : static_cast<size_t>(field - fields_.list.begin());
  has_ends_ = std::any_of(std::begin(kEnds), std::end(kEnds), [this](const char* name) {
    return std::find(fields_.list.begin(), fields_.list.end(), summary::find_field(name)) != fields_.list.end();
  });
}

void FromIPSummaryDump::start(const Environment& environment) {
  if (!goes_on_from(predecessor)) reader_ = std::make_unique<LineReader>(file_);
  scratch_ = std::make_unique<uint8_t[]>(65536);
  packets_ = environment.packets;
  large_packets_ = environment.large_packets;
  end_call_.start(environment.control, name);
  random_.seed(environment.seed_of(*this, 0));
  look_at_fields();
}

void FromIPSummaryDump::bad_line(const std::string& what) {
  if (bad_lines_.fetch_add(1) == 0)
    first_problem_ = format("%s:%ju: ", file_.c_str(), uintmax_t{reader_->number()}) + what;
}

/** A "!data" line. */
bool FromIPSummaryDump::take_fields(std::string_view line) {
  summary::Fields fields;
  says_fields_ = true;
  if (!summary::parse(line, fields)) {
    fields_ = {};  // nobody knows what the lines behind it say
    bad_line("'" + std::string(line.substr(0, 80)) + "' is not " + summary::expectation(fields));
    return false;
  }
  fields_ = std::move(fields);
  look_at_fields();
  return true;
}

/** A "!flowid" line: source and destination, each an address and a port, and the protocol, of packets whose lines say
 *  no such thing themselves. */
void FromIPSummaryDump::take_flow(std::string_view line) {
  const uint32_t aggregate = flow_.aggregate;
  const std::string whole(click::trim(line).substr(0, 80));
  std::string_view words[5];
  for (std::string_view& word : words) word = next_word(line);
  flow_ = summary::Draft(summary::kTcp);
  bool good = words[4].empty() || summary::find_field("ip_proto")->read_from(flow_, words[4]);
  if (!words[4].empty() && good) protocol_ = flow_.protocol(), says_protocol_ = true;
  for (int i = 0; i < 4; ++i) good = good && summary::find_field(kEnds[i])->read_from(flow_, words[i]);
  flow_.aggregate = aggregate;
  says_flow_ = good;
  if (!good) bad_line("'" + whole + "' is not two addresses, each with a port, and a protocol");
}

bool FromIPSummaryDump::read_packet(std::string_view line) {
  line = click::trim(line);
  if (line.empty() || line[0] == '#') return false;
  if (line[0] == '!') {
    const std::string_view word = next_word(line);
    if (word == "!data" || word == "!contents") take_fields(line);
    if (word == "!proto") {
      const std::string_view value = next_word(line);
      draft_ = summary::Draft(protocol_);
      if (summary::find_field("ip_proto")->read_from(draft_, value))
        protocol_ = draft_.protocol(), says_protocol_ = true;
    }
    if (word == "!flowid") take_flow(line);
    if (word == "!aggregate" && !summary::find_field("aggregate")->read_from(flow_, next_word(line)))
      bad_line("expected a number behind !aggregate");
    if (word == "!binary") {
      bad_line("a binary dump; write it as text (ipsumdump without --binary)");
      ended_ = true;
    }
    return false;
  }
  if (fields_.list.empty()) {
    bad_line("no !data line before; give DEFAULT_FIELDS");
    return false;
  }
  draft_ = summary::Draft(protocol_);
  draft_.aggregate = flow_.aggregate;
  if (protocol_field_ != SIZE_MAX) {  // first: it decides what other fields mean
    std::string_view rest = line;
    for (size_t i = 0; i < protocol_field_; ++i) next_word(rest);
    const std::string_view word = next_word(rest);
    if (!word.empty()) fields_.list[protocol_field_]->read_from(draft_, word);
  }
  for (const summary::Field* field : fields_.list) {
    const std::string_view word = next_word(line);
    if (!word.empty() && field->read_from(draft_, word)) continue;
    bad_line(word.empty() ? std::string("no ") + field->name
                          : "'" + std::string(word.substr(0, 40)) + "' is no " + field->name);
    return false;
  }
  if (says_flow_ && !has_ends_) {  // in the direction that the line says
    const bool back = (draft_.paint & 1) != 0;
    const bool has_ports = draft_.protocol() == summary::kTcp || draft_.protocol() == summary::kUdp;
    for (uint32_t end = 0; end < 2; ++end) {
      std::copy_n(&flow_.ip[12 + 4 * end], 4, &draft_.ip[12 + 4 * (back ? 1 - end : end)]);
      if (has_ports) std::copy_n(&flow_.transport[2 * end], 2, &draft_.transport[2 * (back ? 1 - end : end)]);
    }
  }
  return true;
}

bool FromIPSummaryDump::read_line(std::string_view line) {
  if (!read_packet(line)) return false;
  if (sample_ < 1 && std::uniform_real_distribution<>()(random_) >= sample_) return false;
  left_ = multipacket_ ? draft_.count : 1;
  return left_ > 0;
}

bool FromIPSummaryDump::append_packet(Batch& batch) {
  const uint32_t built = draft_.build(scratch_.get(), checksum_);
  const uint32_t bytes =
      draft_.has_ip_length ? std::min(built, std::max(draft_.ip_header_bytes, draft_.ip_length)) : built;
  const uint32_t captured =
      draft_.captured_length == 0 ? bytes : std::min(bytes, std::max(draft_.ip_header_bytes, draft_.captured_length));
  Packet* packet = nullptr;
  if (!(captured <= packets_->data_bytes() ? packets_ : large_packets_)->allocate(&packet, 1)) return false;
  std::memcpy(data(packet), scratch_.get(), captured);
  packet->data_len = static_cast<uint16_t>(captured);
  packet->pkt_len = captured;
  const uint32_t wire = std::max(bytes, draft_.wire_length);
  const uint32_t more = multipacket_ ? 0 : std::max(draft_.count, 1u) - 1;
  set_capture_info(packet, {draft_.timestamp_ns, wire - captured, more});
  const int i = batch.size();
  batch.packets()[i] = packet;
  batch.column(Column::dst)[i] = load_u32(data(packet) + 16);
  batch.column(Column::l3)[i] = packet->data_off;
  batch.column(Column::l4)[i] = packet->data_off + draft_.ip_header_bytes;
  batch.column(Column::paint)[i] = draft_.paint;
  batch.column(Column::aggregate)[i] = draft_.aggregate;
  batch.resize(i + 1);
  --left_;
  return true;
}

void FromIPSummaryDump::receive(Batch& batch) {
  if (!active_.load(std::memory_order_relaxed)) return;
  const int before = batch.size(), wanted = std::min(burst_, batch.room());
  const uint64_t pass_end = reader_->bytes_read() + kPassBytes;
  while (batch.size() < wanted && reader_->bytes_read() < pass_end) {
    if (left_ > 0) {
      if (!pace_.due(draft_.timestamp_ns) || !append_packet(batch)) break;  // the next call tries again
      continue;
    }
    if (ended_) break;
    std::string_view line;
    const LineReader::Got got = reader_->next(line, batch.empty() ? kLineWaitMs : 0);
    if (got == LineReader::Got::nothing_yet) break;
    if (got == LineReader::Got::end) {
      if (batch.size() > before) break;  // the end is told when the last packets have passed
      ended_ = true;
      end_call_.reached();
      break;
    }
    read_line(line);
  }
  count_.fetch_add(static_cast<uint64_t>(batch.size() - before), std::memory_order_relaxed);  // a handler may reset it
  position_.store(reader_->bytes_read(), std::memory_order_relaxed);
}

std::optional<double> FromIPSummaryDump::progress() const {
  if (!reader_ || reader_->size() == 0) return std::nullopt;
  return static_cast<double>(position_.load()) / static_cast<double>(reader_->size());
}

std::string FromIPSummaryDump::stop() {
  const std::string problem = end_call_.finish();
  if (reader_ && !reader_->problem().empty())
    return format("cannot read '%s': ", file_.c_str()) + reader_->problem() +
           "; the packets before it have been processed";
  if (!problem.empty() || first_problem_.empty()) return problem;
  return first_problem_ + format(" (%ju such line(s) were left out)", uintmax_t{bad_lines_.load()});
}

void FromIPSummaryDump::handlers(Handlers& list) {
  list.read("count", [this] { return std::to_string(count_.load()); })
      .write("reset_counts", [this](const std::string&) { count_ = 0; })
      .read("active", [this] { return std::string(active_ ? "true" : "false"); })
      .write("active", [this](const std::string& value) { active_ = click::value_of<bool>(value); })
      .write("stop", [this](const std::string&) { active_ = false; })
      .write("reset_timing", [this](const std::string&) { pace_.reset(); })
      .read("filename", [this] { return file_; })
      .read("filesize", [this] { return reader_ && reader_->size() ? std::to_string(reader_->size()) : "-"; })
      .read("filepos", [this] { return std::to_string(position_.load()); })
      .read("sampling_prob", [this] { return format("%g", sample_); })
      .read("encap", [] { return std::string("IP"); });
}

std::vector<std::pair<std::string, uint64_t>> FromIPSummaryDump::statistics() const {
  if (bad_lines_ == 0) return {};
  return {{"bad_lines", bad_lines_.load()}};
}

HEDDLE_ELEMENT(FromIPSummaryDump);

}  // namespace heddle
