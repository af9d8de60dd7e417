"""Proposals of marks from what perf printed (profile/: perf 6.1 on profile/walk.c, by the CPU's clock)."""

import subprocess
from pathlib import Path

import pytest
from gopt.cli import main
from gopt.errors import Refusal
from gopt.profile import propose, samples_of

PROFILE = Path(__file__).parent / "profile"


def test_annotate_charges_the_load(tmp_path, monkeypatch):
    """The samples are on the instruction behind the load, which belongs to another line."""
    monkeypatch.chdir(PROFILE)
    patch = propose("walk.c", [], "annotate.txt")
    assert "+      g_expensive(&table[x]); // 100% of samples\n       x = table[x];\n" in patch
    assert patch.count("\n+") == 2  # with the head's
    (tmp_path / "walk.c").write_text(Path("walk.c").read_text())
    subprocess.run(["patch", "-s", "walk.c"], input=patch, text=True, cwd=tmp_path, check=True)
    marked = (tmp_path / "walk.c").read_text()
    assert marked.count("g_expensive(") == 1
    monkeypatch.chdir(tmp_path)
    # What is marked is not proposed again.
    shifted = (PROFILE / "annotate.txt").read_text().replace("walk.c:8", "walk.c:11")
    (tmp_path / "annotate.txt").write_text(shifted)
    assert "\n+ " not in propose("walk.c", [], "annotate.txt")


def test_a_patch_has_the_files_ends_of_lines(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (PROFILE / "walk.c").read_bytes().replace(b"\n", b"\r\n")
    Path("walk.c").write_bytes(text)
    assert main(["transform", "walk.c", "--profile", str(PROFILE / "annotate.txt"), "-o", "marks.patch"]) == 0
    done = subprocess.run(["patch", "-i", "marks.patch", "walk.c"], check=False, capture_output=True, text=True)
    # as it stands, no ends stripped
    assert (done.returncode, done.stdout) == (0, "patching file walk.c\n"), done.stdout
    marked = Path("walk.c").read_bytes()
    assert marked.count(b"      g_expensive(&table[x]); // 100% of samples\r\n") == 1
    assert marked.count(b"\n") == marked.count(b"\r\n") == text.count(b"\n") + 1


def test_no_mark_where_it_would_fail_or_not_compile(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [
        '#include "gopt.h"',
        "struct s { int v; struct s* n; };",
        "static int get(const struct s* p) { return p->v; }",
        "void look(struct s* const* t, int* out, int n) {",
        "  foreach (i, n) {",
        "    const struct s* p = t[i];",
        "    if (p) { out[i] = p->n->v; }",
        "    int y = p ? p->n->v : 0;",
        "    int z = p && p->v;",
        "    out[i] += y + z;",
        "  }",
        "}",
    ]
    Path("look.c").write_text("\n".join(lines) + "\n")
    for line in (3, 7, 8, 9):
        Path("perf.txt").write_text(f"  100.00 :   1233:   mov    (%rax),%edx // look.c:{line}\n")
        patch = propose("look.c", [], "perf.txt")
        assert "g_expensive" not in patch and f"look.c:{line}: 100% of samples, but no access" in patch


def test_samples_of_another_file(tmp_path, monkeypatch):
    monkeypatch.chdir(PROFILE)
    (tmp_path / "other.c").write_text(Path("walk.c").read_text())
    with pytest.raises(Refusal, match="no samples of other.c, but of walk.c"):
        propose(str(tmp_path / "other.c"), [], "annotate.txt")


def test_script_counts_lines(tmp_path, monkeypatch):
    monkeypatch.chdir(PROFILE)
    samples = samples_of("script.txt", "walk.c")
    assert sum(samples.values()) > 50
    # Here they lie on the loop's head, behind the load: nothing to propose, and the output says so.
    patch = propose("walk.c", [], "script.txt")
    assert "walk.c:8" in patch and "perf annotate" in patch
    (tmp_path / "script.txt").write_text("  401136 walk\n  walk.c:10\n" * 20 + "  401130 walk\n  walk.c:7\n")
    patch = propose("walk.c", [], str(tmp_path / "script.txt"))
    assert "g_expensive(&table[x]); // 95% of samples" in patch
