#pragma once

namespace heddle::test {

/** Whether AddressSanitizer or ThreadSanitizer watches: all is slower, and AddressSanitizer gives memory out that has
 *  been written. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kSanitized = false;
#endif

}  // namespace heddle::test
