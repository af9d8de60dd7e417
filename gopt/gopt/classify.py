"""What lookups share: sorts the variables that are declared outside foreach, and refuses those that would carry
something from lookup to lookup."""

import re
from collections.abc import Iterator

from pycparser import c_ast

from gopt.addresses import Addresses, written_lvalue
from gopt.errors import Refusal
from gopt.kinds import Kinds
from gopt.overlap import refuse_overlapping, refuse_pointed
from gopt.tree import (
    LOOPS,
    is_address,
    is_aggregate,
    is_bool,
    is_floating,
    names,
    parts,
    plain_type,
    replace,
    root,
    text_of,
    walk,
    written_root,
)
from gopt.varying import Varying

_REDUCTIONS = {"+=": "+", "-=": "+", "++": "+", "--": "+", "p++": "+", "p--": "+", "|=": "|", "&=": "&", "^=": "^"}
_DECIMAL = re.compile(r"0|[1-9]\d*")
_REMEDY = (
    "declare it within foreach, or store a result for each lookup and combine them behind the loop (integer counts such as "
    "x++; or x += y; are fine, as statements of their own)"
)


class Classifier:
    """`lookup`: becomes complete by sort(). `outside`: the function's own variables."""

    def __init__(self, lookup, outside: dict[str, c_ast.Decl]):
        self.lookup, self.typedefs = lookup, lookup.source.typedefs
        globals_ = {n.name: n for n in lookup.source.tree.ext if isinstance(n, c_ast.Decl) and n.name}
        self.known = {n: d for n, d in (globals_ | outside).items() if not isinstance(d.type, c_ast.FuncDecl)}
        self.kinds = Kinds(lookup.source, self.known | lookup.private)
        self.used = names(lookup.body) & set(self.known) - set(lookup.private) - {lookup.index}
        self.see_through()
        self.differs = Varying(lookup.body, lookup.index, set(lookup.private), self.kinds).differs
        inner: set[int] = set()  # by id: of what elements are named
        self.accesses: dict[str, list[c_ast.ArrayRef]] = {}  # elements, by array
        for node in walk(lookup.body):
            if isinstance(node, c_ast.ArrayRef) and id(node) not in inner and (found := root(node)) is not None:
                self.accesses.setdefault(found.name, []).append(node)
            if isinstance(node, c_ast.ArrayRef) or (isinstance(node, c_ast.StructRef) and id(node) in inner):
                inner.add(id(node.name))

    def see_through(self) -> None:
        """Writes what is an element of an array outside, or a member of a struct there, as one: *a, *(a + 1 + k),
        (&s)->m."""
        for node in walk(self.lookup.body):
            for slot, part in list(parts(node)):
                replace(node, slot, part, self.plainly(part))

    def plainly(self, node: c_ast.Node) -> c_ast.Node:
        """An expression as see_through() writes it, but for what is within subscripts and calls."""
        if isinstance(node, c_ast.StructRef) and node.type == ".":
            return c_ast.StructRef(self.plainly(node.name), ".", node.field, node.coord)
        pointer = isinstance(node, c_ast.UnaryOp) and node.op == "*"
        if not pointer and not isinstance(node, (c_ast.ArrayRef, c_ast.StructRef)):
            return node
        base = node.expr if pointer else node.name
        if isinstance(node, c_ast.ArrayRef):
            base = c_ast.BinaryOp("+", base, node.subscript, node.coord)
        if is_address(base):
            element = self.plainly(base.expr)
            found = root(element)
            if found is None or found.name not in self.used:
                return node
        else:
            place = self.place(base)
            if place is None:
                return node
            element = c_ast.ArrayRef(place[0], _sum(place[1]), node.coord)
        return c_ast.StructRef(element, ".", node.field, node.coord) if isinstance(node, c_ast.StructRef) else element

    def place(self, node: c_ast.Node) -> tuple[c_ast.Node, list[tuple[str, c_ast.Node]]] | None:
        """The array outside that an address is in, and what is added to its start, or subtracted; None for others."""
        if isinstance(node, c_ast.BinaryOp) and node.op in ("+", "-"):
            sides = [(node.left, node.right)] + ([(node.right, node.left)] if node.op == "+" else [])
            for base, step in sides:
                found = None if self.is_pointer(step) else self.place(base)
                if found is not None:
                    return found[0], [*found[1], (node.op, step)]
            return None
        lvalue = self.plainly(node.expr if is_address(node) else node)
        if is_address(node):
            element = isinstance(lvalue, c_ast.ArrayRef) and self.is_outer_array(lvalue.name)
            return (lvalue.name, [("+", lvalue.subscript)]) if element else None
        return (lvalue, []) if self.is_outer_array(lvalue) else None

    def is_pointer(self, node: c_ast.Node) -> bool:
        return isinstance(self.kinds.of(node), (c_ast.PtrDecl, c_ast.ArrayDecl))

    def is_outer_array(self, node: c_ast.Node) -> bool:
        found = root(node)
        return found is not None and found.name in self.used and isinstance(self.kinds.of(node), c_ast.ArrayDecl)

    def sort(self) -> None:
        lookup = self.lookup
        sums = self.sums()
        written: set[str] = set()
        for node in walk(lookup.body):
            target = written_root(node)
            if target is None or target.name not in self.used or target.name in sums:
                continue
            if not _by_elements(written_lvalue(node)):
                raise Refusal(node.coord, self.reason(target.name), _REMEDY)
            if target.name not in written:
                written.add(target.name)
                self.refuse_common_elements(target.name)
        lookup.sequential = {n for n in sums if self.moves(n) or not isinstance(self.plain(n), c_ast.PtrDecl)}
        addresses = Addresses(self)
        addresses.refuse_writes()
        for name in sorted(addresses.written - written):
            self.refuse_common_elements(name)
        addresses.refuse_reads(written | addresses.written)
        refuse_overlapping(addresses, written | addresses.written)
        refuse_pointed(addresses)
        if names(lookup.count) & lookup.sequential:
            raise Refusal(lookup.coord, "the number of lookups changes within foreach", "copy it to a variable before")
        lookup.shared = self.used - lookup.sequential

    def plain(self, name: str) -> c_ast.Node:
        return plain_type(self.known[name].type, self.typedefs)

    def moves(self, pointer: str) -> bool:
        """Whether it is the pointer itself that is written, not what it leads to."""
        written = [n for n in walk(self.lookup.body) if written_root(n) is not None]
        return any(isinstance(written_lvalue(n), c_ast.ID) and written_lvalue(n).name == pointer for n in written)

    def reason(self, name: str) -> str:
        return (
            f"`{name}` is declared outside foreach and changed within it: what a lookup finds there depends on the order of "
            "lookups, which gopt changes"
        )

    def reductions(self) -> Iterator[tuple[c_ast.Node, str]]:
        """Statements that only count or mask in, which come to the same in any order, with what they do."""
        for statement in _statements(self.lookup.body):
            lvalue, op = written_lvalue(statement), getattr(statement, "op", None)
            if lvalue is None or op not in _REDUCTIONS:
                continue
            assigns = isinstance(statement, c_ast.Assignment)
            kind = self.kinds.of(lvalue)
            exact = kind is not None and not is_floating(kind, self.typedefs) and not is_aggregate(kind, self.typedefs)
            exact = exact and (not assigns or self.kinds.is_exact(statement.rvalue))
            if exact and not (_REDUCTIONS[op] in "+^" and is_bool(kind, self.typedefs)):
                yield statement, _REDUCTIONS[op]

    def sums(self) -> set[str]:
        """Variables outside that lookups only count or mask in, all in the same way."""
        ops: dict[str, set[str]] = {}
        counted: dict[str, int] = {}
        for statement, op in self.reductions():
            target = written_root(statement)
            if target is not None and target.name in self.used:
                whole = isinstance(written_lvalue(statement), c_ast.ID)
                ops.setdefault(target.name, set()).add(op + ("" if whole else " a part"))
                counted[target.name] = counted.get(target.name, 0) + 1
        mentions = [n.name for n in walk(self.lookup.body) if isinstance(n, c_ast.ID)]
        return {name for name in ops if len(ops[name]) == 1 and counted[name] == mentions.count(name)}

    def is_own(self, node: c_ast.Node) -> bool:
        """Whether an lvalue is an element that the lookup chooses."""
        while isinstance(node, (c_ast.StructRef, c_ast.ArrayRef)):
            if isinstance(node, c_ast.ArrayRef) and self.differs(node.subscript):
                return True
            node = node.name
        return False

    def refuse_common_elements(self, name: str) -> None:
        """An array of which lookups write elements: each must write, and look at, its own."""
        for access in self.accesses.get(name, []):
            if not self.is_own(access):
                self.refuse_common(access, name)

    def refuse_common(self, node: c_ast.Node, name: str) -> None:
        what = text_of(node)
        raise Refusal(
            node.coord or getattr(getattr(node, "name", None), "coord", None) or self.lookup.coord,
            f"`{what}`, of an array declared outside foreach that lookups write, is the same for all of them: what a "
            "lookup finds there depends on the order of lookups, which gopt changes",
            "declare the array within foreach, or use an element for each lookup, as x[i]",
        )


def _sum(steps: list[tuple[str, c_ast.Node]]) -> c_ast.Node:
    """What an array is indexed with after several steps. An address takes each step by itself: what they are together
    is not to wrap in a narrower or unsigned type of one."""
    number, others = 0, []
    for op, step in steps:
        if isinstance(step, c_ast.Constant) and _DECIMAL.fullmatch(step.value):
            number += int(op + step.value)
        else:
            others.append((op, step))
    if number == 0 and [op for op, _ in others] == ["+"]:
        return others[0][1]
    found: c_ast.Node | None = None
    for op, step in others:
        wide = c_ast.TypeDecl(None, [], None, c_ast.IdentifierType(["long", "long"]))
        found = _added(found, op, c_ast.Cast(c_ast.Typename(None, [], None, wide), step))
    if found is None or number != 0:
        found = _added(found, "-" if number < 0 else "+", c_ast.Constant("int", str(abs(number))))
    return found


def _added(one: c_ast.Node | None, op: str, other: c_ast.Node) -> c_ast.Node:
    if one is None:
        return c_ast.UnaryOp("-", other) if op == "-" else other
    return c_ast.BinaryOp(op, one, other)


def _by_elements(target: c_ast.Node) -> bool:
    """Whether an lvalue such as x[i].a is an element of x."""
    while isinstance(target, c_ast.StructRef):
        target = target.name
    return isinstance(target, c_ast.ArrayRef)


def _statements(node: c_ast.Node) -> Iterator[c_ast.Node]:
    """Expressions whose value nobody uses."""
    for part in walk(node):
        inside: list = []
        if isinstance(part, c_ast.Compound):
            inside = part.block_items or []
        elif isinstance(part, (c_ast.Case, c_ast.Default)):
            inside = part.stmts or []
        elif isinstance(part, LOOPS):
            inside = [part.stmt, *([part.next] if isinstance(part, c_ast.For) and part.next is not None else [])]
        elif isinstance(part, c_ast.If):
            inside = [part.iftrue, part.iffalse]
        elif isinstance(part, c_ast.Label):
            inside = [part.stmt]
        for one in inside:
            yield from one.exprs if isinstance(one, c_ast.ExprList) else [one]
