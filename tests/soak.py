"""Runs chains for a long time while all that can change changes, and accounts for every packet.

    soak.py HEDDLE [--device gpu|simt] [--seconds 600] [NAME...]

placement   functions between a check sum and its check, in every way to a GPU in turn: the load swings every 100 ms,
            routes come and go, configurations follow each other, the program stops and starts. Nothing is lost or
            damaged.
c4          firewall, NIDS, router and IPsec with new security associations, rules, routes and configurations. What the
            firewall denies is all that is missing.
rings       GPU ports whose peers come, go, lie and die; the others lose nothing and keep their order.
mesh        a router from each of three GPU ports to all of them, the same.

Standard library only, as the machine with the GPU may have nothing else. An AssertionError is a finding; what was
asked for by random numbers is the same for the same --seed.
"""

import argparse
import contextlib
import pathlib
import random
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from whole import memif
from whole.control import Control
from whole.program import Program, Report, quoted, wait_until

SOURCE = "SRCETH 02:00:00:00:00:01, SRCIP 10.1.0.1, DSTETH 02:00:00:00:00:02, DSTIP 10.2.0.1"
ROUTES = "0.0.0.0/0 0, 10.255.0.0/16 1"


class Soak:
    """What the runs share."""

    def __init__(self, heddle, device, seconds, seed, folder):
        self.heddle, self.device, self.seconds, self.folder = heddle, device, seconds, folder
        self.values = random.Random(seed)
        self.simt = device == "simt"

    def placed(self, by_load=False):
        name = "auto:simt" if self.simt else "auto"
        return ["--device", name if by_load else self.device]

    @contextlib.contextmanager
    def running(self, chain, *options):
        """A run with its control; ends by SIGINT, in silence, with the report as `report`."""
        control = self.folder / "control"
        control.unlink(missing_ok=True)
        with self.heddle.start("run", "--json", "-R", "-u", control, "-e", chain, *options) as running:
            running.control = Control(control)
            try:
                yield running
            except Exception as error:  # such as a connection that has ended, for the program has
                raise AssertionError(
                    f"{error}; {running.interrupt() if running.alive() else running.wait()}"
                ) from error
            result = running.interrupt()
        assert (result.code, result.err) == (0, ""), result
        running.report = Report(result.json)

    def say(self, what, report, changes):
        done = ", ".join(f"{count} {name}" for name, count in changes.items())
        print(f"{what}: {report.received} packets, {report.dropped} dropped; {done}", flush=True)


WAYS = [  # options, and TRANSPORT of the functions in the middle
    (["--launch", "persistent"], "gather", True),
    (["--launch", "async"], "commlist", False),
    (["--launch", "graph"], "coalescent", False),
    (["--launch", "persistent"], "landing", False),
    (["--launch", "sync"], "direct", False),
    (["--launch", "persistent"], "zerocopy", True),
    (["--launch", "async"], "landing", True),
    (["--launch", "persistent", "--workers"], "gather", False),
]


def placement(soak):
    share = soak.seconds / len(WAYS)
    for options, transport, by_load in WAYS:
        chain = (
            f"in :: FastUDPFlows(10000, -1, 700, {SOURCE}, FLOWS 1000, FLOWSIZE 1000) -> SetCRC32(DEVICE cpu)"
            f" -> MarkIPHeader(14) -> GetIPAddress(30) -> XOR(KEY, TRANSPORT {transport}) -> XOR(KEY)"
            f" -> rt :: DirectIPLookup({ROUTES}); rt[0] -> check :: CheckCRC32; rt[1] -> check -> Discard;"
        )
        changes = {"rates": 0, "routes": 0, "configurations": 0}
        with soak.running(chain.replace("KEY", "85"), *soak.placed(by_load), *options, "-j", "2") as running:
            end = time.monotonic() + share
            while time.monotonic() < end:
                busy = changes["rates"] % 2 == 0
                running.control.write("in.rate", str(0 if busy else soak.values.choice([1000, 50_000])))
                changes["rates"] += 1
                until = time.monotonic() + 0.1
                while time.monotonic() < until:
                    prefix = f"10.{soak.values.randrange(4)}.{soak.values.randrange(8)}.0/24"
                    running.control.write("rt.set", f"{prefix} {soak.values.randrange(2)}")
                    changes["routes"] += 1
                if changes["rates"] % 20 == 0:
                    running.control.write("hotconfig", chain.replace("KEY", str(soak.values.randrange(256))))
                    changes["configurations"] += 1
        report = running.report
        report.assert_accounted()
        assert report.dropped == 0 and report.received > 0, report.all
        way = f"{transport}, {' '.join(options[1:])}{', by load' if by_load else ''}"
        soak.say(f"placement ({way})", report, changes)


def checksum(header):
    total = sum(int.from_bytes(header[i : i + 2], "big") for i in range(0, len(header), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return (~total & 0xFFFF).to_bytes(2, "big")


def request():
    """A frame that a NIDS has rules for: HTTP from a client to a server."""
    payload = b"GET /soak HTTP/1.1\r\n\r\n" + bytes(60)
    tcp = (2000).to_bytes(2, "big") + (80).to_bytes(2, "big") + bytes(8) + b"\x50\x18" + bytes(6)
    length = 20 + len(tcp) + len(payload)
    ip = b"\x45\0" + length.to_bytes(2, "big") + bytes(4) + b"\x40\x06" + bytes(2) + bytes([10, 1, 0, 1, 10, 2, 0, 1])
    ip = ip[:10] + checksum(ip) + ip[12:]
    return b"\2\0\0\0\0\2\2\0\0\0\0\1\x08\0" + ip + tcp + payload


def write_keys(path, spis):
    """Associations, whose keys follow from their SPIs."""
    random_of = {spi: random.Random(spi) for spi in spis}
    lines = "".join(
        f"src 198.51.100.1 dst 203.0.113.1\n\tproto esp spi {spi:#x} mode tunnel\n\treplay-window 64\n"
        f"\tauth-trunc hmac(sha1) 0x{random_of[spi].randbytes(20).hex()} 96\n"
        f"\tenc rfc3686(ctr(aes)) 0x{random_of[spi].randbytes(20).hex()}\n"
        for spi in spis
    )
    path.touch(0o600)
    path.write_text(lines)


def write_rules(path, generation):
    path.write_text(
        'alert tcp any any -> any 80 (msg:"soak"; content:"GET /soak"; sid:1;)\n'
        f'alert udp any any -> any any (msg:"other"; content:"generation {generation}"; sid:{generation + 2};)\n'
    )


def c4(soak):
    rules, signatures = soak.folder / "firewall.rules", soak.folder / "signatures.rules"
    rules.write_text("@0.0.0.0/0 0.0.0.0/0 0 : 65535 1000 : 9000 0x11/0xFF 0x0000/0x0000 deny\n")

    sender, receiver = soak.folder / "sender.keys", soak.folder / "receiver.keys"

    def follow(generation, write):
        """An association follows the one before: the receiver has it first, and has both until the sender has."""
        write_keys(receiver, [0x1000 + generation, 0x1001 + generation])
        write("back.reload")
        write_keys(sender, [0x1001 + generation])
        write("esp.reload")
        write_keys(receiver, [0x1001 + generation])
        write("back.reload")

    def chain():
        file, tunnels = quoted(signatures), f"{quoted(sender)}, OFFSET 14"
        return (
            f"in :: FastUDPFlows(0, -1, 500, {SOURCE}, FLOWS 10000, FLOWSIZE 10000) -> all :: CheckIPHeader(14)"
            f" -> IPsecSequence(esp) -> fw :: Firewall(RULES {quoted(rules)}, DEFAULT allow)"
            f" -> ids :: NIDS({file}); ids[0] -> rt :: DirectIPLookup({ROUTES});"
            f" rt[0] -> esp :: IPsecEncap({tunnels}); rt[1] -> esp -> tunnel :: Counter;"
            f" ids[1] -> confirm :: NIDSConfirm(ids) -> late :: DirectIPLookup({ROUTES}, DEVICE cpu);"
            f" late[0] -> esp_late :: IPsecEncap({tunnels}, DEVICE cpu); late[1] -> esp_late -> tunnel;"
            f" tunnel -> back :: IPsecDecap({quoted(receiver)}, OFFSET 14) -> Discard;"
            f" RatedSource(DATA \\<{request().hex()}>, RATE 20000) -> all;"
        )

    write_rules(signatures, 0)
    write_keys(sender, [0x1000])
    write_keys(receiver, [0x1000])
    changes = {"routes": 0, "rule sets": 0, "associations": 0, "configurations": 0, "alerts": 0}
    with soak.running(chain(), *soak.placed(), "-j", "2") as running:
        control, end, step = running.control, time.monotonic() + soak.seconds, 0
        while time.monotonic() < end:
            step += 1
            prefix = f"10.{soak.values.randrange(4)}.{soak.values.randrange(8)}.0/24 {soak.values.randrange(2)}"
            for table in ("rt", "late"):
                control.write(f"{table}.set", prefix)
            changes["routes"] += 2
            if step % 50 == 0:
                write_rules(signatures, step)
                control.write("ids.reload")
                changes["rule sets"] += 1
            if step % 25 == 0:
                follow(changes["associations"], control.write)
                changes["associations"] += 1
            if step % 200 == 0:
                changes["alerts"] += int(control.read("confirm.alerts"))
                changes["configurations"] += 1
                control.write("hotconfig", chain())
            time.sleep(0.005)
    report = running.report
    changes["alerts"] += report.one("confirm")["statistics"]["alerts"]
    report.assert_accounted()
    drops = {e["name"]: e["drops"] for e in report.all["elements"] if sum(e["drops"].values())}
    assert list(drops) in ([], ["fw"]), drops
    assert changes["alerts"] > 0, report.all
    soak.say("c4", report, changes)


def mirrored(frame):
    return frame[6:12] + frame[:6] + frame[12:]


class RingPeer:
    """The other end of a GPU port, which connects again when it has gone."""

    def __init__(self, soak, name, role, queues, back=None):
        self.path, self.role, self.values = f"{soak.folder}/{name}.sock", role, soak.values
        self.name, self.queues, self.back = name, queues, back or queues
        self.listener = memif.Listener(self.path) if role == "client" else None
        self.peer, self.checked, self.number = None, 0, 0

    def connect(self):
        if self.listener:
            self.peer = self.listener.accept(self.queues, back=self.back)
        else:
            self.peer = memif.Client(self.path, self.queues, 8, back=self.back)

    def some(self):
        count = self.values.randint(1, 400)
        self.number += count
        body = [number.to_bytes(8, "big") * 190 for number in range(self.number - count, self.number)]
        return [self.values.randbytes(12) + one[: self.values.randint(8, 1500)] for one in body]

    def exchange(self):
        """Frames there and back: each, in order."""
        queue = self.values.randrange(self.queues)
        frames = self.some()
        assert self.peer.exchange(frames, queue=queue) == [mirrored(frame) for frame in frames]
        self.checked += len(frames)

    def misbehave(self, change=lambda frame: frame):
        """Goes away, in some manner; frames that it leaves are changed so that they come back to it."""
        queue = self.values.randrange(self.queues)
        match self.values.randrange(3):
            case 0:
                name = "a peer that went"
            case 1:
                name = "one that went with frames under way"
                self.peer.send([change(frame) for frame in self.some()], queue)
            case _:
                name = "one that lied"
                self.peer.send(self.some()[:5], queue, offset=self.values.randrange(1 << 30, 1 << 32), region=0)
        self.peer.close()
        self.peer = None
        return name


def rings(soak):
    ports = [("a", "client", 2), ("b", "server", 1), ("c", "client", 1)]
    chain = "".join(
        f"FromGPUPort({name}, SOCKET {soak.folder}/{name}.sock, ROLE {role}, QUEUES {queues}, NDESC 256)"
        f" -> EtherMirror -> to{name} :: ToGPUPort({name}); "
        for name, role, queues in ports
    )
    with contextlib.ExitStack() as stack:
        peers = [RingPeer(soak, *port) for port in ports]
        for peer in peers:
            if peer.listener:
                stack.enter_context(peer.listener)
        changes = {}
        with soak.running(chain, *soak.placed()) as running:
            end = time.monotonic() + soak.seconds
            while time.monotonic() < end:
                for peer in peers:
                    if peer.peer is None:
                        peer.connect()
                    peer.exchange()
                if soak.values.random() < 0.1:
                    what = soak.values.choice(peers).misbehave()
                    changes[what] = changes.get(what, 0) + 1
            for peer in peers:  # those that are there end in peace
                if peer.peer:
                    peer.exchange()
    report = running.report
    sent = [report.one(f"to{name}") for name, *_ in ports]
    placed = sum(one["packets"] - sum(one["drops"].values()) for one in sent)
    assert report.received == placed + report.dropped, report.all
    assert placed >= sum(peer.checked for peer in peers) > 0
    soak.say("rings", report, changes)


def mesh(soak):
    roles = ["client", "server", "client"]
    peers = [RingPeer(soak, f"p{number}", role, 1, len(roles)) for number, role in enumerate(roles)]

    def to(number, frame):
        return frame[:30] + bytes([10 * (number + 1), 1, 2, 3]) + frame[34:]

    routes = ", ".join(f"{10 * (number + 1)}.0.0.0/8 {number}" for number in range(len(peers)))
    chain = f"meet :: GetIPAddress(30) -> rt :: DirectIPLookup({routes}); " + "".join(
        f"FromGPUPort({one.name}, SOCKET {one.path}, ROLE {one.role}, NDESC 256) -> meet; "
        f"rt[{number}] -> {one.name} :: ToGPUPort({one.name}); "
        for number, one in enumerate(peers)
    )
    changes, lost = {}, 0
    with contextlib.ExitStack() as stack:
        for one in peers:
            if one.listener:
                stack.enter_context(one.listener)
        with soak.running(chain, *soak.placed()) as running:
            end = time.monotonic() + soak.seconds
            while time.monotonic() < end:
                for one in peers:
                    if one.peer is None and soak.values.random() < 0.5:
                        one.connect()
                        wait_until(lambda one=one: running.control.read(f"{one.name}.connected") == "true")
                source, destination = (soak.values.randrange(len(peers)) for _ in range(2))
                if peers[source].peer is None:
                    continue
                frames = [to(destination, frame) for frame in peers[source].some() if len(frame) >= 34][:250]
                if peers[destination].peer is None:
                    peers[source].peer.send_all(frames)
                    lost += len(frames)
                    continue
                sent, got = 0, []

                def step(frames=frames, source=source, destination=destination, got=got):
                    nonlocal sent
                    sent += peers[source].peer.send(frames[sent:])
                    got.extend(peers[destination].peer.receive(source))
                    return len(got) >= len(frames)

                wait_until(step)
                assert got == frames, (source, destination, len(got), len(frames))
                peers[source].checked += len(frames)
                if soak.values.random() < 0.1:
                    what = peers[source].misbehave(lambda frame, source=source: to(source, frame.ljust(34)))
                    wait_until(lambda one=peers[source]: running.control.read(f"{one.name}.connected") == "false")
                    changes[what] = changes.get(what, 0) + 1
    report = running.report
    ends = [report.one(one.name) for one in peers]
    placed = sum(one["packets"] - sum(one["drops"].values()) for one in ends)
    assert report.received == placed + report.dropped, report.all
    assert placed >= sum(one.checked for one in peers) > 0
    assert sum(one["drops"].get("no_peer", 0) for one in ends) >= lost, report.all
    soak.say("mesh", report, changes)


RUNS = {"placement": placement, "c4": c4, "rings": rings, "mesh": mesh}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("heddle", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(RUNS)}; default: all")
    parser.add_argument("--device", default="gpu", help="gpu (default) or simt")
    parser.add_argument("--seconds", type=float, default=600, help="of each, default 600")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_intermixed_args()
    if unknown := [name for name in given.names if name not in RUNS]:
        parser.error(f"there is no {unknown[0]}, but {', '.join(RUNS)}")
    for name in given.names or RUNS:
        with tempfile.TemporaryDirectory(prefix="soak") as folder:
            RUNS[name](
                Soak(Program(given.heddle.resolve()), given.device, given.seconds, given.seed, pathlib.Path(folder))
            )


if __name__ == "__main__":
    main()
