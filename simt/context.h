#pragma once

/** Switching between stacks of one OS thread, announced to the sanitizers. */

#include <cstddef>

#include "simt/include/cuda_runtime.h"

#if defined(__SANITIZE_ADDRESS__)
#define SIMT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIMT_ASAN 1
#endif
#endif
#ifndef SIMT_ASAN
#define SIMT_ASAN 0
#endif

// SIMT_UCONTEXT asks for the portable switch, which other CPUs always get.
#if defined(__x86_64__) && !defined(SIMT_UCONTEXT)
#define SIMT_ASSEMBLY 1
#else
#define SIMT_ASSEMBLY 0
#endif

namespace heddle::simt {

inline constexpr bool kSanitized = SIMT_ASAN || SIMT_TSAN;
inline constexpr size_t kStackBytes = kSanitized ? 256 * 1024 : 64 * 1024;

/** A stack and where its execution stopped. */
struct Context {
  void* resume_at = nullptr;  ///< The saved stack pointer, or a ucontext_t where there is no assembly for the CPU.
  const void* stack = nullptr;
  size_t stack_bytes = 0;
  void* fake_stack = nullptr;  ///< AddressSanitizer's.
  void* tsan_fiber = nullptr;  ///< ThreadSanitizer's: to it each fiber is a thread of its own.

  /** Makes this the OS thread's own context. */
  void adopt_thread();
  /** Makes this a context that starts in entry, which never returns and begins with started(), on the given stack. */
  void create(void* stack_start, size_t bytes, void (*entry)());
  static void started();
  /** Gives back what adopt_thread or create took; the stack is the caller's. */
  void destroy();
  /** Saves the running context here and goes on in another one of the same OS thread. It orders no memory accesses for
   *  ThreadSanitizer: fibers race unless a barrier, an atomic or the launch orders them, as threads on a GPU do. */
  void switch_to(Context& to);
};

// Happens-before edges for ThreadSanitizer, which the barriers draw; nothing elsewhere.
void tsan_release(void* tag);
void tsan_acquire(void* tag);

}  // namespace heddle::simt
