"""Random lookups do the same before and after transformation, for every back end and group sizes 1 to 64."""

import random
import subprocess

import generator
import pytest
import support
from gopt.source import INCLUDE
from gopt.transform import MOST, transform

from gopt import flow

FUNCTIONS, BATCHES = 3, 20


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
    names = [f"f{k}_gopt" for k in range(FUNCTIONS)]
    linkage = "".join(f'extern "C" {generator.HEADER.format(name=n)};\n' for n in names)
    (tmp_path / "made.cc").write_text(f"#include <stdint.h>\n{linkage}{made}")
    (tmp_path / "main.c").write_text(generator.driver(FUNCTIONS, BATCHES))
    # Frames are kept for the next batch, by design: no leaks to look for.
    flags = [*support.SANITIZERS, "-w"]
    objects = [support.compile_c(tmp_path, s, *flags) for s in ("in.c", "main.c")]
    objects.append(support.compile_c(tmp_path, "made.cc", "-std=c++20", *flags, compiler="g++"))
    support.run("g++", *flags, *objects, "-o", "program", cwd=tmp_path)
    assert support.run("./program", cwd=tmp_path) == ""


def test_finds_a_variable_that_is_not_saved(tmp_path, monkeypatch):
    """The comparison notices a transformer that forgets variables: the last by name of those that live across a
    switch."""
    right = flow.live_across
    monkeypatch.setattr(flow, "live_across", lambda *args: set(sorted(right(*args))[:-1]))
    found = ""
    for seed in range(5):
        text, driver = generator.program(seed, FUNCTIONS), generator.driver(FUNCTIONS, BATCHES)
        for name, content in {"in.c": text, "main.c": driver}.items():
            (tmp_path / name).write_text(content)
        (tmp_path / "made.c").write_text(transform(str(tmp_path / "in.c"), suffix="_gopt"))
        # Without sanitizers: they would stop at the first use of what is not there.
        support.run("gcc", "-w", "-O1", f"-I{INCLUDE}", "in.c", "made.c", "main.c", "-o", "program", cwd=tmp_path)
        try:
            found = subprocess.run(
                ["./program"], cwd=tmp_path, check=False, capture_output=True, text=True, timeout=60
            ).stdout
        except subprocess.TimeoutExpired:  # a loop whose counter was lost
            found = "differs"
        if found:
            break
    assert "differs" in found
