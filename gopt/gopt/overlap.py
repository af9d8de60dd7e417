"""Structs and unions outside, of arrays within which lookups write elements: refuses lookups that look at the same
memory by another name, or as a part of the whole."""

from collections.abc import Iterator

from pycparser import c_ast

from gopt.addresses import Addresses, unwaited, written_lvalue
from gopt.errors import Refusal
from gopt.tree import root, text_of


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
        if name in addresses.written and (isinstance(kinds.of(node), c_ast.ArrayDecl) or outer.is_own(node)):
            places.setdefault(name, {}).setdefault(_path(node), node)
    for node in mentions:
        if isinstance(kinds.of(node), c_ast.ArrayDecl):
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


def _path(node: c_ast.Node) -> tuple[str, ...]:
    """The members by which an lvalue is reached, up to the first array that it is in."""
    found: list[str] = []
    while not isinstance(node, c_ast.ID):
        found = [] if isinstance(node, c_ast.ArrayRef) else [node.field.name, *found]
        node = node.name
    return tuple(found)
