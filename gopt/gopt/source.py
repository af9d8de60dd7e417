"""Reads a C file: through the compiler's preprocessor into pycparser, with each line's origin."""

import os
import re
import shlex
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from pycparser import c_ast
from pycparser.c_parser import CParser, ParseError

from gopt.errors import Refusal

INCLUDE = Path(__file__).parent / "include"
FOREACH, EXPENSIVE = "__gopt_foreach", "__gopt_expensive"

# GNU words that pycparser does not know and that do not matter here: they stay in the output, which is the input's
# text.
_GNU = {
    "__attribute__(x)": "",
    "__extension__": "",
    "__restrict": "restrict",
    "__restrict__": "restrict",
    "__inline": "inline",
    "__inline__": "inline",
    "__volatile__": "volatile",
    "__const": "const",
    "__signed__": "signed",
    "__asm__(x)": "",
    "__asm(x)": "",
    "__alignof__": "sizeof",
    "_Noreturn": "",
    "_Float32": "float",
    "_Float32x": "double",
    "_Float64": "double",
    "_Float64x": "long double",
    "_Float128": "long double",
    "__float128": "long double",
}
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
class Loop:
    """A foreach statement: the original lines [first, last] of it, and its function."""

    first: int
    last: int
    function: str
    head_line: int  # the line of the function's name


@dataclass
class Source:
    path: str
    lines: list[str]  # the file's own text
    tree: c_ast.FileAST
    loops: list[Loop]
    files: list[str]  # the file, and all that it includes
    words: set[str]  # identifiers of the file and of what it includes, macros' names aside
    functions: dict[str, c_ast.FuncDef] = field(default_factory=dict)
    typedefs: dict[str, c_ast.Node] = field(default_factory=dict)
    tags: dict[str, list] = field(default_factory=dict)  # members of structs and unions


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
    items, depth, first, body = [], 0, 0, None
    for i, token in enumerate(tokens):
        if token.text in ("{", "(", "["):
            if depth == 0 and token.text == "{" and i > 0 and tokens[i - 1].text == ")":
                body = i
            depth += 1
        elif token.text in ("}", ")", "]"):
            depth -= 1
        if depth == 0 and (token.text == ";" or (token.text == "}" and body is not None)):
            items.append(Item(first, i, body))
            first, body = i + 1, None
    return items


def _closing(tokens: list[Token], opening: int) -> int:
    depth = 0
    for i in range(opening, len(tokens)):
        depth += {"{": 1, "(": 1, "[": 1, "}": -1, ")": -1, "]": -1}.get(tokens[i].text, 0)
        if depth == 0:
            return i
    raise Refusal(f"{tokens[opening].file}:{tokens[opening].line}", "this bracket is never closed")


def preprocess(path: str, flags: list[str]) -> str:
    compiler = shlex.split(os.environ.get("CC", "cc"))
    gnu = [f"-D{name}={value}" for name, value in _GNU.items()]
    command = [*compiler, "-E", "-std=gnu11", "-D__GOPT__", *gnu, f"-I{INCLUDE}", *flags, "-x", "c", path]
    command[command.index("-x") : command.index("-x")] = ["-include", str(INCLUDE / "gopt.h")]
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    except OSError as error:
        raise Refusal(path, f"cannot run the C compiler {compiler[0]}: {error.strerror}", "set CC to one") from None
    if done.returncode != 0:
        raise Refusal(path, "the preprocessor fails: " + done.stderr.strip(), "-I and -D are passed on to it")
    return done.stdout


def _without_system_bodies(text: str, tokens: list[Token], items: list[Item]) -> str:
    """Inline functions of system headers become prototypes: nobody needs to understand them."""
    pieces, at = [], 0
    for item in items:
        if item.body is None or not tokens[item.body].system:
            continue
        start, end = tokens[item.body].start, tokens[item.last].end
        pieces += [text[at:start], ";", "\n" * text.count("\n", start, end)]
        at = end
    return "".join([*pieces, text[at:]])


def _parse(text: str, path: str) -> c_ast.FileAST:
    prelude = "typedef int __builtin_va_list;\n"
    try:
        return CParser().parse(prelude + text, path)
    except ParseError as error:
        found = re.match(r"(.*?):(\d+)(?::\d+)?: (.*)", str(error))
        where, what = (f"{found[1]}:{found[2]}", found[3]) if found else (path, str(error))
        raise Refusal(
            where,
            f"not C that gopt can read ({what})",
            "it reads C11 without GNU statement expressions, typeof and assembler; move what is not into a function of a "
            "system header (-isystem), or into another file",
        ) from None


def _find_loops(path: str, lines: list[str], tokens: list[Token], items: list[Item]) -> list[Loop]:
    loops = []
    for item in items:
        if item.body is None or tokens[item.first].file != path:
            continue
        name = max(i for i in range(item.first, item.body) if _is_name(tokens, i, item.body))
        for i in range(item.body, item.last):
            if tokens[i].text != FOREACH:
                continue
            start = max(k for k in range(item.body, i) if tokens[k].text == "for")
            opening = _closing(tokens, start + 1) + 1
            where = f"{path}:{tokens[start].line}"
            if tokens[opening].text != "{":
                raise Refusal(where, "the body of foreach is not in braces", "write foreach (i, n) { ... }")
            last = _closing(tokens, opening)
            loop = Loop(tokens[start].line, tokens[last].line, tokens[name].text, tokens[name].line)
            _check_lines(where, lines, loop)
            loops.append(loop)
    return loops


def _is_name(tokens: list[Token], i: int, body: int) -> bool:
    """Whether token i is the function's name: a word whose parentheses end before the body."""
    return tokens[i].text.isidentifier() and tokens[i + 1].text == "(" and _closing(tokens, i + 1) == body - 1


def _check_lines(where: str, lines: list[str], loop: Loop) -> None:
    head = lines[loop.first - 1].lstrip()
    tail = re.sub(r"/\*.*?\*/|//.*", "", lines[loop.last - 1]).rstrip()
    if not head.startswith("foreach") or not tail.endswith("}"):
        raise Refusal(
            where, "foreach shares a line with something else", "begin a line with foreach, and end one with its brace"
        )
    text = "".join(lines[loop.first - 1 : loop.last])
    if "__attribute__" in text:
        raise Refusal(where, "attributes within foreach would be lost", "put them on a type or function at file scope")
    if re.search(r"^\s*#\s*(if|else|elif|endif|include|define)", text, re.MULTILINE):
        raise Refusal(
            where,
            "preprocessor directives within foreach: only the branch that is taken now would remain",
            "move them out of the loop, around functions that it calls",
        )


def read(path: str, flags: list[str]) -> Source:
    try:
        lines = Path(path).read_text().splitlines(keepends=True)
    except (OSError, UnicodeDecodeError) as error:
        raise Refusal(path, f"cannot be read: {error}") from None
    text = preprocess(path, flags)
    tokens = tokenise(text)
    items = items_of(tokens)
    tree = _parse(_without_system_bodies(text, tokens, items), path)
    loops = _find_loops(path, lines, tokens, items)
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
    for node in tree.ext:
        if isinstance(node, c_ast.FuncDef):
            source.functions[node.decl.name] = node
        elif isinstance(node, c_ast.Typedef):
            source.typedefs[node.name] = node.type
        for _, part in node.children():
            _collect_tags(part, source.tags)
    return source


def _collect_tags(node: c_ast.Node, tags: dict[str, list]) -> None:
    if isinstance(node, (c_ast.Struct, c_ast.Union)) and node.name and node.decls:
        tags[node.name] = node.decls
    for _, part in node.children():
        _collect_tags(part, tags)
