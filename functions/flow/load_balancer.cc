// LoadBalancer: its word of a flow is the server that the flow has.

#include <arpa/inet.h>

#include <sstream>

#include "click/arguments.h"
#include "core/error.h"
#include "functions/flow/flow.h"
#include "functions/flow/rewrite.h"

namespace heddle {

namespace {

constexpr size_t kMaxServers = 65535;
constexpr uint64_t kHasServer = uint64_t{1} << 32;  // of a word; below: the address, network byte order

/** What a new flow with these packets gets. */
uint32_t choice(const flow::Servers& servers, const flow::Headers& headers, const uint8_t* frame, uint32_t bytes,
                uint32_t transport) {
  const bool has_ports = transport <= bytes && bytes - transport >= 4;
  return servers.choice(load_u32(headers.l3 + 12), load_u32(headers.l3 + 16), load_u32(headers.l3 + 6),
                        has_ports ? load_u32(frame + transport) : 0);
}

}  // namespace

void LoadBalancer::configure(click::Arguments& arguments) {
  read_table(arguments);
  std::vector<uint32_t> servers;
  for (const auto& argument : arguments.rest()) {
    click::Ipv4Address server;
    if (!arguments.read(argument.text, server)) arguments.error(argument, "an IPv4 address");
    servers.push_back(htonl(server.value));
  }
  if (servers.empty() || servers.size() > kMaxServers) arguments.error("expected 1 to 65535 servers");
  servers_.set(servers);
}

Access LoadBalancer::access(Processor) const {
  using enum Base;
  return {.reads = {{l3, 0, 20}, {l4, 0, 20}},
          .writes = {{l3, 10, 12}, {l3, 16, 20}, {l4, 6, 8}, {l4, 16, 18}},
          .column_reads = columns(Column::flow, Column::l3, Column::l4),
          .column_writes = columns(Column::dst)};
}

std::span<const char* const> LoadBalancer::drop_reasons() const {
  static constexpr const char* kReasons[] = {"fragment"};
  return kReasons;
}

void LoadBalancer::start(const Environment& environment) {
  check_place();
  if (on_gpu) servers_.set_places(table_->places(environment.threads));
}

void LoadBalancer::take_state(Element& old_element) {
  auto& old = static_cast<LoadBalancer&>(old_element);
  if ((predecessor == &old ? *this : old).same_arguments) servers_.swap_servers(old.servers_);
}

void LoadBalancer::run_cpu(Batch& batch) {
  const flow::Servers& servers = servers_.image();
  const uint32_t *flows = batch.column(Column::flow), *l3 = batch.column(Column::l3), *l4 = batch.column(Column::l4);
  uint32_t* dst = batch.column(Column::dst);
  for (int i = 0; i < batch.size(); ++i) {
    const Packet* packet = batch.packet(i);
    uint8_t* const frame = batch.frame(i);
    const uint32_t bytes = length(packet), network = l3[i] - packet->data_off, transport = l4[i] - packet->data_off;
    flow::Headers headers{};
    const bool whole = flow::headers_at(frame, bytes, network, transport, headers);
    if (whole && flow::lacks_its_ports(load_u32(headers.l3 + 6))) {
      batch.drop(i, flow::kFragment);
      continue;
    }
    flow::Entry& entry = flow_of(flows, i, batch.thread);
    uint64_t word = entry.word(word_);
    if (word == 0 && whole)
      entry.set_word(word_, word = kHasServer | choice(servers, headers, frame, bytes, transport));
    const auto server = static_cast<uint32_t>(word);
    if (dst != nullptr) dst[i] = server;
    if (whole) headers.set_address(16, server);
  }
}

void LoadBalancer::handlers(Handlers& list) {
  list.read("servers",
            [this] {
              std::string text;
              for (const uint32_t server : servers_.servers())
                text += (text.empty() ? "" : " ") + click::to_text(click::Ipv4Address{ntohl(server)});
              return text;
            })
      .write("servers", [this](const std::string& text) {
        std::istringstream words(text);
        std::vector<uint32_t> servers;
        for (std::string word; words >> word;)
          servers.push_back(htonl(click::value_of<click::Ipv4Address>(word).value));
        if (servers.empty() || servers.size() > kMaxServers) throw Error("expected 1 to 65535 IPv4 addresses");
        servers_.set(servers);
      });
}

HEDDLE_ELEMENT(LoadBalancer);

}  // namespace heddle
