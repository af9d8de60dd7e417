#include "elements/endpoints/from_dump.h"

#include <algorithm>
#include <cstring>

#include "click/arguments.h"
#include "core/error.h"
#include "core/load.h"
#include "core/packet_pool.h"
#include "elements/endpoints/link_types.h"
#include "elements/ethernet/link_type.h"

namespace heddle {
namespace {

constexpr int kPauseMs = 1;  ///< how long an idle pipe is waited for at a time
constexpr int kPassRecords =
    1 << 14;  ///< looked at, at a time: they may make no packets, and the program can be stopped

}  // namespace

void FromDump::configure(click::Arguments& arguments) {
  bool active = true, map = true;
  arguments.required("FILENAME", file_).keyword("BURST", burst_, 1, 16384).keyword("SAMPLE", sample_, 0.0, 1.0);
  arguments.keyword("FORCE_IP", force_ip_).keyword("FILEPOS", file_position_).keyword("ACTIVE", active);
  arguments.keyword("MMAP", map);
  window_.configure(arguments);
  pace_.configure(arguments);
  end_call_.configure(arguments);
  active_ = active;
}

Access FromDump::access(Processor) const {
  return {.column_writes =
              columns(Column::link) | (force_ip_ ? columns(Column::dst, Column::l3, Column::l4) : ColumnSet{0})};
}

uint32_t FromDump::link_type() {
  if (!reader_) reader_ = std::make_unique<capture::Reader>(file_, capture::Reader::Header::later);
  while (!reader_->start(-1)) continue;
  return reader_->link_type();
}

/** Reads the header, if it is there, and checks that the file is one that can be read. Throws Error. */
void FromDump::begin(int timeout_ms) {
  if (!reader_->start(timeout_ms)) return;
  const uint32_t link_type = reader_->link_type();
  if (link_type != capture::kLinkTypeEthernet && !(force_ip_ && is_ip_link(link_type)))
    throw Error(format(
        "%s has link type %s; Ethernet (1) is expected%s. tcpdump -r FILE shows its packets; capture "
        "again on an Ethernet interface",
        file_.c_str(), link_type_for_people(link_type).c_str(), is_ip_link(link_type) ? ", or FORCE_IP true" : ""));
  if (file_position_ != 0 && !reader_->skip_to(file_position_, timeout_ms)) {
    if (reader_->reaches(file_position_)) return;
    throw Error(format("%s: FILEPOS %ju is not between the first record and the end", file_.c_str(),
                       uintmax_t{file_position_}));
  }
  link_type_ = link_type;
  begun_ = true;
}

bool FromDump::goes_on_from(const Element* other) const {
  const auto* before = static_cast<const FromDump*>(other);
  return before != nullptr && before->file_ == file_ && before->file_position_ == file_position_;
}

void FromDump::take_state(Element& old_element) {
  auto& old = static_cast<FromDump&>(old_element);
  if (!goes_on_from(&old)) return;
  std::swap(reader_, old.reader_), std::swap(held_, old.held_), std::swap(holding_, old.holding_);
  std::swap(ip_at_, old.ip_at_), std::swap(link_type_, old.link_type_), std::swap(problem_, old.problem_);
  for (auto flag : {&FromDump::begun_, &FromDump::ended_}) (this->*flag) = (old.*flag).exchange(this->*flag);
  end_call_.go_on(ended_);
  for (auto number : {&FromDump::count_, &FromDump::too_long_, &FromDump::other_link_type_, &FromDump::not_ip_,
                      &FromDump::position_, &FromDump::packet_position_, &FromDump::counted_before_})
    (this->*number) = (old.*number).exchange(this->*number);
}

void FromDump::start(const Environment& environment) {
  if (!goes_on_from(predecessor)) {
    if (!reader_) reader_ = std::make_unique<capture::Reader>(file_, capture::Reader::Header::later);
    while (!reader_->may_wait() && !begun_)
      begin(-1);  // a pipe's header is waited for later, where the program can be stopped
  }
  packets_ = environment.packets;
  packet_bytes_ = packets_->data_bytes();
  large_packets_ = environment.large_packets;
  burst_ = std::min(burst_, environment.batch_size);
  fresh_ = std::make_unique<Packet*[]>(static_cast<size_t>(burst_));
  end_call_.start(environment.control, name);
  random_.seed(environment.seed_of(*this, 0));
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

bool FromDump::append_packet(Batch& batch) {
  Packet* packet = make_packet(held_);
  if (packet == nullptr) return false;
  const int i = batch.size();
  batch.packets()[i] = packet;
  batch.resize(i + 1);
  if (force_ip_) annotate_ip(batch, i, ip_at_);
  return true;
}

/** The packet's bytes were not in the file any more. */
void FromDump::take_back_last(Batch& batch) {
  batch.resize(batch.size() - 1);
  rte_pktmbuf_free(batch.packet(batch.size()));
}

/** What becomes of a record that has been read. */
FromDump::Next FromDump::look_at(const capture::Record& record) {
  if (record.link_type != capture::kLinkTypeEthernet && !(force_ip_ && is_ip_link(record.link_type))) {
    other_link_type_.fetch_add(1, std::memory_order_relaxed);
    return Next::skip;
  }
  if (record.captured > kMaxPacketBytes) {
    too_long_.fetch_add(1, std::memory_order_relaxed);
    return Next::skip;
  }
  const TimeWindow::Place place = window_.place(record.timestamp_ns);
  if (place == TimeWindow::Place::before) return Next::skip;
  if (place == TimeWindow::Place::behind) return Next::end;
  if (force_ip_) {
    const int at = ip_offset(record.link_type, record.data, record.captured);
    if (at < 0) {
      not_ip_.fetch_add(1, std::memory_order_relaxed);
      return Next::skip;
    }
    ip_at_ = static_cast<uint32_t>(at);
  }
  return Next::packet;
}

void FromDump::end() {
  ended_ = true;
  end_call_.reached();
}

/** The header of a pipe; what is wrong with it is told at the end. */
bool FromDump::try_to_begin() {
  try {
    begin(kPauseMs);
  } catch (const Error& error) {
    problem_ = error.what();
    end();
  }
  return begun_;
}

void FromDump::mark_link_types(Batch& batch, int first) const {
  if (reader_->link_type() == capture::kLinkTypeEthernet)
    set_link_types(batch, first);
  else
    std::fill(batch.column(Column::link) + first, batch.column(Column::link) + batch.size(), kToHost);
}

void FromDump::receive(Batch& batch) {
  if (!active_.load(std::memory_order_relaxed) || ended_.load(std::memory_order_relaxed)) return;
  if (!begun_ && !try_to_begin()) return;
  const int wanted = std::min(burst_, batch.room()), before = batch.size();
  for (int records = 0; records < kPassRecords && batch.size() < wanted; ++records) {
    // A pipe may pause: packets that have arrived go on, and the program can be stopped.
    if (!holding_ && !reader_->ready(batch.empty() ? kPauseMs : 0)) break;
    if (!holding_) {
      packet_position_.store(reader_->bytes_read(), std::memory_order_relaxed);
      if (!reader_->next(held_) || reader_->shortened()) {
        end();
        break;
      }
      const Next next = look_at(held_);
      if (next == Next::skip) continue;
      if (next == Next::end) {
        holding_ = true;  // extend_interval may want it
        end();
        break;
      }
      if (sample_ < 1 && std::uniform_real_distribution<>()(random_) >= sample_) continue;
    } else if (window_.place(held_.timestamp_ns) == TimeWindow::Place::behind) {
      end();
      break;
    }
    holding_ = true;
    if (!pace_.due(held_.timestamp_ns) || !append_packet(batch)) break;  // the next call tries again; nothing is lost
    holding_ = false;
    if (reader_->shortened()) [[unlikely]] {
      take_back_last(batch);
      end();
      break;
    }
  }
  if ((carries & columns(Column::link)) != 0) mark_link_types(batch, before);
  count_.store(count_.load(std::memory_order_relaxed) + static_cast<uint64_t>(batch.size() - before),
               std::memory_order_relaxed);
  position_.store(reader_->bytes_read(), std::memory_order_relaxed);
}

std::optional<double> FromDump::progress() const {
  if (!reader_ || reader_->size() == 0) return std::nullopt;
  return static_cast<double>(position_.load(std::memory_order_relaxed)) / static_cast<double>(reader_->size());
}

std::string FromDump::stop() {
  const std::string problem = end_call_.finish();
  if (fresh_count_ > 0) rte_pktmbuf_free_bulk(fresh_.get(), static_cast<unsigned>(fresh_count_));
  fresh_count_ = 0;
  if (!problem_.empty()) return problem_;
  if (reader_ && reader_->shortened())
    return file_ +
           ": was shortened while it was read; what was behind its new end is lost, and the last packets may be zeros";
  if (!reader_ || reader_->damage().empty()) return problem;
  return file_ + ": " + reader_->damage() + "; the packets before it have been processed";
}

void FromDump::handlers(Handlers& list) {
  list.read("count", [this] { return std::to_string(count_ - counted_before_); })
      .write("reset_counts", [this](const std::string&) { counted_before_ = count_.load(); })
      .read("active", [this] { return std::string(active_ ? "true" : "false"); })
      .write("active", [this](const std::string& value) { active_ = click::value_of<bool>(value); })
      .write("stop", [this](const std::string&) { active_ = false; })
      .write("extend_interval",
             [this](const std::string& value) {
               Seconds more;
               if (!parse(value, more)) throw Error("'" + value.substr(0, 80) + "' is not " + expectation(more));
               window_.extend(more.ns);
               if (position_.load() < reader_->size() || reader_->size() == 0) ended_ = false;
             })
      .write("reset_timing", [this](const std::string&) { pace_.reset(); })
      .read("filename", [this] { return file_; })
      .read("filesize", [this] { return reader_ && reader_->size() ? std::to_string(reader_->size()) : "-"; })
      .read("filepos", [this] { return std::to_string(position_.load()); })
      .read("packet_filepos", [this] { return std::to_string(packet_position_.load()); })
      .read("sampling_prob", [this] { return format("%g", sample_); })
      .read("encap", [this] { return begun_ ? link_type_name(link_type_) : "-"; });
}

std::vector<std::pair<std::string, uint64_t>> FromDump::statistics() const {
  std::vector<std::pair<std::string, uint64_t>> list;
  if (too_long_ != 0) list.emplace_back("too_long", too_long_);
  if (other_link_type_ != 0) list.emplace_back("other_link_type", other_link_type_);
  if (not_ip_ != 0) list.emplace_back("not_ip", not_ip_);
  return list;
}

HEDDLE_ELEMENT(FromDump);

}  // namespace heddle
