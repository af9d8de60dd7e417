"""Structs and unions outside, of arrays within which lookups write elements: refuses lookups that look at the same
memory by another name, or as a part of the whole."""

from collections.abc import Iterator

from pycparser import c_ast

from gopt.addresses import Addresses, unwaited, written_lvalue
from gopt.errors import Refusal
from gopt.tree import ASSIGNING, is_aggregate, root, text_of, within


def refuse_overlapping(addresses: Addresses, written: set[str]) -> None:
    """`written`: variables of which lookups write elements."""
    outer, kinds = addresses.outer, addresses.kinds
    mentions = [n for n in _mentions(addresses) if root(n).name in written]
    places: dict[str, dict[tuple[str, ...], c_ast.Node]] = {}  # arrays that are written, or may be, by variable
    for node in unwaited(addresses.body):
        target = written_lvalue(node)
        found = root(target) if target is not None and addresses.base(target) is None else None
        if found is not None and found.name in written:
            places.setdefault(found.name, {}).setdefault(_path(target), target)
    for node in mentions:
        name = root(node).name
        if name in addresses.written and (_is_array(kinds, node) or outer.is_own(node)):
            places.setdefault(name, {}).setdefault(_path(node), node)
    for node in mentions:
        if _is_array(kinds, node):
            continue  # is an address
        name, path, own = root(node).name, _path(node), outer.is_own(node)
        for place, other in places.get(name, {}).items():
            if not (own and path == place) and kinds.share(kinds.of(root(node)), path, place):
                raise Refusal(
                    node.coord or root(node).coord or outer.lookup.coord,
                    f"`{text_of(node)}` shares memory with `{text_of(other)}`, an element that each lookup has of `{name}`, "
                    "which is declared outside foreach: what a lookup finds there depends on the order of lookups, which "
                    "gopt changes",
                    f"declare `{name}` within foreach, or look at the element only, by the same name",
                )


def _mentions(addresses: Addresses) -> Iterator[c_ast.Node]:
    """Lvalues that are structs or unions outside, or in one."""
    inner: set[int] = set()  # by id: what a member or an element is of
    for node in unwaited(addresses.body):
        if not isinstance(node, (c_ast.ID, c_ast.StructRef, c_ast.ArrayRef)):
            continue
        found = root(node) if id(node) not in inner else None
        if not isinstance(node, c_ast.ID):
            inner.add(id(node.name))
        if found is None or found.name not in addresses.outer.used:
            continue
        if not isinstance(addresses.outer.plain(found.name), (c_ast.PtrDecl, c_ast.ArrayDecl)):
            yield addresses.base(node) or node


def _path(node: c_ast.Node, base: c_ast.Node | None = None) -> tuple[str, ...]:
    """The members by which an lvalue is reached, from a variable or an element of `base`, up to the first array that it
    is in."""
    found: list[str] = []
    while node is not base and not isinstance(node, c_ast.ID):
        if isinstance(node, c_ast.StructRef):
            found = [node.field.name, *found]
        elif within(node) is not base:
            found = []
        node = within(node)
    return tuple(found)


def refuse_pointed(addresses: Addresses) -> None:
    """What all lookups find by the same *p or p->m of a pointer outside: if they write there, or elements of it, they
    may only count, as in variables."""
    outer, kinds = addresses.outer, addresses.kinds
    sums = {id(written_lvalue(statement)): op for statement, op in outer.reductions()}
    steps = [n for n in unwaited(addresses.body) if isinstance(n, c_ast.UnaryOp) and n.op in ASSIGNING]
    sums |= {id(n.expr): "+" for n in steps}  # as in sent[(*count)++], too
    changed = {id(written_lvalue(n)) for n in unwaited(addresses.body)}
    for name, nodes in sorted(_pointed(addresses).items()):
        base = addresses.base(nodes[0])
        kind, places = kinds.target(base), {id(n): _place(outer, n, addresses.base(n)) for n in nodes}
        own = {id(n) for n in nodes if outer.is_own(n)}
        # Of a struct, a pointer that was made here leads to an element, or an array, that is mentioned.
        by_address = {places[id(n)] for n in nodes if id(n) in own or _is_array(kinds, n)}
        by_address |= set() if is_aggregate(kind, addresses.typedefs) else {()}
        for node in (n for n in nodes if id(n) not in own and not _is_array(kinds, n)):
            op = sums.get(id(node))
            others = [n for n in nodes if n is not node and not (op and sums.get(id(n)) == op)]
            met = {places[id(n)] for n in others if op or id(n) in changed}
            met |= by_address if name in addresses.written else set()
            meets = any(kinds.share(kind, places[id(node)], place) for place in met)
            if meets or (id(node) in changed and not op):
                raise Refusal(
                    node.coord or base.coord or outer.lookup.coord,
                    f"`{text_of(node)}`, where a pointer from outside foreach leads, is the same for all lookups, and they "
                    "write there: what a lookup finds there depends on the order of lookups, which gopt changes",
                    f"use an element for each lookup, as {name}[i], and combine them behind the loop (integer counts such as "
                    "p->x++; or p->x += y; are fine, as statements of their own)",
                )


def _pointed(addresses: Addresses) -> dict[str, list[c_ast.Node]]:
    """Lvalues that are reached through a pointer outside, by its name."""
    found: dict[str, list[c_ast.Node]] = {}
    inner: set[int] = set()  # by id: what a member or an element is of
    for node in unwaited(addresses.body):
        if id(node) in inner or within(node) is None:
            continue
        base = addresses.base(node)
        if not isinstance(base, c_ast.ID) or base.name not in addresses.outer.used:
            continue
        found.setdefault(base.name, []).append(node)
        while node is not base:
            inner.add(id(node))
            node = within(node)
    return found


def _place(outer, node: c_ast.Node, base: c_ast.Node) -> tuple[str, ...]:
    """As _path(); () for what is in an element of the pointer's that is the lookup's own."""
    first = node
    while within(first) is not base:
        first = within(first)
    own = isinstance(first, c_ast.ArrayRef) and outer.differs(first.subscript)
    return () if own else _path(node, base)


def _is_array(kinds, node: c_ast.Node) -> bool:
    """Whether it is an address when it is mentioned."""
    return isinstance(kinds.of(node), c_ast.ArrayDecl)
