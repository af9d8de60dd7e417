"""Which variables differ from lookup to lookup."""

from pycparser import c_ast

from gopt.kinds import Kinds
from gopt.tree import ASSIGNING, LOOPS, Inlined, is_address, names, parts, root, walk, within

_LEAVING = (c_ast.Break, c_ast.Goto)


class Varying:
    """`own`: the index, and variables of the lookup whose values, or the number of whose steps, may follow from it;
    others, such as the k of for (int k = 0; k < 4; ++k), or of k = f(), have the same values in all lookups, or values
    that depend on the order of lookups."""

    def __init__(self, body: c_ast.Compound, index: str, private: set[str], kinds: Kinds):
        self.private, self.kinds = private, kinds
        self.own = {index}
        self.leads: dict[str, set[str]] = {}  # variables of the lookup that others may lead to
        jumps = any(isinstance(n, c_ast.Goto) for n in walk(body))
        before = -1
        while self.size() > before:
            before = self.size()
            self.visit(body, jumps)

    def size(self) -> int:
        return len(self.own) + sum(len(leads) for leads in self.leads.values())

    def differs(self, node: c_ast.Node | None) -> bool:
        """Whether something own is in an expression. What a call gives follows from its arguments, and *p from p; only
        (*count)++ gives each lookup a number of its own."""
        if node is None:
            return False
        steps = [n.expr for n in walk(node) if isinstance(n, c_ast.UnaryOp) and n.op in ASSIGNING]
        counted = any(root(step) is None and not self.led_to(step) for step in steps)
        return counted or not self.own.isdisjoint(names(node))

    def led_to(self, node: c_ast.Node) -> set[str]:
        """The variables of the lookup that an expression's value may lead to."""
        found, elements = set(), set()
        for part in walk(node):
            if isinstance(part, c_ast.ID):
                found |= self.leads.get(part.name, set())
            if isinstance(part, c_ast.ArrayRef):
                elements.add(id(part.name))
            array = id(part) not in elements and isinstance(self.kinds.of(part), c_ast.ArrayDecl)
            start = root(part.expr if is_address(part) else part) if array or is_address(part) else None
            found |= {start.name} & self.private if start is not None else set()
        return found

    def visit(self, node: c_ast.Node, guarded: bool) -> None:
        """`guarded`: whether it depends on the lookup if, or how often, this is run."""
        if isinstance(node, (c_ast.If, c_ast.Switch, c_ast.TernaryOp, *LOOPS)):
            guarded = guarded or self.differs(node.cond)
        if isinstance(node, LOOPS) and not guarded:
            guarded = self.is_left(node.stmt, False, _LEAVING)
        if isinstance(node, Inlined) and node.end_label is not None and not guarded:
            guarded = self.is_left(node, False, _LEAVING)
        if isinstance(node, c_ast.Decl) and node.name and node.init is not None:
            self.write(node, node.init, guarded)
        elif isinstance(node, c_ast.Assignment):
            self.write(node.lvalue, node.rvalue, guarded)
        elif isinstance(node, c_ast.UnaryOp) and node.op in ASSIGNING:
            self.write(node.expr, None, guarded)
        elif isinstance(node, c_ast.FuncCall) and node.args is not None and (guarded or self.differs(node.args)):
            self.own |= self.led_to(node.args)  # it may write there what follows from the others
        skipped = isinstance(node, LOOPS) and self.is_left(node.stmt, False, c_ast.Continue)
        for slot, part in parts(node):
            self.visit(part, guarded or (skipped and slot == "stmt"))

    def write(self, target: c_ast.Node, value: c_ast.Node | None, guarded: bool) -> None:
        whole = isinstance(target, (c_ast.Decl, c_ast.ID))
        found = target if whole else root(target)
        written = {found.name} & self.private if found is not None else set()
        if not whole:
            base = target
            while (inner := within(base)) is not None:
                base = inner
            written |= self.led_to(base)
            guarded = guarded or self.differs(target)
        if guarded or self.differs(value):
            self.own |= written
        for name in written if value is not None else ():
            self.leads.setdefault(name, set()).update(self.led_to(value))

    def is_left(self, node: c_ast.Node, guarded: bool, jumps) -> bool:
        """Whether it depends on the lookup if a jump of these in `node` is taken."""
        if isinstance(node, jumps):
            return guarded
        if isinstance(node, (c_ast.If, c_ast.Switch, *LOOPS)):
            guarded = guarded or self.differs(node.cond)
        return any(self.is_left(part, guarded, jumps) for _, part in parts(node))
