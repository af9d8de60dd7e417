#include "elements/endpoints/generator.h"

#include <algorithm>
#include <cstring>

#include "click/quoting.h"
#include "click/values.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/packet_pool.h"

namespace heddle {

std::optional<double> Generator::progress() const {
  const int64_t limit = limit_.load(std::memory_order_relaxed);
  if (limit <= 0) return std::nullopt;
  return std::min(1.0, static_cast<double>(count()) / static_cast<double>(limit));
}

void Generator::start(const Environment& environment) {
  packets_ = environment.packets;
  large_packets_ = environment.large_packets;
  end_call_.start(environment.control, name);
}

int Generator::allowed(int wanted) const {
  if (!active_.load(std::memory_order_relaxed)) return 0;
  const int64_t limit = limit_.load(std::memory_order_relaxed);
  if (limit < 0) return wanted;
  return static_cast<int>(std::clamp<int64_t>(limit - static_cast<int64_t>(count()), 0, wanted));
}

void Generator::take_state(Element& old_element) {
  auto& old = static_cast<Generator&>(old_element);
  count_ = old.count_.exchange(count_);
  counted_before_ = old.counted_before_.exchange(counted_before_);
  end_noticed_ = old.end_noticed_.exchange(end_noticed_) && limit_reached();  // a LIMIT that is higher has an end again
  end_call_.go_on(end_noticed_);
}

void Generator::notice_end() {
  if (!limit_reached() || !active_ || end_noticed_.load(std::memory_order_relaxed)) return;
  end_noticed_ = true;
  end_call_.reached();
}

int Generator::append_packets(Batch& batch, int n, uint32_t bytes, bool stamp) {
  PacketPool& pool = bytes <= packets_->data_bytes() ? *packets_ : *large_packets_;
  Packet** packets = batch.packets() + batch.size();
  while (n > 0 && !pool.allocate(packets, static_cast<unsigned>(n))) n /= 2;
  const uint64_t now_ns = stamp && n > 0 ? RouterClock::wall_ns() : 0;
  for (int i = 0; i < n; ++i) {
    packets[i]->data_len = static_cast<uint16_t>(bytes);
    packets[i]->pkt_len = bytes;
    set_capture_info(packets[i], {now_ns, 0});
  }
  batch.resize(batch.size() + n);
  count_before_ = count_.fetch_add(static_cast<uint64_t>(n), std::memory_order_relaxed);  // handlers may reset it
  notice_end();
  return n;
}

void Generator::handlers(Handlers& list) {
  list.read("count", [this] { return std::to_string(count() - counted_before_); })
      .write("reset", [this](const std::string&) { counted_before_ = count_ = 0, end_noticed_ = false; })
      .write("reset_counts", [this](const std::string&) { counted_before_ = count(); })
      .read("active", [this] { return std::string(active_ ? "true" : "false"); })
      .write("active", [this](const std::string& value) { active_ = click::value_of<bool>(value); })
      .read("limit", [this] { return std::to_string(limit_.load()); })
      .write("limit",
             [this](const std::string& value) {
               limit_ = click::value_of<int64_t>(value);
               end_noticed_ = limit_reached();  // no END_CALL for packets that have gone before
             })
      .write("stop", [this](const std::string&) { active_ = false; });
}

const std::string RepeatedPacket::kDefaultData =
    "Heddle repeats these 69 bytes: with them, a frame is long enough. ---";

void RepeatedPacket::set_data(std::string data, int64_t bytes) {
  if (data.empty() && bytes > 0) throw Error("LENGTH: there is no DATA to repeat");
  std::string packet;
  const size_t wanted = bytes < 0 ? data.size() : static_cast<size_t>(bytes);
  if (wanted > kMaxPacketBytes) throw Error(format("a packet has at most %u bytes", kMaxPacketBytes));
  while (packet.size() < wanted) packet += data.substr(0, wanted - packet.size());
  contents_.push_back(std::make_unique<const Content>(Content{std::move(data), bytes, std::move(packet)}));
  current_ = contents_.back().get();
}

void RepeatedPacket::reclaim() { contents_.erase(contents_.begin(), contents_.end() - 1); }

void RepeatedPacket::append_copies(Batch& batch, int n, bool stamp) {
  const std::string& packet = current_.load(std::memory_order_acquire)->packet;
  const int first = batch.size();
  n = append_packets(batch, n, static_cast<uint32_t>(packet.size()), stamp);
  for (int i = first; i < first + n; ++i) std::memcpy(batch.frame(i), packet.data(), packet.size());
}

void RepeatedPacket::handlers(Handlers& list) {
  Generator::handlers(list);
  list.read("data", [this] { return current_.load()->data; })
      .write("data", [this](const std::string& value) { set_data(click::unquote(value), current_.load()->bytes); })
      .read("length", [this] { return std::to_string(current_.load()->bytes); })
      .write("length", [this](const std::string& value) {
        set_data(current_.load()->data, click::value_of<int64_t>(value, -1, kMaxPacketBytes));
      });
}

}  // namespace heddle
