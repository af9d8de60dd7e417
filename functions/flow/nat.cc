#include "functions/flow/nat.h"

#include <arpa/inet.h>

#include <algorithm>

#include "click/arguments.h"
#include "core/error.h"
#include "functions/flow/rewrite.h"

namespace heddle {

namespace {
constexpr uint32_t kSourceAt = 12, kDestinationAt = 16;
constexpr size_t kLookedAt = 64;                             // ports in use, of which one is taken from its flow
constexpr uint32_t kSequenceAt = 4, kAcknowledgementAt = 8;  // of a TCP header
constexpr uint32_t kEarlyBytes = 65535;                      // that a first answer may acknowledge behind the SYN

/** What NAT has in a flow: its public port (0: none); of TCP also whether a SYN has gone out, and the number that its
 *  answer acknowledges. */
constexpr uint64_t kHasSyn = 1 << 16;
constexpr int kAnswerShift = 32;
uint64_t with_syn(uint64_t word, uint32_t sequence) {
  return static_cast<uint16_t>(word) | kHasSyn | uint64_t{sequence + 1} << kAnswerShift;
}

/** Whether a packet that comes back to the flow's port, with the TCP header `tcp`, is of the connection that the flow
 *  is, and not late from one that had the port before. */
bool is_of_connection(const flow::Entry& entry, uint64_t word, const uint8_t* tcp) {
  if (entry.is(flow::Entry::kAnswered) || (word & kHasSyn) == 0) return true;
  const auto wanted = static_cast<uint32_t>(word >> kAnswerShift);
  return (tcp[flow::kTcpFlagsAt] & flow::kTcpAck) != 0 &&
         ntohl(load_u32(tcp + kAcknowledgementAt)) - wanted <= kEarlyBytes;
}
}  // namespace

void NAT::configure(click::Arguments& arguments) {
  read_table(arguments);
  click::Ipv4Address address;
  std::string range;
  arguments.required("ADDRESS", address).keyword("PORTS", range);
  address_ = address.value;
  if (range.empty()) return;
  const size_t dash = range.find('-');
  if (dash == range.npos || !click::parse(std::string_view(range).substr(0, dash), low_, 1, 65535) ||
      !click::parse(std::string_view(range).substr(dash + 1), high_, low_, 65535))
    arguments.error("PORTS", "LOW-HIGH, both from 1 to 65535");
}

void NAT::link(const Directory& directory) {
  FlowElement::link(directory);
  table_->serve_nat();
  for (const Element* element : directory("*"))
    if (const auto* other = dynamic_cast<const NAT*>(element);
        other != nullptr && other != this && other->table_ == table_)
      throw Error("TABLE: '" + table_name_ + "' is that of '" + other->name + "' already; give each NAT its own");
}

Access NAT::access(Processor) const {
  using enum Base;
  return {.reads = {{l3, 0, 20}, {l4, 0, 20}},
          .writes = {{l3, 10, 20}, {l4, 0, 4}, {l4, 6, 8}, {l4, 16, 18}},
          .column_reads = columns(Column::flow, Column::l3, Column::l4),
          .column_writes = columns(Column::dst)};
}

std::span<const char* const> NAT::drop_reasons() const {
  static constexpr const char* kReasons[] = {"no_port", "no_flow", "not_translated"};
  return kReasons;
}

void NAT::start(const Environment& environment) {
  const size_t all = size_t{high_} - low_ + 1, each = all / static_cast<size_t>(environment.threads);
  if (each == 0) throw Error(format("NAT '%s': PORTS has fewer ports than there are threads", name.c_str()));
  for (size_t t = 0; t < static_cast<size_t>(environment.threads); ++t) {
    threads_.push_back(std::make_unique<PerThread>());
    for (Ports* ports : {&threads_.back()->tcp, &threads_.back()->udp}) {
      ports->first = static_cast<uint16_t>(low_ + t * each);
      ports->uses.resize(each);
      ports->free.resize(each);
      for (size_t p = 0; p < each; ++p) ports->free[p] = static_cast<uint16_t>(ports->first + p);
      ports->count = each;
    }
  }
}

void NAT::take_state(Element& old_element) {
  auto& old = static_cast<NAT&>(old_element);
  if (shares_flows_with(old)) std::swap(threads_, old.threads_);
}

NAT::Ports& NAT::ports_of(uint32_t protocol, int thread) {
  PerThread& mine = *threads_[static_cast<size_t>(thread)];
  return protocol == flow::kTcp ? mine.tcp : mine.udp;
}

void NAT::flow_ends(const flow::Entry& entry, int thread) {
  const auto port = static_cast<uint16_t>(entry.word(word_));
  if (port == 0) return;
  Ports& ports = ports_of(entry.key.protocol, thread);
  ports.uses[static_cast<size_t>(port - ports.first)] = {};
  ports.free[(ports.head + ports.count++) % ports.free.size()] = port;
  auto& used = threads_[static_cast<size_t>(thread)]->used;
  used.store(used.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
}

void NAT::run_cpu(Batch& batch) {
  const uint32_t *flows = batch.column(Column::flow), *l3 = batch.column(Column::l3), *l4 = batch.column(Column::l4);
  uint32_t* dst = batch.column(Column::dst);
  for (int i = 0; i < batch.size(); ++i) {
    const Packet* packet = batch.packet(i);
    flow::Headers headers{};
    const bool there =
        flow::headers_at(batch.frame(i), length(packet), l3[i] - packet->data_off, l4[i] - packet->data_off, headers);
    if (dst != nullptr) dst[i] = there ? load_u32(headers.l3 + kDestinationAt) : 0;
    if (!there || headers.l4 == nullptr) {
      batch.drop(i, kNotTranslated);
      continue;
    }
    flow::Entry& entry = flow_of(flows, i, batch.thread);
    // As the packet is now: an element in between may have changed it.
    const uint32_t source = ntohl(load_u32(headers.l3 + kSourceAt));
    const uint32_t destination = ntohl(load_u32(headers.l3 + kDestinationAt));
    const uint16_t source_port = ntohs(load_u16(headers.l4)), destination_port = ntohs(load_u16(headers.l4 + 2));
    Ports& ports = ports_of(headers.l3[9], batch.thread);
    if (destination == address_) {
      const size_t which = static_cast<size_t>(destination_port) - ports.first;
      const Ports::Use use = which < ports.uses.size() ? ports.uses[which] : Ports::Use{};
      if (use.inner == 0 || use.outer != source || use.outer_port != source_port) {
        batch.drop(i, kNoFlowThere);
        continue;
      }
      flow::Entry& answered = table_->table_of(batch.thread).entry(use.place);
      if (headers.l3[9] != flow::kTcp) {
        answered.set(flow::Entry::kAnswered);
      } else if (is_of_connection(answered, answered.word(word_), headers.l4)) {
        answered.set(flow::Entry::kAnswered);
        const flow::Says says = flow::says_of_tcp(headers.l4[flow::kTcpFlagsAt]);
        if (says == flow::Says::closes) answered.set(flow::Entry::kClosing);
        if (says == flow::Says::resets) answered.set(flow::Entry::kReset);
      }
      headers.set_address(kDestinationAt, htonl(use.inner));
      headers.set_port(2, htons(use.inner_port));
      if (dst != nullptr) dst[i] = htonl(use.inner);
      batch.next()[i] = 1;
      continue;
    }
    auto port = static_cast<uint16_t>(entry.word(word_));
    if (port == 0) {
      if (ports.count == 0 && source != 0) take_port(ports, entry.last_ms, batch.thread);
      if (ports.count == 0 || source == 0) {
        batch.drop(i, kNoPort);
        continue;
      }
      port = ports.free[ports.head];
      ports.head = ports.head + 1 == ports.free.size() ? 0 : ports.head + 1;
      --ports.count;
      ports.uses[static_cast<size_t>(port - ports.first)] = {source, destination, source_port, destination_port,
                                                             table_->place_of(flows[i], batch.thread)};
      entry.set_word(word_, port);
      auto& used = threads_[static_cast<size_t>(batch.thread)]->used;
      used.store(used.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    if (headers.l3[9] == flow::kTcp && (headers.l4[flow::kTcpFlagsAt] & flow::kTcpSyn) != 0)
      entry.set_word(word_, with_syn(port, ntohl(load_u32(headers.l4 + kSequenceAt))));
    headers.set_address(kSourceAt, htonl(address_));
    headers.set_port(0, htons(port));
  }
}

void NAT::take_port(Ports& ports, uint32_t now_ms, int thread) {
  flow::ThreadTable& table = table_->table_of(thread);
  uint32_t best = flow::kNoFlow;
  for (size_t n = std::min(kLookedAt, ports.uses.size()); n > 0; --n) {
    const uint32_t place = ports.uses[ports.looked_at].place;
    ports.looked_at = ports.looked_at + 1 == ports.uses.size() ? 0 : ports.looked_at + 1;
    if (table.may_end(place, best, now_ms)) best = place;
  }
  if (best == flow::kNoFlow) return;
  table.make_room(best, now_ms);
  auto& evicted = threads_[static_cast<size_t>(thread)]->evicted;
  evicted.store(evicted.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

std::vector<std::pair<std::string, uint64_t>> NAT::statistics() const {
  uint64_t evicted = 0;
  for (const auto& thread : threads_) evicted += thread->evicted.load(std::memory_order_relaxed);
  return {{"ports", used()}, {"evicted", evicted}};
}

uint64_t NAT::used() const {
  uint64_t total = 0;
  for (const auto& thread : threads_) total += thread->used.load(std::memory_order_relaxed);
  return total;
}

void NAT::handlers(Handlers& list) {
  list.read("ports", [this] { return std::to_string(used()); });
}

HEDDLE_ELEMENT(NAT);

}  // namespace heddle
