#pragma once

#include <libmnl/libmnl.h>

#include <cstddef>
#include <cstdint>

namespace heddle {

/** The attributes of a message of the kernel, or of a part of one, by type; of several of one type the last. */
class Attributes {
 public:
  /** `bytes` of them from `first` on. */
  Attributes(const void* first, size_t bytes) {
    auto* each = static_cast<const nlattr*>(first);
    for (auto left = static_cast<int>(bytes); mnl_attr_ok(each, left); each = mnl_attr_next(each)) {
      if (mnl_attr_get_type(each) < kTypes) of_[mnl_attr_get_type(each)] = each;
      left -= static_cast<int>(MNL_ALIGN(each->nla_len));
    }
  }
  /** Those behind a message's header of type T. */
  template <class T>
  static Attributes behind(const nlmsghdr& message) {
    const size_t header = MNL_ALIGN(sizeof(T)), all = mnl_nlmsg_get_payload_len(&message);
    return {mnl_nlmsg_get_payload_offset(&message, sizeof(T)), all > header ? all - header : 0};
  }

  /** Its bytes, if it has at least so many; else null. */
  const uint8_t* bytes(int type, size_t at_least) const {
    return has(type) && mnl_attr_get_payload_len(of_[type]) >= at_least
               ? static_cast<const uint8_t*>(mnl_attr_get_payload(of_[type]))
               : nullptr;
  }
  bool has(int type) const { return of_[type] != nullptr; }
  int length(int type) const { return mnl_attr_get_payload_len(of_[type]); }
  /** A number of 32 bits as it lies there; `otherwise` if there is none. */
  uint32_t number(int type, uint32_t otherwise = 0) const {
    return bytes(type, sizeof(uint32_t)) != nullptr ? mnl_attr_get_u32(of_[type]) : otherwise;
  }

 private:
  static constexpr int kTypes = 64;
  const nlattr* of_[kTypes] = {};
};

}  // namespace heddle
