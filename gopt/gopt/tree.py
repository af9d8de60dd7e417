"""Small helpers for pycparser's trees, and the two nodes that gopt adds to them."""

import copy
import sys
from collections.abc import Callable, Collection, Iterator

from pycparser import c_ast, c_generator

ASSIGNING = ("++", "--", "p++", "p--")
LOOPS = (c_ast.For, c_ast.While, c_ast.DoWhile)
# Levels of a lookup, such as terms of a sum or else if: what passes over it recurses, and Python's stack has an end.
DEEPEST = 250
sys.setrecursionlimit(max(sys.getrecursionlimit(), 40 * DEEPEST))


class Wait(c_ast.Node):
    """g_expensive: prefetch `addresses`, then let other lookups run."""

    __slots__ = ("__weakref__", "addresses", "coord")
    attr_names = ()

    def __init__(self, addresses: list, coord):
        self.addresses, self.coord = addresses, coord

    def children(self):
        return tuple((f"addresses[{i}]", a) for i, a in enumerate(self.addresses))

    def __iter__(self):
        return iter(self.addresses)


class Inlined(c_ast.Compound):
    """A helper's body in place of its call; `goto end_label` within it is the helper's return."""

    __slots__ = ("end_label", "name")

    def __init__(self, name: str, end_label: str | None, block_items: list, coord):
        super().__init__(block_items, coord)
        self.name, self.end_label = name, end_label


def text_of(node: c_ast.Node) -> str:
    """An expression, declaration or type as C."""
    return c_generator.CGenerator().visit(node)


def value_text(node: c_ast.Node) -> str:
    """An expression as C, where a comma would end it."""
    return f"({text_of(node)})" if isinstance(node, c_ast.ExprList) else text_of(node)


def declarator(decl: c_ast.Decl) -> str:
    """A declaration without what several in one share."""
    shared = copy.copy(innermost(decl.type))
    shared.declname = None
    return text_of(decl).removeprefix(text_of(shared)).lstrip()


def identifier(name: str, coord=None) -> c_ast.ID:
    return c_ast.ID(name, coord)


def parts(node: c_ast.Node) -> Iterator[tuple[str, c_ast.Node]]:
    """The children that may name variables, with the slot that each is in: not the names of members, and of parameters
    where a function's type is written."""
    for slot in node.__slots__:
        if slot in ("coord", "__weakref__"):
            continue
        if isinstance(node, c_ast.StructRef) and slot == "field":
            continue
        if isinstance(node, c_ast.NamedInitializer) and slot == "name":
            continue
        if isinstance(node, c_ast.FuncDecl) and slot == "args":
            continue
        value = getattr(node, slot, None)
        if isinstance(value, c_ast.Node):
            yield slot, value
        elif isinstance(value, list):
            yield from ((slot, v) for v in value if isinstance(v, c_ast.Node))
    if isinstance(node, Inlined):
        yield from (("block_items", v) for v in node.block_items or [])


def walk(node: c_ast.Node) -> Iterator[c_ast.Node]:
    """The node and all below it that may name variables, in the text's order."""
    todo = [node]
    while todo:
        node = todo.pop()
        yield node
        todo += [part for _, part in parts(node)][::-1]


def whole(node: c_ast.Node) -> Iterator[c_ast.Node]:
    """The node and all below it, in the text's order."""
    todo = [node]
    while todo:
        node = todo.pop()
        yield node
        todo += [child for _, child in node.children()][::-1]


def too_deep(node: c_ast.Node, bodies: dict[str, c_ast.Node] | None = None) -> c_ast.Node | None:
    """What is more than DEEPEST levels below `node`, the bodies of called functions included where `bodies` has
    them."""
    bodies, todo, seen = bodies or {}, [(node, 0, ())], {}
    while todo:
        node, depth, within = todo.pop()
        if depth > DEEPEST:
            return node
        name = called(node)
        if name in bodies and name not in within and seen.get(name, -1) < depth:
            seen[name] = depth
            todo.append((bodies[name], depth + 1, (*within, name)))
        todo += [(child, depth + 1, within) for _, child in node.children()]
    return None


def names(node: c_ast.Node) -> set[str]:
    """The identifiers that are used as variables, functions or constants in `node`."""
    return {n.name for n in walk(node) if isinstance(n, c_ast.ID)}


def inlined(node: c_ast.Node) -> set[str]:
    """The helpers that have become a part of `node`."""
    return {n.name for n in walk(node) if isinstance(n, Inlined)}


def rewrite(node: c_ast.Node, change: Callable[[c_ast.Node], c_ast.Node]) -> c_ast.Node:
    """Replaces every identifier below `node`, and `node` itself if it is one, by change(identifier)."""
    if isinstance(node, c_ast.ID):
        return change(node)
    slots = list(node.__slots__) + (["block_items"] if isinstance(node, Inlined) else [])
    for slot in slots:
        if slot in ("coord", "__weakref__"):
            continue
        if isinstance(node, c_ast.StructRef) and slot == "field":
            continue
        if isinstance(node, c_ast.NamedInitializer) and slot == "name":
            continue
        value = getattr(node, slot, None)
        if isinstance(value, c_ast.Node):
            setattr(node, slot, rewrite(value, change))
        elif isinstance(value, list):
            setattr(node, slot, [rewrite(v, change) if isinstance(v, c_ast.Node) else v for v in value])
    return node


def replace(node: c_ast.Node, slot: str, old: c_ast.Node, new: c_ast.Node) -> None:
    """Puts `new` where parts() has found `old`."""
    value = getattr(node, slot)
    setattr(node, slot, [new if part is old else part for part in value] if isinstance(value, list) else new)


def tag_of(node: c_ast.Struct | c_ast.Union | c_ast.Enum) -> str:
    """As C writes it: struct node."""
    return f"{type(node).__name__.lower()} {node.name}"


def called(node: c_ast.Node) -> str | None:
    """The name of the function that a call names directly."""
    if isinstance(node, c_ast.FuncCall) and isinstance(node.name, c_ast.ID):
        return node.name.name
    return None


def root(node: c_ast.Node, pointers: Collection[str] = ()) -> c_ast.ID | None:
    """The variable whose own memory an lvalue designates: `s` of s.a[2], nothing for p->a or *p, nor for p[2] where p
    is one of `pointers`."""
    indexed = False
    while True:
        if isinstance(node, c_ast.StructRef):
            if node.type == "->":
                return None
            node, indexed = node.name, False
        elif isinstance(node, c_ast.ArrayRef):
            node, indexed = node.name, True
        else:
            return node if isinstance(node, c_ast.ID) and not (indexed and node.name in pointers) else None


def within(node: c_ast.Node) -> c_ast.Node | None:
    """What a member, an element or *p is of."""
    if isinstance(node, c_ast.UnaryOp) and node.op == "*":
        return node.expr
    return node.name if isinstance(node, (c_ast.StructRef, c_ast.ArrayRef)) else None


def is_address(node: c_ast.Node) -> bool:
    return isinstance(node, c_ast.UnaryOp) and node.op == "&"


def is_size(node: c_ast.Node) -> bool:
    return isinstance(node, c_ast.UnaryOp) and node.op in ("sizeof", "_Alignof")


def written_root(node: c_ast.Node, pointers: Collection[str] = ()) -> c_ast.ID | None:
    """The variable that this very node writes, wholly or in part."""
    if isinstance(node, c_ast.Assignment):
        return root(node.lvalue, pointers)
    if isinstance(node, c_ast.UnaryOp) and node.op in ASSIGNING:
        return root(node.expr, pointers)
    return None


def changed(body: c_ast.Node, pointers: Collection[str] = ()) -> set[str]:
    """Variables that are written in `body`, or whose address is taken."""
    written = {found.name for n in walk(body) if (found := written_root(n, pointers))}
    return written | addressed(body, pointers)


def addressed(body: c_ast.Node, pointers: Collection[str] = ()) -> set[str]:
    return {found.name for n in walk(body) if is_address(n) and (found := root(n.expr, pointers))}


def innermost(kind: c_ast.Node) -> c_ast.TypeDecl:
    while not isinstance(kind, c_ast.TypeDecl):
        kind = kind.type
    return kind


def drop_const(kind: c_ast.Node) -> None:
    """Makes a variable of this type assignable."""
    while isinstance(kind, c_ast.ArrayDecl):
        kind = kind.type
    kind.quals = [q for q in kind.quals or [] if q != "const"]


def type_text(kind: c_ast.Node) -> str:
    """A type without the declared name, to compare with others and to cast to."""
    inner = innermost(kind)
    name, inner.declname = inner.declname, None
    text = text_of(c_ast.Typename(None, [], None, kind))
    inner.declname = name
    return text


def plain_type(kind: c_ast.Node, typedefs: dict[str, c_ast.Node]) -> c_ast.Node:
    """The type behind typedefs."""
    while isinstance(kind, c_ast.TypeDecl) and isinstance(kind.type, c_ast.IdentifierType):
        known = typedefs.get(kind.type.names[-1])
        if known is None:
            return kind
        kind = known
    return kind


def as_parameter(kind: c_ast.Node, typedefs: dict[str, c_ast.Node]) -> c_ast.Node:
    """The type that a parameter has which is declared with type `kind`: arrays are pointers, also those that a typedef
    names, whose qualifiers are those of the elements, and functions are pointers (C11, 6.7.6.3)."""
    plain = plain_type(kind, typedefs)
    if isinstance(plain, c_ast.FuncDecl):
        return c_ast.PtrDecl([], kind, kind.coord)
    if not isinstance(plain, c_ast.ArrayDecl):
        return kind
    inner = plain.type if plain is kind else copy.deepcopy(plain.type)
    if plain is not kind:
        innermost(inner).quals = [*(kind.quals or []), *(innermost(inner).quals or [])]
        innermost(inner).declname = kind.declname
    return c_ast.PtrDecl([], inner, kind.coord)


def is_aggregate(kind: c_ast.Node, typedefs: dict[str, c_ast.Node]) -> bool:
    kind = plain_type(kind, typedefs)
    if isinstance(kind, c_ast.ArrayDecl):
        return True
    return isinstance(kind, c_ast.TypeDecl) and isinstance(kind.type, (c_ast.Struct, c_ast.Union))


def is_bool(kind: c_ast.Node, typedefs: dict[str, c_ast.Node]) -> bool:
    kind = plain_type(kind, typedefs)
    named = isinstance(kind, c_ast.TypeDecl) and isinstance(kind.type, c_ast.IdentifierType)
    return named and "_Bool" in kind.type.names


def is_floating(kind: c_ast.Node, typedefs: dict[str, c_ast.Node]) -> bool:
    kind = plain_type(kind, typedefs)
    named = isinstance(kind, c_ast.TypeDecl) and isinstance(kind.type, c_ast.IdentifierType)
    return named and bool({"float", "double"} & set(kind.type.names))
