"""The handler `reload` of elements that have a file: one with mistakes changes nothing, and each of them is named."""

import pytest
from test_stopping import large_firewall
from whole import ipsec
from whole.control import Control

ASSOCIATION = ipsec.Association(0x1001).text()
RELOADED = {
    "NIDS": (
        "Idle -> MarkIPHeader -> x :: NIDS({}) -> Discard",
        'alert tcp any any -> any any (content:"x"; sid:1;)\n',
        'nonsense\nalert ip any any -> any 1 (sid:x;)\nalert tcp any any -> any any (content:"y"; sid:2;)\nalert\n',
        (1, 2, 4),
    ),
    "AhoCorasick": (
        "Idle -> MarkIPHeader -> x :: AhoCorasick({}) -> Discard",
        "ip any x\n",
        "x\nip any y\ntcp 99999 z\n",
        (1, 3),
    ),
    "Firewall": (
        "Idle -> MarkIPHeader -> x :: Firewall(RULES {}, DEFAULT allow) -> Discard",
        "@0.0.0.0/0 0.0.0.0/0 0 : 65535 0 : 65535 0x00/0x00 deny\n",
        "x\n\ny\n",
        (1, 3),
    ),
    **{
        name: (
            f"Idle -> StoreIPAddress(10.0.0.1, 16) -> GetIPAddress(16) -> x :: {name}(FILE {{}}) -> Discard",
            "10.0.0.0/8 0\n",
            "10.0.0.0/8 0\n10.0.0.0/33 0\n10.0.0.0/8 7\nnonsense\n",
            (2, 3, 4),
        )
        for name in ("DirectIPLookup", "RadixIPLookup", "LinearIPLookup")
    },
    "LookupIP6Route": (
        "Idle -> MarkIP6Header -> x :: LookupIP6Route(FILE {}) -> Discard",
        "2001:db8::/32 0\n",
        "2001:db8::/129 0\n2001:db8::/32 0\nnonsense\n",
        (1, 3),
    ),
    **{
        name: (
            f"Idle -> x :: {name}({{}}) -> Discard",
            ASSOCIATION,
            "nonsense\n" + ASSOCIATION + "src 192.0.2.1 dst 192.0.2.2\n\tmode sleep\n",
            (1, len(ASSOCIATION.splitlines()) + 3),
        )
        for name in ("IPsecDecap", "IPsecEncap")
    },
}


@pytest.mark.parametrize("name", RELOADED)
def test_reload_reports_every_mistake_with_its_line(heddle, tmp_path, name):
    chain, good, bad, lines = RELOADED[name]
    file = tmp_path / "file"
    file.touch(0o600)
    file.write_text(good)
    with heddle.start("run", "--quiet", "-u", tmp_path / "socket", "-e", chain.format(file)) as running:
        control = Control(tmp_path / "socket")
        file.write_text(bad)
        code, text, _ = control.command("WRITE x.reload")
        found = [
            int(line[len(str(file)) + 1 :].split(":")[0]) for line in text.splitlines() if line.startswith(str(file))
        ]
        assert code == 520 and tuple(found) == lines, text
        assert text.splitlines()[-1].endswith(" stay as they are"), text
        file.write_text(good)
        control.write("x.reload")
        assert running.interrupt().code == 0


def test_a_gpu_keeps_the_engine_that_auto_chose(heddle, tmp_path):
    """And what does not fit into it is refused, with the remedy; new arguments choose anew."""
    few = "@10.0.0.0/8 0/0 0 : 65535 0 : 65535 0x06/0xFF deny\n" * 3
    file = tmp_path / "rules"
    file.write_text(few)
    arguments = f"RULES {file}, MEMORY 4, DEFAULT allow"
    chain = f"Idle -> CheckIPHeader(14) -> f :: Firewall({arguments}) -> Discard"
    options = ("--quiet", "-R", "--device", "simt", "-u", tmp_path / "socket")
    with heddle.start("run", *options, "-e", chain) as running:
        control = Control(tmp_path / "socket")
        assert control.read("f.engine").startswith("engine hypersplit")
        file.write_text(large_firewall(4000))
        code, text, _ = control.command("WRITE f.reload x")
        assert code == 520 and "MEMORY allows 4 MB" in text, text
        assert "On a GPU ENGINE auto chose hypersplit when the program started, and keeps it: write" in text, text
        assert control.read("f.count") == "3"
        control.write("f.config", arguments)
        assert control.read("f.count") == "4000" and control.read("f.engine").startswith("engine tuple")
        assert running.interrupt().code == 0
