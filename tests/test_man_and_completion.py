"""Manual pages and completion, which are made of what the program says of itself."""

import re
import shutil
import subprocess
import sys

import pytest
from whole.program import ROOT


def completed(heddle, *words):
    """What bash offers behind these words; the last one is being typed."""
    script = f"""
        source {ROOT}/cmake/completion.bash
        COMP_WORDS=("{heddle.path}" {" ".join(f'"{word}"' for word in words)}) COMP_CWORD={len(words)}
        _heddle
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", script], check=True, capture_output=True, text=True)
    assert done.stderr == ""
    return done.stdout.split()


def test_completion(heddle):
    assert completed(heddle, "tr") == ["trace"]
    assert {"run", "check", "top", "elements"} <= set(completed(heddle, ""))
    assert completed(heddle, "run", "--allow") == ["--allow-reconfigure"]
    assert {"-f", "--file", "--device"} <= set(completed(heddle, "plan", "-"))
    assert completed(heddle, "elements", "RadixIP") == ["RadixIPLookup"]
    assert completed(heddle, "plan", "--launch", "as") == ["async"]
    assert completed(heddle, "plan", "--device", "s") == ["simt"]
    assert completed(heddle, "nonsense", "--") == []


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["ch"], ["check"]),
        (["rules", "ch"], ["check"]),
        (["gen", "rou"], ["routes"]),
        (["routes", "conv"], ["convert"]),
        (["rules", "check", "--for"], ["--format"]),
        (["rules", "check", "--format", "nf"], ["nft"]),
        (["gen", "routes", "--ip"], ["--ipv6"]),
        (["gen", "routes", "--hop"], ["--hops"]),
        (["run", "--device", "au"], ["auto"]),
        (["run", "--on-gpu-error", "c"], ["cpu"]),
        (["bench", "--measure", "zero"], ["zero-loss"]),
        (["rules", "check", "ch"], []),  # a file
        (["run", "gen", ""], []),
    ],
)
def test_completion_of_commands_below_others(heddle, words, offered):
    assert completed(heddle, *words) == offered


def test_completion_of_an_alias(heddle):
    """As README.md has it: `alias heddle=build/cuda/heddle`. Completion in a terminal expands none."""
    script = f"""
        alias heddle={heddle.path}
        source {ROOT}/cmake/completion.bash
        COMP_WORDS=(heddle run --laun) COMP_CWORD=2
        _heddle
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    path = "/usr/bin:/bin"  # which has no heddle
    done = subprocess.run(["bash", "-c", script], check=True, capture_output=True, text=True, env={"PATH": path})
    assert done.stdout == "--launch\n" and done.stderr == ""


def test_manual_pages(heddle, tmp_path):
    subprocess.run([sys.executable, ROOT / "cmake/man.py", heddle.path, tmp_path], check=True)
    classes = {line.split()[0] for line in heddle.ok("elements").out.splitlines()}
    pages = {path.name for path in (tmp_path / "man7").iterdir()}
    assert {f"heddle-{name}.7" for name in classes} >= pages and len(pages) > 100
    whole = (tmp_path / "man1/heddle.1").read_text().replace("\\-", "-")
    for words in ('.SH "RULES CHECK"', "--skip-unsupported", '.SH "ROUTES CONVERT"', '.SH "GEN ROUTES"', "--ipv6"):
        assert words in whole
    assert max(map(len, whole.splitlines())) <= 100
    if shutil.which("man") is None or shutil.which("groff") is None:
        pytest.skip("needs man and groff")
    for page, words in {
        "man1/heddle.1": ["--allow-reconfigure", "heddle top", "Watch|Show how a running router does"],
        "man7/heddle-Queue.7": ["Queue\\(\\[CAPACITY\\]\\)", "keeps packets until they are pulled"],
    }.items():
        done = subprocess.run(
            ["man", "--warnings", "-l", tmp_path / page],
            check=True,
            capture_output=True,
            text=True,
            env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin", "MANWIDTH": "200"},
        )
        assert done.stderr == ""
        assert all(re.search(word, done.stdout) for word in words), done.stdout[:3000]
