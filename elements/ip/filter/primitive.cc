#include "elements/ip/filter/primitive.h"

#include <algorithm>

#include "core/error.h"

namespace heddle::ip_filter {
namespace {

constexpr Test kFirstFragment = {Test::kNetwork, 4, 0x1fff, 0, 0};

uint32_t ones(int bits) { return bits == 32 ? ~0u : (1u << bits) - 1; }

Test protocol_is(int proto) { return Test::equal(Test::kNetwork, 8, 0x00ff0000, static_cast<uint32_t>(proto) << 16); }

bool negates(Relation relation) {
  return relation == Relation::kUnequal || relation == Relation::kLess || relation == Relation::kLessEqual;
}

/** The header word that holds `field`, and how far its bits are shifted up in it. */
struct Place {
  Test::Base base;
  int offset, shift;
  int end;  // bytes of the header that the field needs
};
Place place_of(const Field& field) {
  const auto base = field.proto < 0 ? Test::kNetwork : Test::kTransport;
  const int first = field.offset / 8, last = (field.offset + field.length - 1) / 8;
  // Aligned words, so that tests of neighbouring fields share them; a field that crosses two begins its own.
  const int word = first / 4 == last / 4 ? first / 4 * 4 : first;
  return {base, word, 32 - (field.offset - word * 8) - field.length, last + 1};
}

/** Which values of a field fulfil a relation without its negation: < is "not >=", <= is "not >", != is "not ==". With
 *  src and dst both meant the negation is that of the two together, as in Click: "port < 5" means both are. */
Test comparison(const Field& field, Relation relation, uint32_t mask, uint32_t value) {
  const Place place = place_of(field);
  const uint32_t shifted = mask << place.shift;
  Test test{place.base, place.offset, shifted, 0, shifted};
  switch (relation) {
    case Relation::kEqual:
    case Relation::kUnequal:
      return Test::equal(place.base, place.offset, shifted, value << place.shift);
    case Relation::kGreater:
    case Relation::kLessEqual:
      if (value >= mask) return {place.base, place.offset, 0, 1, 0};  // never
      test.low = (value + 1) << place.shift;
      return test;
    case Relation::kLess:
    case Relation::kGreaterEqual:
      if (value > mask) return {place.base, place.offset, 0, 1, 0};
      test.low = value << place.shift;
      return test;
  }
  return test;
}

}  // namespace

void Primitive::settle_type(const Primitive& before) {
  const auto take_direction = [&] {
    if (direction == kUnsaid) direction = before.direction;
  };
  switch (data) {
    case Data::kHost:
      type = Type::kHost;
      return take_direction();
    case Data::kNet:
      type = Type::kNet;
      return take_direction();
    case Data::kEther:
      type = Type::kEther;
      return take_direction();
    case Data::kTcpOption:
      type = Type::kTcpOption;
      return;
    case Data::kProto:
      type = Type::kProto;
      return;
    case Data::kIcmpType:
      type = Type::kField;
      field = find_type("type")->field;
      return;
    case Data::kPort:
      type = Type::kPort;
      if (!proto) proto = before.proto;
      return take_direction();
    case Data::kInteger:
      if (before.type != Type::kPort && before.type != Type::kProto && before.type != Type::kField)
        throw Error("a directive by itself; expected a field such as 'port' or 'ip ttl' before the number");
      type = before.type;
      field = before.field;
      if (type == Type::kPort) {
        if (!proto) proto = before.proto;
        take_direction();
      }
      return;
    case Data::kNone:
      if (!proto) throw Error("a complete directive; expected a value such as 80, 10.0.0.1 or tcp");
      type = Type::kProto;
  }
}

void Primitive::check_range(uint32_t largest) const {
  if (mask && (*mask & ~largest) != 0) throw Error(format("a mask for this field; expected at most 0x%x", largest));
  const bool ordered = relation != Relation::kEqual && relation != Relation::kUnequal;
  if (!ordered && value > largest) throw Error(format("a value of this field; expected 0 to %u", largest));
}

void Primitive::complete(const Primitive& before) {
  if (type == Type::kNone) settle_type(before);
  const bool ordered = relation != Relation::kEqual && relation != Relation::kUnequal;
  const bool plain = !has_relation && !mask;
  switch (type) {
    case Type::kHost:
    case Type::kNet:
      if (data != (type == Type::kHost ? Data::kHost : Data::kNet))
        throw Error(type == Type::kHost ? "an IPv4 address such as 10.0.0.1"
                                        : "an IPv4 network such as 10.0.0.0/8 or 10.0.0.0 mask 255.0.0.0");
      if (ordered) throw Error("an address that '<' or '>' can compare; expected == or !=");
      type = Type::kHost;
      net_mask = mask.value_or(net_mask);
      break;
    case Type::kEther:
      if (data != Data::kEther) throw Error("an Ethernet address such as 0:1:2:3:4:5");
      if (proto) throw Error("part of this directive; an Ethernet header has no transport protocol");
      if (ordered || mask) throw Error("an address that '<', '>' or a mask can compare; expected == or !=");
      break;
    case Type::kProto: {
      if (data == Data::kNone) {
        if (!proto) throw Error("a protocol such as tcp or 47");
        value = static_cast<uint32_t>(*proto);
      } else if (data != Data::kInteger && data != Data::kProto) {
        throw Error("a protocol such as tcp or 47");
      } else if (proto && static_cast<uint32_t>(*proto) != value) {
        throw Error("the same protocol as the one before it");
      }
      proto.reset();
      if (data != Data::kInteger && value > 255) {
        if (!plain) throw Error("a single protocol, so that relations and masks mean nothing here");
        proto = static_cast<int>(value);
        break;
      }
      check_range(255);
      if (relation == Relation::kEqual && !mask) proto = static_cast<int>(value);
      break;
    }
    case Type::kPort:
      if (data != Data::kInteger && data != Data::kPort) throw Error("a port such as 80 or www");
      if (!proto) proto = kTcpOrUdp;
      if (*proto != kTcp && *proto != kUdp && *proto != kTcpOrUdp) throw Error("a port of TCP or UDP");
      check_range(0xffff);
      break;
    case Type::kTcpOption:
      if (data != Data::kInteger && data != Data::kTcpOption)
        throw Error("a TCP option; expected one of syn, ack, fin, rst, psh, urg");
      if (proto && *proto != kTcp) throw Error("an option of TCP");
      if (!plain) throw Error("a TCP option to compare; 'tcp opt' takes no relation and no mask");
      proto = kTcp;
      check_range(255);
      break;
    case Type::kFragment:
    case Type::kUnfragmented:
    case Type::kCe:
      if (data != Data::kNone || !plain)
        throw Error("part of this directive; expected no value behind frag, unfrag, ce");
      break;
    case Type::kEct:
      if (data == Data::kNone && !plain) throw Error("complete; expected a value from 0 to 3 behind the relation");
      if (data != Data::kNone && data != Data::kInteger) throw Error("a value of ip ect; expected 0 to 3");
      if (data == Data::kInteger) {
        check_range(3);
      } else {  // not 0
        relation = Relation::kUnequal;
        value = 0;
      }
      break;
    case Type::kField:
      if (data != Data::kInteger && data != Data::kIcmpType) throw Error("a value of this field; expected a number");
      if (field.proto >= 0 && proto && *proto != field.proto)
        throw Error("a field of " + protocol_name(*proto) + "; it is one of " + protocol_name(field.proto));
      if (field.proto >= 0) proto = field.proto;
      check_range(ones(field.length));
      break;
    case Type::kNone:
      break;
  }
  const bool has_ends = type == Type::kHost || type == Type::kEther || type == Type::kPort;
  if (direction == kUnsaid && has_ends) direction = kEither;
  if (direction != kUnsaid && !has_ends) throw Error("an address or a port, which 'src' or 'dst' before it needs");
}

/** Of the header that lies before IP's (IEEE 802.3, 3.2): destination, source. */
Expression Primitive::ethernet_expression() const {
  const auto first = static_cast<uint32_t>(ethernet >> 16), last = static_cast<uint32_t>(ethernet & 0xffff);
  std::vector<Expression> ends;
  if (direction != kDestination)
    ends.push_back(Expression::all({Expression::of(Test::equal(Test::kLink, 8, ~0u, static_cast<uint32_t>(ethernet))),
                                    Expression::of(Test::equal(Test::kLink, 4, 0xffff, first >> 16))}));
  if (direction != kSource)
    ends.push_back(Expression::all({Expression::of(Test::equal(Test::kLink, 0, ~0u, first)),
                                    Expression::of(Test::equal(Test::kLink, 4, 0xffff0000, last << 16))}));
  Expression either = direction == kEither ? Expression::any(std::move(ends)) : Expression::all(std::move(ends));
  return Expression::all({Expression::of(Test::at_least(Test::kBytesBefore, Test::kLinkBytes)),
                          negates(relation) ? Expression::negated(std::move(either)) : std::move(either)});
}

Expression Primitive::expression() const {
  if (type == Type::kEther) return ethernet_expression();
  std::vector<Expression> parts;
  const bool transport = type == Type::kPort || type == Type::kTcpOption || (type == Type::kField && field.proto >= 0);
  if (transport) parts.push_back(Expression::of(kFirstFragment));
  if (proto == kTcpOrUdp)
    parts.push_back(Expression::any({Expression::of(protocol_is(kTcp)), Expression::of(protocol_is(kUdp))}));
  else if (proto && *proto < 256)
    parts.push_back(Expression::of(protocol_is(*proto)));

  // The fields that are compared, and whether one is enough.
  std::vector<Field> fields;
  bool either = false;
  Relation compared_by = relation;
  uint32_t compared_with = value, compared_mask = mask.value_or(~0u);
  switch (type) {
    case Type::kHost:
    case Type::kPort: {
      const Field source = type == Type::kHost ? Field{-1, 96, 32} : Field{*proto, 0, 16};
      const Field destination = {source.proto, source.offset + source.length, source.length};
      if (direction != kDestination) fields.push_back(source);
      if (direction != kSource) fields.push_back(destination);
      either = direction == kEither;
      if (type == Type::kHost) compared_mask = net_mask;
      break;
    }
    case Type::kProto:
      if (!proto) fields = {{-1, 72, 8}};
      break;
    case Type::kTcpOption:
      fields = {{kTcp, 104, 8}};
      compared_mask = value;
      break;
    case Type::kFragment:
    case Type::kUnfragmented:
      fields = {{-1, 50, 14}};
      compared_by = type == Type::kFragment ? Relation::kUnequal : Relation::kEqual;
      compared_with = 0;
      break;
    case Type::kCe:
      compared_with = 3;
      [[fallthrough]];
    case Type::kEct:
    case Type::kField:
      fields = {field};
      break;
    case Type::kEther:
    case Type::kNet:
    case Type::kNone:
      break;
  }

  // A directive does not match where a byte of its fields lies behind the packet's end, whatever its relation.
  int needed = 0;
  for (auto& f : fields) needed = std::max(needed, place_of(f).end);
  if (transport)
    parts.push_back(Expression::of(Test::at_least(Test::kTransportBytes, static_cast<uint32_t>(needed))));
  else if (needed > 20)
    parts.push_back(Expression::of(Test::at_least(Test::kNetworkBytes, static_cast<uint32_t>(needed))));

  std::vector<Expression> comparisons;
  for (auto& f : fields)
    comparisons.push_back(Expression::of(comparison(f, compared_by, compared_mask & ones(f.length), compared_with)));
  if (!comparisons.empty()) {
    Expression all = either ? Expression::any(std::move(comparisons)) : Expression::all(std::move(comparisons));
    parts.push_back(negates(compared_by) ? Expression::negated(std::move(all)) : std::move(all));
  }
  return Expression::all(std::move(parts));
}

}  // namespace heddle::ip_filter
