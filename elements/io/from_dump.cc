#include "elements/io/from_dump.h"

#include <algorithm>
#include <cstring>

#include "click/arguments.h"
#include "core/error.h"
#include "core/packet_pool.h"

namespace heddle {
namespace {

constexpr int kPauseMs = 1;  ///< how long an idle pipe is waited for at a time

}  // namespace

void FromDump::configure(click::Arguments& arguments) {
  bool stop = true;
  arguments.required("FILENAME", file_).keyword("BURST", burst_, 1, 16384).keyword("STOP", stop);
}

void FromDump::start(const Environment& environment) {
  reader_ = std::make_unique<capture::Reader>(file_);
  if (reader_->link_type() != capture::kLinkTypeEthernet)
    throw Error(
        format("%s '%s': %s has link type %u; Ethernet (1) is expected. tcpdump -r FILE shows its packets; capture "
               "again on an Ethernet interface, or convert it with editcap",
               class_name.c_str(), name.c_str(), file_.c_str(), reader_->link_type()));
  packets_ = environment.packets;
  packet_bytes_ = packets_->data_bytes();
  large_packets_ = environment.large_packets;
  burst_ = std::min(burst_, environment.batch_size);
  fresh_ = std::make_unique<Packet*[]>(static_cast<size_t>(burst_));
}

// The packet of a record, or null when none is free now.
Packet* FromDump::make_packet(const capture::Record& record) {
  Packet* packet = nullptr;
  if (record.captured > packet_bytes_) {
    if (!large_packets_->allocate(&packet, 1)) return nullptr;
  } else {
    if (fresh_count_ == 0) {
      if (packets_->allocate(fresh_.get(), static_cast<unsigned>(burst_)))
        fresh_count_ = burst_;
      else if (packets_->allocate(fresh_.get(), 1))
        fresh_count_ = 1;
      else
        return nullptr;
    }
    packet = fresh_[static_cast<size_t>(--fresh_count_)];
  }
  packet->data_len = static_cast<uint16_t>(record.captured);
  packet->pkt_len = record.captured;
  const uint32_t missing = record.original > record.captured ? record.original - record.captured : 0;
  set_capture_info(packet, {record.timestamp_ns, missing});
  std::memcpy(data(packet), record.data, record.captured);
  return packet;
}

void FromDump::receive(Batch& batch) {
  const int wanted = std::min(burst_, batch.room());
  while (!ended_ && batch.size() < wanted) {
    // A pipe may pause: packets that have arrived go on, and the program can be stopped.
    if (!holding_ && !reader_->mapped() && !reader_->ready(batch.empty() ? kPauseMs : 0)) break;
    if (!holding_ && !reader_->next(held_)) {
      ended_ = true;
      break;
    }
    holding_ = false;
    if (held_.link_type != capture::kLinkTypeEthernet) {
      other_link_type_.fetch_add(1, std::memory_order_relaxed);
      continue;
    }
    if (held_.captured > kMaxPacketBytes) {
      too_long_.fetch_add(1, std::memory_order_relaxed);
      continue;
    }
    Packet* packet = make_packet(held_);
    if (packet == nullptr) {
      holding_ = true;  // the next call tries again; nothing is lost
      break;
    }
    batch.packets()[batch.size()] = packet;
    batch.resize(batch.size() + 1);
  }
  position_.store(reader_->bytes_read(), std::memory_order_relaxed);
}

std::optional<double> FromDump::progress() const {
  if (!reader_ || reader_->size() == 0) return std::nullopt;
  return static_cast<double>(position_.load(std::memory_order_relaxed)) / static_cast<double>(reader_->size());
}

std::string FromDump::stop() {
  if (fresh_count_ > 0) rte_pktmbuf_free_bulk(fresh_.get(), static_cast<unsigned>(fresh_count_));
  fresh_count_ = 0;
  if (!reader_ || reader_->damage().empty()) return {};
  return file_ + ": " + reader_->damage() + "; the packets before it have been processed";
}

std::vector<std::pair<std::string, uint64_t>> FromDump::statistics() const {
  std::vector<std::pair<std::string, uint64_t>> list;
  if (too_long_ != 0) list.emplace_back("too_long", too_long_);
  if (other_link_type_ != 0) list.emplace_back("other_link_type", other_link_type_);
  return list;
}

HEDDLE_ELEMENT(FromDump);

}  // namespace heddle
