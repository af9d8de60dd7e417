#pragma once

// HEDDLE_AVX2: whether functions with [[gnu::target("avx2")]] can be compiled. ThreadSanitizer does not see a gather,
// so it gets the scalar forms.

#if defined(__SANITIZE_THREAD__)
#define HEDDLE_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HEDDLE_THREAD_SANITIZER
#endif
#endif

#if defined(__x86_64__) && !defined(HEDDLE_THREAD_SANITIZER)
#include <immintrin.h>
#define HEDDLE_AVX2
#endif
