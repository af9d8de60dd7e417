"""The command."""

import argparse
import re
import sys
from pathlib import Path

from gopt import __version__
from gopt.errors import Refusal
from gopt.profile import propose
from gopt.source import ENCODING, INCLUDE
from gopt.transform import BACKENDS, MOST, transform


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gopt", description="Hides the latency of memory in batched lookups in C.")
    parser.add_argument("--version", action="version", version=f"gopt {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name: str, text: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text, description=text)
        made.add_argument("input", metavar="IN.c")
        made.add_argument("-o", "--output", metavar="OUT", help="write there instead of to standard output")
        made.add_argument("-I", action="append", default=[], metavar="DIR", help="the preprocessor's -I")
        made.add_argument("-isystem", action="append", default=[], metavar="DIR", help="the preprocessor's -isystem")
        made.add_argument("-D", action="append", default=[], metavar="NAME[=VALUE]", help="the preprocessor's -D")
        made.add_argument("-U", action="append", default=[], metavar="NAME", help="the preprocessor's -U")
        made.add_argument("-include", action="append", default=[], metavar="FILE", help="the preprocessor's -include")
        made.add_argument("-std", metavar="STANDARD", help="the compiler's -std= (default: gnu11)")
        made.add_argument("-m", action="append", default=[], metavar="OPTION", help="the compiler's, as -mavx2")
        made.add_argument(
            "--profile",
            metavar="FILE",
            help="what `perf annotate --stdio -l` or `perf script -F ip,sym,srcline` printed: propose marks (as a patch) "
            "instead of transforming",
        )
        return made

    made = command("transform", "Rewrite each foreach loop so that its lookups take turns while memory answers.")
    made.add_argument(
        "--backend", choices=sorted(BACKENDS), default="goto", help="goto (default), group, or coroutine (C++20)"
    )
    made.add_argument(
        "--group", type=int, default=16, metavar="N", help=f"lookups in flight, 1 to {MOST} (default: 16)"
    )
    made.add_argument("--hint", type=int, default=3, metavar="0..3", help="locality of __builtin_prefetch (default: 3)")
    made.add_argument(
        "--suffix", default="", metavar="TEXT", help="append TEXT to the names of the functions with foreach"
    )
    made.add_argument("--depfile", metavar="FILE", help="write what OUT depends on there, for make and ninja")
    commands.add_parser("include", help="Print the directory of gopt.h and gopt.cmake.")
    return parser


def main(argv: list[str] | None = None) -> int:
    """Exit status 1: refused, 2: wrong arguments."""
    options = _arguments().parse_args(argv)
    if options.command == "include":
        print(INCLUDE)
        return 0
    if options.command == "transform" and options.depfile and not options.output:
        print("gopt: --depfile says what OUT depends on; give -o OUT", file=sys.stderr)
        return 2
    usual = {"backend": "goto", "group": 16, "hint": 3, "suffix": "", "depfile": None}
    ignored = [f"--{name}" for name, value in usual.items() if options.profile and getattr(options, name) != value]
    if ignored:
        print(f"gopt: --profile proposes marks and transforms nothing; leave out {', '.join(ignored)}", file=sys.stderr)
        return 2
    flags = [f"-{kind}{value}" for kind in "IDUm" for value in getattr(options, kind)]
    flags += [word for kind in ("isystem", "include") for path in getattr(options, kind) for word in (f"-{kind}", path)]
    flags += [f"-std={options.std}"] if options.std else []
    try:
        if options.profile:
            text = propose(options.input, flags, options.profile)
            _refuse_overwriting([options.output], [options.input, options.profile])
        else:
            files: list[str] = []
            text = transform(options.input, flags, options.backend, options.group, options.hint, options.suffix, files)
            _refuse_overwriting([options.output, options.depfile], files)
            if options.depfile:
                made, *needed = (re.sub(r"([ #])", r"\\\1", f.replace("$", "$$")) for f in (options.output, *files))
                _write(options.depfile, f"{made}: {' '.join(needed)}\n")
        if options.output:
            _write(options.output, text)
        else:
            sys.stdout.buffer.write(text.encode(**ENCODING))
    except Refusal as refusal:
        print(refusal, file=sys.stderr)
        return 1
    return 0


def _refuse_overwriting(made: list[str | None], read: list[str]) -> None:
    for name in made:
        if name and Path(name).exists() and any(Path(one).exists() and Path(name).samefile(one) for one in read):
            raise Refusal(name, "would overwrite a file that gopt has read", "give -o another name")


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_bytes(text.encode(**ENCODING))
    except OSError as error:
        raise Refusal(path, f"cannot be written: {error.strerror}", "name a file in a folder that is there") from None
