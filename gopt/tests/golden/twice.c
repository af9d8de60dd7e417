#include <stdint.h>

#include "gopt.h"

static inline uint32_t step(const uint32_t* table, uint32_t at) {
  g_expensive(&table[at]);
  return table[at] & 255;
}

// Two batches in one function: the second goes on with what the first has found.
void look(const uint32_t* table, uint32_t mask, const uint32_t* keys, uint32_t* out, int n) {
  foreach (i, n) {
    const uint32_t x = step(table, keys[i] & mask);
    out[i] = step(table, x);
  }
  foreach (i, n) {
    uint32_t x = out[i] & mask;
    for (int d = 0; d < 3; ++d) x = step(table, x);
    out[i] = x;
  }
}
// ======== gopt transform --backend goto
/* Made from input.c by gopt 0.1.0 (--backend goto --group 8): do not edit. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
/* Prefetch; save where this lookup goes on; switch to the next one. */
#define G_PREFETCH(address) __builtin_prefetch((const void *)(address), 0, 3)
#define G_SAVE(label) (g_labels[g_i] = &&label)
#define G_SWITCH()                               \
  do {                                           \
    g_i = g_i + 1 == g_slots ? 0 : g_i + 1;      \
    goto *g_labels[g_i];                         \
  } while (0)
#define G_PSS(address, label) \
  do {                        \
    G_PREFETCH(address);      \
    G_SAVE(label);            \
    G_SWITCH();               \
  } while (0)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
#line 1 "input.c"
#include <stdint.h>

#include "gopt.h"

static inline uint32_t step(const uint32_t* table, uint32_t at) {
  g_expensive(&table[at]);
  return table[at] & 255;
}

// Two batches in one function: the second goes on with what the first has found.
void look(const uint32_t* table, uint32_t mask, const uint32_t* keys, uint32_t* out, int n) {
  { /* Up to 8 lookups in flight. Variables saved: at, i, x; not saved: step_result; shared: keys, mask, out, table. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
    enum { g_group = 8 };
    __typeof__((n) + 0) i[g_group];
    uint32_t x[g_group];
    uint32_t at[g_group];
    void *g_labels[g_group];
    const __typeof__((n) + 0) g_count = n;
    __typeof__((n) + 0) g_next = 0; /* the first lookup that is not under way */
    const unsigned g_slots = g_count >= g_group ? (unsigned)g_group : g_count > 0 ? (unsigned)g_count : 0u;
    (void)step; /* inlined below */
    if (g_slots > 0) {
      unsigned long long g_running = ~0ull >> (64 - g_slots); /* slots whose lookups are not all finished */
      unsigned g_i; /* the slot whose turn it is */
      for (g_i = 0; g_i < g_slots; ++g_i) g_labels[g_i] = &&g_start;
      g_i = 0;
    g_start:
      while (g_next < g_count) { /* a slot takes lookup after lookup */
        i[g_i] = g_next++;
#line 13 "input.c"
        { /* step() */ at[g_i] = keys[i[g_i]] & mask;
#line 6 "input.c"
          G_PSS(&table[at[g_i]], g_label_1); g_label_1:;
          x[g_i] = table[at[g_i]] & 255;
        }
#line 14 "input.c"
        uint32_t step_result; { /* step() */
#line 6 "input.c"
          G_PSS(&table[x[g_i]], g_label_2); g_label_2:;
          step_result = table[x[g_i]] & 255;
        }
#line 14 "input.c"
        out[i[g_i]] = step_result;
      }
    g_end:
      g_running &= ~(1ull << g_i);
      G_SAVE(g_end);
      if (g_running != 0) G_SWITCH();
    }
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
  }
#line 16 "input.c"
  { /* Up to 8 lookups in flight. Variables saved: d, i, x; shared: mask, out, table. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
    enum { g_group = 8 };
    __typeof__((n) + 0) i[g_group];
    uint32_t x[g_group];
    int d[g_group];
    void *g_labels[g_group];
    const __typeof__((n) + 0) g_count = n;
    __typeof__((n) + 0) g_next = 0; /* the first lookup that is not under way */
    const unsigned g_slots = g_count >= g_group ? (unsigned)g_group : g_count > 0 ? (unsigned)g_count : 0u;
    (void)step; /* inlined below */
    if (g_slots > 0) {
      unsigned long long g_running = ~0ull >> (64 - g_slots); /* slots whose lookups are not all finished */
      unsigned g_i; /* the slot whose turn it is */
      for (g_i = 0; g_i < g_slots; ++g_i) g_labels[g_i] = &&g2_start;
      g_i = 0;
    g2_start:
      G_SAVE(g2_label_1);
      while (g_next < g_count) { /* a slot takes lookup after lookup */
        i[g_i] = g_next++;
#line 17 "input.c"
        x[g_i] = out[i[g_i]] & mask;
        for (d[g_i] = 0; d[g_i] < 3; ++d[g_i]) { { /* step() */
#line 6 "input.c"
            G_PREFETCH(&table[x[g_i]]); G_SWITCH(); g2_label_1:;
            x[g_i] = table[x[g_i]] & 255;
          }
        }
#line 19 "input.c"
        out[i[g_i]] = x[g_i];
      }
    g2_end:
      g_running &= ~(1ull << g_i);
      G_SAVE(g2_end);
      if (g_running != 0) G_SWITCH();
    }
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
  }
#line 21 "input.c"
}
// ======== gopt transform --backend group
/* Made from input.c by gopt 0.1.0 (--backend group --group 8): do not edit. */
#define G_PREFETCH(address) __builtin_prefetch((const void *)(address), 0, 3)
#line 1 "input.c"
#include <stdint.h>

#include "gopt.h"

static inline uint32_t step(const uint32_t* table, uint32_t at) {
  g_expensive(&table[at]);
  return table[at] & 255;
}

// Two batches in one function: the second goes on with what the first has found.
void look(const uint32_t* table, uint32_t mask, const uint32_t* keys, uint32_t* out, int n) {
  { /* Groups of 8 lookups, stage by stage. Variables saved: at, step_result, x; not saved: i; shared: keys, mask, out, table. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
    enum { g_group = 8 };
    uint32_t x[g_group];
    uint32_t at[g_group];
    uint32_t step_result[g_group];
    const __typeof__((n) + 0) g_count = n;
    __typeof__((n) + 0) g_first, g_n, g_i;
    (void)step; /* inlined below */
    for (g_first = 0; g_first < g_count; g_first += g_n) {
      g_n = g_count - g_first < g_group ? g_count - g_first : g_group;
      for (g_i = 0; g_i < g_n; ++g_i) {
        const __typeof__((n) + 0) i = g_first + g_i;
#line 13 "input.c"
        at[g_i] = keys[i] & mask;
#line 6 "input.c"
        G_PREFETCH(&table[at[g_i]]);
      }
      for (g_i = 0; g_i < g_n; ++g_i) {
#line 7 "input.c"
        x[g_i] = table[at[g_i]] & 255;
#line 6 "input.c"
        G_PREFETCH(&table[x[g_i]]);
      }
      for (g_i = 0; g_i < g_n; ++g_i) {
        const __typeof__((n) + 0) i = g_first + g_i;
#line 7 "input.c"
        step_result[g_i] = table[x[g_i]] & 255;
#line 14 "input.c"
        out[i] = step_result[g_i];
      }
    }
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
  }
#line 16 "input.c"
  { /* Groups of 8 lookups, stage by stage. Variables saved: x; not saved: d, i; shared: mask, out, table. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
    enum { g_group = 8 };
    uint32_t x[g_group];
    const __typeof__((n) + 0) g_count = n;
    __typeof__((n) + 0) g_first, g_n, g_i;
    (void)step; /* inlined below */
    for (g_first = 0; g_first < g_count; g_first += g_n) {
      g_n = g_count - g_first < g_group ? g_count - g_first : g_group;
      for (g_i = 0; g_i < g_n; ++g_i) {
        const __typeof__((n) + 0) i = g_first + g_i;
#line 17 "input.c"
        x[g_i] = out[i] & mask;
      }
#line 18 "input.c"
      for (int d = 0; d < 3; ++d) {
        for (g_i = 0; g_i < g_n; ++g_i) {
#line 6 "input.c"
          G_PREFETCH(&table[x[g_i]]);
        }
        for (g_i = 0; g_i < g_n; ++g_i) {
#line 7 "input.c"
          x[g_i] = table[x[g_i]] & 255;
        }
      }
      for (g_i = 0; g_i < g_n; ++g_i) {
        const __typeof__((n) + 0) i = g_first + g_i;
#line 19 "input.c"
        out[i] = x[g_i];
      }
    }
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
  }
#line 21 "input.c"
}
// ======== gopt transform --backend coroutine
/* Made from input.c by gopt 0.1.0 (--backend coroutine --group 8): do not edit. */
#include <coroutine>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <new>
#ifndef GOPT_COROUTINE
#define GOPT_COROUTINE
namespace gopt {
namespace {

/** A slot: runs until it first waits, and from then on when resumed. Frames that end are kept for the next batch. */
struct Slot {
  struct promise_type {
    struct Free {
      Free* next;
      std::size_t bytes;
    };
    static Free*& frames() {
      static thread_local Free* first = nullptr;
      return first;
    }
    static void* operator new(std::size_t bytes) {
      for (Free** at = &frames(); *at != nullptr; at = &(*at)->next)
        if ((*at)->bytes == bytes) {
          Free* const frame = *at;
          *at = frame->next;
          return frame;
        }
      void* const frame = std::malloc(bytes);
      if (frame == nullptr) throw std::bad_alloc();
      return frame;
    }
    static void operator delete(void* frame, std::size_t bytes) { frames() = ::new (frame) Free{frames(), bytes}; }
    Slot get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
};

/** Runs up to `kGroup` slots in turn until all have ended. */
template <int kGroup, class Start>
void run(Start&& start, unsigned long long count) {
  std::coroutine_handle<> slots[kGroup];
  int n = 0;
  for (; n < kGroup && static_cast<unsigned long long>(n) < count; ++n) slots[n] = start().handle;
  while (n > 0) {
    int left = 0;  // slots that go on keep their order, and so lookups that wait equally often end in theirs
    for (int k = 0; k < n; ++k) {
      if (!slots[k].done()) slots[k].resume();
      if (slots[k].done())
        slots[k].destroy();
      else
        slots[left++] = slots[k];
    }
    n = left;
  }
}

}  // namespace
}  // namespace gopt
#endif
#define G_PREFETCH(address) __builtin_prefetch((const void*)(address), 0, 3)
#define G_WAIT(address) (G_PREFETCH(address), co_await std::suspend_always{})
#line 1 "input.c"
#include <stdint.h>

#include "gopt.h"

static inline uint32_t step(const uint32_t* table, uint32_t at) {
  g_expensive(&table[at]);
  return table[at] & 255;
}

// Two batches in one function: the second goes on with what the first has found.
void look(const uint32_t* table, uint32_t mask, const uint32_t* keys, uint32_t* out, int n) {
  { // Up to 8 lookups in flight. Variables not saved: at, i, step_result, x; shared: keys, mask, out, table.
    const decltype((n) + 0) g_count = n;
    decltype((n) + 0) g_next = 0;  // the first lookup that is not under way
    (void)step; /* inlined below */
    const auto g_lookup = [&]() -> gopt::Slot {
      while (g_next < g_count) {  // a slot takes lookup after lookup
        [[maybe_unused]] const decltype((n) + 0) i = g_next++;
#line 13 "input.c"
        uint32_t x; { /* step() */ uint32_t at = keys[i] & mask;
#line 6 "input.c"
          G_WAIT(&table[at]);
          x = table[at] & 255;
        }
#line 14 "input.c"
        uint32_t step_result; { /* step() */
#line 6 "input.c"
          G_WAIT(&table[x]);
          step_result = table[x] & 255;
        }
#line 14 "input.c"
        out[i] = step_result;
      }
    };
    if (g_count > 0) gopt::run<8>(g_lookup, static_cast<unsigned long long>(g_count));
  }
#line 16 "input.c"
  { // Up to 8 lookups in flight. Variables not saved: d, i, x; shared: mask, out, table.
    const decltype((n) + 0) g_count = n;
    decltype((n) + 0) g_next = 0;  // the first lookup that is not under way
    (void)step; /* inlined below */
    const auto g_lookup = [&]() -> gopt::Slot {
      while (g_next < g_count) {  // a slot takes lookup after lookup
        [[maybe_unused]] const decltype((n) + 0) i = g_next++;
#line 17 "input.c"
        uint32_t x = out[i] & mask;
        for (int d = 0; d < 3; ++d) { { /* step() */
#line 6 "input.c"
            G_WAIT(&table[x]);
            x = table[x] & 255;
          }
        }
#line 19 "input.c"
        out[i] = x;
      }
    };
    if (g_count > 0) gopt::run<8>(g_lookup, static_cast<unsigned long long>(g_count));
  }
#line 21 "input.c"
}
