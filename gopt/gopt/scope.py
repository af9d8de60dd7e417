"""Names: every variable of a lookup gets one of its own, so that later passes need no scopes."""

from pycparser import c_ast

from gopt.errors import Refusal
from gopt.tree import LOOPS, innermost, parts, tag_of


class Names:
    """Hands out names that nothing else in the file has."""

    def __init__(self, taken: set[str]):
        self.taken = set(taken)

    def fresh(self, name: str, always: bool = False) -> str:
        """`name`, or name_2, name_3, ... when that is taken (or when `always`)."""
        candidate, number = name, 1
        while candidate in self.taken or (always and number == 1):
            number += 1
            candidate = f"{name}_{number}"
        self.taken.add(candidate)
        return candidate


class _Renamer:
    def __init__(self, names: Names, declared: list[c_ast.Decl]):
        self.names, self.declared = names, declared

    def visit(self, node: c_ast.Node, scope: dict[str, str]) -> None:
        if isinstance(node, c_ast.ID):
            node.name = scope.get(node.name, node.name)
        elif isinstance(node, (c_ast.Compound, *LOOPS)):
            inner = dict(scope)
            for _, part in parts(node):
                self.visit(part, inner)
        elif isinstance(node, c_ast.Decl):
            self.declare(node, scope)
        else:
            if isinstance(node, c_ast.Typedef):
                raise Refusal(node.coord, "a typedef within a lookup", "move it to file scope")
            for _, part in parts(node):
                self.visit(part, scope)

    def declare(self, node: c_ast.Decl, scope: dict[str, str]) -> None:
        inner = node.type
        while not isinstance(inner, (c_ast.TypeDecl, c_ast.Struct, c_ast.Union, c_ast.Enum)):
            inner = inner.type
        kind = inner.type if isinstance(inner, c_ast.TypeDecl) else inner
        if isinstance(kind, c_ast.Enum) and kind.values or getattr(kind, "decls", None):
            raise Refusal(node.coord, "a type is defined within a lookup", "move the definition to file scope")
        if node.name is None:
            return
        if isinstance(node.type, c_ast.FuncDecl):
            raise Refusal(node.coord, f"`{node.name}` is declared within a lookup", "declare functions at file scope")
        if {"static", "extern"} & set(node.storage or []):
            raise Refusal(
                node.coord,
                f"`{node.name}` is {node.storage[0]}, so that lookups would share it",
                "declare it before foreach, or at file scope",
            )
        scope[node.name] = self.names.fresh(node.name)
        node.name = innermost(node.type).declname = scope[node.name]
        node.storage = []
        self.declared.append(node)
        for _, part in parts(node):
            self.visit(part, scope)


def free_names(node: c_ast.Node, bound: set[str]) -> set[str]:
    """The identifiers, names of types and tags in `node` that nothing declares where they are used; `bound`: what is
    declared there already, to which `node` adds its own."""
    if isinstance(node, c_ast.ID):
        return {node.name} - bound
    if isinstance(node, c_ast.IdentifierType):
        return {node.names[-1]} - bound
    own = {tag_of(node)} if isinstance(node, (c_ast.Struct, c_ast.Union, c_ast.Enum)) and node.name else set()
    inner = set(bound) if isinstance(node, (c_ast.Compound, *LOOPS)) else bound
    if isinstance(node, c_ast.Decl) and node.name:
        bound.add(node.name)  # in scope from here on, its own initialiser included
    return own.union(*(free_names(part, inner) for _, part in parts(node)))


def give_own_names(node: c_ast.Node, names: Names, scope: dict[str, str] | None = None) -> list[c_ast.Decl]:
    """Renames the variables declared within `node` where their name is taken; returns their declarations. `scope`:
    other names to replace."""
    declared: list[c_ast.Decl] = []
    _Renamer(names, declared).visit(node, scope or {})
    return declared
