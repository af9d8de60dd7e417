"""bench/heddle.npf, run by the Network Performance Framework itself."""

import os
import re
import subprocess

import pytest
from whole.program import ROOT

NO_NETWORK = re.compile(
    r"Temporary failure in name resolution|NewConnectionError|Network is unreachable|ConnectTimeout"
)


@pytest.fixture(scope="module")
def npf():
    """The program; installed on the first use, and kept under build/."""
    tried = subprocess.run([ROOT / "cmake/npf.sh", "--help"], check=False, capture_output=True, text=True, timeout=600)
    words = tried.stdout + tried.stderr
    if tried.returncode != 0 and NO_NETWORK.search(words):
        pytest.skip("npf is not installed under build/npf, and there is no network to install it from")
    assert tried.returncode == 0, words
    return ROOT / "cmake/npf.sh"


def results(text):
    """NPF's own results: {variables: {name: samples}}."""
    found = {}
    for line in text.strip().splitlines():
        variables, values = line.split("=", 1)
        found[variables] = {
            name: [float(sample) for sample in samples.split(",")]
            for name, samples in re.findall(r"\{([^:{}]+):([^{}]*)\}", values)
        }
    return found


def test_npf_sweeps_heddle_bench(heddle, npf, tmp_path):
    sweep = ["--variables", "SIZE={64,512}", "CORES=1", "TRIAL=0.5", f"HEDDLE={heddle.path}"]
    # npf takes 0 for no result; on a crowded machine a trial may pass without a packet.
    sweep += ["--config", "n_runs=2", "n_retry=5"]
    run = subprocess.run(
        [npf, "local", "--test", ROOT / "bench/heddle.npf", *sweep, "--no-graph", "--no-conntest"],
        check=False,
        cwd=tmp_path,
        env={**os.environ, "TERM": "dumb"},
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    files = list(tmp_path.glob("results/local/local/*heddle.npf.results"))
    assert len(files) == 1, run.stdout + run.stderr
    found = results(files[0].read_text(encoding="utf-8"))
    sizes = {int(re.search(r"\bSIZE:(\d+)", variables).group(1)): values for variables, values in found.items()}
    assert sorted(sizes) == [64, 512]
    for size, values in sizes.items():
        assert len(values["MPPS"]) == 2
        assert min(values["MPPS"]) > 0
        # Frames of this size: bits and packets of the same trial.
        for mpps, gbps in zip(values["MPPS"], values["GBPS"], strict=True):
            assert gbps == pytest.approx(mpps * size * 8e-3, rel=0.01)
