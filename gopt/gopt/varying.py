"""Which variables differ from lookup to lookup."""

from pycparser import c_ast

from gopt.tree import ASSIGNING, LOOPS, Inlined, addressed, parts, root, walk

_LEAVING = (c_ast.Break, c_ast.Goto)


class Varying:
    """`own`: the index, and variables of the lookup whose values, or the number of whose steps, may follow from it;
    others, such as the k of for (int k = 0; k < 4; ++k), have the same values in all lookups."""

    def __init__(self, body: c_ast.Compound, index: str, private: set[str]):
        self.private = private
        self.own = {index} | (addressed(body) & private)
        jumps = any(isinstance(n, c_ast.Goto) for n in walk(body))
        before = 0
        while len(self.own) > before:
            before = len(self.own)
            self.visit(body, jumps)

    def differs(self, node: c_ast.Node | None) -> bool:
        """Whether an expression may have another value in each lookup. What a call or a pointer gives may change from
        one lookup to the next."""
        for part in walk(node) if node is not None else ():
            if isinstance(part, c_ast.ID) and part.name in self.own:
                return True
            effect = isinstance(part, (c_ast.Assignment, c_ast.FuncCall)) or getattr(part, "op", None) in ASSIGNING
            if effect or (isinstance(part, c_ast.UnaryOp) and part.op == "*") or getattr(part, "type", None) == "->":
                return True
        return False

    def visit(self, node: c_ast.Node, guarded: bool) -> None:
        """`guarded`: whether it depends on the lookup if, or how often, this is run."""
        if isinstance(node, (c_ast.If, c_ast.Switch, c_ast.TernaryOp, *LOOPS)):
            guarded = guarded or self.differs(node.cond)
        if isinstance(node, LOOPS) and not guarded:
            guarded = self.is_left(node.stmt, False, _LEAVING)
        if isinstance(node, Inlined) and node.end_label is not None and not guarded:
            guarded = self.is_left(node, False, _LEAVING)
        if isinstance(node, c_ast.Decl) and node.name and node.init is not None:
            self.write(node.name, node.init, guarded)
        elif isinstance(node, c_ast.Assignment):
            found = root(node.lvalue)
            self.write(found and found.name, node.rvalue, guarded)
        elif isinstance(node, c_ast.UnaryOp) and node.op in ASSIGNING:
            found = root(node.expr)
            self.write(found and found.name, None, guarded)
        skipped = isinstance(node, LOOPS) and self.is_left(node.stmt, False, c_ast.Continue)
        for slot, part in parts(node):
            self.visit(part, guarded or (skipped and slot == "stmt"))

    def write(self, name: str | None, value: c_ast.Node | None, guarded: bool) -> None:
        if name in self.private and (guarded or self.differs(value)):
            self.own.add(name)

    def is_left(self, node: c_ast.Node, guarded: bool, jumps) -> bool:
        """Whether it depends on the lookup if a jump of these in `node` is taken."""
        if isinstance(node, jumps):
            return guarded
        if isinstance(node, (c_ast.If, c_ast.Switch, *LOOPS)):
            guarded = guarded or self.differs(node.cond)
        return any(self.is_left(part, guarded, jumps) for _, part in parts(node))
