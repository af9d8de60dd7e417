#include "core/element.h"

#include <algorithm>
#include <random>

#include "core/load.h"

namespace heddle {

uint64_t Environment::seed_of(const Element& element, int thread) const {
  if (!random_seed) {
    std::random_device device;
    return uint64_t{device()} << 32 | device();
  }
  // FNV-1a of the name, then the finalizer of MurmurHash3, so that no two generators have related seeds.
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : element.name) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  hash ^= uint64_t{*random_seed} << 32 | static_cast<uint32_t>(thread);
  hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccd;
  hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53;
  return hash ^ hash >> 33;
}

void Element::configure(click::Arguments&) {}

Access NeutralElement::access(Processor) const {
  const NeutralOp op = *neutral();
  if (op.kind == NeutralOp::kLoadDst)
    return {.reads = {{Base::head, op.amount, op.amount + 4}}, .column_writes = columns(Column::dst)};
  if (op.kind == NeutralOp::kPaint) return {.column_writes = columns(Column::paint)};
  return {};
}

std::span<const char* const> NeutralElement::drop_reasons() const {
  static constexpr const char* kReasons[] = {"short"};
  return bytes_needed(*neutral()) > 0 ? std::span<const char* const>(kReasons) : std::span<const char* const>();
}

int NeutralElement::moves_head() const {
  const NeutralOp op = *neutral();
  return op.kind == NeutralOp::kMoveHead ? op.amount : 0;
}

void NeutralElement::run_cpu(Batch& batch) {
  const NeutralOp op = *neutral();
  Packet* const* const packets = batch.packets();
  const int n = batch.size();
  const auto each = [&, needed = bytes_needed(op)](const auto& change) {
    for (int i = 0; i < n; ++i)
      if (length(packets[i]) < needed)
        batch.drop(i, 0);
      else
        change(i);
  };
  switch (op.kind) {
    case NeutralOp::kMoveHead:
      return each([&](int i) { move_head(packets[i], op.amount); });
    case NeutralOp::kLoadDst:
      return each([&, dst = batch.column(Column::dst)](int i) { dst[i] = load_u32(data(packets[i]) + op.amount); });
    case NeutralOp::kPaint:
      std::fill_n(batch.column(Column::paint), n, static_cast<uint32_t>(op.amount));
      return;
    case NeutralOp::kCount:
      return;
  }
}

Catalog& Catalog::instance() {
  static Catalog catalog;
  return catalog;
}

const Catalog::Entry* Catalog::find(std::string_view class_name) const {
  auto found = std::find_if(entries_.begin(), entries_.end(), [&](auto& e) { return e.class_name == class_name; });
  return found == entries_.end() ? nullptr : &*found;
}

std::vector<std::string> Catalog::names() const {
  std::vector<std::string> names;
  for (auto& entry : entries_) names.push_back(entry.class_name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace heddle
