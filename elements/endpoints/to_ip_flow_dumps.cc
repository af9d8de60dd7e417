#include "elements/endpoints/to_ip_flow_dumps.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "click/arguments.h"
#include "core/clock.h"
#include "core/error.h"
#include "io/capture/output_file.h"

namespace heddle {
namespace {

constexpr size_t kPieceBytes = 4096;  // written when there is more
constexpr uint8_t kAckBit = 0x10;
constexpr uint32_t kBeforeFirstNs = 1000;  // of relative time stamps, before the first packet, ns

std::string number_text(uint64_t value, char form = 'n') {
  return form == 'x'   ? format("%jx", uintmax_t{value})
         : form == 'X' ? format("%jX", uintmax_t{value})
                       : std::to_string(value);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

const summary::Field& field_named(const char* name) { return *summary::find_field(name); }

}  // namespace

void ToIPFlowDumps::configure(click::Arguments& arguments) {
  bool some = false, all = false;
  arguments.required("OUTPUT_PATTERN", pattern_).keyword("ABSOLUTE_TIME", absolute_time_);
  arguments.keyword("ABSOLUTE_SEQ", absolute_seq_).keyword("ALL_TCP_OPT", all).keyword("TCP_OPT", some);
  arguments.keyword("TCP_WINDOW", window_).keyword("IP_ID", ip_id_).keyword("MINCOUNT", min_count_, 0u, 100'000u);
  arguments.keyword("CAPACITY", capacity_, 1u, 1u << 24);
  ended_.configure(arguments);
  options_ = all ? Options::all : some ? Options::some : Options::none;
  std::string problem;
  const uint8_t nothing[20] = {};
  file_name(1, nothing, nothing, problem);
  if (!problem.empty()) arguments.error("OUTPUT_PATTERN: " + problem);
}

Access ToIPFlowDumps::access(Processor) const {
  return {.reads = {{Base::l3, 0, 120}},  // both headers with their options
          .column_reads = columns(Column::l3, Column::paint, Column::aggregate)};
}

std::string ToIPFlowDumps::file_name(uint32_t aggregate, const uint8_t* ip, const uint8_t* ports,
                                     std::string& problem) const {
  std::string name;
  for (size_t at = 0; at < pattern_.size(); ++at) {
    if (pattern_[at] != '%') {
      name += pattern_[at];
      continue;
    }
    const size_t start = at++;
    const auto here = [&] { return at < pattern_.size() ? pattern_[at] : '\0'; };
    const auto digits = [&] {
      size_t value = 0;
      for (; is_digit(here()); ++at) value = std::min<size_t>(value * 10 + static_cast<size_t>(here() - '0'), 255);
      return value;
    };
    const char fill = here() == '0' ? '0' : '_';
    const size_t width = digits();
    const bool part = here() == '.';
    if (part) ++at;
    const size_t which = part ? digits() : 0;
    const char form = here();
    const bool of_aggregate = form == 'n' || form == 'x' || form == 'X', of_address = form == 's' || form == 'd';
    const uint32_t value = of_aggregate ? aggregate : summary::get(ip + (form == 's' ? 12 : 16), 4);
    std::string text;
    if (part && (of_aggregate || of_address) && which < 4)
      text = number_text(value >> (3 - which) * 8 & 0xff, form);
    else if (part && of_aggregate && which < 6)
      text = number_text(value >> (5 - which) * 16 & 0xffff, form);
    else if (part)
      problem = "'" + pattern_.substr(start, at + 1 - start) + "' has no such part";
    else if (of_aggregate)
      text = number_text(value, form);
    else if (of_address)
      text = click::to_text(click::Ipv4Address{value});
    else if (form == 'S' || form == 'D')
      text = number_text(summary::get(ports + (form == 'S' ? 0 : 2), 2));
    else if (form == 'p')
      text = ip[9] == summary::kTcp ? "T" : "U";
    else if (form == '%')
      text = "%";
    else
      problem = "'" + pattern_.substr(start, at + 1 - start) + "' is none of %n, %x, %X, %s, %d, %S, %D, %p and %%";
    if (text.size() < width) name.append(width - text.size(), fill);
    name += text;
  }
  return name;
}

ToIPFlowDumps::Flow* ToIPFlowDumps::flow_of(uint32_t aggregate, const summary::View& view) {
  if (aggregate == 0 || view.ip == nullptr) {
    no_flow_.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  if (const auto found = flows_.find(aggregate); found != flows_.end()) return &found->second;
  const uint8_t protocol = view.ip[9];
  const bool has_ports = view.transport != nullptr && view.transport_bytes >= 4;
  if (!has_ports || (protocol != summary::kTcp && protocol != summary::kUdp)) {
    no_flow_.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  if (flows_.size() == capacity_) {
    full_.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  Flow& flow = flows_[aggregate];
  count_.fetch_add(1, std::memory_order_relaxed);
  std::string problem;  // configure() has found that there is none
  flow.file = file_name(aggregate, view.ip, view.transport, problem);
  flow.tcp = protocol == summary::kTcp;
  const auto end = [&](uint32_t i) {
    return click::to_text(click::Ipv4Address{summary::get(view.ip + 12 + 4 * i, 4)}) + ' ' +
           std::to_string(summary::get(view.transport + 2 * i, 2)) + ' ';
  };
  const uint32_t from = view.paint & 1;  // of the first packet that is seen here
  flow.id = end(from) + end(1 - from) + (flow.tcp ? 'T' : 'U');
  if (!absolute_time_)
    flow.before_ns = view.info.timestamp_ns - std::min<uint64_t>(view.info.timestamp_ns, kBeforeFirstNs);
  return &flow;
}

uint32_t ToIPFlowDumps::relative(Flow& flow, uint32_t direction, uint32_t sequence) {
  if (absolute_seq_) return sequence;
  if (!flow.knows_seq[direction]) {
    flow.knows_seq[direction] = true, flow.first_seq[direction] = sequence;
    if (flow.headed) flow.text += format("!firstseq %c %u\n", direction == 0 ? '>' : '<', sequence);
  }
  return sequence - flow.first_seq[direction];
}

/** The options that are wanted, with the bounds of SACK as sequence numbers are written. */
void ToIPFlowDumps::add_options(Flow& flow, const summary::View& view) {
  constexpr uint8_t kEnd = 0, kNop = 1, kTimes = 8, kSack = 5;
  const uint32_t header = (view.transport[12] >> 4) * 4u;
  if (header < 20 || header > view.transport_bytes) {
    flow.text += '?';
    return;
  }
  std::string wanted;
  for (uint32_t at = 20; at < header && view.transport[at] != kEnd;) {
    const uint8_t* const option = view.transport + at;
    const uint32_t bytes = option[0] == kNop ? 1 : at + 1 < header ? option[1] : 0;
    if (bytes == 0 || at + bytes > header || (bytes == 1 && option[0] != kNop)) {
      flow.text += '?';
      return;
    }
    at += bytes;
    if (options_ == Options::some && (option[0] > kSack || option[0] == kTimes)) continue;
    const size_t start = wanted.size();
    wanted.append(reinterpret_cast<const char*>(option), bytes);
    if (option[0] != kSack) continue;
    for (uint32_t i = 2; i + 4 <= bytes; i += 4)
      summary::put(reinterpret_cast<uint8_t*>(&wanted[start + i]), 4,
                   relative(flow, 1 - (view.paint & 1), summary::get(option + i, 4)));
  }
  summary::append_tcp_options(flow.text, {reinterpret_cast<const uint8_t*>(wanted.data()), wanted.size()});
}

void ToIPFlowDumps::add(Flow& flow, const summary::View& packet) {
  summary::View view = packet;
  const uint32_t direction = view.paint & 1;
  const auto print = [&](const char* name) {
    if (!field_named(name).print_to(view, flow.text)) flow.text += '-';
  };
  ++flow.packets, ++flow.in_text;
  if (view.ip[9] != (flow.tcp ? summary::kTcp : summary::kUdp)) {
    flow.text += '#';
    print("timestamp");
    flow.text += direction == 0 ? " > ICMP_error\n" : " < ICMP_error\n";
    return;
  }
  const bool whole = flow.tcp && view.transport != nullptr && view.transport_bytes >= 20;
  uint32_t sequence = 0, acknowledged = 0;
  if (whole) {  // first: a line may come before
    sequence = relative(flow, direction, summary::get(view.transport + 4, 4));
    if ((view.transport[13] & kAckBit) != 0)
      acknowledged = relative(flow, 1 - direction, summary::get(view.transport + 8, 4));
  }
  view.info.timestamp_ns -= flow.before_ns;
  print("timestamp");
  flow.text += direction == 0 ? " >" : " <";
  if (ip_id_) flow.text += ' ', print("ip_id");
  if (flow.tcp) {
    flow.text += ' ', print("tcp_flags");
    flow.text += whole ? ' ' + std::to_string(sequence) : " -";
  }
  flow.text += ' ', print("payload_len");
  if (flow.tcp) {
    flow.text += whole ? ' ' + std::to_string(acknowledged) : " -";
    if (window_) flow.text += ' ', print("tcp_win");
    if (options_ != Options::none) {
      flow.text += ' ';
      if (whole)
        add_options(flow, view);
      else
        flow.text += '-';
    }
  }
  flow.text += '\n';
}

std::string ToIPFlowDumps::header(uint32_t aggregate, const Flow& flow) const {
  std::string text = "!IPSummaryDump 1.3\n!flowid " + flow.id + "\n!aggregate " + std::to_string(aggregate) +
                     "\n!data timestamp direction";
  if (ip_id_) text += " ip_id";
  text += flow.tcp ? " tcp_flags tcp_seq payload_len tcp_ack" : " payload_len";
  if (flow.tcp && window_) text += " tcp_win";
  if (flow.tcp && options_ != Options::none) text += " tcp_opt";
  text += '\n';
  for (int direction = 0; direction < 2; ++direction)
    if (flow.knows_seq[direction]) text += format("!firstseq %c %u\n", "><"[direction], flow.first_seq[direction]);
  if (!absolute_time_) {
    summary::View view;
    view.info.timestamp_ns = flow.before_ns;
    text += "!firsttime ";
    field_named("timestamp").print_to(view, text);
    text += '\n';
  }
  return text;
}

void ToIPFlowDumps::write(uint32_t aggregate, Flow& flow) {
  try {
    const auto last = wrote_last_.find(flow.file);
    // Also one that has been moved away since.
    const bool is_new = last == wrote_last_.end() || (flow.file != "-" && ::access(flow.file.c_str(), F_OK) != 0);
    const bool goes_on = !is_new && last->second == aggregate && flow.headed;
    std::error_code ignored;  // if the folder is not there, the file cannot be made
    const auto folder = std::filesystem::path(flow.file).parent_path();
    if (is_new && !folder.empty()) std::filesystem::create_directories(folder, ignored);
    write(flow.file, (goes_on ? std::string() : header(aggregate, flow)) + flow.text, !is_new);
    wrote_last_[flow.file] = aggregate;
    flow.headed = true;
    written_.fetch_add(flow.in_text, std::memory_order_relaxed);
  } catch (const Error& error) {
    lost_.fetch_add(flow.in_text, std::memory_order_relaxed);
    if (failure_.empty()) failure_ = error.what();
    flow.headed = false;  // the next piece may stand behind a part of this one
  }
  flow.text = {};
  flow.in_text = 0;
}

void ToIPFlowDumps::write(const std::string& file, std::string_view text, bool goes_on) {
  const auto fails = [&](const std::string& why) { throw Error("cannot write '" + file + "': " + why); };
  std::error_code unknown;
  if (goes_on && std::filesystem::is_regular_file(file, unknown)) {
    const int descriptor = open(file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    int error = descriptor < 0 ? errno : capture::write_all(descriptor, text);
    if (descriptor >= 0 && close(descriptor) != 0 && error == 0) error = errno;
    return error == 0 ? void() : fails(std::strerror(error));
  }
  // Empties a file, and refuses one that others read or write.
  const bool waits = has_patience_with(file);
  capture::Output output(
      file, "'" + name + "'", waits ? stopping_ : [] { return true; });
  if (output.write(text, waits) < text.size()) {
    if (is_to_end()) given_up_.insert(file);
    fails(output.failure().empty() ? "whoever reads it has taken too long" : output.failure());
  }
  if (const int error = output.close(); error != 0) fails(std::strerror(error));
}

bool ToIPFlowDumps::has_patience_with(const std::string& file) {
  if (!is_to_end()) return true;
  const auto now = std::chrono::steady_clock::now();
  if (!stopping_since_) stopping_since_ = now;
  return !given_up_.contains(file) && now - *stopping_since_ < capture::kPatienceInAll;
}

void ToIPFlowDumps::end(uint32_t aggregate, Flow& flow) {
  if (flow.packets >= min_count_ && !flow.text.empty()) write(aggregate, flow);
}

void ToIPFlowDumps::end_all() {
  std::vector<uint32_t> order;
  for (const auto& [aggregate, flow] : flows_) order.push_back(aggregate);
  std::sort(order.begin(), order.end());
  for (const uint32_t aggregate : order) end(aggregate, flows_.at(aggregate));
  flows_.clear();
}

void ToIPFlowDumps::run_cpu(Batch& batch) {
  const uint32_t* const l3 = batch.column(Column::l3);
  const uint32_t* const paint = batch.column(Column::paint);
  const uint32_t* const aggregate = batch.column(Column::aggregate);
  {
    const std::lock_guard lock(writing_);
    for (int i = 0; i < batch.size(); ++i) {
      const Packet* packet = batch.packet(i);
      const bool has_ip = l3[i] >= packet->data_off && l3[i] < packet->data_off + length(packet);
      summary::View view = summary::view(packet, has_ip ? static_cast<int>(l3[i] - packet->data_off) : -1);
      if (!has_capture_info(packet)) view.info.timestamp_ns = RouterClock::wall_ns();
      view.paint = paint[i];
      Flow* const flow = flow_of(aggregate[i], view);
      if (flow == nullptr) continue;
      add(*flow, view);
      if (flow->text.size() > kPieceBytes && flow->packets >= min_count_) write(aggregate[i], *flow);
    }
    std::vector<uint32_t> gone;  // written when they have been taken: who tells of further ones waits meanwhile
    if (ended_.any()) ended_.take([&](uint32_t number) { return gone.push_back(number), true; });
    for (const uint32_t number : gone)
      if (const auto found = flows_.find(number); found != flows_.end()) {
        end(number, found->second);
        flows_.erase(found);
      }
  }
  if (outputs == 0) batch.free_packets();
}

void ToIPFlowDumps::take_state(Element& old_element) {
  auto& old = static_cast<ToIPFlowDumps&>(old_element);
  if (!(predecessor == &old ? this : &old)->same_arguments) {
    if (predecessor != &old) return;                                          // a change that has failed
    const auto stopping = std::exchange(old.stopping_, [] { return true; });  // packet threads wait meanwhile
    for (auto& [aggregate, flow] : old.flows_) old.end(aggregate, flow);
    old.stopping_ = stopping, old.stopping_since_.reset(), old.given_up_.clear();
    wrote_last_ = old.wrote_last_;  // files of the same names are not begun again
    return;
  }
  flows_.swap(old.flows_), wrote_last_.swap(old.wrote_last_), failure_.swap(old.failure_);
  for (auto number : {&ToIPFlowDumps::count_, &ToIPFlowDumps::written_, &ToIPFlowDumps::no_flow_, &ToIPFlowDumps::full_,
                      &ToIPFlowDumps::lost_})
    (this->*number) = (old.*number).exchange(this->*number);
}

std::string ToIPFlowDumps::stop() {
  end_all();
  return std::move(failure_);
}

void ToIPFlowDumps::handlers(Handlers& list) {
  list.write("clear", [this](const std::string&) {
    const std::lock_guard lock(writing_);
    end_all();
  });
}

std::vector<std::pair<std::string, uint64_t>> ToIPFlowDumps::statistics() const {
  return {{"flows", count_}, {"written", written_}, {"no_flow", no_flow_}, {"full", full_}, {"lost", lost_}};
}

HEDDLE_ELEMENT(ToIPFlowDumps);

}  // namespace heddle
