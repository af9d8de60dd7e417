"""The front end: a foreach loop with its variables classified, ready for a back end."""

import copy
import re
from dataclasses import dataclass, field

from pycparser import c_ast

from gopt import flow
from gopt.classify import Classifier
from gopt.errors import Refusal
from gopt.inline import Inliner, marked_functions
from gopt.scope import Names, give_own_names
from gopt.source import DIRECTIVE, EXPENSIVE, FOREACH, Loop, Source
from gopt.tree import (
    ASSIGNING,
    DEEPEST,
    LOOPS,
    Wait,
    addressed,
    as_parameter,
    called,
    inlined,
    is_address,
    is_size,
    parts,
    plain_type,
    too_deep,
    walk,
    written_root,
)


@dataclass
class Lookup:
    """One foreach loop.

    Variables are *private* (each lookup has its own: those declared within foreach; `saved` of them live across a
    switch), *shared* (read only within foreach) or *sequential* (all lookups update them; in whatever order gives the
    same)."""

    source: Source
    loop: Loop
    index: str
    count: c_ast.Node
    body: c_ast.Compound
    private: dict[str, c_ast.Decl]  # by name, without the index
    coord: object
    saved: set[str] = field(default_factory=set)
    shared: set[str] = field(default_factory=set)
    sequential: set[str] = field(default_factory=set)
    names: Names = field(default_factory=lambda: Names(set()))


def lookups_of(source: Source) -> list[Lookup]:
    """All foreach loops of the file, in its order. Raises Refusal."""
    found = []
    for loop in source.loops:
        function = source.functions[loop.function]
        nodes = [n for n in walk(function.body) if isinstance(n, c_ast.For) and _count(n) is not None]
        node = next(n for n in nodes if n.coord.line == loop.first)
        inner = [n for n in walk(node.stmt) if isinstance(n, c_ast.For) and _count(n) is not None]
        if inner:
            raise Refusal(inner[0].coord, "foreach within foreach", "make the inner one a for loop")
        found.append(_lookup(source, loop, function, node))
    return found


def _count(node: c_ast.For) -> c_ast.Node | None:
    decls = getattr(node.init, "decls", [])
    if len(decls) == 1 and called(decls[0].init) == FOREACH:
        return decls[0].init.args.exprs[0]
    return None


def _file_scope(source: Source) -> set[str]:
    found = set(source.functions) | set(source.typedefs)
    for node in source.tree.ext:
        found |= {n.name for n in walk(node) if isinstance(n, c_ast.Enumerator)}
        if isinstance(node, c_ast.Decl) and node.name:
            found.add(node.name)
    return found


def _declared_outside(
    function: c_ast.FuncDef, foreach: c_ast.For, typedefs: dict[str, c_ast.Node]
) -> dict[str, c_ast.Decl]:
    args = function.decl.type.args
    decls = [p for p in (args.params if args else []) if isinstance(p, c_ast.Decl) and p.name]
    for decl in decls:
        decl.type = as_parameter(decl.type, typedefs)
    todo: list[c_ast.Node | int] = [function.body]
    while todo[-1] is not foreach:
        node = todo.pop()
        if isinstance(node, int):  # the end of a block: how many variables there were before it
            del decls[node:]
        elif isinstance(node, c_ast.Decl):
            decls.append(node)
        else:
            todo += [len(decls)] if isinstance(node, (c_ast.Compound, *LOOPS)) else []
            todo += [child for _, child in node.children()][::-1]
    return {d.name: d for d in decls if d.name}


def _refuse_own_types(function: c_ast.FuncDef, foreach: c_ast.For) -> None:
    """Types that the function defines for itself: gopt looks at those of file scope."""
    own = {n.name for n in walk(function.body) if isinstance(n, c_ast.Typedef)}
    for node in walk(foreach.stmt):
        if isinstance(node, c_ast.IdentifierType) and node.names[-1] in own:
            raise Refusal(
                foreach.coord, f"type `{node.names[-1]}` is defined within the function", "move it to file scope"
            )


def _refuse_deep(source: Source, foreach: c_ast.For) -> None:
    bodies = {name: source.functions[name].body for name in marked_functions(source)}
    deepest = too_deep(foreach.stmt, bodies)
    if deepest is not None:
        raise Refusal(
            deepest.coord or foreach.coord,
            f"more than {DEEPEST} levels of expressions and statements within a lookup",
            "divide it, or put a part of it into a function without marks",
        )


def _refuse_own_labels(function: c_ast.FuncDef) -> set[str]:
    """The function's labels; none may be one that gopt makes."""
    labels = {n.name: n for n in walk(function.body) if isinstance(n, c_ast.Label)}
    for name, node in labels.items():
        if re.fullmatch(r"g\d*_(start|end|label_\d+|left_\d+)", name):
            raise Refusal(node.coord, f"`{name}` is a name that gopt uses", "rename it")
    return set(labels)


def _refuse_directives(source: Source, body: c_ast.Node) -> None:
    """Within helpers that have become a part of the lookup; in the loop itself the reader has looked for them."""
    for name in sorted(inlined(body) & set(source.spans)):
        span = source.spans[name]
        for number, line in enumerate(source.text_of(span.file)[span.first - 1 : span.last], span.first):
            if DIRECTIVE.match(line):
                raise Refusal(
                    f"{span.file}:{number}",
                    f"a preprocessor directive within {name}(), which has marks: only the branch that is taken now "
                    "would remain",
                    f"move it out of {name}(), around functions without marks that it calls",
                )


def _lookup(source: Source, loop: Loop, function: c_ast.FuncDef, node: c_ast.For) -> Lookup:
    _refuse_deep(source, node)
    _refuse_own_types(function, node)
    labels = _refuse_own_labels(function)
    outside = _declared_outside(function, node, source.typedefs)
    hiding = {n.name for n in walk(function.body) if isinstance(n, (c_ast.Enumerator, c_ast.Typedef))}
    taken = _file_scope(source) | set(outside) | hiding
    index = node.init.decls[0].name
    body = copy.deepcopy(node.stmt)
    renamer = Names(taken)
    new_index = renamer.fresh(index)
    declared = give_own_names(body, renamer, {index: new_index})
    body = Inliner(source, renamer, outside, hiding, function, labels).lookup(body, declared)
    private = {n.name: n for n in walk(body) if isinstance(n, c_ast.Decl) and n.name}
    lookup = Lookup(source, loop, new_index, _count(node), body, private, node.coord, names=renamer)
    _check(lookup, outside)
    _refuse_directives(source, body)
    Classifier(lookup, outside).sort()
    graph = flow.Flow(body, set(private) | {new_index})
    known = addressed_of(lookup)
    lookup.saved = flow.live_across(graph, known) | ({new_index} & known)
    for head in [n.init.decls for n in walk(body) if isinstance(n, c_ast.For) and isinstance(n.init, c_ast.DeclList)]:
        if any(d.name in lookup.saved for d in head):  # all or none: a head holds declarations or assignments
            lookup.saved |= {d.name for d in head}
    return lookup


def addressed_of(lookup: Lookup) -> set[str]:
    """Variables that a pointer may lead to: by &, or because an array became a pointer."""
    source = lookup.source
    kinds = {name: plain_type(decl.type, source.typedefs) for name, decl in lookup.private.items()}
    found = addressed(lookup.body, {name for name, kind in kinds.items() if isinstance(kind, c_ast.PtrDecl)})
    indexed: dict[str, int] = {}
    mentioned: dict[str, int] = {}
    for node in walk(lookup.body):
        if isinstance(node, c_ast.ArrayRef) and isinstance(node.name, c_ast.ID):
            indexed[node.name.name] = indexed.get(node.name.name, 0) + 1
        elif isinstance(node, c_ast.ID):
            mentioned[node.name] = mentioned.get(node.name, 0) + 1
    for name, kind in kinds.items():
        if isinstance(kind, c_ast.ArrayDecl):
            nested = has_array(kind.type, source)
            if nested or mentioned.get(name, 0) > indexed.get(name, 0):
                found.add(name)
        elif has_array(kind, source):
            found.add(name)
    return found


def has_array(kind: c_ast.Node, source: Source) -> bool:
    """Whether objects of this type are, or contain, an array."""
    kind = plain_type(kind, source.typedefs)
    if isinstance(kind, c_ast.ArrayDecl):
        return True
    if not isinstance(kind, c_ast.TypeDecl) or not isinstance(kind.type, (c_ast.Struct, c_ast.Union)):
        return False
    members = kind.type.decls or source.tags.get(kind.type.name)
    return members is None or any(has_array(m.type, source) for m in members if isinstance(m, c_ast.Decl))


def _check(lookup: Lookup, outside: dict[str, c_ast.Decl]) -> None:
    body = lookup.body
    if not any(isinstance(n, Wait) for n in walk(body)):
        raise Refusal(
            lookup.coord,
            "no access within foreach is marked",
            "write g_expensive(address); before each access that misses the caches (gopt transform --profile proposes them)",
        )
    variables = set(lookup.private) | set(outside) | {lookup.index}
    for decl in lookup.private.values():
        kind = decl.type
        while isinstance(kind, (c_ast.ArrayDecl, c_ast.PtrDecl)):
            if isinstance(kind, c_ast.ArrayDecl):
                if kind.dim is None:
                    raise Refusal(decl.coord, f"`{decl.name}` is an array without a length", "write its length")
                if _evaluated(kind.dim) & variables:
                    raise Refusal(
                        decl.coord, f"`{decl.name}` is an array of variable length", "give it the most that it can have"
                    )
            kind = kind.type
    for node in walk(body):
        if called(node) == EXPENSIVE:
            raise Refusal(node.coord, "g_expensive stands within an expression", "write it as a statement of its own")
        if called(node) in ("alloca", "__builtin_alloca", "setjmp", "_setjmp", "longjmp"):
            raise Refusal(
                node.coord, f"{called(node)}() does not go with switching lookups", "use an array, or continue"
            )
        written = written_root(node)
        if written is not None and written.name == lookup.index:
            raise Refusal(node.coord, f"the index `{lookup.index}` is changed", "copy it to a variable of the lookup")
    _refuse_literals(body)
    for node in walk(lookup.count):
        if isinstance(node, (c_ast.Assignment, c_ast.FuncCall)) or (
            isinstance(node, c_ast.UnaryOp) and node.op in ASSIGNING
        ):
            raise Refusal(lookup.coord, "the number of lookups calls or assigns", "compute it before foreach")


def _evaluated(node: c_ast.Node) -> set[str]:
    """Names in an expression, but for those of which only the size is asked."""
    if is_size(node):
        return set()
    own = {node.name} if isinstance(node, c_ast.ID) else set()
    return own.union(*(_evaluated(part) for _, part in parts(node)))


def _refuse_literals(body: c_ast.Node) -> None:
    """Compound literals that a pointer may lead to: all lookups would share one."""
    for node in walk(body):
        literal = node.expr if is_address(node) else node
        array = isinstance(literal, c_ast.CompoundLiteral) and isinstance(literal.type.type, c_ast.ArrayDecl)
        if array or (literal is not node and isinstance(literal, c_ast.CompoundLiteral)):
            where = node.coord or literal.init.coord or body.coord
            raise Refusal(where, "an address of a compound literal, which lookups would share", "declare a variable")
