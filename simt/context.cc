#include "simt/context.h"

#include <pthread.h>

#if SIMT_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#if SIMT_TSAN
#include <sanitizer/tsan_interface.h>
#endif

#if SIMT_ASSEMBLY

// Keeps the registers that the System V ABI calls callee-saved (the floating-point control words stay as they are) on
// the stack that is left, and takes those of the other stack. swapcontext would make a system call for the signal mask.
extern "C" void heddle_simt_switch(void** save, void* resume_at);
asm(R"(
.text
.hidden heddle_simt_switch
.globl heddle_simt_switch
.type heddle_simt_switch, @function
heddle_simt_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size heddle_simt_switch, . - heddle_simt_switch
)");

#else
#include <ucontext.h>
#endif

namespace heddle::simt {

void Context::adopt_thread() {
#if SIMT_ASAN
  pthread_attr_t attributes;
  pthread_getattr_np(pthread_self(), &attributes);
  void* start = nullptr;
  pthread_attr_getstack(&attributes, &start, &stack_bytes);
  pthread_attr_destroy(&attributes);
  stack = start;
#endif
#if SIMT_TSAN
  tsan_fiber = __tsan_get_current_fiber();
#endif
#if !SIMT_ASSEMBLY
  resume_at = new ucontext_t;
#endif
}

void Context::create(void* stack_start, size_t bytes, void (*entry)()) {
  stack = stack_start;
  stack_bytes = bytes;
#if SIMT_TSAN
  tsan_fiber = __tsan_create_fiber(0);
#endif
#if SIMT_ASSEMBLY
  // What heddle_simt_switch pops: six registers, the entry as its return address, and a null return address for entry.
  auto* top = reinterpret_cast<void**>(static_cast<char*>(stack_start) + bytes);
  top[-2] = reinterpret_cast<void*>(entry);
  resume_at = top - 8;
#else
  auto* context = new ucontext_t;
  getcontext(context);
  context->uc_stack.ss_sp = stack_start;
  context->uc_stack.ss_size = bytes;
  makecontext(context, entry, 0);
  resume_at = context;
#endif
}

void Context::started() {
#if SIMT_ASAN
  __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
}

void Context::destroy() {
#if SIMT_TSAN
  if (stack != nullptr) __tsan_destroy_fiber(tsan_fiber);
#endif
#if !SIMT_ASSEMBLY
  delete static_cast<ucontext_t*>(resume_at);
#endif
}

SIMT_NO_TSAN void Context::switch_to(Context& to) {
#if SIMT_ASAN
  __sanitizer_start_switch_fiber(&fake_stack, to.stack, to.stack_bytes);
#endif
#if SIMT_TSAN
  __tsan_switch_to_fiber(to.tsan_fiber, __tsan_switch_to_fiber_no_sync);
#endif
#if SIMT_ASSEMBLY
  heddle_simt_switch(&resume_at, to.resume_at);
#else
  swapcontext(static_cast<ucontext_t*>(resume_at), static_cast<ucontext_t*>(to.resume_at));
#endif
#if SIMT_ASAN
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
}

void tsan_release([[maybe_unused]] void* tag) {
#if SIMT_TSAN
  __tsan_release(tag);
#endif
}

void tsan_acquire([[maybe_unused]] void* tag) {
#if SIMT_TSAN
  __tsan_acquire(tag);
#endif
}

}  // namespace heddle::simt
