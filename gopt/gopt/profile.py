"""Proposes marks: which accesses of a lookup wait for memory, by what perf has sampled."""

import difflib
import re
from collections import Counter
from pathlib import Path

from pycparser import c_ast

from gopt.errors import Refusal
from gopt.inline import EXPENSIVE
from gopt.source import Source, read
from gopt.tree import called, parts, text_of, too_deep, walk, whole

SHARE = 0.05  # of all samples in the file: less is not worth a switch

# perf annotate --stdio -l:   "  97.67 :   1233:   sub    $0x1,%edx // t.c:4"
_INSTRUCTION = re.compile(
    r"^\s*(?P<percent>\d+\.\d+)\s*:\s*[0-9a-f]+:\s+(?P<text>[^/]*)(?://\s*(?P<file>\S+):(?P<line>\d+))?"
)
_SOURCE = re.compile(r"^\s*:\s*(?P<line>\d+)\s{2,}\S")
_READS = re.compile(r"\(%\w+|\[\w+")  # AT&T, Intel
_EMPTY = re.compile(r"^\s*(lea|nop|prefetch)")
# perf script -F ip,sym,srcline:   an address and a symbol, then "  t.c:4"
_SRCLINE = re.compile(r"^\s+(?P<file>\S+):(?P<line>\d+)\s*$")


def samples_of(path: str, source: str) -> Counter:
    """Samples (or percents of them) by line of `source`, from what perf printed. A sample that falls on the instruction
    behind one that reads memory was waiting for that one."""
    try:
        text = Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise Refusal(path, f"cannot be read: {error}", "name a file that perf has written") from None
    name = Path(source).name
    found: Counter = Counter()
    reader, known, line = None, False, 0  # the line of the instruction before, if that reads memory
    own, others = False, set()  # whether instructions belong to the file; to which others
    for text_line in text.splitlines():
        instruction, listed, script = _INSTRUCTION.match(text_line), _SOURCE.match(text_line), _SRCLINE.match(text_line)
        if instruction:
            known = True
            if instruction["line"] and Path(instruction["file"]).name == name:
                line, own = int(instruction["line"]), True
            elif instruction["line"]:
                others.add(Path(instruction["file"]).name)
            found[reader or line] += float(instruction["percent"])
            reads = _READS.search(instruction["text"]) and not _EMPTY.match(instruction["text"])
            reader = line if reads else None
        elif listed:
            line = int(listed["line"])
        elif script and Path(script["file"]).name == name:
            found[int(script["line"])] += 1
    if others and not own:
        raise Refusal(
            path, f"no samples of {name}, but of {', '.join(sorted(others))}", f"perf annotate a function of {name}"
        )
    if not found and not known:
        raise Refusal(
            path,
            f"no samples of {name}",
            "compile with -g, and write what `perf annotate --stdio -l FUNCTION` or `perf script -F ip,sym,srcline` prints",
        )
    return found


class _Access:
    """A statement at `line` that reads memory through a pointer at `address`."""

    def __init__(self, line: int, address: str, function: str):
        self.line, self.address, self.function = line, address, function


def _read_addresses(node: c_ast.Node, addressed: bool = False) -> list[str]:
    """Addresses that evaluating `node` surely reads, the innermost first; & and sizeof read nothing themselves."""
    if isinstance(node, c_ast.Assignment):
        own = _read_addresses(node.rvalue) + _read_addresses(node.lvalue, node.op == "=")
        return own
    if isinstance(node, c_ast.UnaryOp) and node.op == "&":
        return _read_addresses(node.expr, True)
    if isinstance(node, c_ast.UnaryOp) and node.op == "sizeof":
        return []
    if isinstance(node, c_ast.TernaryOp):
        return _read_addresses(node.cond)
    if isinstance(node, c_ast.BinaryOp) and node.op in ("&&", "||"):
        return _read_addresses(node.left)
    inner = [a for _, part in parts(node) for a in _read_addresses(part, _same_object(node))]
    if addressed:
        return inner
    if isinstance(node, c_ast.ArrayRef):
        return [*inner, f"&{text_of(node)}"]
    if isinstance(node, c_ast.StructRef) and node.type == "->":
        return [*inner, text_of(node.name)]
    if isinstance(node, c_ast.UnaryOp) and node.op == "*":
        return [*inner, text_of(node.expr)]
    return inner


def _same_object(node: c_ast.Node) -> bool:
    return isinstance(node, c_ast.StructRef) and node.type == "."


def accesses_of(source: Source) -> list[_Access]:
    """Statements, in the file's order, that read memory and stand where a mark can be put before them."""
    out: list[_Access] = []
    for name, function in source.functions.items():
        if function.coord.file != source.path:
            continue
        for node in whole(function.body):
            out += _accesses_in(node, name)
    return out


def _accesses_in(block: c_ast.Node, function: str) -> list[_Access]:
    out = []
    items = block.block_items if isinstance(block, c_ast.Compound) else getattr(block, "stmts", None)
    before = block.coord.line if block.coord is not None else 0  # a mark can only precede what begins a line
    for item in items or []:
        begins, before = item.coord.line > before, item.coord.line
        heads = {c_ast.If: "cond", c_ast.Switch: "cond", c_ast.Return: "expr", c_ast.Decl: "init"}
        plain = (c_ast.Assignment, c_ast.FuncCall, c_ast.UnaryOp)
        read_here = (
            getattr(item, heads[type(item)]) if type(item) in heads else item if isinstance(item, plain) else None
        )
        if begins and read_here is not None and called(item) != EXPENSIVE and too_deep(read_here) is None:
            for address in _read_addresses(read_here):
                if not re.search(r"\+\+|--|[\w)]\s*\(|[^=!<>]=[^=]", address):  # no effects, no calls
                    out.append(_Access(item.coord.line, address, function))
    return out


def propose(path: str, flags: list[str], profile: str) -> str:
    """A patch (unified diff) of the file `path` that adds marks before the accesses that samples say are expensive."""
    source = read(path, flags, all_bodies=True)
    samples = samples_of(profile, path)
    total = sum(samples.values())
    if total == 0:
        raise Refusal(profile, f"no samples of {Path(path).name}", "sample for longer, while lookups run")
    marked = {n.coord.line for f in source.functions.values() for n in walk(f.body) if called(n) == EXPENSIVE}
    accesses = accesses_of(source)
    by_line: dict[int, list[_Access]] = {}
    for access in accesses:
        by_line.setdefault(access.line, []).append(access)
    lines, notes = list(source.lines), []
    for line, count in sorted(samples.items(), reverse=True):
        if count < SHARE * total:
            continue
        if line not in by_line:
            notes.append(
                f"# {path}:{line}: {count / total:.0%} of samples, but no access there that a mark could precede; samples may "
                "fall behind the access that they wait for: perf annotate --stdio -l tells more than perf script\n"
            )
            continue
        if line - 1 in marked:
            continue
        access = by_line[line][-1]  # the outermost: what it takes to get there has samples of its own
        indent = re.match(r"\s*", lines[line - 1])[0]
        mark = f"{indent}g_expensive({access.address}); // {count / total:.0%} of samples{source.line_end}"
        lines.insert(line - 1, mark)
    diff = difflib.unified_diff(source.lines, lines, path, path)
    return "".join(reversed(notes)) + "".join(diff)
