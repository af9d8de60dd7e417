"""Group prefetching: a lookup's stages one after the other, each for all lookups of a group (Chen, Ailamaki, Gibbons,
Mowry, "Improving Hash Join Performance through Prefetching", ICDE 2004).

Control flow allows it where a mark stands at the top of foreach, in an `if`, or in a `for` loop that all lookups run
through equally often. A lookup that takes another branch, or has ended, is passed over in the stages that are not its
own.
"""

from pycparser import c_ast

from gopt.emit import mention_inlined, summary, without_loop_pragmas
from gopt.errors import Refusal
from gopt.interleave import SavedInArrays, argument, begin_arrays, end_arrays, index_type, own_prefix
from gopt.lookup import addressed_of
from gopt.tree import LOOPS, Inlined, Wait, changed, names, rewrite, text_of, value_text, walk

LANGUAGE = "C"
NAMES = ("g_i", "g_group", "g_count", "g_first", "g_n", "G_PREFETCH")


def preamble(hint: int, group: int) -> str:
    return f"#define G_PREFETCH(address) __builtin_prefetch((const void *)(address), 0, {hint})\n"


def waits(node: c_ast.Node) -> bool:
    return any(isinstance(n, Wait) for n in walk(node))


class _Stages:
    """Cuts a body into stages. A stage is a list of (predicates, statement); a uniform loop holds stages of its own."""

    def __init__(self, lookup):
        self.lookup = lookup
        self.predicates: list[str] = []
        self.uniform: set[str] = set()  # control variables of uniform loops
        self.exits: dict[str | None, str] = {}  # label that ends an inlined helper (None: the lookup) -> predicate
        self.varying = set(lookup.private) | {lookup.index} | lookup.sequential

    def predicate(self, name: str) -> str:
        self.predicates.append(self.lookup.names.fresh(name))
        return self.predicates[-1]

    def cut(self, items: list, tree: list, when: tuple, top: bool = False) -> None:
        """`tree`: lists are stages, tuples (loop, tree) are uniform loops."""
        for item in without_loop_pragmas(items):
            if isinstance(item, Wait):
                tree[-1].append((when, item))
                tree.append([])
            elif not waits(item):
                tree[-1].append((when, item))
            elif isinstance(item, Inlined):
                self.inlined(item, tree, when)
            elif isinstance(item, c_ast.Compound):
                self.cut(item.block_items, tree, when)
            elif isinstance(item, c_ast.If):
                chosen = self.predicate("g_if")
                tree[-1].append((when, c_ast.Assignment("=", c_ast.ID(chosen), item.cond, item.coord)))
                self.cut(_items(item.iftrue), tree, (*when, chosen))
                if item.iffalse is not None:
                    self.cut(_items(item.iffalse), tree, (*when, "!" + chosen))
            elif isinstance(item, c_ast.For):
                self.loop(item, tree, when)
            else:
                raise Refusal(
                    item.coord,
                    f"group prefetching cannot divide a lookup into stages here ({type(item).__name__.lower()})",
                    "a mark may stand at the top of foreach, within if, and within a for loop with the same number of rounds "
                    "for every lookup; --backend goto has no such limits",
                )

    def inlined(self, item: Inlined, tree: list, when: tuple) -> None:
        inside = when
        if item.end_label is not None:
            running = self.predicate("g_in_" + item.name)
            tree[-1].append((when, c_ast.Assignment("=", c_ast.ID(running), c_ast.Constant("int", "1"), item.coord)))
            self.exits[item.end_label] = running
            inside = (*when, running)
        self.cut(item.block_items or [], tree, inside)

    def loop(self, item: c_ast.For, tree: list, when: tuple) -> None:
        own = {d.name for d in item.init.decls} if isinstance(item.init, c_ast.DeclList) else set()
        head = [part for part in (item.init, item.cond, item.next) if part is not None]
        used = set().union(*(names(part) for part in head))
        writes = changed(item.stmt)
        if not own or item.cond is None or used & (self.varying - own - self.uniform) or own & writes:
            raise Refusal(
                item.coord,
                "group prefetching needs loops of which every lookup runs the same number of rounds: this one's head depends on "
                "the lookup, or its variable is not declared there, or changes within",
                "--backend goto has no such limits",
            )
        guarded = bool(when)
        for part in (p for h in head for p in walk(h)):
            if isinstance(part, c_ast.FuncCall) or (guarded and _may_fail(part)):
                raise Refusal(
                    part.coord or item.coord,
                    "group prefetching runs the head of this loop once for all lookups: it must not call"
                    + (", nor divide or read memory, within if and where a lookup may have ended" if guarded else ""),
                    "use a variable that has the value; --backend goto has no such limits",
                )
        for node in _own_jumps(item.stmt):
            raise Refusal(
                node.coord, f"{type(node).__name__.lower()} in a loop with a mark", "--backend goto has no such limits"
            )
        self.uniform |= own
        inner: list = [[]]
        self.cut(_items(item.stmt), inner, when)
        tree += [(item, inner), []]


def _items(node: c_ast.Node) -> list:
    return node.block_items or [] if type(node) is c_ast.Compound else [node]


def _own_jumps(node: c_ast.Node):
    """break and continue that belong to the loop whose body this is."""
    if isinstance(node, (c_ast.Break, c_ast.Continue)):
        yield node
    elif not isinstance(node, LOOPS):
        for _, child in node.children():
            for jump in _own_jumps(child):
                if not (isinstance(node, c_ast.Switch) and isinstance(jump, c_ast.Break)):
                    yield jump


def _may_fail(node: c_ast.Node) -> bool:
    reads = isinstance(node, c_ast.ArrayRef) or (isinstance(node, c_ast.StructRef) and node.type == "->")
    divides = isinstance(node, (c_ast.BinaryOp, c_ast.Assignment)) and node.op in ("/", "%", "/=", "%=")
    return reads or divides or (isinstance(node, c_ast.UnaryOp) and node.op == "*")


class Grouped(SavedInArrays):
    """Variables that more than one stretch of code mentions are saved."""

    def __init__(self, lookup, lines, stages: _Stages, tree: list, prefix: str):
        self.stages, self.prefix = stages, prefix
        stretches = list(_stretches(tree))
        mentions = [
            {n.name for item in items for n in walk(item) if isinstance(n, (c_ast.ID, c_ast.Decl))}
            for _, items in stretches
        ]
        private = set(lookup.private) - stages.uniform
        super().__init__(lookup, lines, {n for n in private if sum(n in m for m in mentions) > 1})
        self.saved |= set(stages.predicates) | (addressed_of(lookup) & private)
        for _, items in stretches:
            items[:] = [rewrite(item, self.element) for item in items]
        self.loops, self.stretch, self.left = 0, 0, False

    def tree(self, tree: list, depth: int) -> None:
        for part in tree:
            if isinstance(part, tuple):
                self.lines.put(f"for ({self.for_head(part[0])}) {{", depth, part[0].coord)
                self.tree(part[1], depth + 1)
                self.lines.put("}", depth)
            elif part:
                self.stage(part, depth)

    def stage(self, stretches: list, depth: int) -> None:
        self.lines.put("for (g_i = 0; g_i < g_n; ++g_i) {", depth)
        index = self.lookup.index
        if any(index in names(item) for _, items in stretches for item in items):
            self.lines.put(f"const {index_type(self.lookup)} {index} = g_first + g_i;", depth + 1)
        for when, items in stretches:
            self.stretch, self.left = self.stretch + 1, False
            if when:
                tests = [w.replace("!", "") + "[g_i]" for w in when]
                tests = ["!" * w.startswith("!") + t for w, t in zip(when, tests, strict=True)]
                self.body(f"if ({' && '.join(tests)})", c_ast.Compound(items), depth + 1, None)
            else:
                self.block(items, depth + 1)
            if self.left:
                self.lines.put(f"{self.prefix}left_{self.stretch}:;", depth)
        self.lines.put("}", depth)

    def wait(self, node: Wait, depth: int) -> None:
        text = " ".join(f"G_PREFETCH({argument(text_of(address))});" for address in node.addresses)
        self.lines.put(text, depth, node.coord)

    def on_goto(self, node: c_ast.Goto, depth: int) -> None:
        running = self.stages.exits.get(node.name)
        if running is None:
            self.lines.put(f"goto {node.name};", depth, node.coord)
            return
        self.left = True
        self.lines.put(f"{running}[g_i] = 0; goto {self.prefix}left_{self.stretch};", depth, node.coord)

    def on_continue(self, node: c_ast.Continue, depth: int) -> None:
        ends_lookup = self.loops == 0 and None in self.stages.exits
        first = f"{self.stages.exits[None]}[g_i] = 0; " if ends_lookup else ""
        self.lines.put(first + "continue;", depth, node.coord)

    def inside_loop(self, write, node: c_ast.Node, depth: int) -> None:
        self.loops += 1
        write(node, depth)
        self.loops -= 1

    def on_for(self, node: c_ast.For, depth: int) -> None:
        self.inside_loop(super().on_for, node, depth)

    def on_while(self, node: c_ast.While, depth: int) -> None:
        self.inside_loop(super().on_while, node, depth)

    def on_dowhile(self, node: c_ast.DoWhile, depth: int) -> None:
        self.inside_loop(super().on_dowhile, node, depth)


def _stretches(tree: list):
    """All (predicates, statements) of a tree."""
    for part in tree:
        if isinstance(part, tuple):
            yield from _stretches(part[1])
        else:
            yield from part


def _joined(tree: list) -> list:
    """The tree with neighbours of the same predicates together: stages become lists of (predicates, statements)."""
    out = []
    for part in tree:
        if isinstance(part, tuple):
            out.append((part[0], _joined(part[1])))
            continue
        stage: list = []
        for when, item in part:
            if stage and stage[-1][0] == when:
                stage[-1][1].append(item)
            else:
                stage.append((when, [item]))
        out.append(stage)
    return out


def write(lookup, lines, group: int, number: int) -> None:
    for node in walk(lookup.body):
        if isinstance(node, c_ast.Label):
            raise Refusal(node.coord, "group prefetching does not take goto", "--backend goto does")
    stages = _Stages(lookup)
    tree: list = [[]]
    when: tuple = ()
    if any(isinstance(n, c_ast.Continue) for n in _own_jumps(lookup.body)):
        running = stages.exits[None] = stages.predicate("g_running")
        tree[-1].append(((), c_ast.Assignment("=", c_ast.ID(running), c_ast.Constant("int", "1"), lookup.coord)))
        when = (running,)
    stages.cut(lookup.body.block_items or [], tree, when)
    tree = _joined(tree)
    printer = Grouped(lookup, lines, stages, tree, own_prefix(number))
    kind, put = index_type(lookup), lines.put
    saved = printer.saved - set(stages.predicates)
    put(f"{{ /* Groups of {group} lookups, stage by stage. Variables {summary(lookup, saved)}. */", 1)
    begin_arrays(lines)
    for line in [f"enum {{ g_group = {group} }};", *printer.arrays(), *printer.limit()]:
        put(line, 2)
    for name in stages.predicates:
        put(f"_Bool {name}[g_group];", 2)
    put(f"const {kind} g_count = {value_text(lookup.count)};", 2)
    put(f"{kind} g_first, g_n, g_i;", 2)
    mention_inlined(lookup, lines, 2)
    put("for (g_first = 0; g_first < g_count; g_first += g_n) {", 2)
    put("g_n = g_count - g_first < g_group ? g_count - g_first : g_group;", 3)
    printer.tree(tree, 3)
    put("}", 2)
    end_arrays(lines)
    put("}", 1)
