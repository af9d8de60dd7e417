#include "elements/ip/set_rand_ip_address.h"

#include <arpa/inet.h>

#include <algorithm>

#include "click/arguments.h"
#include "core/generators.h"

namespace heddle {
namespace {

/** Argument PREFIX: a network, or an address as one of 32 bits. */
struct Network {
  click::Ipv4Prefix prefix;
};
bool parse(std::string_view text, Network& value) {
  click::Ipv4Address address;
  if (!click::parse(text, address)) return click::parse(text, value.prefix);
  value.prefix = {address.value, 32};
  return true;
}
std::string expectation(const Network& value) { return click::expectation(value.prefix) + ", or an address"; }

}  // namespace

void SetRandIPAddress::configure(click::Arguments& arguments) {
  Network network;
  arguments.required("PREFIX", network).optional("LIMIT", limit_, -1, 1 << 20);
  network_ = network.prefix.address;
  host_mask_ = network.prefix.length == 32 ? 0 : ~uint32_t{0} >> network.prefix.length;
}

void SetRandIPAddress::start(const Environment& environment) {
  random_ = generators_of(*this, environment);
  for (int i = 0; i < limit_; ++i) addresses_.push_back(htonl(network_ | (random_[0]() & host_mask_)));
}

void SetRandIPAddress::run_cpu(Batch& batch) {
  std::mt19937& random = random_[static_cast<size_t>(batch.thread)];
  uint32_t* const dst = batch.column(Column::dst);
  if (addresses_.empty())
    std::generate_n(dst, batch.size(), [&] { return htonl(network_ | (random() & host_mask_)); });
  else
    std::generate_n(dst, batch.size(), [&] { return addresses_[random() * uint64_t{addresses_.size()} >> 32]; });
}

HEDDLE_ELEMENT(SetRandIPAddress);

}  // namespace heddle
