"""Running the chains of chains/."""

from whole.program import CHAINS, Report

TRAFFIC = CHAINS / "traffic.pcap"


def run_chain(heddle, name, folder, *options):
    folder.mkdir(exist_ok=True)
    args = ["run", "--json", CHAINS / f"{name}.click", f"OUT={folder / name}", *options]
    return Report(heddle.ok(*args).json), {path.name: path.read_bytes() for path in folder.iterdir()}
