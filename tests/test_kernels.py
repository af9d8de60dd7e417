"""Registers and spills of every kernel as ptxas reports them, for each architecture of the build, and what is left of
functions in PTX. No GPU is needed, but nvcc: compiling a kernel again under ccache gives the report of the build."""

import json
import os
import re
import shlex
import shutil
import subprocess

import pytest
from whole.program import program_path

# Registers that a thread may use; bytes of spills are never right. A multiprocessor has 65,536 registers: with 128 a
# thread, 16 warps are resident, with 96 there are 20.
MOST_REGISTERS = {("heddle::gpu::serve<1>", "sm_90"): 96}
MOST_REGISTERS |= {  # of 12 warps, of which a multiprocessor has room for one block
    (f"heddle::gpu::serve_rings<heddle::gpu::{rings}, true>", arch): 168
    for rings in ("MemifRings<true, true>", "MemifRings<false, true>", "NicRings")
    for arch in ("sm_80", "sm_90")
}
MOST_REGISTERS_OF_OTHERS = 128
# What it calls takes values, not references, so that its threads keep nothing in local memory.
WITHOUT_STACK = "heddle::gpu::serve<1>"

KERNEL = re.compile(
    r"Compiling entry function '(?P<name>\w+)' for '(?P<arch>\w+)'.*?"
    r"(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads.*?Used (?P<registers>\d+) registers",
    re.DOTALL,
)


def report_of(command, folder, output):
    """What ptxas says when this command of compile_commands.json runs."""
    words = shlex.split(command)
    assert "-Xptxas=-v" in words, command
    built = words[words.index("-o") + 1]
    words[words.index("-o") + 1] = str(output)
    words += ["-MD", "-MT", built, "-MF", f"{output}.d"]  # as the build has them: else ccache would compile it anew
    if shutil.which("ccache"):
        words.insert(0, "ccache")
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def name_of(symbol):
    """heddle::gpu::kernel<1> for a mangled name, without parameters."""
    plain = subprocess.run(["c++filt", symbol], capture_output=True, text=True, check=True).stdout.strip()
    return plain.removeprefix("void ").partition("(")[0]


def faults(report):
    """Kernels in a report of ptxas, and what is wrong with them."""
    kernels, wrong = set(), []
    for kernel in KERNEL.finditer(report):
        name = name_of(kernel["name"])
        kernels.add((name, kernel["arch"]))
        most = MOST_REGISTERS.get((name, kernel["arch"]), MOST_REGISTERS_OF_OTHERS)
        if int(kernel["registers"]) > most:
            wrong.append(f"{name} ({kernel['arch']}): {kernel['registers']} registers, at most {most}")
        if int(kernel["stores"]) or int(kernel["loads"]):
            wrong.append(f"{name} ({kernel['arch']}): spills {kernel['stores']} bytes, loads {kernel['loads']}")
        if name == WITHOUT_STACK and int(kernel["stack"]):
            wrong.append(f"{name} ({kernel['arch']}): a stack of {kernel['stack']} bytes")
    return kernels, wrong


def limits_of_none(kernels):
    """Those of MOST_REGISTERS whose kernel is not there, though others of the architecture are: it has another name
    now."""
    return {(name, arch) for name, arch in MOST_REGISTERS if arch in {a for _, a in kernels}} - kernels


@pytest.fixture
def sources():
    """What compile_commands.json says of each file for GPUs."""
    build = program_path().parent
    commands = build / "compile_commands.json"
    if not commands.is_file():
        pytest.skip(f"{commands} does not exist: the program is not in its build folder")
    found = [c for c in json.loads(commands.read_text()) if c["file"].endswith(".cu")]
    found = [c for c in found if "-DHEDDLE_MIRROR_ALONE" not in c["command"]]  # the same without most functions
    if not found:
        pytest.skip(f"{os.path.relpath(build)} is built without CUDA (nvcc; cmake --preset cuda)")
    return found


def without_a_way_out(ptx):
    """Functions in PTX that never return: what the compiler takes for undefined behaviour, it leaves out."""
    bodies = re.findall(r"^\.func[^;{]*?(\w+)\s*\([^;{]*\{(.*?)^\}", ptx, re.MULTILINE | re.DOTALL)
    assert bodies, "no function in the PTX"
    return {name_of(name) for name, body in bodies if not re.search(r"\bret;", body)}


@pytest.mark.parametrize("kernels", ["memif_rings", "split_rings", "resident_kernels"])
def test_no_function_is_compiled_to_nothing(sources, tmp_path, kernels):
    (source,) = (s for s in sources if s["file"].endswith(f"/{kernels}.cu"))
    words = [w for w in shlex.split(source["command"]) if not w.startswith(("--generate-code", "-Xptxas"))]
    words[words.index("-c")] = "-ptx"
    words[words.index("-o") + 1] = str(tmp_path / "ptx")
    subprocess.run([*words, "-arch=compute_90"], cwd=source["directory"], check=True)
    ptx = (tmp_path / "ptx").read_text()
    assert "EncapTile" in ptx
    assert not without_a_way_out(ptx)


def test_a_function_without_a_way_out_is_found():
    whole = ".func one(\n\t.param .b64 a\n)\n{\n\tret;\n}\n.func  (.param .b32 r) two(\n)\n{\n\n}\n"
    assert without_a_way_out(whole) == {"two"}


def test_kernels_stay_within_their_registers(sources, tmp_path):
    wrong, seen = [], set()
    for number, source in enumerate(sources):
        found, bad = faults(report_of(source["command"], source["directory"], tmp_path / f"{number}.o"))
        seen, wrong = seen | found, wrong + bad
    assert seen, "ptxas reported no kernel"
    assert not limits_of_none(seen), f"these kernels of MOST_REGISTERS are in no report: {limits_of_none(seen)}"
    assert not wrong, "\n".join(wrong)


def test_spills_and_many_registers_are_found():
    report = (
        "ptxas info    : Compiling entry function '_ZN6heddle3gpu5serveILi1EEEvNS0_7ServingE' for 'sm_90'\n"
        "    {0} bytes stack frame, {0} bytes spill stores, {0} bytes spill loads\n"
        "ptxas info    : Used {1} registers, used 0 barriers\n"
    )
    serve = {("heddle::gpu::serve<1>", "sm_90")}
    assert faults(report.format(0, 96)) == (serve, [])
    assert faults(report.format(8, 97)) == (
        serve,
        [
            "heddle::gpu::serve<1> (sm_90): 97 registers, at most 96",
            "heddle::gpu::serve<1> (sm_90): spills 8 bytes, loads 8",
            "heddle::gpu::serve<1> (sm_90): a stack of 8 bytes",
        ],
    )


def test_a_kernel_with_a_limit_that_has_another_name_now_is_found():
    assert limits_of_none(set(MOST_REGISTERS)) == set()
    for gone in MOST_REGISTERS:
        others = {
            (f"{name} of another name", arch) if (name, arch) == gone else (name, arch) for name, arch in MOST_REGISTERS
        }
        assert limits_of_none(others) == {gone}
    name, arch = "heddle::gpu::serve<4>", "sm_70"
    assert limits_of_none({(name, arch)}) == set(), "built for another architecture"
