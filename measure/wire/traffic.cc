#include "measure/wire/traffic.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "core/error.h"
#include "functions/ip_lookup/route_file.h"
#include "io/capture/reader.h"
#include "measure/generate/random.h"
#include "measure/wire/toeplitz.h"

namespace heddle::bench {
namespace {

constexpr uint32_t kMinBytes = 64, kMaxBytes = 9216;
constexpr size_t kMaxCaptureBytes = size_t{1} << 30, kMaxRestBytes = size_t{3} << 30;
constexpr uint32_t kLookEvery = 1 << 16;
constexpr size_t kMinFrames = 4096, kMaxFrames = 1 << 20;  ///< prepared

bool is_number(const std::string& text) {
  return !text.empty() && text.size() < 9 && text.find_first_not_of("0123456789") == text.npos;
}

/** The rest of "routes:FILE" behind "routes:". */
bool after(const std::string& text, const std::string& prefix, std::string& rest) {
  if (!text.starts_with(prefix)) return false;
  rest = text.substr(prefix.size());
  return true;
}

bool is_capture(const std::string& sizes) {
  if (sizes == "imix" || is_number(sizes)) return false;
  std::error_code none;
  return sizes.find_first_of("./") != sizes.npos || std::filesystem::is_regular_file(sizes, none);
}

/** Sizes on the wire, each as often as it is to be sent. */
std::vector<uint32_t> sizes_of(const std::string& text, uint8_t protocol, const Destinations* destinations) {
  std::vector<uint32_t> sizes;
  if (text == "imix") {
    sizes.assign(7, 64);
    sizes.insert(sizes.end(), 4, 594);
    sizes.push_back(1518);
  } else {
    const uint32_t bytes = is_number(text) ? static_cast<uint32_t>(std::stoul(text)) : 0;
    if (bytes < kMinBytes || bytes > kMaxBytes)
      throw Error(format("frame size '%s': expected %u to %u bytes (with FCS), imix or a capture file", text.c_str(),
                         kMinBytes, kMaxBytes));
    sizes.push_back(bytes);
  }
  const uint32_t least =
      (destinations != nullptr ? destinations->shortest(protocol) : shortest_frame(protocol)) + kFcsBytes;
  if (sizes[0] < least)  // of imix as well the smallest
    throw Error(format(
        "frame size '%s': a frame of %s%s has %u bytes at least (with FCS), for its headers and the "
        "generator's signature, and %u is less",
        text.c_str(), destinations != nullptr ? std::string(destinations->network()).append(" and ").c_str() : "",
        protocol == kTcp ? "TCP" : "UDP", least, sizes[0]));
  return sizes;
}

uint8_t protocol_of(const std::string& name) {
  if (name == "udp") return kUdp;
  if (name == "tcp") return kTcp;
  throw Error("protocol '" + name + "': expected udp or tcp");
}

uint32_t random_unicast(Random& random) {
  for (;;) {
    const auto address = static_cast<uint32_t>(random.bits());
    const uint32_t net = address >> 24;
    if (net != 0 && net != 127 && net < 224) return address;
  }
}

std::vector<FiveTuple> read_trace(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error("cannot read the header trace '" + path + "'");
  std::vector<FiveTuple> packets;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    std::istringstream words(line);
    uint64_t source = 0, destination = 0, source_port = 0, destination_port = 0, protocol = 0;
    if (!(words >> source >> destination >> source_port >> destination_port >> protocol) ||
        std::max(source, destination) > UINT32_MAX || std::max(source_port, destination_port) > UINT16_MAX ||
        protocol > UINT8_MAX)
      throw Error(format("%s:%d: expected \"source destination source-port destination-port protocol\", five numbers",
                         path.c_str(), number));
    packets.push_back({static_cast<uint32_t>(source), static_cast<uint32_t>(destination),
                       static_cast<uint16_t>(source_port), static_cast<uint16_t>(destination_port),
                       static_cast<uint8_t>(protocol)});
  }
  if (file.bad()) throw Error("cannot read the header trace '" + path + "'; is it a file?");
  if (packets.empty()) throw Error("the header trace '" + path + "' is empty");
  return packets;
}

std::vector<ip_lookup::Route> read_routes(const std::string& path) {
  std::vector<std::string> errors;
  auto routes = ip_lookup::read_route_file(path, errors);
  if (!errors.empty()) throw Error(errors[0]);
  if (routes.empty()) throw Error("the route file '" + path + "' is empty");
  return routes;
}

/** A set of flows that grows: open addressing, since std::set takes minutes for the most flows. */
class FlowSet {
 public:
  explicit FlowSet(uint32_t most) : slots_(std::bit_ceil(size_t{most} * 2), kNone) { flows_.reserve(most); }
  void insert(const FiveTuple& flow) {
    size_t at = hash_of(flow) & (slots_.size() - 1);
    for (; slots_[at] != kNone; at = (at + 1) & (slots_.size() - 1))
      if (flows_[slots_[at]] == flow) return;
    slots_[at] = static_cast<uint32_t>(flows_.size());
    flows_.push_back(flow);
  }
  size_t size() const { return flows_.size(); }
  std::vector<FiveTuple> take() { return std::move(flows_); }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  static uint64_t hash_of(const FiveTuple& flow) {
    const uint64_t ports = uint64_t{flow.source_port} << 16 | flow.destination_port;
    const uint64_t mixed =
        ((uint64_t{flow.source} << 32 | flow.destination) ^ ports * 0x9e3779b97f4a7c15) * 0xff51afd7ed558ccd;
    return mixed >> 32 ^ mixed;
  }
  std::vector<uint32_t> slots_;  // of flows_
  std::vector<FiveTuple> flows_;
};

/** `count` different flows, whose IPv4 addresses are within routes or anything. */
std::vector<FiveTuple> random_flows(uint32_t count, const std::string& addresses, uint8_t protocol, Random& random,
                                    const std::function<void()>& look) {
  std::string path;
  std::vector<ip_lookup::Route> routes;
  if (after(addresses, "routes:", path)) {
    routes = read_routes(path);
  }
  FlowSet flows(count);
  for (uint32_t i = 0; flows.size() < count; ++i) {
    if (i % kLookEvery == 0) look();
    FiveTuple flow{random_unicast(random), random_unicast(random), 0, 0, protocol};
    if (!routes.empty()) {
      const ip_lookup::Route& route = routes[random.below(routes.size())];
      const auto host = static_cast<uint32_t>(random.bits()) & ~ip_lookup::prefix_mask(route.length);
      flow.destination = route.address | host;
    }
    flow.source_port = static_cast<uint16_t>(random.between(1024, UINT16_MAX));
    flow.destination_port = static_cast<uint16_t>(random.between(1024, UINT16_MAX));
    flows.insert(flow);
  }
  return flows.take();
}

/** In which order flows have packets: all the same, shuffled, or by Zipf's law. */
std::vector<uint32_t> order_of(uint32_t flows, double zipf, size_t sizes, Random& random) {
  const size_t count =
      std::clamp<size_t>(size_t{flows} * (zipf > 0 ? 4 : 1) * sizes, kMinFrames, std::max<size_t>(kMaxFrames, flows));
  std::vector<uint32_t> order(count);
  if (zipf <= 0) {
    for (size_t i = 0; i < count; ++i) order[i] = static_cast<uint32_t>(i % flows);
    random.shuffle(order);
    return order;
  }
  const std::vector<double> weights = zipf_weights(flows, zipf);
  const Discrete draw(weights);
  for (uint32_t& flow : order) flow = static_cast<uint32_t>(draw(random));
  return order;
}

}  // namespace

Traffic::Traffic(const TrafficOptions& options, int ports, int queues)
    : ports_(ports),
      queues_(queues),
      symmetric_(options.symmetric),
      signatures_(options.signatures),
      streams_(static_cast<size_t>(ports * queues)) {
  if (options.flows < 1 || options.flows > 1 << 24)
    throw Error(format("flows: %u is not from 1 to %d", options.flows, 1 << 24));
  if (!(options.zipf >= 0 && options.zipf <= 10)) throw Error(format("zipf: %g is not from 0 to 10", options.zipf));
  const uint8_t protocol = protocol_of(options.protocol);
  if (is_capture(options.sizes)) {
    if (options.addresses != "uniform" || options.zipf > 0 || protocol != kUdp)
      throw Error("the capture '" + options.sizes + "' has its own addresses and flows");
    add_capture(options.sizes);
    return;
  }
  Random random(options.seed);
  std::string path;
  std::vector<uint32_t> order;  // of flows
  destinations_ = destinations_of(options.addresses);
  if (destinations_ == nullptr && options.addresses != "uniform" && !after(options.addresses, "routes:", path) &&
      !after(options.addresses, "trace:", path))
    throw Error("addresses '" + options.addresses +
                "': expected uniform, routes:FILE or trace:FILE, of IPv6 uniform6 or routes6:FILE, of Ethernet "
                "macs:FILE, or of NDN names:FILE");
  if (destinations_ != nullptr && destinations_->padded() && protocol != kUdp)
    throw Error("protocol 'tcp': " + options.addresses + " is " + destinations_->network() + ", which has none");
  const std::vector<uint32_t> sizes = sizes_of(options.sizes, protocol, destinations_.get());
  if (after(options.addresses, "trace:", path)) {
    if (protocol != kUdp) throw Error("the header trace '" + path + "' has its own protocols");
    std::map<FiveTuple, uint32_t> numbers;
    for (const FiveTuple& packet : read_trace(path)) {
      const auto [found, added] = numbers.try_emplace(packet, static_cast<uint32_t>(numbers.size()));
      if (added) tuples_.push_back(packet);
      order.push_back(found->second);
    }
  } else {
    tuples_ = random_flows(options.flows, options.addresses, protocol, random, options.look);
    order = order_of(options.flows, options.zipf, sizes.size(), random);
  }
  number_by_queue(order);
  for (Stream& stream : streams_) {
    stream.heads.reserve(order.size() / streams_.size());
    stream.frames.reserve(order.size() / streams_.size());
  }
  if (destinations_ != nullptr) longest_ = destinations_->longest(std::ranges::max(sizes) - kFcsBytes);
  std::vector<uint32_t> turn = sizes;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i % kLookEvery == 0) options.look();
    if (i % turn.size() == 0) random.shuffle(turn);  // the shares hold in every dozen
    const FiveTuple& tuple = tuples_[order[i]];
    const uint32_t bytes = turn[i % turn.size()] - kFcsBytes;
    add(order[i], destinations_ != nullptr ? destinations_->frame(tuple, options.mac, bytes)
                                           : make_frame(tuple, options.mac, bytes));
  }
  mean_bytes_ /= static_cast<double>(order.size());
  rest_at_ = {};
}

/** Frames of a capture with their flows; those that are not IPv4 are one flow. */
void Traffic::add_capture(const std::string& path) {
  capture::Reader reader(path);
  if (reader.link_type() != capture::kLinkTypeEthernet) throw Error("'" + path + "' is no capture of Ethernet frames");
  std::vector<std::vector<uint8_t>> frames;
  std::vector<uint32_t> order;
  std::map<FiveTuple, uint32_t> numbers;
  size_t bytes = 0;
  for (capture::Record record; reader.next(record);) {
    std::vector<uint8_t> frame(record.data, record.data + record.captured);
    frame.resize(std::clamp(std::max(record.original, record.captured), kMinBytes - kFcsBytes, kMaxBytes - kFcsBytes));
    if ((bytes += frame.size()) > kMaxCaptureBytes)
      throw Error(format("the capture '%s' has more than %zu MB; send a piece of it (editcap -r)", path.c_str(),
                         kMaxCaptureBytes >> 20));
    FiveTuple tuple;
    if (!five_tuple_of(frame, tuple)) tuple = {0, 0, 0, 0, 0};
    const auto [found, added] = numbers.try_emplace(tuple, static_cast<uint32_t>(numbers.size()));
    if (added) tuples_.push_back(tuple);
    order.push_back(found->second);
    frames.push_back(std::move(frame));
  }
  if (!reader.damage().empty()) throw Error(path + ": " + reader.damage());
  if (frames.empty()) throw Error("the capture '" + path + "' is empty");
  number_by_queue(order);
  for (size_t i = 0; i < frames.size(); ++i) add(order[i], std::move(frames[i]));
  mean_bytes_ /= static_cast<double>(frames.size());
}

/** The stream in which a flow is: a number below ports * queues. */
size_t Traffic::stream_of(const FiveTuple& tuple) const {
  if (streams_.size() == 1) return 0;
  const HashKey& key = symmetric_ ? kSymmetricKey : kMicrosoftKey;
  const uint32_t hash = destinations_ != nullptr ? destinations_->hash(tuple, key) : toeplitz_hash(tuple, key);
  const auto port = hash / 128 % static_cast<uint32_t>(ports_);
  return static_cast<size_t>(queue_of(hash, queues_)) * static_cast<size_t>(ports_) + port;
}

/** Numbers flows anew so that those of a queue have neighbouring numbers: what threads keep for their flows then lies
 *  in cache lines of their own. */
void Traffic::number_by_queue(std::vector<uint32_t>& order) {
  std::vector<uint32_t> next(streams_.size() + 1), new_of(tuples_.size());  // next: number in each stream
  std::vector<uint32_t> streams;
  for (auto& tuple : tuples_) {
    streams.push_back(static_cast<uint32_t>(stream_of(tuple)));
    ++next[streams.back() + 1];
  }
  for (size_t i = 1; i < next.size(); ++i) next[i] += next[i - 1];
  std::vector<FiveTuple> tuples(tuples_.size());
  for (size_t i = 0; i < tuples_.size(); ++i) {
    new_of[i] = next[streams[i]]++;
    tuples[new_of[i]] = tuples_[i];
  }
  tuples_ = std::move(tuples);
  for (uint32_t& flow : order) flow = new_of[flow];
}

/** Appends a frame to the stream of its flow. */
void Traffic::add(uint32_t flow, std::vector<uint8_t> frame) {
  const bool has_room = destinations_ != nullptr && destinations_->padded();
  const Stamping stamping = signatures_ && !has_room ? prepare_stamping(frame) : Stamping{};
  const auto length = static_cast<uint32_t>(frame.size());
  longest_ = std::max(longest_, length);
  mean_bytes_ += length + kFcsBytes;
  Stream& stream = streams_[stream_of(tuples_[flow])];
  Stream::Head head{};
  std::memcpy(head.bytes, frame.data(), std::min(frame.size(), sizeof head.bytes));
  const size_t in_head = std::min(frame.size(), sizeof head.bytes);
  const std::string rest(frame.begin() + static_cast<ptrdiff_t>(in_head), frame.end());
  const auto [found, added] = rest_at_.try_emplace(rest, static_cast<uint32_t>(rests_.size()));
  if (added) {
    if (rests_.size() + rest.size() > kMaxRestBytes)
      throw Error(format("so many different frames take more than %zu MB; fewer flows, or smaller frames, will do",
                         kMaxRestBytes >> 20));
    rests_.insert(rests_.end(), rest.begin(), rest.end());
  }
  stream.heads.push_back(head);
  stream.frames.push_back({flow, found->second, static_cast<uint16_t>(length), stamping});
}

}  // namespace heddle::bench
