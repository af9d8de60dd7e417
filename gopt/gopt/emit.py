"""Writes statements as C, each where `#line` says it comes from."""

import re

from pycparser import c_ast

from gopt.lookup import Lookup
from gopt.source import Source
from gopt.tree import LOOPS, Inlined, Wait, declarator, inlined, text_of, walk

_LOOP_PRAGMA = re.compile(r"(GCC\s+)?(ivdep|(no)?unroll(_and_jam)?|simd)\b|clang\s+loop\b|omp\b.*\bsimd\b")


class Lines:
    """Output, and the line of input that the next line of it stands for."""

    def __init__(self, source: Source):
        self.source = source
        self.out: list[str] = []
        self.file, self.line = "", 0
        self.joinable = False  # whether the last line comes from a line of input

    def at(self, file: str, line: int) -> None:
        """Says that the next line comes from there."""
        if (file, line) == (self.file, self.line):
            return
        between = self.source.lines[self.line - 1 : line - 1]
        ahead = file == self.file == self.source.path and 0 < line - self.line <= 8
        if ahead and all(_is_comment(text) for text in between):
            self.out += [text.rstrip() for text in between]
        else:
            name = file.replace("\\", "\\\\").replace('"', '\\"')
            self.out.append(f'#line {line} "{name}"')
        self.file, self.line = file, line

    def put(self, text: str, depth: int = 0, coord=None, joins: bool = True) -> None:
        """A line, or more on the last one when that comes from the same line of input."""
        if coord is not None and joins and self.joinable and (coord.file, coord.line) == (self.file, self.line - 1):
            self.out[-1] += " " + text
            return
        self.joinable = coord is not None
        if coord is not None:
            self.at(coord.file, coord.line)
        self.out.append("  " * depth + text if text else "")
        self.line += 1

    def close(self, text: str, depth: int, opened: int) -> None:
        """The end of what began on output line `opened`."""
        if opened == len(self.out) - 1:
            self.out[-1] += " " + text
        else:
            self.put(text, depth)


def _is_comment(text: str) -> bool:
    text = text.strip()
    whole = text.startswith("/*") and text.endswith("*/") and "*/" not in text[2:-2]
    return not text or text.startswith("//") or whole


class Printer:
    """Statements of a lookup. Back ends override wait(), declaration() and what else they write differently."""

    def __init__(self, lookup: Lookup, lines: Lines):
        self.lookup, self.lines = lookup, lines
        self.falling: set[int] = set()  # case labels, by id, from which control falls through

    def wait(self, node: Wait, depth: int) -> None:
        raise NotImplementedError

    def declaration(self, node: c_ast.Decl) -> str:
        """Without the semicolon; empty for none."""
        return text_of(node)

    def block(self, items: list, depth: int) -> None:
        for item in without_loop_pragmas(items):
            self.statement(item, depth)

    def body(self, head: str, node: c_ast.Node | None, depth: int, coord, tail: str = "}", joins: bool = True) -> None:
        """`head {`, a statement, and `tail`."""
        self.lines.put(head + " {", depth, coord, joins)
        opened = len(self.lines.out) - 1
        while type(node) is c_ast.Compound and [type(i) for i in node.block_items or []] == [c_ast.Compound]:
            node = node.block_items[0]
        if isinstance(node, c_ast.Compound) and not isinstance(node, Inlined):
            self.block(node.block_items or [], depth + 1)
        elif node is not None and not isinstance(node, c_ast.EmptyStatement):
            self.statement(node, depth + 1)
        self.lines.close(tail, depth, opened)

    def statement(self, node: c_ast.Node, depth: int) -> None:
        handler = getattr(self, "on_" + type(node).__name__.lower(), None)
        if isinstance(node, Wait):
            self.wait(node, depth)
        elif handler:
            handler(node, depth)
        else:
            self.lines.put(text_of(node).rstrip(";") + ";", depth, node.coord)

    def on_decl(self, node: c_ast.Decl, depth: int) -> None:
        text = self.declaration(node)
        if text:
            self.lines.put(text + ";", depth, node.coord)

    def on_compound(self, node: c_ast.Compound, depth: int) -> None:
        self.body("", node, depth, node.coord)
        self.lines.out[-1] = self.lines.out[-1].replace("  " * depth + " {", "  " * depth + "{", 1)

    def on_inlined(self, node: Inlined, depth: int) -> None:
        self.lines.put(f"{{ /* {node.name}() */", depth, node.coord)
        opened = len(self.lines.out) - 1
        self.block(node.block_items or [], depth + 1)
        self.lines.close("}" + (f" {node.end_label}:;" if node.end_label else ""), depth, opened)

    def on_if(self, node: c_ast.If, depth: int, start: str = "") -> None:
        joins = not start.startswith("}")
        self.body(f"{start}if ({condition(node.cond)})", node.iftrue, depth, node.coord, joins=joins)
        other = _else_if(node)
        if other is not None and self.lines.out[-1].strip() == "}":
            self.lines.out.pop()
            self.lines.line -= 1
            self.on_if(other, depth, "} else ")
        elif other is not None:  # the whole if is on one line
            self.on_if(other, depth, "else ")
        elif node.iffalse is not None:
            tail = self.lines.out.pop()
            before_else, self.lines.line = len(self.lines.out), self.lines.line - 1
            self.lines.put(tail.strip() + " else {", depth)
            if tail.strip() != "}":  # the whole if is on one line
                self.lines.out[-1] = tail + " else {"
            items = node.iffalse.block_items or [] if type(node.iffalse) is c_ast.Compound else [node.iffalse]
            self.block([i for i in items if not isinstance(i, c_ast.EmptyStatement)], depth + 1)
            self.lines.close("}", depth, before_else)

    def on_while(self, node: c_ast.While, depth: int) -> None:
        self.body(f"while ({condition(node.cond)})", node.stmt, depth, node.coord)

    def on_dowhile(self, node: c_ast.DoWhile, depth: int) -> None:
        self.body("do", node.stmt, depth, node.coord, f"}} while ({condition(node.cond)});")

    def on_for(self, node: c_ast.For, depth: int) -> None:
        self.body(f"for ({self.for_head(node)})", node.stmt, depth, node.coord)

    def for_head(self, node: c_ast.For) -> str:
        init = node.init
        if isinstance(init, c_ast.DeclList):
            each = [self.declaration(d) for d in init.decls]
            declares = each[0] == text_of(init.decls[0])
            if declares:
                first = ", ".join([text_of(init.decls[0]), *(declarator(decl) for decl in init.decls[1:])])
            else:
                first = ", ".join(text for text in each if text)
        else:
            first = text_of(init) if init is not None else ""
        cond = " " + text_of(node.cond) if node.cond is not None else ""
        after = " " + text_of(node.next) if node.next is not None else ""
        return f"{first};{cond};{after}"

    def on_switch(self, node: c_ast.Switch, depth: int) -> None:
        items = node.stmt.block_items or []
        cases = [i for i in items if isinstance(i, (c_ast.Case, c_ast.Default))]
        self.falling |= {id(one) for one in cases[:-1] if _falls_through(one)}
        if cases and cases[-1] is items[-1] and not _statements(cases[-1]):
            items[-1].stmts = [c_ast.Break(items[-1].coord)]  # a label needs a statement
        self.body(f"switch ({text_of(node.cond)})", node.stmt, depth, node.coord)

    def on_case(self, node: c_ast.Case, depth: int) -> None:
        self.case(f"case {text_of(node.expr)}:", node, depth)

    def on_default(self, node: c_ast.Default, depth: int) -> None:
        self.case("default:", node, depth)

    def case(self, label: str, node: c_ast.Node, depth: int) -> None:
        items = _statements(node)
        declares = items and isinstance(items[0], c_ast.Decl)
        self.lines.put(label + (";" if declares else ""), depth, node.coord)
        self.block(items, depth + 1)
        if id(node) in self.falling:
            self.lines.put("__attribute__((fallthrough));", depth + 1)

    def on_label(self, node: c_ast.Label, depth: int) -> None:
        self.lines.put(f"{node.name}:;", depth, node.coord)
        self.statement(node.stmt, depth)

    def on_emptystatement(self, node: c_ast.EmptyStatement, depth: int) -> None:
        pass

    def on_pragma(self, node: c_ast.Pragma, depth: int) -> None:
        self.lines.put(f"#pragma {node.string}", 0, node.coord, joins=False)
        self.lines.joinable = False  # _Pragma may share its line with a statement


def without_loop_pragmas(items: list) -> list:
    """Statements without what compilers are told about loops that switch: they cannot unroll or vectorise those."""
    kept: list = []
    before_switching = False
    for item in reversed(items):
        switches = isinstance(item, LOOPS) and any(isinstance(n, Wait) for n in walk(item))
        if isinstance(item, c_ast.Pragma) and _LOOP_PRAGMA.match(item.string) and before_switching:
            continue
        before_switching = switches
        kept.append(item)
    return kept[::-1]


def _else_if(node: c_ast.If) -> c_ast.If | None:
    """What follows `else` if it is an if and nothing more."""
    other = node.iffalse
    if type(other) is c_ast.Compound and len(other.block_items or []) == 1:
        other = other.block_items[0]
    return other if isinstance(other, c_ast.If) else None


def _statements(case: c_ast.Case | c_ast.Default) -> list:
    return [i for i in case.stmts or [] if not isinstance(i, c_ast.EmptyStatement)]


def _falls_through(case: c_ast.Case | c_ast.Default) -> bool:
    """Whether it ends in something that goes on, as far as one can see."""
    last: list = _statements(case)
    while last and isinstance(last[-1], c_ast.Compound):
        last = last[-1].block_items or []
    return bool(last) and not isinstance(last[-1], (c_ast.Break, c_ast.Continue, c_ast.Goto, c_ast.Return))


def condition(node: c_ast.Node) -> str:
    text = text_of(node)
    return f"({text})" if isinstance(node, c_ast.Assignment) else text


def mention_inlined(lookup: Lookup, lines: Lines, depth: int) -> None:
    """Helpers whose calls are all inlined stay in the file: compilers must not call them unused."""
    helpers = sorted(inlined(lookup.body))
    if helpers:
        lines.put(" ".join(f"(void){name};" for name in helpers) + " /* inlined below */", depth)


def summary(lookup: Lookup, saved: set[str]) -> str:
    """What became of the variables, for a comment."""
    groups = {
        "saved": saved,
        "not saved": (set(lookup.private) | {lookup.index}) - saved,
        "shared": lookup.shared,
        "sequential": lookup.sequential,
    }
    return "; ".join(
        f"{group}: {', '.join(sorted(group_names))}" for group, group_names in groups.items() if group_names
    )
