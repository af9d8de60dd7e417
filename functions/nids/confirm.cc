#include <arpa/inet.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "click/arguments.h"
#include "core/error.h"
#include "core/load.h"
#include "core/warnings.h"
#include "functions/nids/dns.h"
#include "functions/nids/nids.h"
#include "functions/nids/tcp_checksum.h"

namespace heddle {

using namespace nids;

namespace {

constexpr uint32_t kUsualMemoryMb = 64;
constexpr uint32_t kFirstSegments = 1000, kFewSegments = 10;  // whose checksums say what all are like

flow::Key key_of(const View& view) {
  if (view.is_ip6) return flow::Key::of_ip6(view.network + 8, view.source_port, view.destination_port, view.number);
  return {static_cast<uint32_t>(view.source), static_cast<uint32_t>(view.destination), view.source_port,
          view.destination_port, view.number};
}

/** That of the way back. */
flow::Key way_back_of(flow::Key key) {
  std::swap(key.source, key.destination);
  std::swap(key.source_port, key.destination_port);
  return key;
}

/** What a rule sees where the other side's bytes are judged with a packet: that they come from there, and no packet. */
View from_other_side(const View& view) {
  View back = view;
  std::swap(back.source, back.destination);
  std::swap(back.source_port, back.destination_port);
  back.payload = {};
  if (view.flow != 0) back.flow ^= kToServer | kToClient;
  return back;
}

/** Where a segment's option of this kind and length begins; null: it has none (RFC 9293, 3.1). */
const uint8_t* option_of(const View& view, uint8_t kind, uint8_t bytes) {
  constexpr uint8_t kEnd = 0, kNothing = 1;
  const uint8_t *at = view.transport + 20, *const end = view.payload.data();
  while (at < end && *at != kEnd) {
    if (*at == kNothing) {
      ++at;
      continue;
    }
    if (end - at < 2 || at[1] < 2 || end - at < at[1]) break;
    if (*at == kind && at[1] == bytes) return at;
    at += at[1];
  }
  return nullptr;
}

TcpSegment segment_of(const View& view) {
  const auto has = [&](uint8_t flag) { return (view.tcp_flags & flag) != 0; };
  TcpSegment segment{view.sequence, has(kSyn), has(kFin), has(kRst), view.payload, has(kAck), view.acknowledgement};
  segment.window = ntohs(load_u16(view.transport + 14));
  // RFC 7323, 2.2 and 3.2.
  constexpr uint8_t kScale = 3, kScaleBytes = 3, kTimestamp = 8, kTimestampBytes = 10;
  if (const uint8_t* option = option_of(view, kTimestamp, kTimestampBytes))
    segment.timestamp = ntohl(load_u32(option + 2));
  if (const uint8_t* option = segment.syn ? option_of(view, kScale, kScaleBytes) : nullptr)
    segment.window_scale = option[2];
  return segment;
}

enum BlockedReason : int { kDropped, kRejected };
enum ConfirmOutput : uint16_t { kBlockedOutput = 1, kRejectedOutput };

}  // namespace

void NIDSConfirm::configure(click::Arguments& arguments) {
  arguments.required("NIDS", nids_name_)
      .keyword("EVE", eve_file_)
      .keyword("FLOWS", flows_name_)
      .keyword("MEMORY", memory_mb_, 1u, 65536u)
      .keyword("CHECKSUM", checks_checksums_);
}

void NIDSConfirm::link(const Directory& directory) {
  const std::vector<Element*> named = directory(nids_name_);
  nids_ = named.size() == 1 ? dynamic_cast<NIDS*>(named[0]) : nullptr;
  if (nids_ == nullptr) throw Error("NIDS: '" + nids_name_ + "' is not a NIDS of this chain");
  NIDS::spare_rules(eve_file_, directory);
  if (nids_->stream() != !flows_name_.empty())
    throw Error(nids_->stream()
                    ? "'" + nids_name_ + "' has STREAM true: put a FlowTable before it, and name it: FLOWS NAME"
                    : "FLOWS is for a NIDS with STREAM true, which '" + nids_name_ + "' has not");
  if (memory_mb_ != 0 && !nids_->stream())
    throw Error("MEMORY is for a NIDS with STREAM true, which '" + nids_name_ + "' has not");
  if (!nids_->stream()) return;
  const std::vector<Element*> tables = directory(flows_name_);
  flows_ = tables.size() == 1 ? dynamic_cast<FlowTable*>(tables[0]) : nullptr;
  if (flows_ == nullptr) throw Error("FLOWS: '" + flows_name_ + "' is not a FlowTable of this chain");
  word_ = flows_->take_word(*this, true, this);
}

Access NIDSConfirm::access(Processor) const {
  ColumnSet reads = columns(Column::l3, Column::l4);
  if (!flows_name_.empty()) reads |= columns(Column::flow);
  return {.reads = {kWholePacket}, .column_reads = reads};
}

std::span<const char* const> NIDSConfirm::drop_reasons() const {
  static constexpr const char* kReasons[] = {"drop", "reject"};
  return kReasons;
}

void NIDSConfirm::start(const Environment& environment) {
  const auto* before = static_cast<const NIDSConfirm*>(predecessor);
  judge_.open(eve_file_, *this, environment, before != nullptr ? &before->judge_ : nullptr);
  if (flows_ == nullptr) return;
  const auto threads = static_cast<size_t>(environment.threads);
  const size_t directions = flows_->places(environment.threads).count / threads;
  const size_t memory = size_t{memory_mb_ != 0 ? memory_mb_ : kUsualMemoryMb} << 20;
  for (size_t t = 0; t < threads; ++t) streams_.push_back(std::make_unique<Streams>(memory / threads, directions));
  conversations_ = std::make_unique<Conversations>(memory);
}

void NIDSConfirm::take_state(Element& old_element) {
  auto& old = static_cast<NIDSConfirm&>(old_element);
  judge_.take_file(old.judge_);
  if (flows_ != nullptr && old.flows_ != nullptr && flows_->shares_flows_with(*old.flows_))
    std::swap(streams_, old.streams_), std::swap(conversations_, old.conversations_);
}

void NIDSConfirm::flow_ends(const flow::Entry& entry, int thread) {
  if (entry.word(word_) == 0) return;
  Streams& streams = *streams_[static_cast<size_t>(thread)];
  const uint64_t unfollowed = streams.unfollowed();
  streams.end(entry.word(word_));
  unfollowed_[thread].add(streams.unfollowed() - unfollowed, 0);
  conversations_->end(entry.key);
}

bool NIDSConfirm::has_wrong_checksum(const View& view, int thread) {
  if (!checks_checksums_) return false;
  const bool wrong = !checksum_may_be_right(view);
  if (wrong) bad_checksum_[thread].add(1, 0);
  if (first_segments_.load(std::memory_order_relaxed) < kFirstSegments) {
    if (wrong) first_wrong_.fetch_add(1, std::memory_order_relaxed);
    if (first_segments_.fetch_add(1, std::memory_order_acq_rel) + 1 == kFirstSegments)
      warn_of_checksums(kFirstSegments);
  }
  return wrong;
}

void NIDSConfirm::warn_of_checksums(uint32_t segments) const {
  const uint32_t wrong = first_wrong_.load(std::memory_order_relaxed);
  if (wrong <= segments / 10) return;
  warn(
      format("heddle: warning: NIDSConfirm '%s': %u of the first %u segments of TCP have a wrong checksum and are left "
             "out of connections; if they were captured where network cards were yet to fill it in, give it CHECKSUM "
             "false",
             name.c_str(), wrong, segments));
}

NIDSConfirm::Followed NIDSConfirm::follow(const View& view, uint32_t flow, int thread) {
  flow::Entry& entry = flows_->entry(flow, thread);
  if (!(entry.key == key_of(view))) return {};  // addresses were changed on the way, or it has ended
  uint64_t name = entry.word(word_), other = 0;
  if (name == 0) {
    flow::ThreadTable& flows = flows_->table_of(thread);
    const uint32_t back = flows.find(way_back_of(entry.key));
    if (back != flow::kNoFlow) other = flows.entry(back).word(word_);
  }
  const Window window = counting(thread, [&](Streams& streams) { return streams.take(name, segment_of(view), other); });
  entry.set_word(word_, name);
  return {name, window};
}

Window NIDSConfirm::counting(int thread, const auto& work) {
  Streams& streams = *streams_[static_cast<size_t>(thread)];
  const uint64_t gaps = streams.gaps(), unfollowed = streams.unfollowed();
  std::array<uint64_t, kDoubts> doubts;
  std::ranges::copy(streams.doubts(), doubts.begin());
  const Window window = work(streams);
  gaps_[thread].add(streams.gaps() - gaps, 0);
  unfollowed_[thread].add(streams.unfollowed() - unfollowed, 0);
  for (size_t d = 0; d < kDoubts; ++d)
    if (streams.doubts()[d] != doubts[d]) doubts_[d][thread].add(1, 0);
  return window;
}

uint16_t NIDSConfirm::exit_of(unsigned stops) const {
  const bool dropped = (stops & Judge::kDrops) != 0;
  if (!dropped && outputs > 2) return kRejectedOutput;
  if (outputs > 1) return kBlockedOutput;
  return static_cast<uint16_t>(kDrop | (dropped ? kDropped : kRejected));
}

unsigned NIDSConfirm::judge_alone(const Generation& rules, const Packet* packet, const View& view, int thread) {
  Window window;
  std::optional<DnsConnection> datagram;
  if (rules.asks_applications && view.protocol == Protocol::udp) datagram.emplace().show(view, window);
  return judge_.judge(nids_->rules(), rules, packet, view, window, thread);
}

unsigned NIDSConfirm::judge(const Generation& rules, const Packet* packet, const View& view, const flow::Key& key,
                            Followed followed, int thread) {
  Streams& streams = *streams_[static_cast<size_t>(thread)];
  const bool has_bytes = !view.payload.empty() || followed.window.alone;
  if (const unsigned stops = has_bytes ? streams.verdict(followed.name) : 0; stops != 0) return stops;
  std::optional<Conversations::Use> use;
  if (rules.asks_applications) {
    const Side side = (view.flow & kToClient) != 0 ? kResponse : kRequest;
    const bool established = (view.flow & kEstablished) != 0;
    use.emplace(conversations_->take(key, side, followed.window, streams.closed(followed.name), established));
    use->show(followed.window);
    lost_[thread].add(use->gave_up() ? 1 : 0, 0);
  }
  const unsigned stops = judge_.judge(nids_->rules(), rules, packet, view, followed.window, thread);
  if (stops != 0 && !followed.window.bytes.empty()) streams.set_verdict(followed.name, static_cast<uint8_t>(stops));
  return stops;
}

void NIDSConfirm::judge_acknowledged(const Generation& rules, const Packet* packet, const View& view, uint64_t name,
                                     int thread) {
  for (;;) {
    Window window = counting(thread, [&](Streams& streams) { return streams.acknowledged(name); });
    if (window.bytes.empty()) return;
    window.alone = true;
    const uint64_t other = streams_[static_cast<size_t>(thread)]->other(name);
    judge(rules, packet, from_other_side(view), way_back_of(key_of(view)), {other, window}, thread);
  }
}

void NIDSConfirm::run_cpu(Batch& batch) {
  const Generation& rules = nids_->rules().now();
  const uint32_t *l3 = batch.column(Column::l3), *l4 = batch.column(Column::l4);
  const uint32_t* flows = flows_ != nullptr ? batch.column(Column::flow) : nullptr;
  for (int i = 0; i < batch.size(); ++i) {
    const Packet* packet = batch.packet(i);
    View view;
    if (!look_at(batch.frame(i), length(packet), l3[i] - packet->data_off, l4[i] - packet->data_off, view)) continue;
    Followed followed;
    unsigned stops = 0;
    const bool is_segment = flows != nullptr && view.protocol == Protocol::tcp && view.has_ports;
    if (is_segment && has_wrong_checksum(view, batch.thread)) {
      Judge::look(nids_->rules(), rules, view);
    } else {
      if (is_segment) followed = follow(view, flows[i], batch.thread);
      Judge::note(nids_->rules(), rules, packet, view);
    }
    if (followed.name != 0)
      stops = judge(rules, packet, view, key_of(view), followed, batch.thread);
    else
      stops = judge_alone(rules, packet, view, batch.thread);
    if (followed.name != 0) judge_acknowledged(rules, packet, view, followed.name, batch.thread);
    if (stops != 0) batch.next()[i] = exit_of(stops);
  }
}

std::vector<std::pair<std::string, uint64_t>> NIDSConfirm::statistics() const {
  std::vector<std::pair<std::string, uint64_t>> list{{"alerts", judge_.alerts()}, {"gave_up", judge_.gave_up()}};
  if (judge_.lost() != 0) list.emplace_back("lost", judge_.lost());
  const auto of = [&](Doubt doubt) { return doubts_[static_cast<size_t>(doubt)].packets(); };
  if (flows_ != nullptr)
    list.insert(list.end(), {{"gaps", gaps_.packets()},
                             {"unfollowed", unfollowed_.packets() + waiting_.load(std::memory_order_relaxed)},
                             {"bad_checksum", bad_checksum_.packets()},
                             {"lost_dialogues", lost_.packets()},
                             {"no_ack", of(Doubt::no_ack)},
                             {"with_rst", of(Doubt::with_rst)},
                             {"with_syn", of(Doubt::with_syn)},
                             {"bad_ack", of(Doubt::bad_ack)},
                             {"old_timestamp", of(Doubt::old_timestamp)},
                             {"beyond_window", of(Doubt::beyond_window)}});
  return list;
}

void NIDSConfirm::on_timer(int) { judge_.flush(); }

std::string NIDSConfirm::stop() {
  const uint32_t segments = first_segments_.load(std::memory_order_relaxed);
  if (segments >= kFewSegments && segments < kFirstSegments) warn_of_checksums(segments);
  for (const auto& streams : streams_) waiting_.fetch_add(streams->waiting_segments(), std::memory_order_relaxed);
  return judge_.close();
}

void NIDSConfirm::handlers(Handlers& list) {
  list.read("alerts", [this] { return std::to_string(judge_.alerts()); });
  list.read("lost", [this] { return std::to_string(judge_.lost()); });
  list.read("gave_up", [this] { return std::to_string(judge_.gave_up()); });
  list.read("forgotten", [this] { return std::to_string(nids_->rules().forgotten()); });
}

HEDDLE_ELEMENT(NIDSConfirm);

}  // namespace heddle
