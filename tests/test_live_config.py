"""The handler `config` of elements that can be reconfigured live, as Click has it: written without -R, while packets
flow. Other elements, and the configuration as a whole, are not a client's to change then."""

import contextlib
import re

import pytest
from test_hotconfig import grows
from whole import captures
from whole.control import Control
from whole.program import Report, quoted, read_handler, wait_until

# Click 2.0's classes with can_live_reconfigure(), as far as Heddle has them: an element of each, and other arguments.
LIVE = {
    "ARPQuerier": ("10.0.0.1, 2:0:0:0:0:1", "10.0.0.2, 2:0:0:0:0:2"),
    "ARPResponder": ("10.0.0.1 2:0:0:0:0:1", "10.0.0.2 2:0:0:0:0:2"),
    "ARPTable": ("CAPACITY 5", "CAPACITY 6"),
    "AdaptiveRED": ("5, 0.02", "6, 0.02"),
    "BandwidthRatedSplitter": ("10kBps", "20kBps"),
    "BandwidthRatedUnqueue": ("10kBps", "20kBps"),
    "BandwidthShaper": ("10kBps", "20kBps"),
    "Classifier": ("12/0800, -", "12/0806, -"),
    "EtherEncap": ("0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2", "0x0806, 1:1:1:1:1:1, 2:2:2:2:2:2"),
    "EtherRewrite": ("1:1:1:1:1:1, 2:2:2:2:2:2", "1:1:1:1:1:1, 2:2:2:2:2:3"),
    "EtherVLANEncap": ("0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2, 1", "0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2, 2"),
    "FrontDropQueue": ("5", "6"),
    "HostEtherFilter": ("1:1:1:1:1:1", "1:1:1:1:1:2"),
    "ICMPError": ("10.0.0.1, unreachable", "10.0.0.1, timeexceeded"),
    "IP6Encap": ("6, 2001:db8::1, 2001:db8::2", "6, 2001:db8::1, 2001:db8::3"),
    "IPClassifier": ("tcp, -", "udp, -"),
    "IPEncap": ("4, 10.0.0.1, 10.0.0.2", "4, 10.0.0.1, 10.0.0.3"),
    "IPFilter": ("allow tcp, deny all", "allow udp, deny all"),
    "InfiniteSource": ("LIMIT 0", "LIMIT 3"),
    "MixedQueue": ("5", "6"),
    "Pad": ("60", "61"),
    "Paint": ("1", "2"),
    "Print": ("a, ACTIVE false", "b, ACTIVE false"),
    "PullSwitch": ("0", "1"),
    "Queue": ("5", "6"),
    "RED": ("5, 50, 0.02", "6, 50, 0.02"),
    "RandomBitErrors": ("0.1", "0.2"),
    "RandomSample": ("0.5", "0.25"),
    "RatedSplitter": ("10", "20"),
    "RatedUnqueue": ("10", "20"),
    "SetAnnoByte": ("20, 1", "20, 2"),
    "SetIP6DSCP": ("1", "2"),
    "SetIPAddress": ("10.0.0.1", "10.0.0.2"),
    "SetIPDSCP": ("1", "2"),
    "SetIPECN": ("0", "1"),
    "SetPacketType": ("HOST", "BROADCAST"),
    "SetVLANAnno": ("1", "2"),
    "Shaper": ("10", "20"),
    "SimplePullSwitch": ("0", "1"),
    "SimpleQueue": ("5", "6"),
    "Switch": ("0", "1"),
    "Truncate": ("60", "61"),
    "UDPIP6Encap": ("2001:db8::1, 1, 2001:db8::2, 2", "2001:db8::1, 1, 2001:db8::2, 3"),
    "UDPIPEncap": ("10.0.0.1, 1, 10.0.0.2, 2", "10.0.0.1, 1, 10.0.0.2, 3"),
}
TO_PULL = {"Shaper", "BandwidthShaper", "RatedUnqueue", "BandwidthRatedUnqueue"}
OTHER_CHAINS = {
    "ARPQuerier": "Idle -> e -> Discard; Idle -> [1]e",
    "ARPTable": "",
    "AdaptiveRED": "Idle -> e -> Queue -> Discard",
    "RED": "Idle -> e -> Queue -> Discard",
    "Classifier": "Idle -> e -> Discard; e[1] -> Discard",
    "IPClassifier": "Idle -> MarkIPHeader -> e -> Discard; e[1] -> Discard",
    "InfiniteSource": "e -> Discard",
    "MixedQueue": "Idle -> e -> Discard; Idle -> [1]e",
    "PullSwitch": "Idle -> Queue -> e -> Discard; Idle -> Queue -> [1]e",
    "SimplePullSwitch": "Idle -> Queue -> e -> Discard; Idle -> Queue -> [1]e",
    "Switch": "Idle -> e -> Discard; e[1] -> Discard",
}
IN_IP6 = {"SetIP6DSCP"}

REMEDY = "start the router with -R (--allow-reconfigure)"


def chain_around(name):
    if name in OTHER_CHAINS:
        return OTHER_CHAINS[name]
    before = "MarkIP6Header -> " if name in IN_IP6 else "MarkIPHeader -> "
    return f"Idle -> {before}{'Queue -> ' * (name in TO_PULL)}e -> Discard"


@contextlib.contextmanager
def running(heddle, tmp_path, chain, *args):
    """A run as users start one, and a connection to it; then Ctrl-C, and the report is in `run.report`."""
    path = tmp_path / "control"
    with heddle.start("run", "--json", "-u", path, "-e", chain, *args) as run:
        control = Control(path)
        yield run, control
        result = run.interrupt()
        assert result.code == 0 and result.err == "", result
        run.report = Report(result.json)
        run.report.assert_accounted()


def kinds(control, element):
    """The element's handlers with what one may do with them."""
    return dict(line.split("\t") for line in control.read(f"{element}.handlers").splitlines())


def test_every_live_class(heddle, tmp_path):
    """All of them in one program: each takes other arguments, and shows them; what lists handlers says so."""
    chain = ";".join(
        re.sub(r"\be\b", f"e{n}", f"e :: {name}({arguments}); {chain_around(name)}")
        for n, (name, (arguments, _)) in enumerate(LIVE.items())
    )
    with running(heddle, tmp_path, chain + "; Script(TYPE PASSIVE, return 1); Idle -> Discard") as (_, control):
        for n, (name, (_, other)) in enumerate(LIVE.items()):
            assert kinds(control, f"e{n}")["config"] == "rw", name
            assert control.command(f"CHECKWRITE e{n}.config")[0] == 200, name
            control.write(f"e{n}.config", other)
            if name != "ARPResponder":
                assert control.read(f"e{n}.config").split() == other.split(), name
        assert control.read(f"e{list(LIVE).index('ARPResponder')}.table").split()[0] == "10.0.0.2/32"


NOT_LIVE = (
    "f :: Idle -> c :: Counter -> s :: Strip(14) -> g :: GetIPAddress(16)"
    " -> r :: StaticIPLookup(0.0.0.0/0 0) -> x :: IPPrint -> DynamicUDPIPEncap(1.0.0.1, 1, 2.0.0.2, 2) -> d :: Discard;"
    "k :: Script(wait 1000s); i :: RatedSource(RATE 1) -> Discard; Idle -> p :: Pipeliner -> Discard;"
    "Idle -> MarkIPHeader -> o :: ICMPPingResponder -> Discard"
)


def test_other_elements_say_what_to_do(heddle, tmp_path):
    with running(heddle, tmp_path, NOT_LIVE) as (_, control):
        for name in (*"fcsgrxdkipo", "DynamicUDPIPEncap@7"):
            assert kinds(control, name)["config"] == "r", name
            code, text, _ = control.command(f"WRITE {name}.config x")
            assert code == 530 and f"Handler '{name}.config' read-only; {REMEDY}" in text, (name, text)
            code, text, _ = control.command(f"CHECKWRITE {name}.config")
            assert code == 511 and text == f"Handler '{name}.config' not writable\n"
        assert control.command("WRITE hotconfig Idle -> Discard")[0] == 511
        # Nothing would let these be written.
        for name in ("c.count", "click_driver@@ControlSocket.config"):
            code, text, _ = control.command(f"WRITE {name} x")
            assert code == 530 and text == f"Handler '{name}' read-only\n"
        assert control.read("reconfigurations").split()[0] == "0"


def test_the_printed_list_agrees(heddle):
    chain = "Idle -> c :: Classifier(12/0800) -> d :: Counter -> Discard"
    for option, of_counter in (([], "r"), (["-R"], "rw")):
        out = heddle.ok("run", "--quiet", *option, "-e", chain, "-h", "c.handlers", "-h", "d.handlers").out
        of_c, of_d = out.split("d.handlers:")
        assert "\nconfig\trw\n" in of_c and "\npattern0\trw\n" in of_c
        assert f"\nconfig\t{of_counter}\n" in of_d


SHAPED = "s :: InfiniteSource(LENGTH 60) -> c :: Classifier(-, 12/0800) -> a :: Counter -> Discard; c[1] -> b :: Counter -> Discard"


def test_a_bad_argument_leaves_the_old_one(heddle, tmp_path):
    with running(heddle, tmp_path, SHAPED) as (_, control):
        grows(control, "a.count")
        for value, word in (
            ("12/08zz, -", "12/08zz"),
            ("", "output"),
            ("-", "output"),
            ("-, 12/0800); evil :: Idle -> Discard; Idle(", "brackets and quotes must be balanced"),
        ):
            code, text, _ = control.command(f"WRITEDATA c.config {len(value)}", value.encode())
            assert code == 520 and "Write handler 'c.config' error" in text and word in text, (value, text)
            assert control.read("c.config") == "-, 12/0800"
        grows(control, "a.count")
        assert control.read("b.count") == "0"
        control.write("c.config", "12/0800, -")
        grows(control, "b.count")
        control.write("c.pattern0", "-")
        assert control.read("c.config") == "-, -"
        grows(control, "a.count")


def test_variables_are_not_the_clients_to_read(heddle, tmp_path):
    """What the command line defines, maybe a secret, does not come out of an argument that names it."""
    with running(heddle, tmp_path, "// $S\ndefine($W label); Idle -> p :: Print($W) -> Discard", "S=secret") as (_, c):
        for name in ("$S", "${S}", "$W"):
            c.write("p.config", name)
            assert "secret" not in c.read("p.config") and "label" not in c.read("p.config")


@pytest.mark.parametrize("threads", [1, 2])
def test_no_packet_is_lost(heddle, tmp_path, threads):
    """Each packet of a capture leaves once and in order, however often arguments change on its way."""
    frames = [n.to_bytes(4, "big") * 15 for n in range(3000)]
    path, out = captures.write(tmp_path / "in.pcap", frames), tmp_path / "out.pcap"
    chain = (
        f"FromDump({quoted(path)}, STOP false, BURST 1) -> t :: Truncate(60) -> q :: Queue(5000)"
        f" -> u :: RatedUnqueue(3000) -> p :: Paint(1) -> d :: ToDump({quoted(out)}); Script(wait 1000s)"
    )
    with running(heddle, tmp_path, chain, "-j", str(threads)) as (_, control):
        for n in range(6):
            control.write("p.config", str(n))
            control.write("q.config", str(5000 + n))
            control.write("t.config", str(60 + n))
            control.write("u.config", str(3000 + n))
        assert control.read("reconfigurations").split()[0] == "24"
        wait_until(lambda: control.read("d.count") == str(len(frames)), 60, "all packets")
    assert captures.frames(out) == frames


def test_scripts_go_on(heddle, tmp_path):
    """They may change arguments themselves, and wait on while a client does; a driver still decides the end."""
    chain = (
        "i :: InfiniteSource(LIMIT 9, ACTIVE false, STOP false) -> p :: Paint(1) -> k :: CheckPaint(3) -> d :: Discard;"
        "t :: Script(TYPE PASSIVE, init n 0, set n $(add $n 1), write p.config $n, return $n);"
        "DriverManager({}print $(p.color), write p.config 2, print $(p.color), print $(t.run), print $(t.run), print $(t.run),"
        " write i.active true, pause, print $(d.count), stop)"
    )
    out = heddle.ok("run", "--quiet", "-e", chain.format("")).out
    assert out.split() == ["1", "2", "1", "2", "3", "9"]
    for simulated in ([], ["--simtime"]):
        assert heddle.ok("run", "--quiet", *simulated, "-e", chain.format("wait 10ms, ")).out == out


def test_a_driver_outlives_its_elements_arguments(heddle, tmp_path):
    path = tmp_path / "control"
    chain = (
        "TimedSource(1000s) -> p :: Paint(1) -> Discard;"
        'DriverManager(set n 0, label again, pause, set n $(add $n 1), goto again $(lt $n 3), print "end $n", stop)'
    )
    with heddle.start("run", "--quiet", "-u", path, "-e", chain) as run:
        control = Control(path)
        for n in range(3):
            control.write("p.config", str(n))
            assert control.read("p.color") == str(n)
            control.write("stop")
        result = run.wait()
    assert (result.code, result.out) == (0, "end 3\n"), result


def test_it_may_be_forbidden(heddle, tmp_path):
    """A ControlSocket that only reads takes no arguments, either."""
    path = tmp_path / "second"
    chain = f"Idle -> p :: Paint(1) -> Discard; ControlSocket(unix, {quoted(path)}, READONLY true)"
    with running(heddle, tmp_path, chain) as (_, control):
        second = Control(path)
        assert second.command("WRITE p.config 2")[0] == second.command("CHECKWRITE p.config")[0] == 530
        control.write("p.config", "3")
        assert second.read("p.color") == read_handler(tmp_path / "control", "p.color") == "3"
