"""What the program writes goes where it was meant to, and nowhere else."""

import subprocess

import pytest
from whole import captures
from whole.program import CHAINS, quoted

TRAFFIC = CHAINS / "traffic.pcap"
CAPTURE = "FromDump({}) -> t :: Tee; t[0] -> ToDump(-); t[1] -> "


@pytest.mark.parametrize("closed", ["2>&-", "0<&- 2>&-", "0<&-"])
def test_standard_descriptors_that_are_closed(heddle, tmp_path, closed):
    out = tmp_path / "out.pcap"
    chain = f"FromDump({TRAFFIC}) -> Print(text) -> ToDump({quoted(out)})"
    done = subprocess.run(
        ["sh", "-c", f'"$@" {closed}', "sh", *heddle.command(["run", "--quiet", "-e", chain])],
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0 and done.stdout == b""
    assert captures.read(out) == captures.read(TRAFFIC)


@pytest.mark.parametrize(
    ("closed", "chain", "message"),
    [
        ("1>&-", f"FromDump({TRAFFIC}) -> ToDump(-)", "cannot write 'standard output': Bad file descriptor"),
        ("0<&-", "FromDump(-) -> Discard", "cannot read '-'"),
        ("0<&-", "FromIPSummaryDump(-) -> Discard", "cannot read '-'"),
    ],
)
def test_closed_descriptors_that_are_used(heddle, closed, chain, message):
    done = subprocess.run(
        ["sh", "-c", f'"$@" {closed}', "sh", *heddle.command(["run", "--quiet", "-e", chain])],
        stderr=subprocess.PIPE,
        check=False,
        timeout=120,
    )
    assert done.returncode == 1 and message in done.stderr.decode(), done


@pytest.mark.parametrize(
    ("chain", "args", "owners"),
    [
        (CAPTURE + "two :: ToDump(-)", ["--quiet"], ["ToDump@", "two"]),
        (CAPTURE + "two :: ToDump(/dev/stdout)", ["--quiet"], ["ToDump@", "two"]),
        (CAPTURE + "two :: ToIPSummaryDump(-, FIELDS wire_len)", ["--quiet"], ["ToDump@", "two"]),
        (CAPTURE + "MarkIPHeader(14) -> two :: IPPrint(OUTFILE -) -> Discard", ["--quiet"], ["ToDump@", "two"]),
        (CAPTURE + "c :: Counter -> Discard", ["-h", "c.count"], ["ToDump@", "-h"]),
        (CAPTURE + "Discard", ["--json"], ["ToDump@", "--json"]),
        (CAPTURE + "Discard", [], ["ToDump@", "--quiet"]),
    ],
)
def test_standard_output_has_one_owner(heddle, chain, args, owners):
    # Through a pipe: /dev/stdout is the same one.
    err = heddle.fails("run", *args, "-e", chain.format(TRAFFIC))
    assert "cannot write" in err and "it is being written by" in err and "name another file" in err, err
    assert all(owner in err for owner in owners), err


def test_files_have_one_owner(heddle, tmp_path):
    path = quoted(tmp_path / "out")
    chain = f"FromDump({TRAFFIC}) -> t :: Tee; t[0] -> one :: ToDump({path}); t[1] -> two :: ToDump({path})"
    err = heddle.fails("run", "--quiet", "-e", chain)
    assert "one" in err and "two" in err and "is being written by" in err
    heddle.run(chain.replace(path, "/dev/null"))
