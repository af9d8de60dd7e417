"""Hot reconfiguration: the handler `hotconfig` of `heddle run -R` over a control socket, while packets flow."""

import contextlib
import re
import socket

import pytest
from whole import captures
from whole.control import Control
from whole.program import CHAINS, Report, quoted, read_handler, wait_for_count, wait_until

TRAFFIC = CHAINS / "traffic.pcap"


@contextlib.contextmanager
def running(heddle, tmp_path, chain, *args, err=""):
    """A run that can be reconfigured, and a connection to it; then Ctrl-C, and the report is in `run.report`."""
    path = tmp_path / "control"
    with heddle.start("run", "--json", "-R", "-u", path, "-e", chain, *args) as run:
        control = Control(path)
        yield run, control
        result = run.interrupt()
        assert result.code == 0 and re.fullmatch(err, result.err), result
        run.report = Report(result.json)
        run.report.assert_accounted()


def grows(control, handler):
    before = control.read(handler)
    wait_until(lambda: control.read(handler) != before, 60, handler)


UDP = "InfiniteSource(DATA \\<0000000000000000000000000800 4500001c00000000401166cf0a0000010a000002 03e807d000080000>)"
OVERLOADED = (
    "s :: InfiniteSource(LENGTH 60, BURST 256) -> c :: Counter -> q :: SimpleQueue({}) -> u :: Unqueue -> d :: Discard"
)


def test_overloaded_twenty_times(heddle, tmp_path):
    with running(heddle, tmp_path, OVERLOADED.format(100), "-j", 2) as (run, control):
        for i in range(20):
            grows(control, "d.count")
            counted = int(control.read("c.count"))
            control.write("hotconfig", OVERLOADED.format(100 + i) + "; StaticThreadSched(u 1)" * (i % 2))
            assert control.read("q.capacity") == str(100 + i)
            assert int(control.read("c.count")) >= counted
            assert control.read("u.home_thread") == str(i % 2)
        grows(control, "d.count")
        assert control.read("reconfigurations").split()[0] == "20"
    assert run.report.count("c") == run.report.received
    assert run.report.drops("q")["full"] > 0


def test_the_report_keeps_elements_that_have_gone(heddle, tmp_path):
    with running(heddle, tmp_path, OVERLOADED.format(1000)) as (run, control):
        wait_for_count(tmp_path / "control", "d.count", 1000)
        control.write("hotconfig", "s :: InfiniteSource(LENGTH 60) -> e :: Discard")
        wait_for_count(tmp_path / "control", "e.count", 1000)
        assert re.fullmatch(r"3\ns\ne\n.*ControlSocket\n", control.read("list"))
    assert run.report.drops("q")["reconfigured"] > 0
    assert run.report.one("d")["packets"] >= 1000 and run.report.one("e")["packets"] >= 1000


def test_fragments_that_wait_in_what_goes_are_counted(heddle, tmp_path):
    first = "\\<4500001c00012000401146ce0a0000010a000002 0000000000000000>"  # more are to follow
    source = f"s :: InfiniteSource(DATA {first}, LIMIT 3, BURST 1, STOP false) -> MarkIPHeader -> "
    with running(heddle, tmp_path, source + "r :: IPReassembler -> d :: Discard") as (run, control):
        wait_for_count(tmp_path / "control", "s.count", 3)
        control.write("hotconfig", "Idle -> d :: Discard")
    assert run.report.drops("r")["reconfigured"] >= 1


def test_arguments_that_are_written_count_more_than_handlers_before(heddle, tmp_path):
    with running(heddle, tmp_path, OVERLOADED.format(50)) as (_, control):
        control.write("q.capacity", "7")
        control.write("hotconfig", OVERLOADED.format(50))
        assert control.read("q.capacity") == "7"
        control.write("q.config", "50")
        assert control.read("q.capacity") == "50"


MISTAKES = {
    "s :: InfiniteSource -> Nonsense -> Discard": [":1:24: unknown element class 'Nonsense'"],
    "s :: InfiniteSource ->\n d :: Discard(1)": [":2:", "Discard"],
    "s :: InfiniteSource ->": ["<hotconfig>:1:"],
    "FromDump(/nonexistent.pcap) -> Discard": ["/nonexistent.pcap", "FromDump"],
    "FromDPDKDevice(net_null0) -> Discard": ["started without ports"],
}


def test_mistakes_leave_the_old_one_running(heddle, tmp_path):
    with running(heddle, tmp_path, OVERLOADED.format(10)) as (_, control):
        for chain, texts in MISTAKES.items():
            text = control.refused(chain)
            assert all(word in text for word in texts), (chain, text)
            assert control.read("q.capacity") == "10"
            grows(control, "d.count")
        assert control.read("config") == OVERLOADED.format(10)
        control.write("hotconfig", OVERLOADED.format(11))
        assert control.read("config") == OVERLOADED.format(11)


@pytest.mark.parametrize("text", ["", "   ", "// all of it is commented out"])
def test_nothing_is_no_configuration(heddle, tmp_path, text):
    with running(heddle, tmp_path, OVERLOADED.format(100)) as (_, control):
        assert "no elements; the former one goes on" in control.refused(text)
        grows(control, "d.count")


def test_without_the_option_there_is_no_handler(heddle, tmp_path):
    with heddle.start("run", "-u", tmp_path / "control", "-e", "Idle -> Discard") as run:
        control = Control(tmp_path / "control")
        assert control.command("WRITE hotconfig Idle -> Discard")[0] == 511
        run.interrupt()


@pytest.mark.parametrize(
    ("chain", "pattern", "count"),
    [
        ("Classifier(12/0800, 12/0806 20/0001, -)", "12/86dd", "n2.count"),
        ("MarkIPHeader(14) -> c :: IPClassifier(udp, tcp, -)", "icmp type echo", "n2.count"),
    ],
)
def test_patterns_are_handlers(heddle, tmp_path, chain, pattern, count):
    """Writing one sends packets another way; a wrong one changes nothing."""
    chain = "".join(
        [f"{UDP} -> ", chain if "c ::" in chain else f"c :: {chain}"]
        + [f"; c[{n}] -> n{n} :: Counter -> Discard" for n in range(3)]
    )
    with running(heddle, tmp_path, chain) as (_, control):
        grows(control, "n0.count")
        assert control.read(count) == "0" and control.read("c.pattern2") == "-"
        control.write("c.pattern0", pattern)
        assert control.read("c.pattern0") == pattern
        grows(control, count)
        still = control.read("n0.count")
        code, text = control.command("WRITE c.pattern0 12/8%x y")[:2]
        assert code >= 500, text
        assert control.read("c.pattern0") == pattern and control.read("n0.count") == still


def test_a_name_with_a_number_is_a_name(heddle, tmp_path):
    """q@1 looks like what the parser calls elements without a name, after their class, but is given."""
    chain = (
        "Idle -> q@1 :: Queue({}) -> u :: Unqueue(ACTIVE false) -> d :: Discard;"
        "i :: InfiniteSource(LIMIT 3, STOP false) -> q@1"
    )
    with running(heddle, tmp_path, chain.format(5)) as (_, control):
        wait_until(lambda: control.read("q@1.length") == "3", 60, "the packets")
        control.write("hotconfig", chain.format(6))
        assert (control.read("q@1.capacity"), control.read("q@1.length")) == ("6", "3")
        control.write("u.active", "true")
        wait_for_count(tmp_path / "control", "d.count", 3)


def test_ports_come_and_go(heddle, tmp_path):
    """A port of both configurations goes on; others are opened and closed; one cannot become another."""
    chain = "FromDPDKDevice(net_null0) -> c :: Counter -> q :: Queue(200) -> Unqueue -> ToDPDKDevice({})"
    with running(heddle, tmp_path, chain.format("net_null0"), err="(EAL: .*\n)*") as (_, control):
        for i in range(6):
            grows(control, "c.count")
            control.write("hotconfig", chain.format(f"net_null{i % 3}"))
        grows(control, "c.count")
        text = control.refused(chain.format("net_null0, MTU 900"))
        assert "MTU" in text and "cannot be changed" in text
        text = control.refused(chain.format("net_nonsense0"))
        assert "net_nonsense0" in text
        grows(control, "c.count")


def test_a_script_can_do_it(heddle):
    chain = (
        "i :: Idle -> c :: Counter -> Discard;"
        'Script(wait 0.05s, write hotconfig Idle -> d :: Discard; DriverManager(print "over", stop))'
    )
    result = heddle("run", "--quiet", "-R", "-e", chain)
    assert result.code == 0 and result.out == "over\n", result


def test_a_script_that_has_done_it_goes_on_no_more(heddle, tmp_path):
    new = tmp_path / "new.click"
    new.write_text('TimedSource(1ms) -> Discard; DriverManager(wait 20ms, print "new driver", stop)')
    for script in ("DriverManager", "Script"):
        for rest in ("", ', print "old goes on"', ", stop"):
            chain = f"TimedSource(1ms) -> Discard; {script}(wait 1ms, write hotconfig $(cat {new}){rest})"
            assert heddle.ok("run", "-R", "--quiet", "-e", chain).out == "new driver\n"


@pytest.mark.parametrize("device", ["simt"])
def test_gpu_segments(heddle, tmp_path, device):
    """Functions move between processors, and to other segments; tables go with them."""
    chain = (
        "InfiniteSource(LENGTH 60) -> GetIPAddress(30) -> r :: RadixIPLookup(0.0.0.0/0 0, {} 1) -> m :: EtherMirror"
        "-> c :: Counter -> q :: Queue(300) -> Unqueue -> d :: Discard; r[1] -> Discard"
    )
    with running(heddle, tmp_path, chain.format("10.0.0.0/8"), "--device", device) as (run, control):
        grows(control, "d.count")
        control.write("r.add", "11.0.0.0/8 1")
        for i in range(6):
            more = "-> XOR(3) -> m" if i % 2 else "-> m"
            control.write("hotconfig", chain.format("10.0.0.0/8").replace("-> m", more))
            grows(control, "d.count")
            assert "11.0.0.0/8" in control.read("r.table")
    assert {e["processor"] for e in run.report.elements("RadixIPLookup")} == {"simt"}


@pytest.mark.parametrize(("queue", "more"), [("Queue", ""), ("MixedQueue", "; Idle -> [1]q")])
def test_what_fails_leaves_queues_in_their_order(heddle, tmp_path, queue, more):
    path = captures.write(tmp_path / "in.pcap", [bytes([i]) * 60 for i in range(12)])
    out = tmp_path / "out.pcap"
    other = socket.socket(socket.AF_UNIX)
    other.bind(str(tmp_path / "other"))
    other.listen()
    chain = (
        f"FromDump({quoted(path)}, STOP false) -> q :: {queue}(%d) -> u :: Unqueue(ACTIVE false)"
        f" -> ToDump({quoted(out)}){more}; Idle -> Discard; Script(wait 1000s)"
    )
    with other, running(heddle, tmp_path, chain % 100) as (_, control):
        wait_until(lambda: control.read("q.length") == "12", 60, "all packets")
        refused = control.refused(chain % 5 + f"; cs :: ControlSocket(unix, {quoted(tmp_path / 'other')})")
        assert "in use" in refused, refused
        assert control.read("q.length") == "12"
        control.write("u.active", "true")
        wait_until(lambda: control.read("q.length") == "0", 60, "all packets")
    assert [frame[0] for frame in captures.frames(out)] == list(range(12))


def test_calls_are_made_once(heddle, tmp_path):
    """COUNT_CALL at its count, END_CALL at each end."""
    switch = "Switch(0) -> Discard; {0}[1] -> Discard; Idle -> {0}"
    chain = (
        "i :: InfiniteSource(LIMIT %d, END_CALL e.switch 1, STOP false) -> c :: Counter(COUNT_CALL 5 s.switch 1)"
        f" -> Discard; s :: {switch.format('s')}; e :: {switch.format('e')}; Script(wait 1000s)"
    )
    with running(heddle, tmp_path, chain % 10) as (_, control):

        def calls(count):
            wait_until(lambda: control.read("c.count") == str(count), 60, "the packets")
            wait_until(lambda: control.read("e.switch") == "1", 60, "the call at the end")
            control.write("e.switch", "0")

        calls(10)
        wait_until(lambda: control.read("s.switch") == "1", 60, "the call at a count")
        control.write("s.switch", "0")
        for limit in (20, 30):
            control.write("hotconfig", chain % limit)
            calls(limit)
        control.write("hotconfig", chain % 30)
        assert control.read("s.switch") == control.read("e.switch") == "0"


@pytest.mark.parametrize("more", ["", ", STOP true"])
@pytest.mark.parametrize("source", ["InfiniteSource(LIMIT 5", f"FromDump({quoted(TRAFFIC)}"])
def test_an_end_that_reconfigures(heddle, tmp_path, source, more):
    """END_CALL puts another configuration in the place of the one that waits for it. The source in that one has ended
    as well, its call has been made, and so the program ends."""
    call = f's :: {source}, END_CALL {{}}.run{more}) -> d :: Discard; {{}} :: Script(TYPE PASSIVE, print "{{}}"{{}})'
    new = tmp_path / "new.click"
    new.write_text(call.format("q", "q", "new", ""))
    old = call.format("p", "p", "old", f", write hotconfig $(cat {new})")
    for args in ([], ["-j", "2"], ["--simtime"]):
        assert heddle.ok("run", "--quiet", "-R", "-e", old, *args).out == "old\n"


def test_an_end_while_others_reconfigure(heddle, tmp_path):
    """Ends come, and what they call waits, while a client reconfigures again and again; nobody waits for ever."""
    chain = (
        "s :: InfiniteSource(LIMIT {0}, END_CALL p.run) -> c :: Counter -> d :: Discard; n :: Idle -> q :: Queue({0}) -> "
        "Discard; p :: Script(TYPE PASSIVE, write s.limit $(add $(s.count) 3), wait 1ms); Script(wait 1000s)"
    )
    with running(heddle, tmp_path, chain.format(5)) as (_, control):
        for i in range(1, 40):
            control.write("hotconfig", chain.format(5 + i))
            assert control.read("q.capacity") == str(5 + i)
        grows(control, "d.count")


def test_arguments_are_no_statements(heddle, tmp_path):
    with running(heddle, tmp_path, "Idle -> cl :: Classifier(12/0800, -); cl[0], cl[1] -> Discard") as (_, control):
        before = control.read("list")
        for value in ("12/0800, -); evil :: Idle -> Discard; zz :: Idle(", "12/0800)", "12/0800, (", '12/0800, "'):
            code, text, _ = control.command(f"WRITEDATA cl.config {len(value)}", value.encode())
            assert code == 520 and "brackets and quotes must be balanced" in text, (value, text)
        control.write("cl.config", "12/0806, - // $x")
        assert control.read("list") == before


def test_sockets_keep_their_clients(heddle, tmp_path):
    """Every client stays; one whose socket the new configuration does not have gets its answer first."""
    other = tmp_path / "other"
    chain = f"Idle -> q :: Queue({{}}) -> Discard; ControlSocket(unix, {quoted(other)})"
    with running(heddle, tmp_path, chain.format(5)) as (_, control):
        second = Control(other)
        second.write("hotconfig", chain.format(6))
        assert control.read("q.capacity") == second.read("q.capacity") == "6"
        second.write("hotconfig", "Idle -> q :: Queue(7) -> Discard")
        assert control.read("q.capacity") == "7"
        wait_until(lambda: not other.exists(), 60, "the end of the socket")
        assert read_handler(tmp_path / "control", "q.capacity") == "7"


SOURCES = (
    "a :: InfiniteSource(BURST 1) -> c :: Counter -> Discard;"
    "b :: InfiniteSource(BURST 1) -> e :: Counter -> q :: Queue(5) -> u :: Unqueue -> Discard"
)


def test_tasks_run_by_their_tickets(heddle, tmp_path):
    """Two sources of one thread: their packets are as their tickets are; one that is not scheduled gives none."""
    with running(heddle, tmp_path, SOURCES) as (_, control):
        assert (
            control.read("a.tickets") == control.read("u.tickets") == "1024" and control.read("a.scheduled") == "true"
        )
        control.write("b.tickets", "256")

        def counts():  # packets go on meanwhile: e's before and after c's
            return [int(control.read(f"{counter}.count")) for counter in "ece"]

        e_before, c, e_after = counts()
        wait_for_count(tmp_path / "control", "e.count", e_after + 200_000)
        later = counts()
        assert (later[1] - c) / (later[2] - e_before) < 4.5 and (later[1] - c) / (later[0] - e_after) > 3.5
        control.write("a.scheduled", "false")
        grows(control, "e.count")  # what was counted before has been published
        grows(control, "e.count")
        still = control.read("c.count")
        wait_for_count(tmp_path / "control", "e.count", int(control.read("e.count")) + 20000)
        assert control.read("c.count") == still and control.read("a.scheduled") == "false"
        control.write("a.scheduled", "true")
        grows(control, "c.count")
        assert control.command("WRITE a.tickets 0")[0] == 520


def test_arguments_of_one_element(heddle, tmp_path):
    """`config` is written: the element has other arguments, all others go on."""
    with running(heddle, tmp_path, SOURCES) as (_, control):
        grows(control, "c.count")
        counted = int(control.read("c.count"))
        control.write("q.config", "77")
        assert control.read("q.capacity") == control.read("q.config") == "77"
        assert int(control.read("c.count")) >= counted
        code, text, _ = control.command("WRITE q.config -3")
        assert code == 520 and "CAPACITY" in text
        assert control.read("q.capacity") == "77"
        control.write("q.config", "")
        assert control.read("q.config") == "" and control.read("q.capacity") == "1000"
        for more in (
            "7); Idle -> Discard; Idle(",
            "7); elementclass Counter { input -> output } require(compact_config",
            "7)",
        ):
            code, text, _ = control.command(f"WRITEDATA q.config {len(more)}", more.encode())
            assert code == 520 and "these are no arguments" in text, more
        # The command line's own ControlSocket is in no configuration.
        assert control.command("WRITE click_driver@@ControlSocket.config x")[0] == 530
        grows(control, "c.count")
