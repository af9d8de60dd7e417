"""Random lookups do the same before and after transformation, for every back end and group sizes 1 to 64."""

import os
import random
import resource
import shutil
import subprocess
import sys

import generator
import pytest
import support
from gopt.source import INCLUDE
from gopt.transform import MOST, transform

FUNCTIONS, BATCHES = 3, 20
# Of the transformed functions, in C++.
LINKAGE = "#include <stdint.h>\n" + "".join(
    f'extern "C" {generator.HEADER.format(name=f"f{k}_gopt")};\n' for k in range(FUNCTIONS)
)


@pytest.mark.parametrize("seed", range(3))
def test_interleaved(tmp_path, seed):
    size = random.Random(seed).randint(1, MOST)
    driver = generator.driver(FUNCTIONS, BATCHES)
    compiler = ["gcc", "clang"][seed % 2]
    assert support.differences(tmp_path, generator.program(seed, FUNCTIONS), driver, compiler, group_size=size) == ""


@pytest.mark.parametrize("seed", range(3))
def test_group_prefetching(tmp_path, seed):
    size = random.Random(seed).randint(1, MOST)
    text = generator.program(seed, FUNCTIONS, simple=True)
    assert (
        support.differences(tmp_path, text, generator.driver(FUNCTIONS, BATCHES), group_size=size, backend="group")
        == ""
    )


@pytest.mark.parametrize("seed", range(2))
def test_coroutines(tmp_path, seed):
    text = generator.program(seed, FUNCTIONS, simple=True)
    (tmp_path / "in.c").write_text(text)
    made = transform(str(tmp_path / "in.c"), backend="coroutine", group_size=7, suffix="_gopt")
    (tmp_path / "made.cc").write_text(LINKAGE + made)
    (tmp_path / "main.c").write_text(generator.driver(FUNCTIONS, BATCHES))
    # Frames are kept for the next batch, by design: no leaks to look for.
    flags = [*support.SANITIZERS, "-w"]
    objects = [support.compile_c(tmp_path, s, *flags) for s in ("in.c", "main.c")]
    objects.append(support.compile_c(tmp_path, "made.cc", "-std=c++20", *flags, compiler="g++"))
    support.run("g++", *flags, *objects, "-o", "program", cwd=tmp_path)
    assert support.run("./program", cwd=tmp_path) == ""


# Bugs seeded in the transformer, as edits of its text: back ends, file, the text there and what it becomes.
BUGS = {
    "a variable is not saved": (
        ["goto"],
        "lookup.py",
        "flow.live_across(graph, known) |",
        "set(sorted(flow.live_across(graph, known))[:-1]) |",
    ),
    "the finished mask counts slots again that have ended": (
        ["goto"],
        "interleave.py",
        "g_running &= ~(1ull << g_i);",
        "g_running >>= 1;",
    ),
    "the label is saved for the next slot": (
        ["goto"],
        "interleave.py",
        "(g_labels[g_i] = &&label)",
        "(g_labels[g_i + 1 == g_slots ? 0 : g_i + 1] = &&label)",
    ),
    "a label is saved once before a loop that is jumped into": (
        ["goto"],
        "interleave.py",
        " and not has_label(node)",
        "",
    ),
    "a label is saved once before a loop with several marks": (
        ["goto"],
        "interleave.py",
        "for n in walk(node)) == 1",
        "for n in walk(node)) >= 1",
    ),
    "a label that is saved once before a loop counts as saved behind it": (
        ["goto"],
        "interleave.py",
        "            self.label_saved = False\n",
        "            pass\n",
    ),
    "else has the predicate of if": (["group"], "group.py", '"!" + chosen', "chosen"),
    "a lookup that has ended goes on in the next stage": (
        ["group"],
        "group.py",
        "{self.stages.exits[None]}[g_i] = 0; ",
        "",
    ),
    "a coroutine is forgotten": (["coroutine"], "coroutine.py", "n = left;", "n = left - (left > 1);"),
    "a helper's return value is lost": (
        ["goto", "group", "coroutine"],
        "inline.py",
        'new.append(c_ast.Assignment("=", copy.copy(target), value, item.coord))',
        "new.append(value)",
    ),
    "an argument is read before the call that computes it": (
        ["goto", "group", "coroutine"],
        "inline.py",
        "[*before, *items, *body]",
        "[*before[:1], *items, *before[1:], *body]",  # the declaration is first
    ),
    "a parameter that a helper changes is its caller's variable": (
        ["goto", "group", "coroutine"],
        "inline.py",
        "and param.name not in written",
        "",
    ),
}


def notices(folder, backend: str, seed: int) -> bool:
    """Whether the comparison of random lookups notices that the transformer in `folder`/gopt is wrong."""
    (folder / "in.c").write_text(generator.program(seed, FUNCTIONS, simple=backend != "goto"))
    (folder / "main.c").write_text(generator.driver(FUNCTIONS, BATCHES))
    made = "made.cc" if backend == "coroutine" else "made.c"
    words = ["transform", "in.c", "-o", made, "--backend", backend, "--group", "16", "--suffix", "_gopt"]
    environment = {"PYTHONPATH": str(folder), "PATH": os.environ["PATH"]}
    subprocess.run([sys.executable, "-m", "gopt", *words], cwd=folder, env=environment, check=True)
    if backend == "coroutine":
        (folder / made).write_text(LINKAGE + (folder / made).read_text())
    # Without sanitizers: they would stop at the first use of what is not there.
    objects = [support.compile_c(folder, s, "-w", "-O1") for s in ("in.c", "main.c")]
    kind = {"compiler": "g++"} if backend == "coroutine" else {}
    objects.append(support.compile_c(folder, made, "-w", "-O1", *(["-std=c++20"] if kind else []), **kind))
    support.run("g++", *objects, "-o", "program", cwd=folder)
    # A loop whose counter was lost ends by the limit: ten seconds of the processor, for what takes some milliseconds.
    limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (10, 10))
    done = subprocess.run(["./program"], cwd=folder, check=False, capture_output=True, text=True, preexec_fn=limit)
    return done.returncode != 0


@pytest.fixture
def own_gopt(tmp_path):
    """A copy of the transformer in tmp_path/gopt."""
    shutil.copytree(INCLUDE.parent, tmp_path / "gopt", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


@pytest.mark.parametrize("bug,backend", [(bug, back) for bug, (backs, *_) in BUGS.items() for back in backs])
def test_finds_a_bug_in_the_transformer(own_gopt, bug, backend):
    _, file, right, wrong = BUGS[bug]
    text = (own_gopt / "gopt" / file).read_text()
    assert text.count(right) == 1
    (own_gopt / "gopt" / file).write_text(text.replace(right, wrong))
    assert any(notices(own_gopt, backend, seed) for seed in range(12))


@pytest.mark.parametrize("backend", ["goto", "group", "coroutine"])
def test_finds_none_where_none_is(own_gopt, backend):
    assert not notices(own_gopt, backend, 0)
