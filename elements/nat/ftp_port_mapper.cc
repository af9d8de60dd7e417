#include "elements/nat/ftp_port_mapper.h"

#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "click/arguments.h"
#include "click/quoting.h"
#include "elements/endpoints/checksums.h"
#include "elements/nat/ip_rewriter.h"
#include "elements/nat/sequence.h"

namespace heddle {
namespace {

/** The argument of a PORT command: an address and a port, and where its text is. */
struct PortArgument {
  uint32_t address;  // network byte order
  uint16_t port;     // network byte order
  size_t begin, end;
};

std::optional<PortArgument> read_port_command(std::string_view data) {
  constexpr std::string_view kCommand = "PORT ";
  if (data.size() < kCommand.size() || strncasecmp(data.data(), kCommand.data(), kCommand.size()) != 0) return {};
  std::array<uint8_t, 6> bytes;
  size_t at = kCommand.size();
  for (size_t i = 0; i < bytes.size(); ++i) {
    const auto [end, error] = std::from_chars(data.data() + at, data.data() + data.size(), bytes[i]);
    if (error != std::errc()) return {};
    at = static_cast<size_t>(end - data.data());
    if (at >= data.size() || (i < 5 ? data[at] != ',' : data[at] != '\r' && data[at] != '\n')) return {};
    if (i < 5) ++at;
  }
  PortArgument argument{0, 0, kCommand.size(), at};
  std::memcpy(&argument.address, bytes.data(), 4);
  std::memcpy(&argument.port, bytes.data() + 4, 2);
  return argument;
}

std::string text_of(uint32_t address, uint16_t port) {
  uint8_t bytes[6];
  std::memcpy(bytes, &address, 4), std::memcpy(bytes + 4, &port, 2);
  return format("%u,%u,%u,%u,%u,%u", bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5]);
}

nat::FlowKey flow_of(const Ip4Header& ip) {
  const uint8_t* tcp = ip.behind();
  return {ip.source(), ip.destination(), load_u16(tcp), load_u16(tcp + 2), nat::Kind::tcp};
}

/** An argument as it stands. */
struct Text {
  std::string text;
};
bool parse(std::string_view text, Text& value) {
  value.text = text;
  return !text.empty();
}
std::string expectation(const Text&) { return "an input of DATA_REWRITER, or PATTERN FOUTPUT ROUTPUT"; }

uint32_t checksum_now(const Ip4Header& ip) {
  return transport_checksum(ip.at, ip.behind(), ip.payload(), ip.payload());
}

}  // namespace

void FTPPortMapper::configure(click::Arguments& arguments) {
  Text input;
  arguments.required("CONTROL_REWRITER", control_name_).required("DATA_REWRITER", data_name_);
  arguments.required("DATA_REWRITER_INPUT", input);
  const auto words = click::split_words(input.text);
  names_ = arguments.names();
  if (words.size() > 1)
    spec_text_ = (words.size() == 6 ? "pattern " : "") + input.text;
  else if (!words.empty() && !click::parse(input.text, data_input_, 0u, 255u))
    arguments.error("DATA_REWRITER_INPUT", expectation(input));
}

void FTPPortMapper::link(const Directory& directory) {
  const auto find = [&](const char* what, const std::string& text) {
    const std::vector<Element*> named = directory(text);
    auto* found = named.size() == 1 ? dynamic_cast<IPRewriter*>(named[0]) : nullptr;
    if (found == nullptr || dynamic_cast<UDPRewriter*>(found) != nullptr)
      throw Error(std::string(what) + ": '" + text + "' is not an IPRewriter or TCPRewriter");
    return found;
  };
  control_ = find("CONTROL_REWRITER", control_name_);
  data_ = find("DATA_REWRITER", data_name_);
  if (!spec_text_.empty()) spec_ = data_->read_spec(names_, spec_text_, directory);
  if (spec_ && spec_->what != nat::InputSpec::Do::rewrite)
    throw Error("'" + spec_text_ + "' makes no mapping; expected a pattern and two outputs");
  if (data_input_ >= static_cast<uint32_t>(data_->inputs))
    throw Error(format("DATA_REWRITER_INPUT: '%s' has no input %u", data_name_.c_str(), data_input_));
  if (control_->inputs == 1)
    control_input_ = 0;
  else if (control_ == data_ && !spec_)
    control_input_ = data_input_;
}

Access FTPPortMapper::access(Processor) const {
  return {.reads = {{Base::l3, 0, kToEnd}},
          .writes = {{Base::l3, 2, kToEnd}},
          .column_reads = columns(Column::l3) | (wants_paint() ? columns(Column::paint) : 0)};
}

// Here and not at CONTROL_REWRITER, which sees packets when further commands of their batch may have been rewritten.
void FTPPortMapper::move_sequence(const Ip4Header& ip) const {
  nat::Rewrite control;
  if (!control_->find(flow_of(ip), control) || control.reply) return;
  if (const nat::Shifts shifts = control_->mappings().shifts(control.mapping)) nat::shift_forward(ip, shifts);
}

bool FTPPortMapper::note_shift(const nat::FlowKey& flow, uint32_t sequence, uint32_t last, int more) {
  nat::Rewrite control;
  nat::MappingTable& mappings = control_->mappings();
  if (!control_->find(flow, control) || control.reply) return false;
  const nat::Shift shift = mappings.shifts(control.mapping).newest;
  const bool again = shift && static_cast<int32_t>(sequence - shift.from) <= 0;  // sent once more
  if (more == 0 || again) return true;
  const int after = shift.after + more;
  if (after != static_cast<int16_t>(after)) return false;
  mappings.add_shift(control.mapping, {last, shift.after, static_cast<int16_t>(after)});
  return true;
}

FTPPortMapper::Result FTPPortMapper::rewrite_command(Packet* packet, const Ip4Header& ip, uint32_t sequence,
                                                     uint32_t paint, int thread) {
  uint8_t* const tcp = ip.behind();
  const uint32_t header = (tcp[12] >> 4) * 4u;
  if (header < 20 || header > ip.payload()) return Result::no_command;
  const std::string_view data(reinterpret_cast<const char*>(tcp + header), ip.payload() - header);
  const auto command = read_port_command(data);
  if (!command) return Result::no_command;
  const uint16_t checksum = load_u16(tcp + 16);
  store_u16(tcp + 16, 0);
  const bool right = htons(static_cast<uint16_t>(checksum_now(ip))) == checksum;
  store_u16(tcp + 16, checksum);
  if (!right || ip.fragment() || ip.total() > ip.room || command->address != ip.source()) return Result::ignored;

  const nat::FlowKey control = flow_of(ip);
  const nat::FlowKey flow{command->address, ip.destination(), command->port, htons(20), nat::Kind::tcp};
  nat::Rewrite found;
  // The connection's first packets may be in this batch, on their way to CONTROL_REWRITER.
  const Rewriter::Comer first{control_input_, paint, thread};
  if (!(control_input_ == UINT32_MAX ? control_->find(control, found) : control_->map(control, first, found)))
    return Result::ignored;
  const Rewriter::Comer comer{spec_ ? UINT32_MAX : data_input_, paint, thread};
  if (!(spec_ ? data_->map(flow, *spec_, comer, found) : data_->map(flow, comer, found))) return Result::ignored;
  const std::string text = text_of(found.to.source, found.to.source_port);
  const int more = static_cast<int>(text.size()) - static_cast<int>(command->end - command->begin);
  const uint32_t last = sequence + static_cast<uint32_t>(data.size()) - 1;
  if (!note_shift(control, sequence, last, more)) return Result::ignored;

  move_tail(packet, static_cast<int>(ip.total()) - static_cast<int>(ip.room) + more);  // padding goes
  uint8_t* const place = tcp + header + command->begin;
  std::memmove(place + text.size(), tcp + header + command->end, data.size() - command->end);
  std::memcpy(place, text.data(), text.size());
  rewrite_u16(ip.at + 2, htons(static_cast<uint16_t>(static_cast<int>(ip.total()) + more)), ip.at + 10);
  store_u16(tcp + 16, 0);
  const Ip4Header now{ip.at, ip.bytes, ip.total()};
  store_u16(tcp + 16, htons(static_cast<uint16_t>(checksum_now(now))));
  return Result::rewritten;
}

void FTPPortMapper::run_cpu(Batch& batch) {
  const uint32_t* l3 = batch.column(Column::l3);
  const uint32_t* const paint = wants_paint() ? batch.column(Column::paint) : nullptr;
  for (int i = 0; i < batch.size(); ++i) {
    const Ip4Header ip = ip4_header(batch.packet(i), l3[i]);
    if (!ip || ip.at[9] != kTcp || !ip.first_fragment() || ip.payload() < 20) continue;
    const uint32_t sequence = ntohl(load_u32(ip.behind() + 4));
    move_sequence(ip);
    const Result result = rewrite_command(batch.packet(i), ip, sequence, paint != nullptr ? paint[i] : 0, batch.thread);
    if (result == Result::rewritten) rewritten_.fetch_add(1, std::memory_order_relaxed);
    if (result == Result::ignored) ignored_.fetch_add(1, std::memory_order_relaxed);
  }
}

void FTPPortMapper::handlers(Handlers& list) {
  list.read("rewritten", [this] { return std::to_string(rewritten_); }).read("ignored", [this] {
    return std::to_string(ignored_);
  });
}

std::vector<std::pair<std::string, uint64_t>> FTPPortMapper::statistics() const {
  return {{"rewritten", rewritten_}, {"ignored", ignored_}};
}

void FTPPortMapper::take_state(Element& old_element) {
  auto& old = static_cast<FTPPortMapper&>(old_element);
  rewritten_ = old.rewritten_.exchange(rewritten_), ignored_ = old.ignored_.exchange(ignored_);
}

HEDDLE_ELEMENT(FTPPortMapper);

}  // namespace heddle
