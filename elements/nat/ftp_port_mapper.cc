#include "elements/nat/ftp_port_mapper.h"

#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "click/arguments.h"
#include "elements/endpoints/checksums.h"
#include "elements/nat/ip_rewriter.h"

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

uint32_t checksum_now(const Ip4Header& ip) {
  return transport_checksum(ip.at, ip.behind(), ip.payload(), ip.payload());
}

}  // namespace

void FTPPortMapper::configure(click::Arguments& arguments) {
  arguments.required("CONTROL_REWRITER", control_name_).required("DATA_REWRITER", data_name_);
  arguments.required("DATA_REWRITER_INPUT", data_input_, 0u, 255u);
}

void FTPPortMapper::link(const Directory& directory) {
  const auto find = [&](const char* what, const std::string& text) {
    const std::vector<Element*> named = directory(text);
    auto* found = named.size() == 1 ? dynamic_cast<IPRewriter*>(named[0]) : nullptr;
    if (found == nullptr) throw Error(std::string(what) + ": '" + text + "' is not an IPRewriter or TCPRewriter");
    return found;
  };
  control_ = find("CONTROL_REWRITER", control_name_);
  data_ = find("DATA_REWRITER", data_name_);
  if (data_input_ >= static_cast<uint32_t>(data_->inputs))
    throw Error(format("DATA_REWRITER_INPUT: '%s' has no input %u", data_name_.c_str(), data_input_));
}

Access FTPPortMapper::access(Processor) const {
  return {.reads = {{Base::l3, 0, kToEnd}}, .writes = {{Base::l3, 2, kToEnd}}, .column_reads = columns(Column::l3)};
}

bool FTPPortMapper::note_shift(const nat::FlowKey& flow, uint32_t sequence, int more) {
  nat::Rewrite control;
  nat::MappingTable& mappings = control_->mappings();
  if (!mappings.find(flow, control) || control.reply) return false;
  const nat::Shift shift = mappings.shift(control.mapping);
  const bool again = shift && static_cast<int32_t>(sequence - shift.from) <= 0;  // sent once more
  if (more == 0 || again) return true;
  const int after = shift.after + more;
  if (after != static_cast<int16_t>(after)) return false;
  mappings.set_shift(control.mapping, {sequence, shift.after, static_cast<int16_t>(after)});
  return true;
}

FTPPortMapper::Result FTPPortMapper::rewrite_command(Packet* packet, const Ip4Header& ip, int thread) {
  if (ip.at[9] != kTcp || !ip.first_fragment() || ip.payload() < 20) return Result::no_command;
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

  const nat::FlowKey control{ip.source(), ip.destination(), load_u16(tcp), load_u16(tcp + 2), nat::Kind::tcp};
  const nat::FlowKey flow{command->address, ip.destination(), command->port, htons(20), nat::Kind::tcp};
  nat::Rewrite found;
  if (!control_->mappings().find(control, found) || !data_->map(flow, data_input_, thread, found))
    return Result::ignored;
  const std::string text = text_of(found.to.source, found.to.source_port);
  const int more = static_cast<int>(text.size()) - static_cast<int>(command->end - command->begin);
  if (!note_shift(control, ntohl(load_u32(tcp + 4)), more)) return Result::ignored;

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
  for (int i = 0; i < batch.size(); ++i) {
    const Ip4Header ip = ip4_header(batch.packet(i), l3[i]);
    if (!ip) continue;
    const Result result = rewrite_command(batch.packet(i), ip, batch.thread);
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
