#pragma once

/** Whether AddressSanitizer or ThreadSanitizer watches: all is slower, and AddressSanitizer gives memory out that has
 *  been written. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HEDDLE_SANITIZED 1
#elif defined(__has_feature)
#define HEDDLE_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define HEDDLE_SANITIZED 0
#endif

namespace heddle::test {

constexpr bool kSanitized = HEDDLE_SANITIZED;

}  // namespace heddle::test
