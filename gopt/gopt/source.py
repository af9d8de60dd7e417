"""Reads a C file: through the compiler's preprocessor into pycparser, with each line's origin."""

import os
import re
import shlex
import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path

from pycparser import c_ast
from pycparser.c_parser import CParser, ParseError

from gopt.errors import Refusal
from gopt.macros import Macro, defined_at, take_macros
from gopt.tree import called, tag_of, whole

INCLUDE = Path(__file__).parent / "include"
ENCODING = {"encoding": "utf-8", "errors": "surrogateescape"}  # other bytes come out as they went in
FOREACH, EXPENSIVE = "__gopt_foreach", "__gopt_expensive"

# GNU words that pycparser does not know, and what is as good here, not longer: the output is the input's text but for
# lookups.
_GNU = {
    "__extension__": "",
    "__restrict": "restrict",
    "__restrict__": "restrict",
    "__inline": "inline",
    "__inline__": "inline",
    "__volatile__": "volatile",
    "__const": "const",
    "__signed__": "signed",
    "__alignof__": "_Alignof",
    "__alignof": "_Alignof",
    "_Noreturn": "",
    "__thread": "",  # lookups declare nothing static
    "_Float32": "float",
    "_Float32x": "double",
    "_Float64": "double",
}
_UNKNOWN = "a type that gopt does not know"
# Words that pycparser does not know and that go, with the parentheses behind them, or become another: not within
# lookups, which are printed from the tree.
_LOST = {
    "__attribute__": ("", "attributes within a lookup would be lost", "put them on a type or function at file scope"),
    "__asm__": ("", "assembler within a lookup would be lost", "put it into a function without marks"),
    "__asm": ("", "assembler within a lookup would be lost", "put it into a function without marks"),
    "asm": ("", "assembler within a lookup would be lost", "put it into a function without marks"),
    **{word: ("double", _UNKNOWN, "name the type") for word in ("__typeof__", "__typeof", "typeof", "__auto_type")},
    **{
        word: ("double", _UNKNOWN, "put what uses it into a function without marks")
        for word in ("_Float16", "__bf16", "_Float64x", "_Float128", "__float128")
    },
}
_CALLED = ("__attribute__", "__asm__", "__asm", "asm", "__typeof__", "__typeof", "typeof")  # with what is in ( ) behind
_FALLS = ("__attribute__((fallthrough))", "__attribute__((__fallthrough__))")  # back ends write it themselves
_OFFSETOF = "__builtin_offsetof"  # pycparser knows offsetof(type, member)
_TOKEN = re.compile(
    r"""(?P<marker>^\#\s*(?:line\s+)?(?P<line>\d+)\s+"(?P<file>(?:[^"\\]|\\.)*)"(?P<flags>[^\n]*)$)
      |(?P<directive>^\#[^\n]*$) |(?P<newline>\n) |(?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
      |(?P<word>[A-Za-z_$][\w$]*) |(?P<number>\.?\d(?:[\w.]|[eEpP][+-])*) |(?P<space>[ \t\f\v\r]+) |(?P<mark>.)""",
    re.VERBOSE | re.MULTILINE,
)


@dataclass
class Token:
    text: str
    file: str
    line: int
    start: int  # offset in the preprocessed text
    end: int
    system: bool


@dataclass
class Item:
    """A declaration or definition at file scope: its tokens [first, last], and where its body starts (None: no
    function)."""

    first: int
    last: int
    body: int | None


@dataclass
class Span:
    """Where a function stands: in lines [first, last] of `file`, and where it starts in the preprocessed text."""

    file: str
    first: int
    last: int
    start: int


@dataclass
class Lost:
    """Something that the tree does not say: lookups that contain it are refused."""

    token: Token
    reason: str
    remedy: str
    text: str = ""  # what goes

    @property
    def refusal(self) -> Refusal:
        return Refusal(f"{self.token.file}:{self.token.line}", self.reason, self.remedy)


@dataclass
class Loop:
    """A foreach statement: the original lines [first, last] of it, and its function."""

    first: int
    last: int
    function: str
    head_line: int  # the line of the function's name
    macros: dict[str, Macro]  # that are defined there
    always_inline: bool = False  # whether the function must be


@dataclass
class Source:
    path: str
    lines: list[str]  # the file's own text, each with its end
    tree: c_ast.FileAST
    loops: list[Loop]
    files: list[str]  # the file, and all that it includes
    words: set[str]  # identifiers of the file and of what it includes, macros' names aside
    functions: dict[str, c_ast.FuncDef] = field(default_factory=dict)
    typedefs: dict[str, c_ast.Node] = field(default_factory=dict)
    tags: dict[str, list] = field(default_factory=dict)  # members of structs and unions
    lost: dict[str, Lost] = field(default_factory=dict)  # by function
    order: dict[str, int] = field(default_factory=dict)  # of names at file scope, by first declaration
    macros: list[Macro] = field(default_factory=list)  # that the file, and what it includes, define anywhere
    spans: dict[str, Span] = field(default_factory=dict)  # of functions
    labels: dict[str, int] = field(default_factory=dict)  # helpers inlined so far, by batch function

    def text_of(self, file: str) -> list[str]:
        """The lines of the file, or of one that it includes."""
        return self.lines if file == self.path else _lines_of(file)

    @property
    def line_end(self) -> str:
        """That of the file's first line."""
        return "\r\n" if self.lines[0].endswith("\r\n") else "\n"


def _unquoted(name: str) -> str:
    return name.replace('\\"', '"').replace("\\\\", "\\")


def tokenise(text: str) -> list[Token]:
    """The tokens of preprocessed text, each with the line that it comes from."""
    tokens, file, line, system = [], "", 1, False
    for found in _TOKEN.finditer(text):
        kind = found.lastgroup if found["marker"] is None else "marker"
        if kind == "marker":
            file, line, system = _unquoted(found["file"]), int(found["line"]) - 1, " 3" in found["flags"]
        elif kind == "newline":
            line += 1
        elif kind not in ("space", "directive"):
            tokens.append(Token(found[0], file, line, found.start(), found.end(), system))
    return tokens


def items_of(tokens: list[Token]) -> list[Item]:
    """Cuts the tokens at file scope."""
    items, depth, first, body, assigned = [], 0, 0, None, False
    for i, token in enumerate(tokens):
        if token.text == "=" and depth == 0:
            assigned = True  # a compound literal may follow
        if token.text in ("{", "(", "["):
            if depth == 0 and token.text == "{" and i > 0 and tokens[i - 1].text == ")" and not assigned:
                body = i
            depth += 1
        elif token.text in ("}", ")", "]"):
            depth -= 1
        if depth == 0 and (token.text == ";" or (token.text == "}" and body is not None)):
            items.append(Item(first, i, body))
            first, body, assigned = i + 1, None, False
    return items


def _closing(tokens: list[Token], opening: int) -> int:
    depth = 0
    for i in range(opening, len(tokens)):
        depth += {"{": 1, "(": 1, "[": 1, "}": -1, ")": -1, "]": -1}.get(tokens[i].text, 0)
        if depth == 0:
            return i
    raise Refusal(f"{tokens[opening].file}:{tokens[opening].line}", "this bracket is never closed", "close it")


def compiler(path: str) -> list[str]:
    """The command that runs it, for this file."""
    try:
        return shlex.split(os.environ.get("CC", "")) or ["cc"]
    except ValueError as error:
        raise Refusal(path, f"cannot run the C compiler {os.environ['CC']}: {error}", "set CC to one") from None


def preprocess(path: str, flags: list[str]) -> str:
    command = [*compiler(path), "-E", "-dD", "-std=gnu11", "-D__GOPT__", f"-I{INCLUDE}", *flags, "-x", "c", path]
    command[command.index("-x") : command.index("-x")] = ["-include", str(INCLUDE / "gopt.h")]
    try:
        done = subprocess.run(command, check=False, capture_output=True, **ENCODING)
    except OSError as error:
        raise Refusal(path, f"cannot run the C compiler {command[0]}: {error.strerror}", "set CC to one") from None
    if done.returncode != 0:
        raise Refusal(path, "the preprocessor fails: " + done.stderr.strip(), "-I and -D are passed on to it")
    return done.stdout


def _blank(text: str) -> str:
    """As long, in as many lines, with the same line markers."""
    first, *others = text.split("\n")
    return "\n".join([" " * len(first), *(o if o.startswith("#") else " " * len(o) for o in others)])


def _readable(text: str, tokens: list[Token]) -> tuple[str, list[Token], list[Lost]]:
    """Text that pycparser can read, of the same length, its tokens, and what it does not say any more."""
    kept, lost, pieces, at, i = [], [], [], 0, 0
    texts = [t.text for t in tokens] + [""]
    while i < len(tokens):
        token, end = tokens[i], i
        declared = texts[i + 1] == ";" and i > 0 and tokens[i - 1].text != "typedef"  # typedef float _Float32;
        new = None if declared else "offsetof" if token.text == _OFFSETOF else _GNU.get(token.text)
        if token.text == "__attribute__" and "".join(texts[i : i + 6]) in _FALLS:
            new, end = "", i + 5
        elif token.text in _LOST and not declared:
            new, reason, remedy = _LOST[token.text]
            lost.append(Lost(token, reason, remedy))
            if token.text in _CALLED:
                while texts[end + 1] in ("volatile", "__volatile__", "inline", "goto"):
                    end += 1
                end = _closing(tokens, end + 1) if texts[end + 1] == "(" else end
                lost[-1].text = text[token.start : tokens[end].end]
        if _joins_wrongly(token, tokens[i + 1] if i + 1 < len(tokens) else None):
            reason = "string literals side by side, of which one ends in an escape that the next would lengthen"
            lost.append(Lost(token, reason, "write one literal"))
        if token.text == "[" and _is_named_place(tokens, i):
            lost.append(Lost(token, "an initialiser for [NAME], which reads as one for .NAME", "write [NAME + 0]"))
        if new is None:
            kept.append(token)
        else:
            pieces += [text[at : token.start], new, _blank(text[token.start + len(new) : tokens[end].end])]
            at = tokens[end].end
            if new:
                kept.append(replace(token, text=new))
        i = end + 1
    return "".join([*pieces, text[at:]]), kept, lost


def _is_named_place(tokens: list[Token], opening: int) -> bool:
    """Whether these are [ NAME ], perhaps with ( ) around the name, in an initialiser's designators."""
    end = _closing(tokens, opening)
    inside = [t.text for t in tokens[opening + 1 : end] if t.text not in ("(", ")")]
    behind = tokens[end + 1].text if end + 1 < len(tokens) else ""
    if len(inside) != 1 or not inside[0].isidentifier() or behind not in ("=", "[", "."):
        return False
    before = opening - 1  # of an lvalue, designators begin behind a variable, a call, ...
    while before > 0 and (tokens[before].text == "]" or tokens[before - 1].text == "."):
        before = _opening(tokens, before) - 1 if tokens[before].text == "]" else before - 2
    return tokens[before].text in ("{", ",")


def _opening(tokens: list[Token], closing: int) -> int:
    """The [ of this ]."""
    depth = 0
    for i in range(closing, -1, -1):
        depth += {"[": -1, "]": 1}.get(tokens[i].text, 0)
        if depth == 0:
            return i
    return 0


def _joins_wrongly(token: Token, behind: Token | None) -> bool:
    """Whether two literals mean something else as one."""
    if behind is None or not (token.text.startswith('"') and behind.text.startswith('"')):
        return False
    return bool(re.search(r'\\(x[0-9a-fA-F]+|[0-7]{1,2})"$', token.text) and re.match(r'"[0-9a-fA-F]', behind.text))


def _needed(tokens: list[Token], items: list[Item]) -> list[Item]:
    """Functions with foreach, or with marks, or that call one with marks: what others do gopt need not understand."""
    words = [({t.text for t in tokens[f.body : f.last]}, f) for f in items if f.body and not tokens[f.body].system]
    found = [f for inside, f in words if inside & {FOREACH, EXPENSIVE}]
    loops = [f for inside, f in words if FOREACH in inside]  # are called as they are
    while True:
        names = {tokens[k].text for f in found if f not in loops and (k := _function(tokens, f)) is not None}
        more = [f for inside, f in words if f not in found and inside & names]
        if not more:
            return found
        found += more


def _without_bodies(text: str, tokens: list[Token], items: list[Item], needed: list[Item]) -> str:
    """All functions but `needed` become prototypes."""
    pieces, at, kept = [], 0, {id(item) for item in needed}
    for item in items:
        if item.body is None or id(item) in kept:
            continue
        start, end = tokens[item.body].start, tokens[item.last].end
        pieces += [text[at:start], ";", _blank(text[start + 1 : end])]
        at = end
    return "".join([*pieces, text[at:]])


def _parse(text: str, path: str) -> c_ast.FileAST:
    prelude = "typedef int __builtin_va_list;\n"
    parser = CParser()
    try:
        tree = parser.parse(prelude + text, path)
    except ParseError as error:
        found = re.match(r"(.*?):(?:(\d+)(?::\d+)?:)? (.*)", str(error))
        line = (found and found[2]) or getattr(getattr(parser, "_peek", lambda: None)(), "lineno", None)
        where = f"{found[1]}:{line}" if found and line else f"{path}:{len(_lines_of(path))}"
        what = found[3] if found else str(error)
        raise Refusal(
            where,
            f"not C that gopt can read ({what})",
            "it reads C11 without _Generic, labels as values, statements in expressions, typeof and assembler; put what "
            "is not into a function without marks, or into a system header (-isystem)",
        ) from None
    _name_offsetof(tree)
    return tree


def _name_offsetof(tree: c_ast.FileAST) -> None:
    """offsetof gets the compiler's name, and its members become text: they are no variables."""
    for node in whole(tree):
        if called(node) != "offsetof":
            continue
        node.name.name = _OFFSETOF
        holder, member = node.args, node.args.exprs[1]
        while isinstance(member, (c_ast.StructRef, c_ast.ArrayRef)):
            holder, member = member, member.name
        text = c_ast.Constant("int", member.name, member.coord)
        if holder is node.args:
            holder.exprs[1] = text
        else:
            holder.name = text


def _function(tokens: list[Token], item: Item) -> int | None:
    """The token that names a function, if it can be told."""
    return max((i for i in range(item.first, item.body) if _is_name(tokens, i, item.body)), default=None)


def _find_loops(path, lines: list[str], tokens: list[Token], items: list[Item], lost, macros) -> list[Loop]:
    loops = []
    for item in items:
        if item.body is None or tokens[item.first].file != path:
            continue
        name = _function(tokens, item)
        for i in range(item.body, item.last):
            if tokens[i].text != FOREACH:
                continue
            start = max(k for k in range(item.body, i) if tokens[k].text == "for")
            opening = _closing(tokens, start + 1) + 1
            where = f"{path}:{tokens[start].line}"
            if name is None:
                raise Refusal(
                    where, "foreach in a function that returns a pointer to a function", "use a typedef for it"
                )
            if tokens[opening].text != "{":
                raise Refusal(where, "the body of foreach is not in braces", "write foreach (i, n) { ... }")
            last = _closing(tokens, opening)
            known = defined_at(macros, tokens[start].start)
            loop = Loop(tokens[start].line, tokens[last].line, tokens[name].text, tokens[name].line, known)
            head = range(tokens[item.first - 1].end if item.first else 0, tokens[item.body].start)
            loop.always_inline = any(what.token.start in head and "always_inline" in what.text for what in lost)
            _check_lines(where, lines, loop, _shares_line(tokens, start, last))
            for what in lost:
                if tokens[start].start <= what.token.start <= tokens[last].end:
                    raise what.refusal
            loops.append(loop)
    return loops


def _shares_line(tokens: list[Token], start: int, last: int) -> bool:
    """Whether other tokens stand on the first line of a loop, or on its last."""
    neighbours = [(tokens[start], tokens[start - 1])]
    if last + 1 < len(tokens):
        neighbours.append((tokens[last], tokens[last + 1]))
    return any((own.file, own.line) == (other.file, other.line) for own, other in neighbours)


def _is_name(tokens: list[Token], i: int, body: int) -> bool:
    """Whether token i is the function's name: a word whose parentheses end before the body."""
    return tokens[i].text.isidentifier() and tokens[i + 1].text == "(" and _closing(tokens, i + 1) == body - 1


DIRECTIVE = re.compile(r"^\s*#\s*(?!pragma\b)\w", re.MULTILINE)


def _check_lines(where: str, lines: list[str], loop: Loop, shared: bool) -> None:
    head = lines[loop.first - 1].lstrip()
    tail = re.sub(r"/\*.*?\*/|//.*", "", lines[loop.last - 1].rpartition("}")[2]).strip()
    if shared or not head.startswith("foreach") or tail:
        raise Refusal(
            where, "foreach shares a line with something else", "begin a line with foreach, and end one with its brace"
        )
    text = "".join(lines[loop.first - 1 : loop.last])
    if DIRECTIVE.search(text):
        raise Refusal(
            where,
            "preprocessor directives within foreach: only the branch that is taken now would remain",
            "move them out of the loop, around functions that it calls",
        )


def _lines_of(path: str) -> list[str]:
    try:
        written = Path(path).read_bytes().decode("utf-8-sig", errors="surrogateescape")
    except OSError as error:
        raise Refusal(path, f"cannot be read: {error.strerror}", "name a C file") from None
    return [line + "\n" for line in written.removesuffix("\n").split("\n")]  # other ends of lines are none for C


def read(path: str, flags: list[str], all_bodies: bool = False) -> Source:
    """`all_bodies`: with the file's functions that have no marks, too, if they can be read. Raises Refusal."""
    lines = _lines_of(path)
    text, macros = take_macros(preprocess(path, flags))
    text, tokens, lost = _readable(text, tokenise(text))
    items = items_of(tokens)
    needed = _needed(tokens, items)
    try:
        kept = [f for f in items if f.body and not tokens[f.body].system] if all_bodies else needed
        tree = _parse(_without_bodies(text, tokens, items, kept), path)
    except Refusal:
        if not all_bodies:
            raise
        tree = _parse(_without_bodies(text, tokens, items, needed), path)
    loops = _find_loops(path, lines, tokens, items, lost, macros)
    lone = next((t for t in tokens if t.text == FOREACH), None)
    if not loops and lone is not None:
        raise Refusal(
            f"{lone.file}:{lone.line}",
            "foreach in what gopt does not take for a function of this file",
            "write it in this file, not in one that it includes, and parameters' types within ( ), not behind",
        )
    if not loops:
        raise Refusal(
            path,
            "no function of this file has a foreach loop",
            "write the loop over the batch as foreach (i, n) { ... }",
        )
    files = sorted({f for f in re.findall(r'^# \d+ "([^"<]+)"', text, re.MULTILINE)} - {path})
    source = Source(
        path, lines, tree, loops, [path, *files], {t.text for t in tokens if t.text.isidentifier() and not t.system}
    )
    source.macros = macros
    for item in items:
        name = _function(tokens, item) if item.body is not None else None
        if name is not None:
            head, tail = tokens[item.first], tokens[item.last]
            source.spans[tokens[name].text] = Span(head.file, head.line, tail.line, head.start)
        for what in lost if name is not None else ():
            if tokens[item.body].start <= what.token.start <= tokens[item.last].end:
                source.lost.setdefault(tokens[name].text, what)
    for number, node in enumerate(tree.ext):
        for word in _declares(node):
            source.order.setdefault(word, number)
        if isinstance(node, c_ast.FuncDef):
            source.functions[node.decl.name] = node
        elif isinstance(node, c_ast.Typedef):
            source.typedefs[node.name] = node.type
        structs = [n for n in whole(node) if isinstance(n, (c_ast.Struct, c_ast.Union)) and n.name and n.decls]
        source.tags |= {n.name: n.decls for n in structs}
    return source


def _declares(node: c_ast.Node) -> list[str]:
    """Names that a declaration or definition at file scope introduces."""
    own = getattr(getattr(node, "decl", node), "name", None)
    kinds = [] if isinstance(node, c_ast.FuncDef) else _tags_and_enumerators(node)
    return [*kinds, *([own] if isinstance(own, str) else [])]


def _tags_and_enumerators(node: c_ast.Node) -> list[str]:
    found = []
    for part in whole(node):
        defines = getattr(part, "decls" if isinstance(part, (c_ast.Struct, c_ast.Union)) else "values", None)
        if isinstance(part, c_ast.Enumerator):
            found.append(part.name)
        elif isinstance(part, (c_ast.Struct, c_ast.Union, c_ast.Enum)) and part.name and defines:
            found.append(tag_of(part))
    return found
