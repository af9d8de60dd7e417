// filter: IPFilter with 20 rules, those of the "interior router" of Building Internet Firewalls (2nd edition, p. 691)
// that Click's manual shows and a few more, on packets that take every way through them. One core, no I/O.

#include <memory>
#include <random>

#include "bench/bench.h"
#include "bench/packet_array.h"
#include "click/arguments.h"
#include "core/cores.h"
#include "core/element.h"
#include "core/error.h"

namespace heddle::bench {
namespace {

constexpr const char* kRules[] = {
    "deny src 192.168.0.0/16",
    "allow src 18.26.4.1 && dst 192.168.0.0/16 && tcp && src port www && dst port > 1023 && ack",
    "allow dst 192.168.0.0/16 && tcp && src port 23 && dst port > 1023 && ack",
    "allow dst 192.168.0.0/16 && tcp && src port 22 && ack",
    "allow dst 192.168.0.0/16 && tcp && dst port 22",
    "allow dst 192.168.0.0/16 && tcp && src port 21 && dst port > 1023 && ack",
    "allow dst 192.168.0.0/16 && tcp && src port > 1023 && dst port > 1023 && ack",
    "allow src 18.26.4.1 && dst 192.168.0.0/16 && tcp && src port 21 && dst port > 1023 && ack",
    "allow src 18.26.4.1 && dst 192.168.0.0/16 && tcp && src port > 1023 && dst port > 1023",
    "allow src 18.26.4.1 && dst 192.168.7.1 && tcp && src port 25 && dst port > 1023 && ack",
    "allow src 18.26.4.1 && dst 192.168.7.1 && tcp && src port > 1023 && dst port 25",
    "allow src 8.8.1.1 && dst 192.168.7.2 && tcp && src port 119 && dst port > 1023 && ack",
    "allow src 8.8.1.1 && dst 192.168.7.2 && tcp && src port > 1023 && dst port 119",
    "allow src 18.26.4.1 && dst 192.168.7.3 && udp && src port 53 && dst port 53",
    "allow src 18.26.4.1 && dst 192.168.7.3 && tcp && src port 53 && dst port > 1023 && ack",
    "allow src 18.26.4.1 && dst 192.168.7.3 && tcp && src port > 1023 && dst port 53",
    "allow icmp type echo",
    "allow udp dst port ntp",
    "allow udp && src port 53 && dst 192.168.0.0/16",
    "deny all",
};
constexpr int kPackets = 1024, kLaps = 200, kRounds = 11;

template <size_t n>
void put_one_of(std::mt19937& random, uint8_t* at, const uint32_t (&values)[n], int bytes) {
  const uint32_t value = values[random() % n];
  for (int b = 0; b < bytes; ++b) at[b] = static_cast<uint8_t>(value >> 8 * (bytes - 1 - b));
}

std::vector<Result> filter() {
  pin_to_core(1);
  click::Diagnostics diagnostics;
  click::ElementDeclaration declaration{"f", "IPFilter", {}, {}};
  for (const char* rule : kRules) declaration.arguments.push_back({rule, {}});
  const std::unique_ptr<Element> element = Catalog::instance().find("IPFilter")->make();
  element->outputs = 1;
  click::Arguments arguments(declaration, diagnostics);
  element->configure(arguments);
  if (!diagnostics.ok()) throw Error(diagnostics.text());

  std::mt19937 random(1);
  PacketArray packets(kPackets, 64, 0);
  Batch& batch = packets.batch;
  for (int i = 0; i < kPackets; ++i) {
    batch.column(Column::l3)[i] = PacketArray::kHeadroom;
    batch.column(Column::l4)[i] = PacketArray::kHeadroom + 20;
    uint8_t* header = batch.frame(i);
    header[0] = 0x45;
    put_one_of(random, header + 9, {6, 6, 6, 6, 17, 17, 1}, 1);
    put_one_of(random, header + 12, {0x121a0401, 0x08080101, 0x01020304, 0x121a0405, 0xc0a80101}, 4);
    put_one_of(random, header + 16, {0xc0a80701, 0xc0a80702, 0xc0a80703, 0xc0a80101, 0x0a000001}, 4);
    put_one_of(random, header + 20, {80, 22, 21, 25, 53, 119, 2000, 3000, 40000, 123}, 2);
    put_one_of(random, header + 22, {80, 22, 21, 25, 53, 119, 2000, 3000, 40000, 123}, 2);
    header[33] = static_cast<uint8_t>(random() & 0x12);
  }
  Result result = absolute("filter-20-rules", "Mpps", 25, false, kRounds, [&] {
    const double start = seconds_now();
    for (int lap = 0; lap < kLaps; ++lap) element->run_cpu(batch);
    return kLaps * double{kPackets} / (seconds_now() - start) * 1e-6;
  });
  result.target = 0;
  result.note = format("%.1f ns a packet", 1e3 / result.value);
  return {result};
}

const Register registered("filter", false, filter);

}  // namespace
}  // namespace heddle::bench
