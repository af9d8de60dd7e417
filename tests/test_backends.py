"""What is compiled twice, for GPUs and against simt, keeps apart (kernels/backend.h)."""

import re
import shutil
import subprocess

import pytest
from whole.program import program_path


def weak_functions(objects):
    """Mangled names of the inline functions of which the linker keeps one, whichever object has it."""
    names = subprocess.run(["nm", "--defined-only", *objects], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r" W (_Z\w+)$", names, re.MULTILINE))


def test_no_shared_function_calls_cuda():
    folder = program_path().parent / "CMakeFiles"
    cuda, simt = (sorted(folder.glob(f"heddle_gpu_{backend}.dir/**/*.o")) for backend in ("cuda", "simt"))
    if not cuda or not shutil.which("objdump"):
        pytest.skip("needs the objects of a build with CUDA, and binutils")
    shared = weak_functions(cuda) & weak_functions(simt)
    assert shared, "the search itself works: both have std's templates"
    for file in cuda:
        code = subprocess.run(["objdump", "-r", file], check=True, capture_output=True, text=True).stdout
        for section, relocations in re.findall(r"RECORDS FOR \[\.text\.(\w+)\]:\n(.*?)(?:\n\n|\Z)", code, re.DOTALL):
            assert section not in shared or "cuda" not in relocations, (
                f"{section} of {file.name} calls the CUDA runtime"
            )
