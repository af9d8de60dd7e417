"""Macros that the command line defines: the loop is made with the same values as the rest of the program."""

import subprocess
import sys
from pathlib import Path

import pytest
import support
from gopt.cli import main
from gopt.source import INCLUDE

LOOKUP = """\
#include <stdint.h>
#include "gopt.h"
#ifndef STEPS
#define STEPS 5
#endif
#define MORE (STEPS + 1)
#define START(t) (t)[MORE]
static uint32_t follow(const uint32_t* t, uint32_t x) {
  for (int k = 0; k < MORE; ++k) {
    g_expensive(&t[x]);
    x = t[x];
  }
  return x;
}
void look(const uint32_t* t, uint32_t* out, int n) {
  foreach (i, n) {
    out[i] = follow(t, START(t));
  }
}
"""


@pytest.mark.parametrize("backend", ["goto", "group", "coroutine"])
def test_a_number_that_gopt_did_not_know_stops_the_compiler(tmp_path, monkeypatch, backend):
    monkeypatch.chdir(tmp_path)
    Path("in.c").write_text(LOOKUP)
    made, words = ("made.cc", ["g++", "-std=c++20"]) if backend == "coroutine" else ("made.c", ["gcc"])
    words += ["-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}", "-c", made]
    assert main(["transform", "in.c", "-o", made, "--backend", backend]) == 0
    support.run(*words, cwd=tmp_path)
    error = support.run(*words, "-DSTEPS=3", cwd=tmp_path, fails=True)
    assert "in.c:16:" in error and "STEPS was 5 when gopt read this file" in error
    assert main(["transform", "in.c", "-o", made, "--backend", backend, "-DSTEPS=3"]) == 0
    support.run(*words, "-D", "STEPS=3", cwd=tmp_path)
    assert "STEPS was 3" in support.run(*words, cwd=tmp_path, fails=True)


def test_options_reach_the_preprocessor(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    conditions = ["defined(ONE)", "!defined(TWO)", "defined(THREE)", "defined(__AVX2__)", "__STDC_VERSION__ == 201710L"]
    errors = [f'#if !({condition})\n#error "{condition}"\n#endif\n' for condition in conditions]
    Path("three.h").write_text("#define THREE\n")
    Path("in.c").write_text("".join(errors) + LOOKUP)
    options = ["-D", "ONE", "-DTWO", "-UTWO", "-include", "three.h", "-mavx2", "-march=haswell", "-std=gnu17"]
    assert main(["transform", "in.c", "-o", "made.c", *options]) == 0
    for left_out in ("-UTWO", "-mavx2"):
        some = [o for o in options if o != left_out and "march" not in o]
        assert main(["transform", "in.c", "-o", "made.c", *some]) == 1


def test_the_cmake_rule_passes_definitions(tmp_path):
    for name in ("lookup.x.c", "lookup.y.c"):
        (tmp_path / name).write_text(LOOKUP.replace("#define MORE (STEPS + 1)\n", ""))
    (tmp_path / "look.h").write_text("#define MORE (STEPS + 1)\n")
    (tmp_path / "main.c").write_text("""\
#include <stdint.h>
void look_fast(const uint32_t* t, uint32_t* out, int n);
int main(void) {
  uint32_t t[16], out[1];
  for (uint32_t k = 0; k < 16; ++k) t[k] = k + 1;
  look_fast(t, out, 1);
  return (int)out[0] - 9; /* from t[4] = 5, STEPS + 1 times */
}
""")
    (tmp_path / "CMakeLists.txt").write_text(f"""\
cmake_minimum_required(VERSION 3.25)
project(example C)
include({INCLUDE}/gopt.cmake)
gopt_transform(made lookup.x.c SUFFIX _fast DEFINE STEPS=3 OPTIONS -include ${{CMAKE_SOURCE_DIR}}/look.h)
gopt_transform(other lookup.y.c SUFFIX _other OPTIONS -include ${{CMAKE_SOURCE_DIR}}/look.h) # a file of its own
add_executable(program main.c ${{made}} ${{other}})
""")
    for words in (
        ["cmake", "-S", ".", "-B", "build", f"-DGOPT_PYTHON={sys.executable}"],
        ["cmake", "--build", "build"],
        ["build/program"],
    ):
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_directive_within_a_helper_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    branch = "  x = t[x];\n#ifdef FAST\n    x += 1000;\n#endif\n"
    Path("in.c").write_text(LOOKUP.replace("    x = t[x];\n", branch))
    assert main(["transform", "in.c", "-o", "made.c"]) == 1
    assert "in.c:12: a preprocessor directive within follow()" in capsys.readouterr().err
    assert not Path("made.c").exists()


def test_a_number_that_is_another_at_the_loop_is_refused(tmp_path, monkeypatch, capsys):
    """The check stands before the loop: it could say nothing of what a helper's text meant."""
    monkeypatch.chdir(tmp_path)
    for directives, now in [
        ("#undef STEPS\n", "is not defined"),
        ("#undef STEPS\n#define STEPS 7\n", "is `7`"),
        ("#undef STEPS\n#define STEPS(x) x\n", "is `(x) x`"),
    ]:
        Path("in.c").write_text(LOOKUP.replace("void look", directives + "void look").replace(", START(t)", ", t[0]"))
        assert main(["transform", "in.c", "-o", "made.c"]) == 1
        error = capsys.readouterr().err
        assert error.startswith(f"in.c:8: `STEPS` is 5 in follow(), which has marks, but {now} at the loop"), error
        assert "; use two names" in error and not Path("made.c").exists()
    # Behind the loop, or where no number is meant that the command line could change, nothing is wrong.
    plain = "static uint32_t plain(uint32_t x) { return x + STEPS; }\n#undef STEPS\n#define STEPS 8\n"
    Path("in.c").write_text(
        LOOKUP.replace("#define MORE", plain + "#define MORE").replace(", START(t)", ", plain(7)") + "#undef STEPS\n"
    )
    assert main(["transform", "in.c", "-o", "made.c"]) == 0
    assert "STEPS was 8" in Path("made.c").read_text()


def test_a_number_that_pop_macro_may_have_changed_is_refused(tmp_path, monkeypatch, capsys):
    """The preprocessor's output does not say what it brings back."""
    monkeypatch.chdir(tmp_path)
    push, pop = '#pragma push_macro("STEPS")\n#undef STEPS\n#define STEPS 7\n', '#pragma pop_macro("STEPS")\n'
    operator = '_Pragma("pop_macro(\\"STEPS\\")")\n'
    joined = '#pragma pop_\\\nmacro \\\n(/* of\n// */ "ST\\\nEPS")\n'
    for old, new, message in [
        (
            "void look",
            push + pop + "void look",
            "in.c:18: pop_macro changes `STEPS`, which the lookup of line 20 mentions",
        ),
        ("void look", push + operator + "void look", "in.c:18: pop_macro changes `STEPS`"),
        ("void look", push + joined + "void look", "in.c:18: pop_macro changes `STEPS`"),
        ("void look", push + joined + pop + "void look", "in.c:18: pop_macro changes `STEPS`"),
        ("    x = t[x];\n", "    x = t[x]; /*\n*/\n" + joined, "in.c:13: pop_macro within a lookup"),
        (
            "    out[i]",
            '_Pragma ( "push_macro(\\"STEPS\\")" ) out[i]',
            "in.c:17: push_macro within a lookup",
        ),
        ("#define MORE", push + pop + "#define MORE", "in.c:9: pop_macro changes `STEPS`"),  # by way of MORE
        ("    x = t[x];\n", "    x = t[x];\n" + pop, "in.c:12: pop_macro within a lookup"),
        ("    out[i]", push.partition("#undef")[0] + "    out[i]", "in.c:17: push_macro within a lookup"),
    ]:
        Path("in.c").write_text(LOOKUP.replace(old, new))
        assert main(["transform", "in.c", "-o", "made.c"]) == 1
        error = capsys.readouterr().err
        assert error.startswith(message) and ("; #undef" in error or "; move" in error), error
    Path("in.c").write_text(push.replace("STEPS", "OTHER") + pop.replace("STEPS", "OTHER") + push + LOOKUP + pop)
    assert main(["transform", "in.c", "-o", "made.c"]) == 0
    support.compile_c(tmp_path, "made.c", "-O2", *support.WARNINGS)
    spoken = '/* pop_macro("STEPS") \\" */ /*\n#pragma pop_macro("STEPS")\n*/ // pop_macro("STEPS") \\\n' + pop
    spoken += 'const char *said = "#pragma pop_macro(\\"STEPS\\") // /*", mark = \'"\'; // "\n'
    inside = '    x = t[x + !"pop_macro(\\"STEPS\\")"]; /* pop_macro */ // push_macro("STEPS") \\\n pop_macro\n'
    Path("in.c").write_text(spoken + LOOKUP.replace("    x = t[x];\n", inside))
    assert main(["transform", "in.c", "-o", "made.c"]) == 0


def test_a_number_that_is_written_otherwise_at_the_loop(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for later in ("(5)", "0x5u", "(2 + 3)", "(1 ? 5 : 0)"):
        directives = f"#undef STEPS\n#define STEPS {later}\n"
        Path("in.c").write_text(LOOKUP.replace("void look", directives + "void look"))
        assert main(["transform", "in.c", "-o", "made.c"]) == 0
        support.compile_c(tmp_path, "made.c", "-O2", *support.WARNINGS)
    for later in ("(5 + 1)", "(5 / 0)", "(STEPS)"):
        directives = f"#undef STEPS\n#define STEPS {later}\n"
        Path("in.c").write_text(LOOKUP.replace("void look", directives + "void look"))
        assert main(["transform", "in.c", "-o", "none.c"]) == 1


@pytest.mark.parametrize(
    "text",
    [
        '/* not STEPS,\n nor "STEPS */',
        "// not STEPS \\\n nor STEPS",
        'say("STEPS \\" STEPS");',
        'say("/*"); /* STEPS */',
        "if (x == '\"') x = 1; // STEPS \"",
    ],
)
def test_a_number_that_is_only_spoken_of(tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    helper = (
        "static uint32_t plain(const uint32_t* t, uint32_t x) {\n  g_expensive(&t[x]);\n  "
        + text
        + "\n  return t[x];\n}\n"
    )
    source = LOOKUP.replace("void look", "void say(const char*);\n" + helper + "#undef STEPS\nvoid look")
    source = source.replace("follow(t, START(t))", "plain(t, t[0])")
    Path("in.c").write_text(source)
    assert main(["transform", "in.c", "-o", "made.c"]) == 0
    Path("in.c").write_text(source.replace("return t[x];\n}", "return t[x] + STEPS;\n}"))
    assert main(["transform", "in.c", "-o", "none.c"]) == 1
