"""Types of expressions, as far as declarations tell them."""

import re
from collections.abc import Sequence

from pycparser import c_ast

from gopt.source import Source
from gopt.tree import called, is_floating, plain_type

_BITWISE = ("&&", "||", "==", "!=", "<", ">", "<=", ">=", "%", "&", "|", "^", "<<", ">>")
_INTEGER = {"_Bool", "char", "short", "int", "long", "signed", "unsigned", "__int128"}
_INTEGER_BUILTIN = re.compile(
    r"__builtin_(popcount|ctz|clz|ffs|parity|clrsb|bswap|constant_p|expect|strlen|strcmp|memcmp|object_size)\w*"
)


class Kinds:
    """`variables`: the declarations that are in scope, by name."""

    def __init__(self, source: Source, variables: dict[str, c_ast.Decl]):
        self.source = source
        declared = {n.name: n for n in source.tree.ext if isinstance(n, c_ast.Decl) and n.name}
        functions = {name: function.decl for name, function in source.functions.items()}
        self.variables = declared | functions | variables
        self.constants = {name for name in source.order if name not in self.variables and name not in source.typedefs}

    def plain(self, kind: c_ast.Node | None) -> c_ast.Node | None:
        return None if kind is None else plain_type(kind, self.source.typedefs)

    def of(self, node: c_ast.Node) -> c_ast.Node | None:
        """The type of an expression behind its typedefs; None where that is not known."""
        if isinstance(node, c_ast.ID):
            decl = self.variables.get(node.name)
            return self.plain(decl.type) if decl is not None else None
        if isinstance(node, (c_ast.Cast, c_ast.CompoundLiteral)):
            return self.plain((node.to_type if isinstance(node, c_ast.Cast) else node.type).type)
        if isinstance(node, c_ast.StructRef):
            return self.member(self.target(node.name) if node.type == "->" else self.of(node.name), node.field.name)
        if isinstance(node, c_ast.ArrayRef):
            return self.target(node.name)
        if isinstance(node, c_ast.FuncCall):
            kind = self.of(node.name)
            kind = self.plain(kind.type) if isinstance(kind, c_ast.PtrDecl) else kind
            return self.plain(kind.type) if isinstance(kind, c_ast.FuncDecl) else None
        if isinstance(node, c_ast.UnaryOp):
            if node.op == "*":
                return self.target(node.expr)
            if node.op == "&":
                inner = self.of(node.expr)
                return inner if inner is None else c_ast.PtrDecl([], inner)
            return self.of(node.expr) if node.op in ("++", "--", "p++", "p--") else None
        if isinstance(node, c_ast.BinaryOp) and node.op in ("+", "-"):
            either = (self.of(node.left), self.of(node.right))
            pointers = [k for k in either if isinstance(k, (c_ast.PtrDecl, c_ast.ArrayDecl))]
            return pointers[0] if len(pointers) == 1 else None
        if isinstance(node, c_ast.Assignment):
            return self.of(node.lvalue)
        if isinstance(node, c_ast.ExprList):
            return self.of(node.exprs[-1])
        return self.of(node.iftrue) if isinstance(node, c_ast.TernaryOp) else None

    def target(self, node: c_ast.Node) -> c_ast.Node | None:
        """The type of what a pointer or an array leads to."""
        kind = self.of(node)
        return self.plain(kind.type) if isinstance(kind, (c_ast.PtrDecl, c_ast.ArrayDecl)) else None

    def members(self, kind: c_ast.Node | None) -> list[c_ast.Decl]:
        """Those of a struct or union, in its order, without bits that have no name."""
        inner = getattr(kind, "type", kind)
        if not isinstance(inner, (c_ast.Struct, c_ast.Union)):
            return []
        decls = [d for d in inner.decls or self.source.tags.get(inner.name) or [] if isinstance(d, c_ast.Decl)]
        return [d for d in decls if d.name or d.bitsize is None]

    def member(self, kind: c_ast.Node | None, name: str) -> c_ast.Node | None:
        for decl in self.members(kind):
            if decl.name == name:
                return self.plain(decl.type)
            found = self.member(decl.type, name) if decl.name is None else None
            if found is not None:
                return found
        return None

    def share(self, kind: c_ast.Node | None, one: Sequence[str], other: Sequence[str]) -> bool:
        """Whether two parts of a struct or union share memory: each by the names of the members on the way to it."""
        if not one or not other:
            return True
        members = self.members(kind)
        ways = [next((m for m in members if self.holds(m, path[0])), None) for path in (one, other)]
        if ways[0] is not ways[1]:
            return None in ways or isinstance(getattr(kind, "type", kind), c_ast.Union)
        if ways[0] is None:
            return True
        named = int(ways[0].name is not None)
        return self.share(self.plain(ways[0].type), one[named:], other[named:])

    def holds(self, decl: c_ast.Decl, name: str) -> bool:
        return decl.name == name or (decl.name is None and self.member(decl.type, name) is not None)

    def is_exact(self, node: c_ast.Node) -> bool:
        """Whether an expression is surely of no floating type, so that a sum does not depend on the order."""
        if isinstance(node, c_ast.Constant):
            return "float" not in node.type and "double" not in node.type
        if isinstance(node, c_ast.ID) and node.name in self.constants:
            return True
        if isinstance(node, c_ast.FuncCall) and _INTEGER_BUILTIN.fullmatch(called(node) or ""):
            return True
        if isinstance(node, c_ast.UnaryOp) and node.op in ("sizeof", "_Alignof", "!", "~"):
            return True
        if isinstance(node, c_ast.UnaryOp) and node.op in ("+", "-"):
            return self.is_exact(node.expr)
        if isinstance(node, c_ast.BinaryOp):
            return node.op in _BITWISE or (self.is_exact(node.left) and self.is_exact(node.right))
        if isinstance(node, c_ast.TernaryOp):
            return self.is_exact(node.iftrue) and self.is_exact(node.iffalse)
        if isinstance(node, c_ast.ExprList):
            return self.is_exact(node.exprs[-1])
        return self.is_integer(self.of(node))

    def is_integer(self, kind: c_ast.Node | None) -> bool:
        """Whether a type behind its typedefs is known to be that of an integer or a pointer."""
        if isinstance(kind, (c_ast.PtrDecl, c_ast.ArrayDecl)):
            return True
        inner = getattr(kind, "type", None)
        if isinstance(inner, c_ast.Enum):
            return True
        known = isinstance(inner, c_ast.IdentifierType) and set(inner.names) <= _INTEGER
        return known and not is_floating(kind, {})
