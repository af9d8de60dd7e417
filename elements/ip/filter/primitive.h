#pragma once

#include <cstdint>
#include <optional>

#include "elements/ip/filter/expression.h"
#include "elements/ip/filter/names.h"

namespace heddle::ip_filter {

enum class Relation : uint8_t { kEqual, kUnequal, kLess, kGreater, kLessEqual, kGreaterEqual };

/** A directive such as "src tcp port & 0xff >= 80", taken to pieces. */
struct Primitive {
  enum Direction : uint8_t { kUnsaid, kSource, kDestination, kBoth, kEither };
  enum class Data : uint8_t { kNone, kInteger, kHost, kNet, kEther, kProto, kPort, kTcpOption, kIcmpType };

  Direction direction = kUnsaid;
  std::optional<int> proto{};
  Type type = Type::kNone;
  Field field{};
  Relation relation = Relation::kEqual;
  std::optional<uint32_t> mask{};
  bool has_relation = false;  // one was written
  Data data = Data::kNone;
  uint32_t value = 0, net_mask = ~0u;
  uint64_t ethernet = 0;  // of kEther: the address as a number of 48 bits

  /** Takes from `before`, the directive before it, what this one leaves out ("port 80 or 443"), and checks that the
   *  pieces fit together. Throws the expectation that was not met, as text. */
  void complete(const Primitive& before);

  /** What it asks; after complete(). */
  Expression expression() const;

 private:
  void settle_type(const Primitive& before);
  Expression ethernet_expression() const;
  void check_range(uint32_t largest) const;
};

}  // namespace heddle::ip_filter
