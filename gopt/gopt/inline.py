"""Replaces calls of helpers that contain g_expensive by their bodies: a lookup can switch only in the batch's
function."""

import copy

from pycparser import c_ast

from gopt.errors import Refusal
from gopt.scope import Names, free_names, give_own_names
from gopt.source import EXPENSIVE, Source
from gopt.tree import (
    ASSIGNING,
    LOOPS,
    Inlined,
    Wait,
    addressed,
    as_parameter,
    called,
    changed,
    drop_const,
    identifier,
    innermost,
    is_aggregate,
    is_size,
    names,
    plain_type,
    type_text,
    walk,
)

_REMEDY = "call it in a statement of its own, and use the variable that has its result"


def marked_functions(source: Source) -> set[str]:
    """Functions of the file that contain g_expensive, or call one that does."""
    batched = {loop.function for loop in source.loops}  # are transformed themselves, and called as they are
    calls = {name: {called(n) for n in walk(f.body)} for name, f in source.functions.items() if name not in batched}
    marked = {name for name, called_here in calls.items() if EXPENSIVE in called_here}
    while True:
        more = {name for name, called_here in calls.items() if called_here & marked} - marked
        if not more:
            return marked
        marked |= more


class Inliner:
    """`outside`: variables of the batch's function that are declared outside foreach, by name. `fixed`: those of them,
    and those of the lookup, that can stand for a parameter: nobody writes them while a helper runs. `hiding`: other
    names that hide those of file scope in `function`, whose `labels` are taken."""

    def __init__(
        self, source: Source, names: Names, outside, hiding: set[str], function: c_ast.FuncDef, labels: set[str]
    ):
        self.place = next(i for i, node in enumerate(source.tree.ext) if node is function)
        self.source, self.names, self.outside = source, names, outside
        self.hiding, self.function, self.taken_labels = hiding | set(outside), function.decl.name, labels
        self.marked = marked_functions(source)
        self.kinds = {name: decl.type for name, decl in outside.items()}
        self.fixed: set[str] = set()

    def lookup(self, body: c_ast.Compound, declared: list[c_ast.Decl]) -> c_ast.Compound:
        """The body of foreach, with all marks as Wait nodes and no call of a helper that has some."""
        self.kinds |= {decl.name: decl.type for decl in declared}
        pointers = self.pointers()
        self.fixed = set(self.kinds) - addressed(body, pointers)
        self.fixed -= changed(body, pointers) & set(self.outside)
        return c_ast.Compound(self.block(body.block_items or [], ()), body.coord)

    def pointers(self) -> set[str]:
        kinds = {name: plain_type(kind, self.source.typedefs) for name, kind in self.kinds.items()}
        return {name for name, kind in kinds.items() if isinstance(kind, c_ast.PtrDecl)}

    def block(self, items: list, stack: tuple) -> list:
        out: list = []
        for item in items:
            for new in self.statement(item, stack):
                # Marks that follow one another share a switch.
                if isinstance(new, Wait) and out and isinstance(out[-1], Wait):
                    out[-1].addresses += new.addresses
                else:
                    out.append(new)
        return out

    def inner(self, node: c_ast.Node | None, stack: tuple) -> c_ast.Node | None:
        """A statement that must stay one."""
        if node is None:
            return None
        items = self.block(node.block_items or [] if isinstance(node, c_ast.Compound) else [node], stack)
        return c_ast.Compound(items, node.coord)

    def statement(self, node: c_ast.Node, stack: tuple) -> list:
        before: list = []
        if called(node) == EXPENSIVE:
            return [self.mark(node)]
        if isinstance(node, c_ast.Compound):
            return [self.inner(node, stack)]
        if isinstance(node, LOOPS):
            for part in (node.cond, getattr(node, "init", None), getattr(node, "next", None)):
                self.refuse_calls(part, "in the head of a loop")
            node.stmt = self.inner(node.stmt, stack)
        elif isinstance(node, c_ast.If):
            node.cond = self.hoist(node.cond, before, stack)
            node.iftrue, node.iffalse = self.inner(node.iftrue, stack), self.inner(node.iffalse, stack)
        elif isinstance(node, c_ast.Switch):
            node.cond = self.hoist(node.cond, before, stack)
            if not isinstance(node.stmt, c_ast.Compound):
                raise Refusal(node.coord, "a switch whose body is not in braces", "write switch (x) { ... }")
            node.stmt = self.inner(node.stmt, stack)
        elif isinstance(node, (c_ast.Case, c_ast.Default)):
            node.stmts = self.block(node.stmts or [], stack)
        elif isinstance(node, c_ast.Label):
            inside = self.statement(node.stmt, stack)
            return [c_ast.Label(node.name, c_ast.EmptyStatement(node.coord), node.coord), *inside]
        elif isinstance(node, c_ast.Return):
            if node.expr is not None:
                node.expr = self.hoist(node.expr, before, stack)
        elif isinstance(node, c_ast.Decl):
            return self.declaration(node, stack)
        elif isinstance(node, c_ast.Assignment) and node.op == "=" and isinstance(node.lvalue, c_ast.ID):
            if self.is_marked(node.rvalue):
                return [self.expand(node.rvalue, node.lvalue, stack)]
            node.rvalue = self.hoist(node.rvalue, before, stack)
        elif self.is_marked(node):
            return [self.expand(node, None, stack)]
        elif isinstance(node, c_ast.Cast) and self.is_marked(node.expr):  # (void)f(x);
            return [self.expand(node.expr, None, stack)]
        else:
            node = self.hoist(node, before, stack)
        return [*before, node]

    def mark(self, node: c_ast.FuncCall) -> Wait:
        addresses = node.args.exprs if node.args else []
        if len(addresses) != 1:
            raise Refusal(node.coord, f"g_expensive has {len(addresses)} arguments", "write g_expensive(address)")
        for part in walk(addresses[0]):
            effect = isinstance(part, (c_ast.Assignment, c_ast.FuncCall))
            if effect or (isinstance(part, c_ast.UnaryOp) and part.op in ASSIGNING):
                raise Refusal(
                    node.coord,
                    "the address of g_expensive calls or assigns, which would happen only in the transformed code",
                    "compute the address in a variable first",
                )
        return Wait(list(addresses), node.coord)

    def is_marked(self, node: c_ast.Node) -> bool:
        return called(node) in self.marked

    def refuse_calls(self, node: c_ast.Node | None, place: str) -> None:
        for part in walk(node) if node is not None else ():
            if called(part) == EXPENSIVE:
                raise Refusal(part.coord, f"g_expensive stands {place}", "write it as a statement of its own")
            if self.is_marked(part):
                raise Refusal(part.coord, f"{called(part)}(), which has marks, is called {place}", _REMEDY)

    def declaration(self, node: c_ast.Decl, stack: tuple) -> list:
        if node.init is None:
            return [node]
        before: list = []
        if self.is_marked(node.init):
            init, node.init = node.init, None
            drop_const(node.type)
            return [node, self.expand(init, identifier(node.name, node.coord), stack)]
        node.init = self.hoist(node.init, before, stack)
        return [*before, node]

    def hoist(self, node: c_ast.Node, before: list, stack: tuple) -> c_ast.Node:
        """Moves calls of marked helpers out of an expression, to `before`. The order of operands is C's to choose, but
        not that of what follows &&, ||, ?: and the comma."""
        if called(node) == EXPENSIVE:
            raise Refusal(node.coord, "g_expensive stands within an expression", "write it as a statement of its own")
        if isinstance(node, c_ast.BinaryOp) and node.op in ("&&", "||"):
            node.left = self.hoist(node.left, before, stack)
            self.refuse_calls(node.right, f"behind {node.op}")
        elif isinstance(node, c_ast.TernaryOp):
            node.cond = self.hoist(node.cond, before, stack)
            self.refuse_calls(node.iftrue, "behind ?"), self.refuse_calls(node.iffalse, "behind :")
        elif isinstance(node, c_ast.ExprList):
            node.exprs[0] = self.hoist(node.exprs[0], before, stack)
            for expr in node.exprs[1:]:
                self.refuse_calls(expr, "behind a comma")
        elif is_size(node):
            return node  # nothing is called
        elif self.is_marked(node) and _is_void(self.source.functions[called(node)]):
            before.append(self.expand(node, None, stack))
            return c_ast.Cast(c_ast.Typename(None, [], None, _void()), c_ast.Constant("int", "0"), node.coord)
        elif self.is_marked(node):
            kind = copy.deepcopy(self.source.functions[called(node)].decl.type.type)
            drop_const(kind)
            name = self.names.fresh(called(node) + "_result")
            innermost(kind).declname = name
            self.kinds[name] = kind
            before.append(c_ast.Decl(name, [], [], [], [], kind, None, None, node.coord))
            before.append(self.expand(node, identifier(name, node.coord), stack))
            return identifier(name, node.coord)
        elif isinstance(node, c_ast.FuncCall):
            if node.args:
                node.args.exprs = [self.hoist(arg, before, stack) for arg in node.args.exprs]
        else:
            for slot in node.__slots__:
                value = getattr(node, slot, None)
                if isinstance(value, c_ast.Node):
                    setattr(node, slot, self.hoist(value, before, stack))
                elif isinstance(value, list):
                    setattr(
                        node, slot, [self.hoist(v, before, stack) if isinstance(v, c_ast.Node) else v for v in value]
                    )
        return node

    # ---- one call ----

    def expand(self, call: c_ast.FuncCall, target: c_ast.ID | None, stack: tuple) -> Inlined:
        name = called(call)
        if name in stack:
            raise Refusal(call.coord, f"{name}() has marks and calls itself", "write the recursion as a loop")
        helper = copy.deepcopy(self.source.functions[name])
        if name in self.source.lost:
            raise self.source.lost[name].refusal
        if helper.param_decls:
            raise Refusal(call.coord, f"{name}() has its parameters' types behind ( )", "write them within")
        listed = helper.decl.type.args.params if helper.decl.type.args else []
        if any(isinstance(p, c_ast.EllipsisParam) for p in listed):
            raise Refusal(call.coord, f"{name}() has marks and takes any number of arguments", "give it a fixed number")
        args = [] if call.args is None else call.args.exprs
        before: list = []
        args = [self.hoist(arg, before, stack) for arg in args]
        scope, items = self.bind(helper, args, call)
        free = free_names(helper.body, set(scope))
        if free & {"__func__", "__FUNCTION__", "__PRETTY_FUNCTION__"}:
            raise Refusal(
                call.coord, f"{name}() has marks and uses its own name, __func__", "write the name as a string"
            )
        hidden = sorted(free & self.hiding)
        order = self.source.order
        late = sorted(n for n in free if order.get(n, -1) > self.place)
        if late:
            raise Refusal(
                call.coord,
                f"{name}() uses `{late[0]}`, which is declared behind {self.function}()",
                f"move {name}(), and what it uses, before {self.function}()",
            )
        if hidden:
            raise Refusal(
                call.coord,
                f"{name}() uses `{hidden[0]}` of file scope, which a variable here hides",
                "rename that variable",
            )
        for decl in give_own_names(helper.body, self.names, scope):
            self.kinds[decl.name] = decl.type
            self.fixed.add(decl.name)
        self.fixed -= addressed(helper.body, self.pointers())
        number = self.number_for([f"{name}_end", *(n.name for n in walk(helper.body) if isinstance(n, c_ast.Label))])
        self.own_labels(helper.body, f"_{number}")
        end_label = f"{name}_end_{number}"
        body = self.block(helper.body.block_items or [], (*stack, name))
        self.returns(body, target, helper.decl.type.type, end_label, last=True)
        inlined = Inlined(name, None, [*before, *items, *body], call.coord)
        if any(isinstance(n, c_ast.Goto) and n.name == end_label for n in walk(inlined)):
            inlined.end_label = end_label
        return inlined

    def bind(self, helper: c_ast.FuncDef, args: list, call: c_ast.FuncCall) -> tuple[dict[str, str], list]:
        """Parameters become the variables that are passed, or new ones."""
        listed = helper.decl.type.args.params if helper.decl.type.args else []
        params = [p for p in listed if isinstance(p, c_ast.Decl)]
        if len(params) != len(args):
            raise Refusal(
                call.coord,
                f"{called(call)}() takes {len(params)} arguments, not {len(args)}",
                "pass as many as it takes, or include what declares another function of this name",
            )
        for param in params:
            param.type = as_parameter(param.type, self.source.typedefs)
        written = changed(helper.body, {p.name for p in params if isinstance(p.type, c_ast.PtrDecl)})
        pointed = {n for part in walk(helper.body) if is_size(part) for n in names(part)} | _tested(helper.body)
        scope: dict[str, str] = {}
        items: list = []
        for param, arg in zip(params, args, strict=True):
            kind = param.type
            drop_const(kind)
            if (
                isinstance(arg, c_ast.ID)
                and arg.name in self.fixed
                and param.name not in written
                and not (param.name in pointed and self.is_array(arg.name))
                and self.same_value(self.kinds[arg.name], kind)
            ):
                scope[param.name] = arg.name
                continue
            scope[param.name] = name = self.names.fresh(param.name)
            innermost(kind).declname = name
            self.kinds[name] = kind
            if param.name not in written:
                self.fixed.add(name)
            items.append(c_ast.Decl(name, [], [], [], [], kind, arg, None, call.coord))
        return scope, items

    def is_array(self, name: str) -> bool:
        return isinstance(plain_type(self.kinds[name], self.source.typedefs), c_ast.ArrayDecl)

    def same_value(self, given: c_ast.Node, wanted: c_ast.Node) -> bool:
        """Whether a variable of type `given` can be read in place of a parameter of type `wanted`."""
        if isinstance(given, (c_ast.PtrDecl, c_ast.ArrayDecl)) and isinstance(wanted, c_ast.PtrDecl):
            given, wanted = given.type, wanted.type
        pair = [" ".join(w for w in type_text(kind).split() if w != "const") for kind in (given, wanted)]
        return pair[0] == pair[1]

    def number_for(self, labels: list[str]) -> int:
        """What to append to the labels of one more helper within the function."""
        number = self.source.labels.get(self.function, 0) + 1
        while any(f"{label}_{number}" in self.taken_labels for label in labels):
            number += 1
        self.source.labels[self.function] = number
        return number

    def own_labels(self, body: c_ast.Node, suffix: str) -> None:
        for node in walk(body):
            if isinstance(node, (c_ast.Label, c_ast.Goto)):
                node.name += suffix

    def returns(self, items: list, target: c_ast.ID | None, kind: c_ast.Node, end_label: str, last: bool) -> None:
        """Turns return statements into assignments to `target` and jumps; none at the very end (`last`)."""
        for i, item in enumerate(items):
            at_end = last and i == len(items) - 1
            if isinstance(item, c_ast.Return):
                new: list = []
                if item.expr is not None and target is not None:
                    value = item.expr
                    same = target.name in self.kinds and type_text(self.kinds[target.name]) == type_text(kind)
                    if not same and not is_aggregate(kind, self.source.typedefs):
                        value = c_ast.Cast(c_ast.Typename(None, [], None, _nameless(kind)), value, item.coord)
                    new.append(c_ast.Assignment("=", copy.copy(target), value, item.coord))
                elif item.expr is not None:
                    new.append(c_ast.Cast(c_ast.Typename(None, [], None, _void()), item.expr, item.coord))
                if not at_end:
                    new.append(c_ast.Goto(end_label, item.coord))
                if len(new) == 1:
                    items[i] = new[0]
                else:
                    items[i] = c_ast.Compound(new, item.coord) if new else c_ast.EmptyStatement(item.coord)
            else:
                self.returns_below(item, target, kind, end_label, at_end)

    def returns_below(self, item: c_ast.Node, target, kind, end_label: str, last: bool) -> None:
        if isinstance(item, c_ast.Compound):
            self.returns(item.block_items or [], target, kind, end_label, last)
        elif isinstance(item, c_ast.If):
            for branch in (item.iftrue, item.iffalse):
                if branch is not None:
                    self.returns(branch.block_items, target, kind, end_label, last)
        elif isinstance(item, (c_ast.Switch, *LOOPS)):
            self.returns(item.stmt.block_items, target, kind, end_label, False)
        elif isinstance(item, (c_ast.Case, c_ast.Default)):
            self.returns(item.stmts, target, kind, end_label, False)


def _tested(body: c_ast.Node) -> set[str]:
    """Variables of which it is asked whether they are 0: for an array compilers know, and warn."""
    found: list = []
    for node in walk(body):
        if isinstance(node, c_ast.UnaryOp) and node.op == "!":
            found.append(node.expr)
        elif isinstance(node, c_ast.BinaryOp) and node.op in ("&&", "||", "==", "!="):
            found += [node.left, node.right]
        elif isinstance(node, (c_ast.If, c_ast.TernaryOp, *LOOPS)):
            found.append(node.cond)
    return {node.name for node in found if isinstance(node, c_ast.ID)}


def _void() -> c_ast.TypeDecl:
    return c_ast.TypeDecl(None, [], None, c_ast.IdentifierType(["void"]))


def _is_void(function: c_ast.FuncDef) -> bool:
    kind = function.decl.type.type
    return isinstance(kind, c_ast.TypeDecl) and getattr(kind.type, "names", None) == ["void"]


def _nameless(kind: c_ast.Node) -> c_ast.Node:
    kind = copy.deepcopy(kind)
    innermost(kind).declname = None
    return kind
