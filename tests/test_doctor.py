"""`heddle gpus` says what a machine's GPUs can be used for, and what to do: trees of /proc and /sys that are made
here."""

import pytest


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def machine(tmp_path):
    """A machine with one GPU that has all that it may have."""
    gpu = tmp_path / "sys/bus/pci/devices/0000:3b:00.0"
    files = {
        "vendor": "0x10de",
        "class": "0x030200",
        "current_link_speed": "32.0 GT/s PCIe",
        "max_link_speed": "32.0 GT/s PCIe",
        "current_link_width": "16",
        "max_link_width": "16",
        "numa_node": "1",
        "resource": "0x00000000fb000000 0x00000000fbffffff 0x0000000000040200\n"
        "0x0000380000000000 0x0000381fffffffff 0x000000000014220c",
    }
    for name, text in files.items():
        write(gpu / name, text + "\n")
    write(tmp_path / "sys/bus/pci/devices/0000:00:1f.0/vendor", "0x8086\n")
    write(tmp_path / "proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module  580.65.06\n")
    write(tmp_path / "proc/modules", "nvidia_peermem 16384 0 - Live 0x0\nnvidia 14000000 5 - Live 0x0\n")
    write(tmp_path / "dev/nvidiactl", "")
    return tmp_path


def findings(heddle, machine):
    found = heddle.ok("gpus", "--json", "--sysroot", machine).json["findings"]
    return {finding["what"]: finding for finding in found}


def test_a_machine_that_has_everything(heddle, machine):
    found = findings(heddle, machine)
    states = {what: finding["state"] for what, finding in found.items() if what != "NVRTC"}
    assert states == {
        "driver": "good",
        "device files": "good",
        "0000:3b:00.0 PCIe link": "good",
        "0000:3b:00.0 BAR 1": "good",
        "0000:3b:00.0 NUMA node": "note",
        "GPUDirect RDMA": "good",
    }
    assert "580.65.06" in found["driver"]["is"]
    assert found["0000:3b:00.0 PCIe link"]["is"] == "32.0 GT/s PCIe x16"
    assert found["0000:3b:00.0 BAR 1"]["is"] == "131072 MB"
    text = heddle.ok("gpus", "--sysroot", machine).out
    assert "good 0000:3b:00.0 PCIe link: 32.0 GT/s PCIe x16" in text


NO_REGION = "0x0 0x0 0x0"
# Its regions have 64 bits, the first one, too: PCI's BARs 0, 2 and 4.
HOPPER = f"""0x000038c042000000 0x000038c042ffffff 0x000000000014220c
{NO_REGION}
0x000038a000000000 0x000038bfffffffff 0x000000000014220c
{NO_REGION}
0x000038c040000000 0x000038c041ffffff 0x000000000014220c"""


@pytest.mark.parametrize(
    ("change", "what", "state", "words"),
    [
        ({"current_link_width": "8"}, "0000:3b:00.0 PCIe link", "bad", ["x8", "x16", "slot"]),
        ({"current_link_speed": "2.5 GT/s PCIe"}, "0000:3b:00.0 PCIe link", "note", ["2.5", "idle"]),
        ({"resource": "0x1 0x2 0x0\n0x380000000000 0x38000fffffff 0x0"}, "0000:3b:00.0 BAR 1", "note", ["256 MB"]),
        ({"resource": ""}, "0000:3b:00.0 BAR 1", "note", ["not shown"]),
        ({"resource": f"0xc7000000 0xc7ffffff 0x40200\n{NO_REGION}"}, "0000:3b:00.0 BAR 1", "note", ["not shown"]),
        ({"resource": HOPPER}, "0000:3b:00.0 BAR 1", "good", ["131072 MB"]),
        ({"max_link_width": ""}, "0000:3b:00.0 PCIe link", "note", ["x16", "does not show"]),
    ],
)
def test_a_gpu_that_is_held_up(heddle, machine, change, what, state, words):
    for name, text in change.items():
        (machine / "sys/bus/pci/devices/0000:3b:00.0" / name).write_text(text + "\n")
    finding = findings(heddle, machine)[what]
    assert finding["state"] == state
    for word in words:
        assert word in finding["is"] + finding["remedy"]


def test_a_gpu_without_driver(heddle, machine):
    (machine / "proc/driver/nvidia/version").unlink()
    found = findings(heddle, machine)
    assert found["driver"]["state"] == "bad" and "modprobe nvidia" in found["driver"]["remedy"]
    assert "device files" not in found  # nothing is to be had of them


def test_a_driver_without_device_files(heddle, machine):
    (machine / "dev/nvidiactl").unlink()
    finding = findings(heddle, machine)["device files"]
    assert finding["state"] == "bad" and "nvidia-modprobe" in finding["remedy"]


def test_without_peer_memory(heddle, machine):
    (machine / "proc/modules").write_text("nvidia_peermemory 1 0 - Live 0x0\n")
    assert findings(heddle, machine)["GPUDirect RDMA"]["state"] == "note"


def test_a_machine_without_a_gpu(heddle, tmp_path):
    found = findings(heddle, tmp_path)
    assert found["GPU"]["state"] == "bad"
    assert "run on the CPU" in found["GPU"]["remedy"]
    assert "does not exist" in heddle.fails("gpus", "--sysroot", tmp_path / "nothing", code=105)
