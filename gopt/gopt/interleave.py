"""The back end proper: computed goto from lookup to lookup (G-Opt, section 3.2 and figure 7)."""

import copy

from pycparser import c_ast

from gopt.emit import Printer, mention_inlined, summary
from gopt.errors import Refusal
from gopt.tree import (
    LOOPS,
    Wait,
    drop_const,
    identifier,
    is_aggregate,
    names,
    plain_type,
    rewrite,
    text_of,
    type_text,
    value_text,
    walk,
)

LANGUAGE = "C"
NAMES = (
    "g_i",
    "g_group",
    "g_labels",
    "g_count",
    "g_next",
    "g_slots",
    "g_running",
    "G_PREFETCH",
    "G_SAVE",
    "G_SWITCH",
    "G_PSS",
)


# GCC takes the elements of different lookups for one another, and a computed goto of one loop for a way into another,
# and then sees variables that nobody has set. It looks where a macro is defined as well.
_BEGIN_QUIET = """\
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
"""
_END_QUIET = """\
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
"""


def preamble(hint: int, group: int) -> str:
    return f"""\
{_BEGIN_QUIET}\
/* Prefetch; save where this lookup goes on; switch to the next one. */
#define G_PREFETCH(address) __builtin_prefetch((const void *)(address), 0, {hint})
#define G_SAVE(label) (g_labels[g_i] = &&label)
#define G_SWITCH()                               \\
  do {{                                           \\
    g_i = g_i + 1 == g_slots ? 0 : g_i + 1;      \\
    goto *g_labels[g_i];                         \\
  }} while (0)
#define G_PSS(address, label) \\
  do {{                        \\
    G_PREFETCH(address);      \\
    G_SAVE(label);            \\
    G_SWITCH();               \\
  }} while (0)
{_END_QUIET}"""


class SavedInArrays(Printer):
    """Statements in which each saved variable is an array with an element for each lookup in flight."""

    def __init__(self, lookup, lines, saved: set[str]):
        super().__init__(lookup, lines)
        self.saved = saved

    def element(self, node: c_ast.ID) -> c_ast.Node:
        return c_ast.ArrayRef(node, identifier("g_i"), node.coord) if node.name in self.saved else node

    def arrays(self) -> list[str]:
        """The declarations of the arrays, in the order of the variables."""
        out = []
        if self.lookup.index in self.saved:
            out.append(f"{index_type(self.lookup)} {self.lookup.index}[g_group];")
        for name, decl in self.lookup.private.items():
            if name in self.saved:
                self.refuse_unassignable(decl)
                kind = copy.deepcopy(decl.type)
                drop_const(kind)
                array = c_ast.ArrayDecl(kind, identifier("g_group"), [])
                out.append(text_of(c_ast.Decl(name, [], decl.align, [], [], array, None, None)) + ";")
        return out

    def limit(self) -> list[str]:
        """What stops the compiler where the arrays would not fit on the stack."""
        kinds = {name: decl.type for name, decl in self.lookup.private.items() if name in self.saved}
        large = [name for name, kind in kinds.items() if is_aggregate(kind, self.lookup.source.typedefs)]
        sizes = " + ".join(f"sizeof {name}" for name in large)
        text = "what lookups in flight save takes more than 1 MiB of stack: use a smaller --group, or memory behind a pointer"
        return [f'_Static_assert({sizes} <= 1 << 20, "{text}");'] if large else []

    def refuse_unassignable(self, decl: c_ast.Decl) -> None:
        """Refuses what cannot be an element of an array, set when its lookup declares it."""
        if decl.align:
            raise Refusal(
                decl.coord,
                f"`{decl.name}` has an alignment, which lookups but for the first would not have",
                "align a type at file scope",
            )
        kind = copy.deepcopy(decl.type)
        drop_const(kind)
        if has_const(kind, self.lookup.source):
            raise Refusal(decl.coord, f"`{decl.name}` is constant by its type", "use a type without const")

    def declaration(self, node: c_ast.Decl) -> str:
        if node.name not in self.saved:
            return super().declaration(node)
        if node.init is None:
            return ""
        target = f"{node.name}[g_i]"
        kind = copy.deepcopy(node.type)
        drop_const(kind)
        literal = f"({type_text(kind)}){braced(node.init)}"
        if isinstance(plain_type(kind, self.lookup.source.typedefs), c_ast.ArrayDecl):
            return f"__builtin_memcpy({target}, {literal}, sizeof {target})"
        if isinstance(node.init, c_ast.InitList):
            return f"{target} = {literal}"
        return f"{target} = {value_text(node.init)}"


def own_prefix(number: int) -> str:
    """Of the labels that belong to a function's first loop, second loop, ..."""
    return "g_" if number == 1 else f"g{number}_"


def begin_arrays(lines) -> None:
    for line in _BEGIN_QUIET.splitlines():
        lines.put(line)


def end_arrays(lines) -> None:
    for line in _END_QUIET.splitlines():
        lines.put(line)


def braced(node: c_ast.Node) -> str:
    """A list of initialisers, or a string, in braces."""
    return f"{{{text_of(node)}}}"


def has_const(kind: c_ast.Node, source) -> bool:
    """Whether objects of this type are, or contain, something that cannot be assigned."""
    if isinstance(kind, c_ast.ArrayDecl):
        return has_const(kind.type, source)
    if "const" in (getattr(kind, "quals", None) or []):
        return True
    if isinstance(kind, c_ast.TypeDecl) and isinstance(kind.type, c_ast.IdentifierType):
        behind = source.typedefs.get(kind.type.names[-1])
        return behind is not None and has_const(behind, source)
    if not isinstance(kind, c_ast.TypeDecl) or not isinstance(kind.type, (c_ast.Struct, c_ast.Union)):
        return False
    members = kind.type.decls or source.tags.get(kind.type.name) or []
    return any(has_const(m.type, source) for m in members if isinstance(m, c_ast.Decl))


def index_type(lookup) -> str:
    return f"__typeof__(({text_of(lookup.count)}) + 0)"


class Interleaved(SavedInArrays):
    """Where a loop has one mark only, and cannot be jumped into, its label is saved before the loop: a store less a
    switch. That the lookup itself runs once for each index is such a loop, too."""

    def __init__(self, lookup, lines, prefix: str):
        super().__init__(lookup, lines, lookup.saved)
        lookup.body = rewrite(lookup.body, self.element)
        self.prefix, self.waits = prefix, 0
        self.label_saved = has_one_wait(lookup.body)

    def next_label(self) -> str:
        return f"{self.prefix}label_{self.waits + 1}"

    def wait(self, node: Wait, depth: int) -> None:
        label = self.next_label()
        self.waits += 1
        *first, last = [argument(text_of(address)) for address in node.addresses]
        text = "".join(f"G_PREFETCH({address}); " for address in first)
        switch = f"G_PREFETCH({last}); G_SWITCH();" if self.label_saved else f"G_PSS({last}, {label});"
        self.lines.put(f"{text}{switch} {label}:;", depth, node.coord)

    def statement(self, node: c_ast.Node, depth: int) -> None:
        saves = isinstance(node, LOOPS) and not self.label_saved and has_one_wait(node) and not has_label(node)
        if saves:
            self.lines.put(f"G_SAVE({self.next_label()});", depth, node.coord)
            self.label_saved = True
        super().statement(node, depth)
        if saves:
            self.label_saved = False


def has_one_wait(node: c_ast.Node) -> bool:
    return sum(isinstance(n, Wait) for n in walk(node)) == 1


def has_label(node: c_ast.Node) -> bool:
    return any(isinstance(n, c_ast.Label) for n in walk(node))


def argument(text: str) -> str:
    return f"({text})" if "," in text else text


def write(lookup, lines, group: int, number: int) -> None:
    prefix = own_prefix(number)
    if lookup.loop.always_inline:
        raise Refusal(
            lookup.coord,
            f"{lookup.loop.function}() is always_inline, which a function with labels as values cannot be",
            "leave the attribute out, or use --backend group",
        )
    printer = Interleaved(lookup, lines, prefix)
    start, end, count = f"{prefix}start", f"{prefix}end", value_text(lookup.count)
    put = lines.put
    put(f"{{ /* Up to {group} lookups in flight. Variables {summary(lookup, printer.saved)}. */", 1)
    begin_arrays(lines)
    for line in [f"enum {{ g_group = {group} }};", *printer.arrays(), *printer.limit(), "void *g_labels[g_group];"]:
        put(line, 2)
    put(f"const {index_type(lookup)} g_count = {count};", 2)
    put(f"{index_type(lookup)} g_next = 0; /* the first lookup that is not under way */", 2)
    put("const unsigned g_slots = g_count >= g_group ? (unsigned)g_group : g_count > 0 ? (unsigned)g_count : 0u;", 2)
    mention_inlined(lookup, lines, 2)
    put("if (g_slots > 0) {", 2)
    put("unsigned long long g_running = ~0ull >> (64 - g_slots); /* slots whose lookups are not all finished */", 3)
    put("unsigned g_i; /* the slot whose turn it is */", 3)
    put(f"for (g_i = 0; g_i < g_slots; ++g_i) g_labels[g_i] = &&{start};", 3)
    put("g_i = 0;", 3)
    put(f"{start}:", 2)
    if printer.label_saved:
        put(f"G_SAVE({printer.next_label()});", 3)
    put("while (g_next < g_count) { /* a slot takes lookup after lookup */", 3)
    if lookup.index in printer.saved:
        put(f"{lookup.index}[g_i] = g_next++;", 4)
    elif lookup.index in names(lookup.body):
        put(f"const {index_type(lookup)} {lookup.index} = g_next++;", 4)
    else:
        put("++g_next;", 4)
    printer.block(lookup.body.block_items or [], 4)
    put("}", 3)
    put(f"{end}:", 2)
    put("g_running &= ~(1ull << g_i);", 3)
    put(f"G_SAVE({end});", 3)
    put("if (g_running != 0) G_SWITCH();", 3)
    put("}", 2)
    end_arrays(lines)
    put("}", 1)
