"""Keeps comments within 120 columns, as clang-format and ruff keep code, which leave comments alone.

    comments.py check [FILE...]    lists lines that a comment makes longer, as FILE:LINE; exit code 1 if there are any
    comments.py mend [FILE...]     wraps the paragraphs with such lines anew; changes no word, and no code

Without a FILE: what git tracks of C, C++, CUDA, Click, Python, shell and CMake. Docstrings count as comments. A
paragraph ends at an empty line, where an item of a list or a table begins, where the indentation changes, and behind a
sentence whose line has room for the next word. Items are wrapped within their column. What is indented otherwise
(examples) and drawings are left as they are, so `check` goes on naming those that are too wide.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = 120
NARROW = 30  # a comment behind code that has less room than this goes before the code

C_LIKE = re.compile(r"\.(h|c|cc|cu|cuh|def|click)$|^simt/include/")
HASH = re.compile(r"\.(sh|cmake)$|(^|/)(CMakeLists|\w+_suppressions)\.txt$")
MADE = re.compile(r"^gopt/tests/golden/")  # by gopt, and compared word for word

C_TOKEN = re.compile(
    r'R"(?P<end>[^()\\\s]*)\(.*?\)(?P=end)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<!\w)'(?:\\.|[^'\\\n])+'"
    r"|(?P<comment>//[^\n]*|/\*.*?\*/)",
    re.DOTALL,
)
BULLET = re.compile(r" *(?:[-*+]|\d+[.)]) +(?=\S)")
TABLE = re.compile(r" *\S.*?  +(?=\S)")
NAMED = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+: ")
CODE = re.compile(r" .*( -> | :: )| +-> ")
DRAWING = re.compile(r" *[|+]|.*([-=_~^]{4}|[\u2500-\u257f])")
DIRECTIVE = re.compile(r"clang-format o|NOLINT|noqa|type: |ruff: |shellcheck |!")
# A word that would begin a list or a title in Markdown, or look lost, at the start of a line.
CLINGS = re.compile(r"[-+*=|>%#]+|\d+[.)]")


@dataclass
class Comment:
    """Lines of a file from `line` (counted from 0) on: the texts of a comment, and what stands around them."""

    line: int
    heads: list[str]  # before each text
    texts: list[str]
    more: str  # the head of lines to come
    tail: str = ""
    code: str = ""  # before the first head
    marker: str = ""

    def mended(self) -> list[str]:
        """The lines, wrapped where they have to be."""
        made = []
        for first, last, begin, hang in paragraphs(self.texts, COLUMNS - len(self.more)):
            heads, texts = self.heads[first:last], self.texts[first:last]
            tail = self.tail if last == len(self.texts) else ""
            code = self.code if first == 0 else ""
            lines = [(head + text).rstrip() for head, text in zip(heads, texts, strict=True)]
            lines[0] = code + lines[0]
            lines[-1] += tail
            if max(map(len, lines)) <= COLUMNS or hang is None or len(code.rstrip()) > COLUMNS:
                made += lines
            elif code and COLUMNS - len(self.more) < NARROW:
                made += self.moved(code, texts)
            else:
                text = " ".join(text.strip() for text in (texts[0][begin:], *texts[1:])) + tail
                made += filled(code + heads[0] + texts[0][:begin], self.more + " " * hang, text)
        return made

    def moved(self, code: str, texts: list[str]) -> list[str]:
        """A comment behind code, before it."""
        margin = " " * indent(code)
        text = " ".join(text.strip() for text in texts)
        if self.marker == "///<":
            return [*filled(margin + "/** ", margin + " *  ", text + " */"), code.rstrip()]
        return [*filled(margin + self.marker + " ", margin + self.marker + " ", text), code.rstrip()]


def indent(text: str) -> int:
    return len(text) - len(text.lstrip(" "))


def filled(start: str, more: str, text: str) -> list[str]:
    """`text` in lines, the first behind `start`, the others behind `more`. What stands in backquotes stays in one
    line."""
    words = []
    for word in re.sub(r"`[^`]{1,60}`", lambda quoted: quoted[0].replace(" ", "\0"), text).split(" "):
        if words and (CLINGS.fullmatch(word) or words[-1].endswith("\\") or word in ("*/", '"""')):
            words[-1] += " " + word
        else:
            words.append(word)
    lines = [start + words[0]]
    for word in words[1:]:
        if len(lines[-1]) + 1 + len(word) <= COLUMNS:
            lines[-1] += " " + word
        else:
            lines.append(more + word)
    return [line.replace("\0", " ") for line in lines]


def item(texts: list[str], at: int) -> tuple[int, int] | None:
    """Where the text of the item that begins in this line begins, and where its further lines do; None: none begins."""
    text, depth = texts[at], indent(texts[at])
    first = last = at
    while first > 0 and texts[first - 1]:
        first -= 1
    while last + 1 < len(texts) and texts[last + 1]:
        last += 1
    others = [other for other in texts[first : last + 1] if other is not text]
    below = indent(texts[at + 1]) if at < last else -1

    bullet = BULLET.match(text)
    if bullet:
        listed = below == bullet.end() or (below != depth and any(map(BULLET.match, others)))
        listed = listed or (at < last and BULLET.match(texts[at + 1]))
        return (bullet.end(), bullet.end()) if listed else None

    def begins(where: int) -> bool:
        return depth < where < len(text) and text[where - 1] == " " != text[where]

    gap = TABLE.match(text)
    columns = [found.end() for other in others if indent(other) == depth and (found := TABLE.match(other))]
    for where in columns:
        if begins(where):
            return where, where
    if begins(below) and (depth or (gap and gap.end() == below)):
        return below, below
    if gap and columns and depth and gap.end() > max(set(columns), key=columns.count):
        return gap.end(), max(set(columns), key=columns.count)  # its name is too long for the column
    return None


def goes_on(line: str, text: str, width: int, in_item: bool) -> bool:
    """Whether the line breaks before `text` only because it is full, or for no reason."""
    room = width - len(line) - 1 - len(text.split()[0])
    if line.endswith((".", ":", "!", "?")):
        return room < 0 and not NAMED.match(text)
    return not (in_item and room >= 10 and text.lstrip()[0].isupper())


def paragraphs(texts: list[str], width: int) -> Iterator[tuple[int, int, int, int | None]]:
    """All lines, in paragraphs: from, to (exclusive), the columns in which text begins and goes on; None: leave it as
    it is."""
    at = 0
    inside = 0  # the column of the last item
    while at < len(texts):
        text = texts[at]
        end, begin, hang = at + 1, 0, None
        if text and not any(kind.match(text) for kind in (DRAWING, DIRECTIVE, CODE)):
            found = item(texts, at)
            if found:
                begin, hang = found
            elif indent(text) in (0, inside):
                begin = hang = indent(text)
        if hang is not None:
            inside = hang
            while (
                end < len(texts)
                and texts[end]
                and indent(texts[end]) == hang
                and not item(texts, end)
                and not (DRAWING.match(texts[end]) or DIRECTIVE.match(texts[end]))
                and goes_on(texts[end - 1], texts[end], width, bool(hang))
            ):
                end += 1
            if any("  " in line.strip() for line in (text[begin:], *texts[at + 1 : end])):
                hang = None
        yield at, end, begin, hang
        at = end


def from_marker(lines: list[str], at: int, where: int, marker: str, own: set[tuple[int, int]]) -> Comment:
    """The comment that begins there with // or #, and the lines below it that have nothing but such a one there."""
    margin = lines[at][:where]
    code = margin if margin.strip() else ""
    head = (" " * where if code else margin) + marker
    texts = []
    for number in range(at, len(lines)):
        text = lines[number][len(head) :]
        below = (number, where) in own and lines[number].startswith(head) and text[:1] in ("", " ")
        if number > at and not below:
            break
        texts.append(text.rstrip())
        if text[:1] not in ("", " "):  # drawn, or commented out
            return Comment(at, [lines[at][: len(head)]], texts, head)
    heads = [head + " "] * len(texts)
    if code:
        heads[0] = marker + " "
    return Comment(at, heads, [text[1:] for text in texts], head + " ", code=code, marker=marker)


def between(at: int, rows: list[str], opening: str, closing: str, more: str) -> Comment | None:
    """The comment of these whole lines, if those from the second on begin with `more`."""
    heads, texts = [opening], [row.rstrip() for row in rows]
    tail = re.search(rf"(?:^ *| ?){re.escape(closing)}$", texts[-1])[0]
    texts[0] = texts[0][len(opening) :]
    texts[-1] = texts[-1][: -len(tail)]
    for number in range(1, len(rows)):
        text = texts[number]
        head = next((head for head in (more, more.rstrip() + " ") if text.startswith(head)), text)
        if text and text != more.rstrip() and head == text:
            return None
        heads.append(head)
        texts[number] = text[len(head) :]
    return Comment(at, heads, texts, more, tail)


def c_comments(source: str) -> tuple[list[tuple[int, int, str]], list[Comment]]:
    lines = source.split("\n")
    spans = []
    line = end = 0
    for token in C_TOKEN.finditer(source):
        line += source.count("\n", end, token.start())
        end = token.start()
        if token["comment"]:
            spans.append((line, token.start() - source.rfind("\n", 0, token.start()) - 1, token["comment"]))
    found = from_markers(lines, [span for span in spans if span[2].startswith("//")], r"//[/!]*<?")
    for at, where, text in spans:
        rows = lines[at : at + text.count("\n") + 1]
        margin = rows[0][:where]
        if text.startswith("//") or margin.strip() or not rows[-1].rstrip().endswith(text.split("\n")[-1]):
            continue
        opening = re.match(r"/\*[*!]?(?!/) ?", text)[0]
        spaces = [indent(row[where + 2 :]) for row in rows[1:] if row.startswith(f"{margin} * ")]
        stars = " *  " if 2 in spaces or 1 not in spaces else " * "
        more = margin + (stars if spaces or opening[2:3] == "*" else "   ")
        found.append(between(at, rows, margin + opening, "*/", more))
    return spans, [comment for comment in found if comment]


def from_markers(lines: list[str], spans: list[tuple[int, int, str]], marker: str) -> list[Comment]:
    own = {(line, where) for line, where, _ in spans if not lines[line][:where].strip()}
    found: list[Comment] = []
    for line, where, text in spans:
        if not found or line >= found[-1].line + len(found[-1].texts):
            found.append(from_marker(lines, line, where, re.match(marker, text)[0], own))
    return found


def hash_comments(source: str) -> tuple[list[tuple[int, int, str]], list[Comment]]:
    """Of shell and CMake: only those with lines of their own."""
    lines = source.split("\n")
    spans = [(number, indent(line), line.lstrip(" ")) for number, line in enumerate(lines) if re.match(" *#", line)]
    return spans, from_markers(lines, spans, "#")


def python_comments(source: str) -> tuple[list[tuple[int, int, str]], list[Comment]]:
    lines = source.split("\n")
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    spans = [(token.start[0] - 1, token.start[1], token.string) for token in tokens if token.type == tokenize.COMMENT]
    found = from_markers(lines, spans, "#:?")
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or not node.body:
            continue
        text = node.body[0]
        if ast.get_docstring(node) is None or lines[text.lineno - 1][text.col_offset :][:3] != '"""':
            continue
        at, margin = text.lineno - 1, " " * text.col_offset
        rows = lines[at : text.end_lineno]
        spans.append((at, text.col_offset, "\n".join(rows)[text.col_offset :]))
        if rows[-1].endswith('"""') and "\\" not in "".join(rows):
            found.append(between(at, rows, margin + '"""', '"""', margin))
    return spans, [comment for comment in found if comment]


def comments(path: str, source: str) -> tuple[list[tuple[int, int, str]], list[Comment]]:
    """All comments of a file, as (line, column, text), and those of them that can be mended."""
    if C_LIKE.search(path):
        return c_comments(source)
    return python_comments(source) if path.endswith(".py") else hash_comments(source)


def too_wide(path: str, source: str) -> list[int]:
    """The lines, from 1, that are too wide for a comment in them, but for words that fit in no line."""
    lines = source.split("\n")
    wide = set()
    for line, where, text in comments(path, source)[0]:
        for number, row in enumerate(text.split("\n"), line):
            begins = where if number == line else 0
            if len(lines[number]) > COLUMNS >= begins and begins + len(row) > COLUMNS and len(row.split()) > 2:
                wide.add(number + 1)
    return sorted(wide)


def mended(path: str, source: str) -> str:
    lines = source.split("\n")
    for comment in sorted(comments(path, source)[1], key=lambda comment: comment.line, reverse=True):
        last = comment.line + len(comment.texts)
        if max(map(len, lines[comment.line : last])) > COLUMNS:
            lines[comment.line : last] = comment.mended()
    return "\n".join(lines)


def tracked() -> list[str]:
    listed = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()
    written = (C_LIKE, HASH, re.compile(r"\.py$"))
    return [path for path in listed if not MADE.search(path) and any(kind.search(path) for kind in written)]


def main(command: str, files: list[str]) -> int:
    wide = []
    for file in files or tracked():
        path = ROOT / file
        source = path.read_text(encoding="utf-8")
        if command == "check":
            wide += [f"{file}:{line}" for line in too_wide(file, source)]
        elif (text := mended(file, source)) != source:
            path.write_text(text, encoding="utf-8")
    print("\n".join(wide), end="\n" if wide else "")
    return 1 if wide else 0


if __name__ == "__main__":
    if sys.argv[1:2] not in (["check"], ["mend"]):
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2:]))
