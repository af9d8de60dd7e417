#include <stdint.h>

#include "gopt.h"

static inline uint16_t second(const uint16_t* table, uint32_t entry) {
  g_expensive(&table[entry]);
  if (table[entry] < 100) return table[entry];
  return table[table[entry] & 255] + 1;
}

// What group prefetching takes: an early exit, a branch with a mark, a loop that is the same for all.
void look(const uint16_t* table, int depth, const uint32_t* keys, uint16_t* out, int n) {
  foreach (i, n) {
    uint32_t x = keys[i] & 255;
    if (x == 0) {
      out[i] = 0;
      continue;
    }
    for (int d = 0; d < depth; ++d) {
      g_expensive(&table[x]);
      x = table[x] & 255;
    }
    if (x & 1) {
      const uint16_t y = second(table, x);
      x += y;
    }
    out[i] = (uint16_t)x;
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

static inline uint16_t second(const uint16_t* table, uint32_t entry) {
  g_expensive(&table[entry]);
  if (table[entry] < 100) return table[entry];
  return table[table[entry] & 255] + 1;
}

// What group prefetching takes: an early exit, a branch with a mark, a loop that is the same for all.
void look(const uint16_t* table, int depth, const uint32_t* keys, uint16_t* out, int n) {
  { /* Up to 8 lookups in flight. Variables saved: d, i, x; not saved: y; shared: depth, keys, out, table. */
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
    (void)second; /* inlined below */
    if (g_slots > 0) {
      unsigned long long g_running = ~0ull >> (64 - g_slots); /* slots whose lookups are not all finished */
      unsigned g_i; /* the slot whose turn it is */
      for (g_i = 0; g_i < g_slots; ++g_i) g_labels[g_i] = &&g_start;
      g_i = 0;
    g_start:
      while (g_next < g_count) { /* a slot takes lookup after lookup */
        i[g_i] = g_next++;
#line 14 "input.c"
        x[g_i] = keys[i[g_i]] & 255;
        if (x[g_i] == 0) {
          out[i[g_i]] = 0;
          continue;
        }
        G_SAVE(g_label_1); for (d[g_i] = 0; d[g_i] < depth; ++d[g_i]) {
          G_PREFETCH(&table[x[g_i]]); G_SWITCH(); g_label_1:;
          x[g_i] = table[x[g_i]] & 255;
        }
        if (x[g_i] & 1) {
          uint16_t y; { /* second() */
#line 6 "input.c"
            G_PSS(&table[x[g_i]], g_label_2); g_label_2:;
            if (table[x[g_i]] < 100) { y = table[x[g_i]]; goto second_end_1; }
            y = table[table[x[g_i]] & 255] + 1;
          } second_end_1:;
#line 25 "input.c"
          x[g_i] += y;
        }
        out[i[g_i]] = (uint16_t) x[g_i];
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
#line 29 "input.c"
}
// ======== gopt transform --backend group
/* Made from input.c by gopt 0.1.0 (--backend group --group 8): do not edit. */
#define G_PREFETCH(address) __builtin_prefetch((const void *)(address), 0, 3)
#line 1 "input.c"
#include <stdint.h>

#include "gopt.h"

static inline uint16_t second(const uint16_t* table, uint32_t entry) {
  g_expensive(&table[entry]);
  if (table[entry] < 100) return table[entry];
  return table[table[entry] & 255] + 1;
}

// What group prefetching takes: an early exit, a branch with a mark, a loop that is the same for all.
void look(const uint16_t* table, int depth, const uint32_t* keys, uint16_t* out, int n) {
  { /* Groups of 8 lookups, stage by stage. Variables saved: x, y; not saved: d, i; shared: depth, keys, out, table. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
    enum { g_group = 8 };
    uint32_t x[g_group];
    uint16_t y[g_group];
    _Bool g_running[g_group];
    _Bool g_if[g_group];
    _Bool g_in_second[g_group];
    const __typeof__((n) + 0) g_count = n;
    __typeof__((n) + 0) g_first, g_n, g_i;
    (void)second; /* inlined below */
    for (g_first = 0; g_first < g_count; g_first += g_n) {
      g_n = g_count - g_first < g_group ? g_count - g_first : g_group;
      for (g_i = 0; g_i < g_n; ++g_i) {
        const __typeof__((n) + 0) i = g_first + g_i;
#line 13 "input.c"
        g_running[g_i] = 1;
        if (g_running[g_i]) {
#line 14 "input.c"
          x[g_i] = keys[i] & 255;
          if (x[g_i] == 0) {
            out[i] = 0;
            g_running[g_i] = 0; continue;
          }
        }
      }
#line 19 "input.c"
      for (int d = 0; d < depth; ++d) {
        for (g_i = 0; g_i < g_n; ++g_i) {
          if (g_running[g_i]) {
#line 20 "input.c"
            G_PREFETCH(&table[x[g_i]]);
          }
        }
        for (g_i = 0; g_i < g_n; ++g_i) {
          if (g_running[g_i]) {
#line 21 "input.c"
            x[g_i] = table[x[g_i]] & 255;
          }
        }
      }
      for (g_i = 0; g_i < g_n; ++g_i) {
        if (g_running[g_i]) {
#line 23 "input.c"
          g_if[g_i] = x[g_i] & 1;
        }
        if (g_running[g_i] && g_if[g_i]) {
#line 24 "input.c"
          g_in_second[g_i] = 1;
        }
        if (g_running[g_i] && g_if[g_i] && g_in_second[g_i]) {
#line 6 "input.c"
          G_PREFETCH(&table[x[g_i]]);
        }
      }
      for (g_i = 0; g_i < g_n; ++g_i) {
        const __typeof__((n) + 0) i = g_first + g_i;
        if (g_running[g_i] && g_if[g_i] && g_in_second[g_i]) {
#line 7 "input.c"
          if (table[x[g_i]] < 100) { y[g_i] = table[x[g_i]]; g_in_second[g_i] = 0; goto g_left_8; }
          y[g_i] = table[table[x[g_i]] & 255] + 1;
        }
      g_left_8:;
        if (g_running[g_i] && g_if[g_i]) {
#line 25 "input.c"
          x[g_i] += y[g_i];
        }
        if (g_running[g_i]) {
#line 27 "input.c"
          out[i] = (uint16_t) x[g_i];
        }
      }
    }
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
  }
#line 29 "input.c"
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

static inline uint16_t second(const uint16_t* table, uint32_t entry) {
  g_expensive(&table[entry]);
  if (table[entry] < 100) return table[entry];
  return table[table[entry] & 255] + 1;
}

// What group prefetching takes: an early exit, a branch with a mark, a loop that is the same for all.
void look(const uint16_t* table, int depth, const uint32_t* keys, uint16_t* out, int n) {
  { // Up to 8 lookups in flight. Variables not saved: d, i, x, y; shared: depth, keys, out, table.
    const decltype((n) + 0) g_count = n;
    decltype((n) + 0) g_next = 0;  // the first lookup that is not under way
    (void)second; /* inlined below */
    const auto g_lookup = [&]() -> gopt::Slot {
      while (g_next < g_count) {  // a slot takes lookup after lookup
        [[maybe_unused]] const decltype((n) + 0) i = g_next++;
#line 14 "input.c"
        uint32_t x = keys[i] & 255;
        if (x == 0) {
          out[i] = 0;
          continue;
        }
        for (int d = 0; d < depth; ++d) {
          G_WAIT(&table[x]);
          x = table[x] & 255;
        }
        if (x & 1) {
          uint16_t y; { /* second() */
#line 6 "input.c"
            G_WAIT(&table[x]);
            if (table[x] < 100) { y = table[x]; goto second_end_1; }
            y = table[table[x] & 255] + 1;
          } second_end_1:;
#line 25 "input.c"
          x += y;
        }
        out[i] = (uint16_t) x;
      }
    };
    if (g_count > 0) gopt::run<8>(g_lookup, static_cast<unsigned long long>(g_count));
  }
#line 29 "input.c"
}
