#include "elements/endpoints/rated_source.h"

#include <algorithm>
#include <cmath>

#include "click/arguments.h"
#include "click/quoting.h"

namespace heddle {
namespace {

constexpr double kMaxRate = 1e9;

struct Bandwidth {
  double bytes_per_s = -1;  // none is given
};
bool parse(std::string_view text, Bandwidth& value) {
  double factor = 1;
  if (text.ends_with("bps") || text.ends_with("Bps")) {
    factor = text.ends_with("bps") ? 0.125 : 1;
    text.remove_suffix(3);
    constexpr std::pair<char, double> kPrefixes[] = {{'k', 1e3}, {'K', 1e3}, {'M', 1e6}, {'G', 1e9}};
    for (const auto& [letter, prefix] : kPrefixes)
      if (text.ends_with(letter)) {
        factor *= prefix;
        text.remove_suffix(1);
        break;
      }
  }
  double number = 0;
  if (!click::parse(click::trim(text), number, 0, 1e15)) return false;
  value.bytes_per_s = number * factor;
  return true;
}
std::string expectation(Bandwidth) { return "a bandwidth such as 10Mbps (bits) or 64kBps (bytes)"; }

std::string rate_text(double rate) {
  return rate == std::floor(rate) ? std::to_string(static_cast<uint64_t>(rate)) : std::to_string(rate);
}

}  // namespace

void RatedSource::configure(click::Arguments& arguments) {
  std::string data = kDefaultData;
  int64_t limit = limit_, bytes = -1;
  double rate = 10;
  bool active = active_;
  Bandwidth bandwidth;
  arguments.optional("DATA", data).optional("RATE", rate, 0.0, kMaxRate).optional("LIMIT", limit);
  arguments.optional("ACTIVE", active).keyword("BANDWIDTH", bandwidth);
  arguments.keyword("DATASIZE", bytes, -1, int64_t{kMaxPacketBytes});
  arguments.keyword("LENGTH", bytes, -1, int64_t{kMaxPacketBytes});
  configure_end(arguments);
  limit_ = limit, active_ = active;
  set_data(data, bytes);
  if (bandwidth.bytes_per_s >= 0)
    rate = std::min(kMaxRate, bandwidth.bytes_per_s / std::max(1.0, static_cast<double>(packet_bytes())));
  bucket_.set_rate(rate);
}

void RatedSource::receive(Batch& batch) {
  const int before = batch.size();
  append_copies(batch, allowed(std::min(bucket_.available(), batch.room() - before)), true);
  bucket_.take(batch.size() - before);
}

void RatedSource::handlers(Handlers& list) {
  RepeatedPacket::handlers(list);
  list.read("rate", [this] { return rate_text(bucket_.rate_per_s()); }).write("rate", [this](const std::string& value) {
    bucket_.set_rate(click::value_of<double>(value, 0.0, kMaxRate));
  });
}

HEDDLE_ELEMENT(RatedSource);

}  // namespace heddle
