"""Where addresses may lead: refuses lookups that change what they share through a pointer, or look there at what others
change."""

from collections.abc import Iterator

from pycparser import c_ast

from gopt.errors import Refusal
from gopt.tree import ASSIGNING, Wait, is_address, is_aggregate, is_size, parts, root, walk, within

_COMPARING = ("==", "!=", "<", ">", "<=", ">=", "&&", "||")
# What is outside, and whether an address is surely of an element of the lookup's own (None: nor can it become that by
# what is added).
Leads = set[tuple[str, bool | None]]


class Addresses:
    """`outer`: the Classifier of the lookup."""

    def __init__(self, outer):
        self.outer, self.kinds, self.typedefs = outer, outer.kinds, outer.typedefs
        self.body, self.private = outer.lookup.body, outer.lookup.private
        self.held: dict[str, Leads] = {}  # by variable of the lookup, an integer made of an address included
        self.written: set[str] = set()  # arrays of which a pointer may write the lookup's own elements
        while self.pass_on():
            pass

    def pass_on(self) -> bool:
        """Whether a variable may hold more addresses than was known."""
        before = sum(len(leads) for leads in self.held.values())
        for node in walk(self.body):
            if isinstance(node, c_ast.Assignment):
                found, value = root(node.lvalue), node.rvalue
            elif isinstance(node, c_ast.Decl) and node.init is not None:
                found, value = node, node.init
            else:
                continue
            if found is not None and found.name in self.private:
                held = self.held.setdefault(found.name, set())
                held |= self.of(value)
                if isinstance(node, c_ast.Assignment) and node.op in ("+=", "-="):
                    held |= self.moved(held, value)
        return sum(len(leads) for leads in self.held.values()) > before

    # ---- what an expression leads to ----

    def of(self, node: c_ast.Node | None) -> Leads:
        """Where the value of an expression may lead, if it is an address, or something made of one."""
        if isinstance(node, c_ast.Cast):
            return _fixed(self.through(self.of(node.expr), self.kinds.of(node)))
        if isinstance(node, c_ast.ExprList):
            return self.of(node.exprs[-1])
        if isinstance(node, c_ast.TernaryOp):
            return self.of(node.iftrue) | self.of(node.iffalse)
        if isinstance(node, c_ast.Assignment):
            return self.of(node.rvalue) | (set() if node.op == "=" else self.of(node.lvalue))
        if isinstance(node, c_ast.CompoundLiteral):
            return self.of(node.init)
        if isinstance(node, c_ast.InitList):
            return set().union(*(self.of(one) for one in node.exprs))
        if isinstance(node, c_ast.NamedInitializer):
            return self.of(node.expr)
        if isinstance(node, c_ast.BinaryOp):
            return self.of_binary(node)
        if isinstance(node, c_ast.UnaryOp) and not is_size(node):
            if node.op == "&":
                leads = self.of_place(node.expr)
                return _fixed(leads) if isinstance(self.kinds.of(node.expr), c_ast.ArrayDecl) else leads
            if node.op in ("~", "-", "+"):
                return self.of(node.expr)
            return self.of_value(node) if node.op == "*" else self.of(node.expr) if node.op != "!" else set()
        return self.of_value(node) if isinstance(node, (c_ast.ID, c_ast.ArrayRef, c_ast.StructRef)) else set()

    def through(self, leads: Leads, kind: c_ast.Node | None) -> Leads:
        """What is left of `leads` in a value of this type: of an integer, nobody knows which element it leads to."""
        pointer = isinstance(kind, c_ast.PtrDecl) or kind is None or is_aggregate(kind, self.typedefs)
        return leads if pointer else {(name, None) for name, _ in leads}

    def moved(self, leads: Leads, step: c_ast.Node) -> Leads:
        own = self.outer.differs(step)
        return {(name, True if own and known is False else known) for name, known in leads}

    def of_binary(self, node: c_ast.BinaryOp) -> Leads:
        if node.op in _COMPARING:
            return set()
        if node.op in ("+", "-"):
            pointers = [side for side in (node.left, node.right) if self.outer.is_pointer(side)]
            if len(pointers) == 2:  # a distance
                return set()
            if pointers:
                return self.moved(self.of(pointers[0]), node.right if pointers[0] is node.left else node.left)
        return {(name, None) for name, _ in self.of(node.left) | self.of(node.right)}

    def of_value(self, node: c_ast.Node) -> Leads:
        kind = self.kinds.of(node)
        found = root(node) if self.base(node) is None else None
        if found is None or isinstance(kind, c_ast.ArrayDecl):
            return self.of_place(node) if isinstance(kind, c_ast.ArrayDecl) else set()
        if found.name in self.private:
            return self.through(self.held.get(found.name, set()), kind)
        return self.outside(found) if node is found and isinstance(kind, c_ast.PtrDecl) else set()

    def of_place(self, node: c_ast.Node) -> Leads:
        """Where the address of an lvalue leads."""
        base, steps = self.base(node), self.steps(node)
        if base is not None:
            leads = self.of(base)
        else:
            found = root(node)
            leads = self.outside(found) if found is not None else set()
        for step in steps:
            leads = self.moved(leads, step)
        return leads

    def outside(self, found: c_ast.ID) -> Leads:
        if found.name not in self.outer.used:
            return set()
        kind = self.outer.plain(found.name)
        to = kind.type if isinstance(kind, c_ast.PtrDecl) else self.outer.known[found.name].type
        return set() if self.is_constant(to) else {(found.name, False)}

    def base(self, node: c_ast.Node) -> c_ast.Node | None:
        """The pointer that an lvalue is reached through; None for a part of a variable."""
        while (inner := within(node)) is not None:
            dot = isinstance(node, c_ast.StructRef) and node.type == "."
            if not (dot or isinstance(self.kinds.of(inner), c_ast.ArrayDecl)):
                return inner
            node = inner
        return node if not isinstance(node, c_ast.ID) else None

    def steps(self, node: c_ast.Node) -> list[c_ast.Node]:
        """The subscripts of an lvalue, up to its base."""
        found: list[c_ast.Node] = []
        base = self.base(node)
        while node is not base and (inner := within(node)) is not None:
            found += [node.subscript] if isinstance(node, c_ast.ArrayRef) else []
            node = inner
        return found

    def is_constant(self, kind: c_ast.Node | None) -> bool:
        """Whether an object of this type, or an element of such an array, cannot be written."""
        constant = False
        while kind is not None:
            constant |= "const" in (getattr(kind, "quals", None) or [])
            behind = self.kinds.plain(kind)
            constant |= "const" in (getattr(behind, "quals", None) or [])
            kind = behind.type if isinstance(behind, c_ast.ArrayDecl) else None
        return constant

    # ---- what becomes of it ----

    def refuse_writes(self) -> None:
        for node in unwaited(self.body):
            if is_address(node) and self.is_private(node.expr):  # who has it can write what the variable leads to
                self.written |= {name for name, own in self.held.get(root(node.expr).name, set()) if own}
            target = written_lvalue(node)
            if target is not None and self.base(target) is not None:
                self.note(target, self.of_place(target), written=True)
            for value, kind in self.handed_on(node):
                if self.is_address(value) and not self.is_read_only(kind):
                    self.note(value, self.of(value), written=not self.is_kept(node))

    def note(self, node: c_ast.Node, leads: Leads, written: bool) -> None:
        """An address that things are written through, or that gets where they may be."""
        for name, own in sorted(leads, key=str):
            if own and written:
                self.written.add(name)
            elif not own and self.is_memory(name):
                self.refuse(node, name)

    def is_memory(self, name: str) -> bool:
        """Whether a variable outside is itself what addresses lead to, not a pointer there."""
        return not isinstance(self.outer.plain(name), c_ast.PtrDecl)

    def is_kept(self, node: c_ast.Node) -> bool:
        """Whether what is handed on becomes a variable of the lookup, so that what is made of it will be seen."""
        if isinstance(node, c_ast.Assignment):
            return self.is_private(node.lvalue)
        return isinstance(node, (c_ast.Decl, c_ast.CompoundLiteral))

    def is_private(self, node: c_ast.Node) -> bool:
        found = root(node)
        return found is not None and found.name in self.private and self.base(node) is None

    def is_address(self, value: c_ast.Node) -> bool:
        kind = self.kinds.of(value)
        return isinstance(kind, c_ast.ArrayDecl) or kind is None or not is_aggregate(kind, self.typedefs)

    def refuse_reads(self, written: set[str]) -> None:
        """`written`: arrays of which lookups write elements."""
        for node in unwaited(self.body):
            for value, leads in self.looks_at(node):
                own = {name for name, surely in leads if surely}
                for name in sorted({name for name, _ in leads} & written - own):
                    self.outer.refuse_common(value, name)

    def looks_at(self, node: c_ast.Node) -> Iterator[tuple[c_ast.Node, Leads]]:
        """What is looked at through a pointer that was made here, or can be by who gets it, and where that leads."""
        inner = within(node)
        base = self.base(node) if inner is not None else None
        if base is not None and not (isinstance(base, c_ast.ID) and base.name in self.outer.used):
            element = inner is base and not isinstance(node, c_ast.StructRef)
            yield node, self.of_place(node) if element else self.to_memory(self.of_place(node))
        for value, kind in self.handed_on(node):
            if isinstance(self.kinds.plain(kind), c_ast.PtrDecl):
                yield value, self.to_memory(self.of(value))

    def to_memory(self, leads: Leads) -> Leads:
        return {lead for lead in leads if self.is_memory(lead[0])}

    def refuse(self, node: c_ast.Node, name: str) -> None:
        raise Refusal(
            node.coord or _coord_below(node),
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


def written_lvalue(node: c_ast.Node) -> c_ast.Node | None:
    if isinstance(node, c_ast.Assignment):
        return node.lvalue
    return node.expr if isinstance(node, c_ast.UnaryOp) and node.op in ASSIGNING else None


def _fixed(leads: Leads) -> Leads:
    """By what is added to a pointer of another type, elements of the lookup's own cannot be told."""
    return {(name, own or None) for name, own in leads}


def _coord_below(node: c_ast.Node):
    return next((n.coord for n in walk(node) if n.coord), None)


def unwaited(node: c_ast.Node) -> Iterator[c_ast.Node]:
    """As walk(), without the addresses that lookups wait for, and what only the size is asked of."""
    todo = [node]
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, Wait) and not is_size(node):
            todo += [part for _, part in parts(node)][::-1]
