"""Tunnels with strongSwan's kernel-libipsec, both ways. Two of its daemons agree on them by IKE, which Heddle has not;
then the second is killed, and Heddle goes on in its place with the keys that its log has."""

import contextlib
import os
import pathlib
import re
import subprocess

import pytest
from whole import ipsec, network
from whole.program import Program, Report, quoted, wait_until

CHARON, SWANCTL = "/usr/sbin/charon-systemd", "/usr/sbin/swanctl"
LIBIPSEC = "/usr/lib/ipsec/plugins/libstrongswan-kernel-libipsec.so"
pytestmark = [
    pytest.mark.usefixtures("root"),
    pytest.mark.skipif(
        not all(map(os.path.exists, (CHARON, SWANCTL, LIBIPSEC))), reason="strongSwan is not installed (make deps)"
    ),
    pytest.mark.skipif(not os.path.exists("/dev/net/tun"), reason="kernel-libipsec needs /dev/net/tun"),
]

DEVICES = ("hds0", "hds1")
MACS = ("02:00:00:00:77:01", "02:00:00:00:77:02")
ENDS = ("10.77.0.1", "10.77.0.2")
SUITES = {  # a tunnel each
    "aes128ctr-sha1": {"cipher": "ctr", "hash": "sha1"},
    "aes256ctr-sha256": {"cipher": "ctr", "hash": "sha256"},
    "aes192-sha256": {"cipher": "cbc", "hash": "sha256"},
    "aes128-sha1": {"cipher": "cbc", "hash": "sha1"},
    "aes256gcm16": {"cipher": "gcm"},
    "aes128gcm8": {"cipher": "gcm", "icv": 8},
}
SIZES = (0, 1, 2, 3, 700, 1372)  # the last fills the 1400 bytes of its tun device
COUNT = 20

SETTINGS = """charon-systemd {{
  load = random nonce aes sha1 sha2 hmac kdf ctr gcm curve25519 kernel-libipsec kernel-netlink socket-default vici
  plugins {{ vici {{ socket = unix://{0}.vici
  }} }}
  journal {{ default = -1
  }}
  filelog {{ log {{ path = {0}.log
    default = -1
    chd = 4
    flush_line = yes
  }} }}
}}
"""
CONNECTION = """connections {{ peer {{
  version = 2
  encap = yes
  proposals = aes128-sha256-x25519
  local_addrs = {}
  remote_addrs = {}
  local {{ auth = psk
  }}
  remote {{ auth = psk
  }}
  children {{
{}  }}
}} }}
secrets {{ ike {{ secret = "of this test"
}} }}
"""
CHILD = """    {0} {{ esp_proposals = {0}
      local_ts = {1}/32
      remote_ts = {2}/32
    }}
"""
CHAIN = """FromDevice({device}) -> kind :: Classifier(12/0806 20/0001, 12/0800 42/00000000, 12/0800); out :: ToDevice({device});
    kind[0] -> ARPResponder({address} {mac}) -> out; kind[1] -> ike :: Discard;
    kind[2] -> twice :: Tee -> d :: IPsecDecap({keys}, OFFSET 14); twice[1] -> d;
    d{judge} -> CheckIPHeader(14) -> answers :: ICMPPingResponder -> EtherMirror
      -> IPsecSequence(esp) -> esp :: IPsecEncap({keys}, OFFSET 14) -> again :: Tee -> out; again[1] -> out;"""


def inside(side):
    """The addresses at one end of the tunnels."""
    return [f"10.78.{number}.{side + 1}" for number in range(len(SUITES))]


class Daemon:
    """A charon in a namespace, with files of its own in `folder`."""

    def __init__(self, folder, space, side):
        self.files, self.log = folder / f"charon{side}", folder / f"charon{side}.log"
        self.log.touch(0o600)
        settings, self.connection = folder / f"charon{side}.conf", folder / f"swanctl{side}.conf"
        settings.write_text(SETTINGS.format(self.files))
        ends = zip(SUITES, inside(side), inside(1 - side))
        children = "".join(CHILD.format(*child) for child in ends)
        self.connection.write_text(CONNECTION.format(ENDS[side], ENDS[1 - side], children))
        self.process = subprocess.Popen(
            space.command(CHARON),
            env={**os.environ, "STRONGSWAN_CONF": str(settings)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def ask(self, *words, **options):
        return network.call(SWANCTL, *words, "--uri", f"unix://{self.files}.vici", **options)

    def load(self):
        wait_until(pathlib.Path(f"{self.files}.vici").exists, what="charon")
        self.ask("--load-all", "--file", self.connection)

    def kill(self):
        """It tells its peer nothing."""
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def daemons(folder, spaces):
    list_ = []
    try:
        for side, space in enumerate(spaces):
            list_.append(Daemon(folder, space, side))
        for daemon in list_:
            daemon.load()
        yield list_
    finally:
        for daemon in list_:
            daemon.kill()


def keys_in(log):
    """What the initiator of tunnels says of each: SPIs of the way in and of the way out, and keys by what and by whose
    they are."""
    dump = r"(\w+) (initiator|responder) key => .*\n((?:.*\[CHD\] +\d+: .*\n)+)|SPI 0x([0-9a-f]+)"
    keys, spis = {}, []
    for what, whose, lines, spi in re.findall(dump, log.read_text()):
        if spi:
            spis.append(int(spi, 16))
        else:
            rows = re.findall(r": ((?:[0-9A-F]{2} )+)", lines)
            keys[what, whose] = bytes.fromhex("".join(rows))
        if len(spis) == 2:
            yield *spis, keys
            keys, spis = {}, []


def associations(log):
    """Those of the second end, which was the initiator."""
    for suite, there, here, (spi_in, spi_out, keys) in zip(SUITES, inside(0), inside(1), keys_in(log), strict=True):
        for whose, spi, ends, source, destination in (
            ("responder", spi_in, ENDS, there, here),
            ("initiator", spi_out, ENDS[::-1], here, there),
        ):
            yield ipsec.Association(
                spi,
                **SUITES[suite],
                cipher_key=keys["encryption", whose],
                hash_key=keys.get(("integrity", whose), b""),
                port=4500,
                ends=ends,
                lines=f"\tsel src {source}/32 dst {destination}/32\n",
            )


@contextlib.contextmanager
def linked():
    """Two namespaces with a link between; addresses inside tunnels are on the loopback device."""
    with network.namespaces() as spaces:
        words = ["type", "veth", "peer", "name", DEVICES[1], "netns", spaces[1].name]
        network.call("ip", "-n", spaces[0].name, "link", "add", DEVICES[0], *words)
        for side, space in enumerate(spaces):
            space.bring_up(DEVICES[side], f"{ENDS[side]}/24", MACS[side])
            for address in inside(side):
                network.call("ip", "-n", space.name, "address", "add", f"{address}/32", "dev", "lo")
        yield spaces


@pytest.mark.parametrize("device", ["cpu", "simt"])
def test_heddle_goes_on_where_charon_ended(heddle, tmp_path, device):
    """A GPU leaves replays to IPsecReplay, and AES-CBC to the CPU, so that tunnel is silent there."""
    on_cpu = device == "cpu"
    tunnels = [number for number, suite in enumerate(SUITES.values()) if on_cpu or suite["cipher"] != "cbc"]
    with linked() as (left, right), daemons(tmp_path, (left, right)) as (theirs, replaced):
        for suite in SUITES:
            replaced.ask("--initiate", "--child", suite)
        replaced.kill()
        known = [each for each in associations(replaced.log) if on_cpu or each.cipher != "cbc"]
        keys = ipsec.write(tmp_path / "keys", known)
        network.call("ip", "-n", right.name, "address", "flush", "dev", DEVICES[1])
        program = Program(heddle.path, right.command())
        judge = "" if on_cpu else " -> r :: IPsecReplay(d)"
        chain = CHAIN.format(device=DEVICES[1], address=ENDS[1], mac=MACS[1], keys=quoted(keys), judge=judge)
        with program.start("run", "--json", "--device", device, "-e", chain) as running:

            def comes_back():
                assert running.alive(), running.wait()
                return left.ping(inside(1)[0], 1, source=inside(0)[0], patience=1) == 1

            wait_until(comes_back, what="the first ping")
            for number in tunnels:
                source, destination = inside(0)[number], inside(1)[number]
                for size in SIZES:
                    assert left.ping(destination, COUNT, 0.001, size, source=source) == COUNT, (destination, size)
            listed = theirs.ask("--list-sas")
            result = running.interrupt()
    assert (result.code, result.err) == (0, ""), result
    report = Report(result.json)
    # Each packet came twice, and went back twice: both ends took it once.
    answered = report.one("answers")["packets"]
    assert report.drops("d" if on_cpu else "r") == {"replayed": answered}
    assert {report.one(name)["processor"] for name in ("d", "esp")} == {device}
    assert report.drops("answers") == report.drops("esp") == {}
    taken = [int(count) for count in re.findall(r"^ +in .* (\d+) packets", listed, re.MULTILINE)]
    assert taken[1:] == [COUNT * len(SIZES) * (number in tunnels) for number in range(1, len(SUITES))]
    assert sum(taken) == answered
