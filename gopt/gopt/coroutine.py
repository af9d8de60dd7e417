"""C++20 coroutines: each slot is a coroutine that takes lookup after lookup and suspends where one waits for memory."""

from pycparser import c_ast

from gopt.emit import Printer, mention_inlined, summary
from gopt.interleave import argument
from gopt.tree import Wait, parts, replace, text_of, value_text, walk

LANGUAGE = "C++"
NAMES = ("g_count", "g_next", "g_lookup", "G_PREFETCH", "G_WAIT")


def preamble(hint: int, group: int) -> str:
    return f"""\
#include <coroutine>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <new>
#ifndef GOPT_COROUTINE
#define GOPT_COROUTINE
namespace gopt {{
namespace {{

/** A slot: runs until it first waits, and from then on when resumed. Frames that end are kept for the next batch. */
struct Slot {{
  struct promise_type {{
    struct Free {{
      Free* next;
      std::size_t bytes;
    }};
    static Free*& frames() {{
      static thread_local Free* first = nullptr;
      return first;
    }}
    static void* operator new(std::size_t bytes) {{
      for (Free** at = &frames(); *at != nullptr; at = &(*at)->next)
        if ((*at)->bytes == bytes) {{
          Free* const frame = *at;
          *at = frame->next;
          return frame;
        }}
      void* const frame = std::malloc(bytes);
      if (frame == nullptr) throw std::bad_alloc();
      return frame;
    }}
    static void operator delete(void* frame, std::size_t bytes) {{ frames() = ::new (frame) Free{{frames(), bytes}}; }}
    Slot get_return_object() {{ return {{std::coroutine_handle<promise_type>::from_promise(*this)}}; }}
    std::suspend_never initial_suspend() noexcept {{ return {{}}; }}
    std::suspend_always final_suspend() noexcept {{ return {{}}; }}
    void return_void() {{}}
    void unhandled_exception() {{ std::terminate(); }}
  }};
  std::coroutine_handle<promise_type> handle;
}};

/** Runs up to `kGroup` slots in turn until all have ended. */
template <int kGroup, class Start>
void run(Start&& start, unsigned long long count) {{
  std::coroutine_handle<> slots[kGroup];
  int n = 0;
  for (; n < kGroup && static_cast<unsigned long long>(n) < count; ++n) slots[n] = start().handle;
  while (n > 0) {{
    int left = 0;  // slots that go on keep their order, and so lookups that wait equally often end in theirs
    for (int k = 0; k < n; ++k) {{
      if (!slots[k].done()) slots[k].resume();
      if (slots[k].done())
        slots[k].destroy();
      else
        slots[left++] = slots[k];
    }}
    n = left;
  }}
}}

}}  // namespace
}}  // namespace gopt
#endif
#define G_PREFETCH(address) __builtin_prefetch((const void*)(address), 0, {hint})
#define G_WAIT(address) (G_PREFETCH(address), co_await std::suspend_always{{}})
"""


class Suspending(Printer):
    def __init__(self, lookup, lines):
        super().__init__(lookup, lines)
        for node in walk(lookup.body):
            if getattr(node, "quals", None):
                node.quals = ["__restrict" if q == "restrict" else q for q in node.quals]  # C++ has no other
            for slot, part in parts(node):
                if _is_null(part):
                    replace(node, slot, part, c_ast.ID("nullptr", part.coord))

    def wait(self, node: Wait, depth: int) -> None:
        *first, last = [argument(text_of(address)) for address in node.addresses]
        text = "".join(f"G_PREFETCH({address}); " for address in first)
        self.lines.put(f"{text}G_WAIT({last});", depth, node.coord)


def _is_null(node: c_ast.Node) -> bool:
    """What C's NULL stands for, and C++ does not take for a pointer of another type."""
    return isinstance(node, c_ast.Cast) and text_of(node) == "(void *) 0"


def write(lookup, lines, group: int, number: int) -> None:
    printer, put = Suspending(lookup, lines), lines.put
    kind = f"decltype(({text_of(lookup.count)}) + 0)"
    put(f"{{ // Up to {group} lookups in flight. Variables {summary(lookup, set())}.", 1)
    put(f"const {kind} g_count = {value_text(lookup.count)};", 2)
    put(f"{kind} g_next = 0;  // the first lookup that is not under way", 2)
    mention_inlined(lookup, lines, 2)
    put("const auto g_lookup = [&]() -> gopt::Slot {", 2)
    put("while (g_next < g_count) {  // a slot takes lookup after lookup", 3)
    put(f"[[maybe_unused]] const {kind} {lookup.index} = g_next++;", 4)
    printer.block(lookup.body.block_items or [], 4)
    put("}", 3)
    put("};", 2)
    put(f"if (g_count > 0) gopt::run<{group}>(g_lookup, static_cast<unsigned long long>(g_count));", 2)
    put("}", 1)
