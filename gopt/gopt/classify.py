"""What lookups share: sorts the variables that are declared outside foreach, and refuses those that would carry
something from lookup to lookup."""

import re
from collections.abc import Iterator

from pycparser import c_ast

from gopt.errors import Refusal
from gopt.kinds import Kinds
from gopt.tree import (
    LOOPS,
    Wait,
    innermost,
    is_address,
    is_aggregate,
    is_bool,
    is_floating,
    is_size,
    names,
    parts,
    plain_type,
    replace,
    root,
    text_of,
    walk,
    written_root,
)

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
        self.own = set(lookup.private) | {lookup.index}  # each lookup has its own value of these
        self.used = names(lookup.body) & set(self.known) - self.own
        self.see_through()
        self.overwritten: set[int] = set()  # by id: lvalues that `=` writes
        self.within: dict[int, c_ast.Node] = {}  # by id of an lvalue: its member or element that is named by it
        self.accesses: dict[str, list[c_ast.ArrayRef]] = {}  # elements, by array
        for node in walk(lookup.body):
            if isinstance(node, c_ast.Assignment) and node.op == "=":
                self.overwritten.add(id(node.lvalue))
            elif isinstance(node, (c_ast.StructRef, c_ast.ArrayRef)):
                self.within[id(node.name)] = node
            if isinstance(node, c_ast.ArrayRef) and (found := root(node)) is not None:
                outer = isinstance(self.within.get(id(node)), c_ast.ArrayRef)  # of a[1][2], all of it is looked at
                self.accesses.setdefault(found.name, []).extend([] if outer else [node])

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
        looked_at: set[str] = set()
        for node in walk(lookup.body):
            target = written_root(node)
            if target is None or target.name not in self.used or target.name in sums:
                continue
            if not _by_elements(_target(node)):
                raise Refusal(node.coord, self.reason(target.name), _REMEDY)
            if target.name not in looked_at:
                looked_at.add(target.name)
                self.refuse_common_elements(target.name)
        lookup.sequential = {n for n in sums if self.moves(n) or not isinstance(self.plain(n), c_ast.PtrDecl)}
        self.refuse_addresses()
        if names(lookup.count) & lookup.sequential:
            raise Refusal(lookup.coord, "the number of lookups changes within foreach", "copy it to a variable before")
        lookup.shared = self.used - lookup.sequential

    def plain(self, name: str) -> c_ast.Node:
        return plain_type(self.known[name].type, self.typedefs)

    def moves(self, pointer: str) -> bool:
        """Whether it is the pointer itself that is written, not what it leads to."""
        written = [n for n in walk(self.lookup.body) if written_root(n) is not None]
        return any(isinstance(_target(n), c_ast.ID) and _target(n).name == pointer for n in written)

    def reason(self, name: str) -> str:
        return (
            f"`{name}` is declared outside foreach and changed within it: what a lookup finds there depends on the order of "
            "lookups, which gopt changes"
        )

    def sums(self) -> set[str]:
        """Variables outside that lookups only count or mask in, in statements that come to the same in any order."""
        ops: dict[str, set[str]] = {}
        counted: dict[str, int] = {}
        for statement in _statements(self.lookup.body):
            target, op = written_root(statement), getattr(statement, "op", None)
            if target is None or op not in _REDUCTIONS or target.name not in self.used:
                continue
            lvalue = _target(statement)
            assigns = isinstance(statement, c_ast.Assignment)
            kind = self.kinds.of(lvalue)
            exact = kind is not None and not is_floating(kind, self.typedefs) and not is_aggregate(kind, self.typedefs)
            exact = exact and (not assigns or self.kinds.is_exact(statement.rvalue))
            if exact and not (_REDUCTIONS[op] in "+^" and is_bool(kind, self.typedefs)):
                whole = isinstance(lvalue, c_ast.ID)
                ops.setdefault(target.name, set()).add(_REDUCTIONS[op] + ("" if whole else " a part"))
                counted[target.name] = counted.get(target.name, 0) + 1
        mentions = [n.name for n in walk(self.lookup.body) if isinstance(n, c_ast.ID)]
        return {name for name in ops if len(ops[name]) == 1 and counted[name] == mentions.count(name)}

    def is_own(self, node: c_ast.Node) -> bool:
        """Whether an lvalue is an element that the lookup chooses."""
        while isinstance(node, (c_ast.StructRef, c_ast.ArrayRef)):
            if isinstance(node, c_ast.ArrayRef) and names(node.subscript) & self.own:
                return True
            node = node.name
        return False

    def refuse_common_elements(self, name: str) -> None:
        """An array of which lookups write elements, and read some: each must look at its own."""
        accesses = self.accesses.get(name, [])
        reads = [a for a in accesses if not any(id(n) in self.overwritten for n in _chain(a, self.within))]
        common = next((a for a in accesses if not self.is_own(a)), None)
        if reads and common is not None:
            what = text_of(common)
            raise Refusal(
                common.coord or common.name.coord,
                f"`{what}`, of an array declared outside foreach that lookups write, is the same for all of them: what a "
                "lookup finds there depends on the order of lookups, which gopt changes",
                "declare the array within foreach, or use an element for each lookup, as x[i]",
            )

    # ---- addresses ----

    def refuse_addresses(self) -> None:
        for node in _unwaited(self.lookup.body):
            name = node.expr.name if is_address(node) and isinstance(node.expr, c_ast.ID) else None
            if name in self.used:
                kind = self.plain(name)
                scalar = isinstance(kind, c_ast.TypeDecl) and not is_aggregate(kind, self.typedefs)
                if scalar and "const" not in (kind.quals or []):
                    self.refuse_address(node, name)
            for value, kind in self.handed_on(node):
                name = self.led_to(value)
                if name is not None and not self.is_read_only(kind):
                    self.refuse_address(value, name)

    def refuse_address(self, node: c_ast.Node, name: str) -> None:
        raise Refusal(
            node.coord,
            f"the address of `{name}`, which is declared outside foreach, is taken within it: lookups may change it in any "
            "order",
            "declare it within foreach, or const, or let what gets the address be a pointer to const; lookups of a batch run "
            "in one thread, and may count without atomic operations, by x += y;",
        )

    def handed_on(self, node: c_ast.Node) -> Iterator[tuple[c_ast.Node, c_ast.Node | None]]:
        """Values that become another variable's, and its type (None: not known)."""
        if isinstance(node, c_ast.FuncCall) and node.args is not None:
            kind = self.kinds.of(node.name)
            kind = self.kinds.plain(kind.type) if isinstance(kind, c_ast.PtrDecl) else kind
            params = kind.args.params if isinstance(kind, c_ast.FuncDecl) and kind.args else []
            types = [getattr(p, "type", None) for p in params]
            yield from ((arg, types[k] if k < len(types) else None) for k, arg in enumerate(node.args.exprs))
        elif isinstance(node, c_ast.Assignment) and node.op == "=":
            yield node.rvalue, self.kinds.of(node.lvalue)
        elif isinstance(node, (c_ast.Decl, c_ast.CompoundLiteral)) and node.init is not None:
            yield from self.initialised(
                node.init, node.type.type if isinstance(node.type, c_ast.Typename) else node.type
            )
        else:  # *p, p[k], p->m where p is not a name: gopt does not see what is written there
            base = node.expr if isinstance(node, c_ast.UnaryOp) and node.op == "*" else None
            base = node.name if isinstance(node, (c_ast.ArrayRef, c_ast.StructRef)) else base
            if isinstance(base, (c_ast.Cast, c_ast.BinaryOp, c_ast.TernaryOp, c_ast.ExprList)) or is_address(base):
                yield from ((term, self.kinds.of(base)) for term in _terms(base))

    def initialised(self, value: c_ast.Node, kind: c_ast.Node | None) -> Iterator[tuple[c_ast.Node, c_ast.Node | None]]:
        """The values in an initialiser, each with the type of what has it then (None: not known)."""
        if not isinstance(value, c_ast.InitList):  # without braces, an address is for something within an aggregate
            yield value, None if is_aggregate(kind, self.typedefs) else kind
            return
        kind = self.kinds.plain(kind)
        members, counted = self.kinds.members(kind), True  # whether the next value is for the next member
        for place, one in enumerate(value.exprs):
            inner = kind.type if isinstance(kind, c_ast.ArrayDecl) else None
            if isinstance(one, c_ast.NamedInitializer):
                counted = False
                if inner is None and len(one.name) == 1:
                    inner = self.kinds.member(kind, getattr(one.name[0], "name", ""))
                one = one.expr
            elif place < len(members) and counted:
                inner = members[place].type
                counted = isinstance(one, c_ast.InitList) or self.is_whole(one, inner)
            yield from self.initialised(one, inner)

    def is_whole(self, value: c_ast.Node, kind: c_ast.Node) -> bool:
        """Whether a value without braces is for all of a member of this type, not for the first thing within it."""
        kind = self.kinds.plain(kind)
        if isinstance(kind, c_ast.ArrayDecl):
            text = isinstance(value, c_ast.Constant) and value.type == "string"
            return text and isinstance(self.kinds.plain(kind.type), c_ast.TypeDecl)
        given = self.kinds.of(value)
        whole = is_aggregate(given, self.typedefs) and not isinstance(given, c_ast.ArrayDecl)
        return whole or not is_aggregate(kind, self.typedefs)

    def led_to(self, value: c_ast.Node) -> str | None:
        """The array or struct declared outside, not constant, that an address leads to, unless to an element of the
        lookup's own."""
        while isinstance(value, (c_ast.Cast, c_ast.ExprList)):
            value = value.expr if isinstance(value, c_ast.Cast) else value.exprs[-1]
        if isinstance(value, c_ast.TernaryOp):
            return self.led_to(value.iftrue) or self.led_to(value.iffalse)
        if isinstance(value, c_ast.BinaryOp) and value.op in ("+", "-"):
            return None if names(value) & self.own else self.led_to(value.left) or self.led_to(value.right)
        if is_address(value):
            value = value.expr
        elif not isinstance(self.kinds.of(value), c_ast.ArrayDecl):
            return None
        found = root(value)
        if found is None or found.name not in self.used or self.is_own(value):
            return None
        kind = self.known[found.name].type
        constant = "const" in (innermost(kind).quals or [])
        return found.name if is_aggregate(kind, self.typedefs) and not constant else None

    def is_read_only(self, kind: c_ast.Node | None) -> bool:
        """Whether a variable of this type can only read what it leads to."""
        kind = self.kinds.plain(kind)
        if not isinstance(kind, (c_ast.PtrDecl, c_ast.ArrayDecl)):
            return kind is not None and not is_aggregate(kind, self.typedefs)
        to = kind.type
        while isinstance(to, c_ast.ArrayDecl):
            to = to.type
        behind = self.kinds.plain(to)
        return "const" in (getattr(to, "quals", None) or []) or "const" in (getattr(behind, "quals", None) or [])


def _chain(access: c_ast.Node, within: dict[int, c_ast.Node]) -> Iterator[c_ast.Node]:
    """`access`, the member or element that is named by it, one of that, and so on. `within`: by id of what they are
    of."""
    while access is not None:
        yield access
        access = within.get(id(access))


def _terms(node: c_ast.Node) -> Iterator[c_ast.Node]:
    if isinstance(node, c_ast.BinaryOp) and node.op in ("+", "-"):
        yield from _terms(node.left)
        yield from _terms(node.right)
    else:
        yield node


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


def _target(node: c_ast.Node) -> c_ast.Node:
    return node.lvalue if isinstance(node, c_ast.Assignment) else node.expr


def _by_elements(target: c_ast.Node) -> bool:
    """Whether an lvalue such as x[i].a is an element of x."""
    while isinstance(target, c_ast.StructRef):
        target = target.name
    return isinstance(target, c_ast.ArrayRef)


def _unwaited(node: c_ast.Node) -> Iterator[c_ast.Node]:
    """As walk(), without the addresses that lookups wait for, and what only the size is asked of."""
    todo = [node]
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, Wait) and not is_size(node):
            todo += [part for _, part in parts(node)][::-1]


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
