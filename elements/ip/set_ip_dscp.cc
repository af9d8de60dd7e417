#include "elements/ip/set_ip_dscp.h"

#include "click/arguments.h"
#include "elements/ip/header.h"

namespace heddle {
namespace {

const Access kTos{.reads = {{Base::l3, 0, 20}}, .writes = {{Base::l3, 0, 12}}, .column_reads = columns(Column::l3)};

/** A value of ECN as SetIPECN takes it. */
struct Ecn {
  uint32_t value = 0;
};

bool parse(std::string_view text, Ecn& ecn) {
  static constexpr std::pair<const char*, uint32_t> kWords[] = {{"no", 0},     {"ect1", 1}, {"ECT(1)", 1}, {"ect2", 2},
                                                                {"ECT(0)", 2}, {"ce", 3},   {"CE", 3}};
  for (const auto& [word, value] : kWords) {
    if (text != word) continue;
    ecn.value = value;
    return true;
  }
  return click::parse(text, ecn.value, 0u, 3u);
}

std::string expectation(const Ecn&) { return "0 to 3, no, ect1, ect2 or ce"; }

/** Gives the header's second byte a value. */
void set_tos(uint8_t* header, uint8_t tos) {
  uint8_t first[2] = {header[0], tos};
  rewrite_u16(header, load_u16(first), header + 10);
}

}  // namespace

void SetIPDSCP::configure(click::Arguments& arguments) {
  uint32_t dscp = 0;
  arguments.required("DSCP", dscp, 0u, 63u);
  dscp_ = dscp;
}

Access SetIPDSCP::access(Processor) const { return kTos; }

std::span<const char* const> SetIPDSCP::drop_reasons() const {
  static constexpr const char* kReasons[] = {"no_header"};
  return kReasons;
}

void SetIPDSCP::run_cpu(Batch& batch) {
  const uint32_t* l3 = batch.column(Column::l3);
  const auto dscp = static_cast<uint8_t>(dscp_.load(std::memory_order_relaxed) << 2);
  for (int i = 0; i < batch.size(); ++i) {
    uint8_t* header = marked_header(batch.packet(i), l3[i]);
    if (bytes_from(batch.packet(i), l3[i]) < 20)
      batch.drop(i, 0);
    else
      set_tos(header, static_cast<uint8_t>((header[1] & 3) | dscp));
  }
}

void SetIPDSCP::handlers(Handlers& list) {
  list.read("dscp", [this] { return std::to_string(dscp_.load()); }).write("dscp", [this](const std::string& text) {
    dscp_ = click::value_of<uint32_t>(text, 0u, 63u);
  });
}

void SetIPECN::configure(click::Arguments& arguments) {
  Ecn ecn;
  arguments.required("ECN", ecn);
  ecn_ = ecn.value;
}

Access SetIPECN::access(Processor) const { return kTos; }

std::span<const char* const> SetIPECN::drop_reasons() const {
  static constexpr const char* kReasons[] = {"no_header"};
  return kReasons;
}

void SetIPECN::run_cpu(Batch& batch) {
  const uint32_t* l3 = batch.column(Column::l3);
  const uint32_t ecn = ecn_.load(std::memory_order_relaxed);
  for (int i = 0; i < batch.size(); ++i) {
    uint8_t* header = marked_header(batch.packet(i), l3[i]);
    if (bytes_from(batch.packet(i), l3[i]) < 20)
      batch.drop(i, 0);
    else
      set_tos(header, static_cast<uint8_t>((header[1] & ~3u) | ecn));
  }
}

void SetIPECN::handlers(Handlers& list) {
  list.read("ecn", [this] { return std::to_string(ecn_.load()); }).write("ecn", [this](const std::string& text) {
    Ecn ecn;
    if (!parse(click::trim(text), ecn)) throw Error(in_quotes(text) + " is not " + expectation(ecn));
    ecn_ = ecn.value;
  });
}

void MarkIPCE::configure(click::Arguments& arguments) { arguments.optional("FORCE", force_); }
Access MarkIPCE::access(Processor) const { return kTos; }

std::span<const char* const> MarkIPCE::drop_reasons() const {
  static constexpr const char* kReasons[] = {"not_ecn", "no_header"};
  return kReasons;
}

void MarkIPCE::run_cpu(Batch& batch) {
  const uint32_t* l3 = batch.column(Column::l3);
  for (int i = 0; i < batch.size(); ++i) {
    uint8_t* header = marked_header(batch.packet(i), l3[i]);
    if (bytes_from(batch.packet(i), l3[i]) < 20) {
      batch.drop(i, 1);
    } else if ((header[1] & 3) == 0 && !force_) {
      batch.drop(i, 0);
      dropped_[batch.thread].add(1, 0);
    } else {
      set_tos(header, header[1] | 3);
    }
  }
}

void MarkIPCE::handlers(Handlers& list) {
  list.read("drops", [this] { return std::to_string(dropped_.packets()); });
}

HEDDLE_ELEMENT(SetIPDSCP);
HEDDLE_ELEMENT(SetIPECN);
HEDDLE_ELEMENT(MarkIPCE);

}  // namespace heddle
