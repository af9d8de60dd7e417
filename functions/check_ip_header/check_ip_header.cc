#include "functions/check_ip_header/check_ip_header.h"

#include <arpa/inet.h>
#include <rte_prefetch.h>

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "click/arguments.h"
#include "core/checksum.h"
#include "core/error.h"
#include "core/load.h"

namespace heddle {

using namespace check_ip;

namespace {

constexpr int kAhead = 8;
constexpr const char* kClickWords[kReasons] = {"tiny packet",   "bad IP version",  "bad IP header length",
                                               "bad IP length", "bad IP checksum", "bad source address"};

/** Argument INTERFACES: addresses with their networks. */
struct Interfaces {
  std::vector<click::Ipv4Address> addresses, broadcasts;
};

bool parse(std::string_view text, Interfaces& value) {
  Interfaces result;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    click::Ipv4Prefix network;
    click::Ipv4Address address;
    const size_t slash = word.find('/');
    if (slash == std::string::npos || !click::parse(word, network)) return false;
    if (!click::parse(word.substr(0, slash), address)) address.value = network.address;
    const auto hosts = static_cast<uint32_t>((uint64_t{1} << (32 - network.length)) - 1);
    result.addresses.push_back(address);
    result.broadcasts.push_back({network.address | hosts});
  }
  if (result.addresses.empty()) return false;
  value = std::move(result);
  return true;
}
std::string expectation(const Interfaces&) {
  return "IPv4 addresses with networks, such as 10.0.0.1/8, and spaces between";
}

void append(std::vector<uint32_t>& list, const std::vector<click::Ipv4Address>& addresses) {
  for (auto& address : addresses) list.push_back(htonl(address.value));
}

bool contains(const std::vector<uint32_t>& list, uint32_t address) {
  return std::find(list.begin(), list.end(), address) != list.end();
}

constexpr int kAtOnce = 64;
/** Headers side by side, so that the compiler looks at several at a time. */
struct Headers {
  uint32_t word[kMinBytes / 4][kAtOnce], room[kAtOnce];  // room: bytes from there to the packet's end

  /** Whether the first `n` are valid, whatever their source, and have no options: nearly all are. */
  bool plain_and_valid(int n) const {
    uint32_t wrong = 0;
    for (int i = 0; i < n; ++i) {
      uint32_t sum = 0;
      for (const auto& words : word) sum = check_ip::add(sum, words[i]);
      const uint32_t total = total_bytes(word[0][i]);
      wrong |= ((word[0][i] & 0xff) ^ 0x45) | (total < kMinBytes) | (total > room[i]) | !is_sum_of_valid(sum);
    }
    return wrong == 0;
  }
  bool has_source(int n, uint32_t address) const {
    uint32_t any = 0;
    for (int i = 0; i < n; ++i) any |= word[3][i] == address;
    return any != 0;
  }
  /** Whether bytes lie behind one of the packets that they begin. */
  bool any_padding(int n) const {
    uint32_t any = 0;
    for (int i = 0; i < n; ++i) any |= total_bytes(word[0][i]) < room[i];
    return any != 0;
  }
};

/** Removes what is behind the first `bytes` of a packet. */
void cut(Packet* packet, uint32_t bytes) {
  if (bytes < length(packet)) packet->data_len = static_cast<uint16_t>(bytes), packet->pkt_len = bytes;
}

void add_one(std::atomic<uint64_t>& counter) {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace

void CheckIPHeader::configure(click::Arguments& arguments) {
  const std::vector<click::Ipv4Address> broadcasts = {{0}, {0xffffffff}};
  std::vector<click::Ipv4Address> bad, good, old_bad;
  Interfaces interfaces;
  arguments.keyword("INTERFACES", interfaces).keyword("BADSRC", bad).keyword("GOODDST", good);
  arguments.keyword("OFFSET", offset_, 0, 16384).keyword("CHECKSUM", checksum_);
  arguments.keyword("VERBOSE", verbose_).keyword("DETAILS", details_);
  // OFFSET, or as in old Click BADSRC, OFFSET
  const std::vector<click::Argument> positional = arguments.rest();
  for (size_t i = 0; i < positional.size(); ++i) {
    const bool old = i == 0 && (positional.size() == 2 || click::parse(positional[0].text, old_bad));
    if (i > 1)
      arguments.error(positional[i], "expected: OFFSET is the last argument without a keyword");
    else if (old && !click::parse(positional[0].text, old_bad))
      arguments.error(positional[0], click::expectation(old_bad));
    else if (!old && !click::parse(positional[i].text, offset_, 0, 16384))
      arguments.error(positional[i], "OFFSET, " + click::expectation(offset_, 0, 16384));
  }
  append(bad_sources_, bad), append(bad_sources_, old_bad), append(bad_sources_, interfaces.broadcasts);
  if (!old_bad.empty() || !interfaces.addresses.empty()) append(bad_sources_, broadcasts);
  append(good_destinations_, good), append(good_destinations_, interfaces.addresses);
  table = &image_;
}

void CheckIPHeader::placed(bool on_gpu) {
  if (!on_gpu) return;
  if (verbose_) throw Error("VERBOSE prints on the CPU only; leave it out, or DEVICE gpu");
  Image& image = image_.value;
  const size_t addresses = bad_sources_.size() + good_destinations_.size();
  if (addresses > Image::kMaxAddresses)
    throw Error(
        format("there are %zu addresses in BADSRC, GOODDST and INTERFACES, on a GPU %u are allowed; give it DEVICE cpu",
               addresses, Image::kMaxAddresses));
  image.offset = static_cast<uint32_t>(offset_), image.checksum = checksum_, image.second_output = outputs > 1;
  image.bad = static_cast<uint32_t>(bad_sources_.size()), image.good = static_cast<uint32_t>(good_destinations_.size());
  std::ranges::copy(good_destinations_, std::ranges::copy(bad_sources_, image.addresses).out);
}

Access CheckIPHeader::access(Processor) const {
  // Options reach to byte 60 of the header.
  return {.reads = {{Base::head, offset_, offset_ + 60}},
          .column_writes = columns(Column::dst, Column::l3, Column::l4)};
}

std::span<const char* const> CheckIPHeader::drop_reasons() const {
  static constexpr const char* kNames[check_ip::kReasons] = {"short",      "bad_version",  "bad_header_length",
                                                             "bad_length", "bad_checksum", "bad_source"};
  return kNames;
}

Reason CheckIPHeader::check(const uint8_t* header, uint32_t room) const {
  if (room < kMinBytes) return kShort;
  const uint32_t first = load_u32(header);
  if (const Reason reason = check_lengths(first, room); reason != kValid) return reason;
  if (checksum_ && !ip4_checksum_ok(header, header_bytes(first))) return kBadChecksum;
  if (!bad_sources_.empty() && contains(bad_sources_, load_u32(header + 12)) &&
      !contains(good_destinations_, load_u32(header + 16)))
    return kBadSource;
  return kValid;
}

void CheckIPHeader::refuse(Batch& batch, int i, Reason reason) {
  for (Column column : {Column::dst, Column::l3, Column::l4}) batch.column(column)[i] = 0;
  if (outputs > 1)
    batch.next()[i] = 1;
  else
    batch.drop(i, reason);
  add_one(tally_[static_cast<size_t>(batch.thread)].bad[static_cast<size_t>(reason)]);
  if (verbose_) std::fprintf(stderr, "%s: IP header check failed: %s\n", name.c_str(), kClickWords[reason]);
}

void CheckIPHeader::run_cpu(Batch& batch) {
  const int size = batch.size();
  int refused = 0;
  for (int first = 0; first < size; first += kAtOnce) {
    const int end = std::min(first + kAtOnce, size);
    if (!checksum_ || !pass_usual(batch, first, end)) refused += check_each(batch, first, end);
  }
  valid_[batch.thread].add(static_cast<uint64_t>(size - refused), 0);
}

bool CheckIPHeader::pass_usual(Batch& batch, int first, int end) const {
  Packet* const* packets = batch.packets() + first;
  uint32_t *dst = batch.column(Column::dst) + first, *l4 = batch.column(Column::l4) + first;
  uint32_t* l3 = batch.column(Column::l3) + first;
  const auto offset = static_cast<uint32_t>(offset_);
  const int n = end - first;
  Headers headers;
  for (int i = 0; i < n; ++i) {
    rte_prefetch0(data(packets[i + kAhead < n ? i + kAhead : i]) + offset);
    const Packet* packet = packets[i];
    if (length(packet) < offset + kMinBytes) return false;
    const uint8_t* header = data(packet) + offset;
    for (auto& words : headers.word) words[i] = load_u32(header), header += 4;
    headers.room[i] = length(packet) - offset;
    l3[i] = packet->data_off + offset;
  }
  if (!headers.plain_and_valid(n)) return false;
  for (const uint32_t address : bad_sources_)
    if (headers.has_source(n, address)) return false;
  for (int i = 0; i < n; ++i) dst[i] = headers.word[4][i], l4[i] = l3[i] + kMinBytes;
  if (!headers.any_padding(n)) return true;
  for (int i = 0; i < n; ++i) cut(packets[i], offset + total_bytes(headers.word[0][i]));
  return true;
}

int CheckIPHeader::check_each(Batch& batch, int first, int end) {
  uint32_t *dst = batch.column(Column::dst), *l3 = batch.column(Column::l3), *l4 = batch.column(Column::l4);
  const auto offset = static_cast<uint32_t>(offset_);
  int refused = 0;
  for (int i = first; i < end; ++i) {
    Packet* packet = batch.packet(i);
    const uint8_t* header = data(packet) + offset;
    if (const Reason reason = check(header, length(packet) < offset ? 0 : length(packet) - offset); reason != kValid) {
      refuse(batch, i, reason);
      ++refused;
      continue;
    }
    dst[i] = load_u32(header + 16), l3[i] = packet->data_off + offset, l4[i] = l3[i] + header_bytes(header[0]);
    cut(packet, offset + total_bytes(load_u32(header)));
  }
  return refused;
}

void CheckIPHeader::parse_again(Batch& batch, ColumnSet columns) {
  const bool sets_dst = (columns & heddle::columns(Column::dst)) != 0;
  const bool sets_l4 = (columns & heddle::columns(Column::l4)) != 0;
  uint32_t *dst = batch.column(Column::dst), *l4 = batch.column(Column::l4);
  const uint32_t* l3 = batch.column(Column::l3);
  uint64_t valid = 0;
  for (int i = 0; i < batch.size(); ++i) {
    const Packet* packet = batch.packet(i);
    const uint32_t bytes = length(packet), offset = l3[i] - packet->data_off;
    if (l3[i] < packet->data_off || offset > bytes) continue;
    const uint8_t* header = data(packet) + offset;
    if (check(header, bytes - offset) != kValid) continue;
    if (sets_dst) dst[i] = load_u32(header + 16);
    if (sets_l4) l4[i] = l3[i] + header_bytes(load_u32(header));
    ++valid;
  }
  parsed_again_[batch.thread].add(valid, 0);
}

std::vector<std::pair<std::string, uint64_t>> CheckIPHeader::statistics() const {
  const uint64_t times = parsed_again_.packets();
  return times == 0 ? decltype(statistics()){} : decltype(statistics()){{"parsed_again", times}};
}

check_ip::Counts CheckIPHeader::counted_there() const {
  check_ip::Counts counts{};
  if (read_gpu_state) read_gpu_state(0, std::as_writable_bytes(std::span(&counts, 1)));
  return counts;
}

uint64_t CheckIPHeader::bad(int reason) const {
  uint64_t sum = counted_there().bad[reason];
  for (auto& thread : tally_) sum += thread.bad[static_cast<size_t>(reason)].load(std::memory_order_relaxed);
  return sum;
}

void CheckIPHeader::handlers(Handlers& list) {
  list.read("count", [this] { return std::to_string(valid_.packets() + counted_there().valid); }).read("drops", [this] {
    uint64_t sum = 0;
    for (int reason = 0; reason < kReasons; ++reason) sum += bad(reason);
    return std::to_string(sum);
  });
  if (!details_) return;
  list.read("drop_details", [this] {
    std::string text;
    for (int reason = 0; reason < kReasons; ++reason)
      text += std::to_string(bad(reason)) + "\t" + kClickWords[reason] + "\n";
    return text;
  });
}

HEDDLE_ELEMENT(CheckIPHeader);

}  // namespace heddle
