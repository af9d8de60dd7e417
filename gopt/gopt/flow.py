"""Control flow of a lookup, and which of its variables live across a switch."""

from dataclasses import dataclass, field

from pycparser import c_ast

from gopt.errors import Refusal
from gopt.tree import ASSIGNING, Inlined, Wait, is_size, parts, walk


@dataclass(eq=False)
class Point:
    """A step of a lookup. `kills`: variables that surely have a new value, or a new life, after it."""

    uses: set[str] = field(default_factory=set)
    kills: set[str] = field(default_factory=set)
    successors: list["Point"] = field(default_factory=list)
    wait: Wait | None = None
    live_in: set[str] = field(default_factory=set)
    in_scope: frozenset[str] = frozenset()

    def live_out(self) -> set[str]:
        return set().union(*(s.live_in for s in self.successors))


def access(node: c_ast.Node, private: set[str], point: Point, surely: bool = True) -> None:
    """Adds what an expression reads and writes. Reads count as coming first."""
    if isinstance(node, c_ast.Compound):
        raise Refusal(
            node.coord,
            "a statement within an expression",
            "write it as a statement, or as a function (glibc's assert() is such an expression without -DNDEBUG)",
        )
    if isinstance(node, c_ast.ID):
        if node.name in private:
            point.uses.add(node.name)
    elif isinstance(node, c_ast.Assignment):
        access(node.rvalue, private, point, surely)
        whole = isinstance(node.lvalue, c_ast.ID) and node.op == "="
        if whole and surely and node.lvalue.name in private:
            point.kills.add(node.lvalue.name)
        elif not whole:
            access(node.lvalue, private, point, surely)
    elif isinstance(node, c_ast.UnaryOp):
        if is_size(node):
            return
        access(node.expr, private, point, surely)
        if node.op in ASSIGNING and surely and isinstance(node.expr, c_ast.ID) and node.expr.name in private:
            point.kills.add(node.expr.name)
    elif isinstance(node, c_ast.BinaryOp) and node.op in ("&&", "||"):
        access(node.left, private, point, surely)
        access(node.right, private, point, False)
    elif isinstance(node, c_ast.TernaryOp):
        access(node.cond, private, point, surely)
        access(node.iftrue, private, point, False)
        access(node.iffalse, private, point, False)
    else:
        for _, part in parts(node):
            access(part, private, point, surely)


class Flow:
    """The graph of one lookup's body. `private`: its variables."""

    def __init__(self, body: c_ast.Compound, private: set[str]):
        self.private = private
        self.points: list[Point] = []
        self.labels: dict[str, Point] = {}
        self.jumps: list[tuple[Point, c_ast.Goto]] = []
        self.breaks: list[list[Point] | None] = [None]
        self.continues: list[list[Point]] = [[]]
        self.scope: list[str] = []
        self.has_labels = any(isinstance(n, c_ast.Label) for n in walk(body))
        self.end = Point()
        self.entry = self.add([], Point())
        ends = self.statement(body, [self.entry])
        for point in ends + self.continues[0]:
            point.successors.append(self.end)
        for point, jump in self.jumps:
            if jump.name not in self.labels:
                raise Refusal(
                    jump.coord,
                    f"goto {jump.name} leaves foreach",
                    "lookups end by continue, or at the end of the loop's body",
                )
            point.successors.append(self.labels[jump.name])
        self.solve()

    def solve(self) -> None:
        changed = True
        while changed:
            changed = False
            for point in reversed(self.points):
                live = point.uses | (point.live_out() - point.kills)
                if live != point.live_in:
                    point.live_in, changed = live, True

    def add(self, before: list[Point], point: Point) -> Point:
        for earlier in before:
            earlier.successors.append(point)
        point.in_scope = frozenset(self.scope)
        self.points.append(point)
        return point

    def expression(self, node: c_ast.Node | None, before: list[Point]) -> list[Point]:
        if node is None:
            return before
        point = self.add(before, Point())
        access(node, self.private, point)
        return [point]

    def statement(self, node: c_ast.Node | None, before: list[Point]) -> list[Point]:
        """Adds a statement behind `before`; returns the points from which control goes on."""
        if node is None or isinstance(node, (c_ast.EmptyStatement, c_ast.Pragma, c_ast.StaticAssert)):
            return before
        handler = getattr(self, "on_" + type(node).__name__.lower(), None)
        return handler(node, before) if handler else self.expression(node, before)

    def on_compound(self, node: c_ast.Compound, before: list[Point]) -> list[Point]:
        depth = len(self.scope)
        if self.has_labels:  # a jump back may lead to where a variable is not yet declared, but lives
            self.scope += [name for item in node.block_items or [] for name in _declared_right_in(item)]
        for item in node.block_items or []:
            before = self.statement(item, before)
        del self.scope[depth:]
        return before

    def on_inlined(self, node: Inlined, before: list[Point]) -> list[Point]:
        before = self.on_compound(node, before)
        if node.end_label is not None:
            before = [self.add(before, Point())]
            self.labels[node.end_label] = before[0]
        return before

    def on_decl(self, node: c_ast.Decl, before: list[Point]) -> list[Point]:
        point = self.add(before, Point())
        if node.name is not None:
            self.scope.append(node.name)
            point.kills.add(node.name)
        if node.init is not None:
            access(node.init, self.private, point)
            point.uses.discard(node.name)
        return [point]

    def on_decllist(self, node: c_ast.DeclList, before: list[Point]) -> list[Point]:
        for decl in node.decls:
            before = self.on_decl(decl, before)
        return before

    def on_wait(self, node: Wait, before: list[Point]) -> list[Point]:
        point = self.add(before, Point(wait=node))
        for address in node.addresses:
            access(address, self.private, point)
        return [point]

    def on_switch(self, node: c_ast.Switch, before: list[Point]) -> list[Point]:
        heads = self.expression(node.cond, before)
        self.breaks.append([])
        has_default, here, depth = False, [], len(self.scope)
        if self.has_labels:
            self.scope += [name for item in node.stmt.block_items or [] for name in _declared_right_in(item)]
        for item in node.stmt.block_items or []:
            if isinstance(item, (c_ast.Case, c_ast.Default)):
                has_default |= isinstance(item, c_ast.Default)
                here = [self.add(here + heads, Point())]
                for inner in item.stmts or []:
                    here = self.statement(inner, here)
            else:
                here = self.statement(item, here)
        del self.scope[depth:]
        return here + self.breaks.pop() + ([] if has_default else heads)

    def on_case(self, node: c_ast.Case, before: list[Point]) -> list[Point]:
        raise Refusal(node.coord, "a case label within another statement", "write case labels right within the switch")

    on_default = on_case

    def on_if(self, node: c_ast.If, before: list[Point]) -> list[Point]:
        heads = self.expression(node.cond, before)
        then = self.statement(node.iftrue, heads)
        return then + (self.statement(node.iffalse, heads) if node.iffalse is not None else heads)

    def loop(self, node: c_ast.Node, heads: list[Point]) -> tuple[list[Point], list[Point]]:
        """The body: where it goes on to the next iteration, and where it breaks."""
        self.breaks.append([])
        self.continues.append([])
        ends = self.statement(node.stmt, heads)
        return ends + self.continues.pop(), self.breaks.pop()

    def on_while(self, node: c_ast.While, before: list[Point]) -> list[Point]:
        top = self.add(before, Point())
        heads = self.expression(node.cond, [top])
        again, out = self.loop(node, heads)
        for point in again:
            point.successors.append(top)
        return out + heads

    def on_dowhile(self, node: c_ast.DoWhile, before: list[Point]) -> list[Point]:
        top = self.add(before, Point())
        again, out = self.loop(node, [top])
        heads = self.expression(node.cond, again)
        for point in heads:
            point.successors.append(top)
        return out + heads

    def on_for(self, node: c_ast.For, before: list[Point]) -> list[Point]:
        depth = len(self.scope)
        before = self.statement(node.init, before)
        top = self.add(before, Point())
        heads = self.expression(node.cond, [top])
        again, out = self.loop(node, heads)
        for point in self.expression(node.next, again):
            point.successors.append(top)
        del self.scope[depth:]
        return out + (heads if node.cond is not None else [])

    def on_label(self, node: c_ast.Label, before: list[Point]) -> list[Point]:
        self.labels[node.name] = self.add(before, Point())
        return self.statement(node.stmt, [self.labels[node.name]])

    def on_goto(self, node: c_ast.Goto, before: list[Point]) -> list[Point]:
        self.jumps.append((self.add(before, Point()), node))
        return []

    def on_break(self, node: c_ast.Break, before: list[Point]) -> list[Point]:
        if self.breaks[-1] is None:
            raise Refusal(
                node.coord,
                "break leaves foreach, but later lookups may be under way already",
                "end one lookup by continue; choose the number of lookups before the loop",
            )
        self.breaks[-1] += before
        return []

    def on_continue(self, node: c_ast.Continue, before: list[Point]) -> list[Point]:
        self.continues[-1] += before
        return []

    def on_return(self, node: c_ast.Return, before: list[Point]) -> list[Point]:
        raise Refusal(
            node.coord,
            "return within foreach would end the whole batch",
            "end one lookup by continue, and return behind the loop",
        )


def _declared_right_in(item: c_ast.Node) -> list[str]:
    """Variables that a statement adds to the block that it is in."""
    if isinstance(item, c_ast.Decl):
        return [item.name] if item.name else []
    inner = [item.stmt] if isinstance(item, c_ast.Label) else getattr(item, "stmts", None) or []
    return [name for one in inner for name in _declared_right_in(one)]


def live_across(flow: Flow, addressed: set[str]) -> set[str]:
    """Variables that some switch must preserve: those that are read later, and those in scope whose address is known to
    somebody, who may read them at any time."""
    saved: set[str] = set()
    for point in flow.points:
        if point.wait is not None:
            saved |= point.live_out() | (point.in_scope & addressed)
    return saved & flow.private
