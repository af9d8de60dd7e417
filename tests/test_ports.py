"""Ports of every kind between programs and kernel interfaces: large frames, links that go away, DPDK's devices of files
and rings."""

import contextlib
import os
import socket
import subprocess

import pytest
from scapy.all import IP, UDP, Ether, Raw
from whole import captures, network
from whole.control import Control
from whole.program import CHAINS, Report, quoted, read_handler, wait_for_count, wait_until

TRAFFIC = CHAINS / "traffic.pcap"
LEFT, RIGHT = "02:00:00:00:77:01", "02:00:00:00:77:02"


@pytest.fixture(autouse=True)
def alone():
    with network.one_af_packet():
        yield


@contextlib.contextmanager
def veth(mtu=1500):
    """A veth pair in this namespace, without traffic of its own; yields the ends' names."""
    ends = [f"hd{os.getpid()}p{next(network.SERIAL)}" for _ in range(2)]
    network.call("ip", "link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
    try:
        for end in ends:
            network.call("sysctl", "-qw", f"net.ipv6.conf.{end}.disable_ipv6=1")
            network.call("ip", "link", "set", end, "mtu", mtu, "up")
        yield ends
    finally:
        network.call("ip", "link", "delete", ends[0], check=False)


def frame(size, number=0):
    payload = bytes((number + i * 7) & 255 for i in range(size - 42))
    ip = IP(src="10.0.0.1", dst="10.0.0.2", id=number) / UDP(sport=1000, dport=2000) / Raw(payload)
    return bytes(Ether(src=LEFT, dst=RIGHT) / ip)


def send(interface, frames):
    """Sends frames through a packet socket."""
    import socket

    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as port:
        port.bind((interface, 0))
        for data in frames:
            port.send(data)


@contextlib.contextmanager
def listening(interface, path, count):
    """Records what arrives at an interface, until there are `count` frames with IPv4."""
    words = [
        "tcpdump",
        "-q",
        "--immediate-mode",
        "-U",
        "-Q",
        "in",
        "-s",
        "10000",
        "-B",
        "20000",
        "-i",
        interface,
        "-Z",
        "root",
        "-w",
        path,
    ]
    with subprocess.Popen(words, stderr=subprocess.PIPE) as sniffer:
        try:
            sniffer.stderr.readline()
            yield
            wait_until(lambda: recorded(path) >= count, what=f"{count} frames at {interface}")
        finally:
            sniffer.terminate()


def wait_for_metric(running, least, metric, **labels):
    wait_until(lambda: running.metric(metric, **labels) >= least, what=f"{metric} {labels} >= {least}")


def recorded(path):
    if os.path.getsize(path) <= 24:  # the header
        return 0
    return sum(data[12:14] == b"\x08\x00" for data in captures.frames(path))


def ours(path):
    return [data for data in captures.frames(path) if data[:12] == captures_addresses()]


def captures_addresses():
    return bytes.fromhex((RIGHT + LEFT).replace(":", ""))


def listens(running, interface):
    """Whether the program has opened a packet socket on the interface."""
    index = str(socket.if_nametoindex(interface))
    with open("/proc/net/packet", encoding="ascii") as file:
        return running.alive() and any(line.split()[4] == index for line in file.readlines()[1:])


def test_a_configuration_of_clicks_kernel_module(heddle, root, tmp_path):
    """As Click's conf/udpcount.click: a PollDevice by its Ethernet address, and what is not counted goes to the
    host."""
    control = tmp_path / "control"
    chain = f"""AddressInfo(me 10.77.0.1 {LEFT}); in_device :: PollDevice(me); out :: Queue(200) -> ToDevice(me);
        classifier :: Classifier(12/0800, 12/0806 20/0001, -); to_host :: ToHost; sniffers :: ToHostSniffers(heddle1);
        in_device -> classifier -> CheckIPHeader(14, CHECKSUM false)
          -> ip_classifier :: IPClassifier(dst udp port 1234, dst udp port 1235, -) -> ctr :: Counter -> Discard;
        classifier[1] -> ARPResponder(me) -> out; classifier[2] -> Discard; ip_classifier[1] -> to_host;
        ip_classifier[2] -> sniffers"""
    send_to = "import socket, sys; s = socket.socket(type=socket.SOCK_DGRAM); " + (
        "[s.sendto(b'x', ('10.77.0.1', int(port))) for port in sys.argv[1:]]"
    )
    with network.namespaces() as (left, right), veth() as (one, other):
        left.adopt(one, "10.77.0.1/24", LEFT)
        right.adopt(other, "10.77.0.2/24", RIGHT)
        inside = heddle.__class__(heddle.path, left.command())
        with inside.start("run", "--json", "-u", control, "-e", chain) as running:
            wait_until(
                lambda: read_handler(control, "ctr.count") is not None, 60, "the ControlSocket, which opens last"
            )
            right.call("/usr/bin/python3", "-c", send_to, *[1234] * 5, *[1235] * 3, *[1236] * 2)
            wait_for_count(control, "ctr.count", 5)
            received = {"heddle0": 3, "heddle1": 2}
            for interface, count in received.items():
                file = f"/sys/class/net/{interface}/statistics/rx_packets"
                wait_until(
                    lambda f=file, c=count: int(left.call("cat", f)) >= c, what=f"{count} packets at {interface}"
                )
            result = running.interrupt()
        assert result.code == 0, result
    assert Report(result.json).count("ctr") == 5
    assert "no interface" in heddle.fails("check", "-e", "PollDevice(02:00:00:00:77:99) -> Discard")


def test_sniffers_at_an_interface_see_its_packets_by_themselves(heddle, root, tmp_path):
    """As in Click's conf/mazu-nat.click, whichever of the two stands first."""
    first = "Idle -> ToHostSniffers(eth0); f :: FromDevice(eth0)"
    heddle.ok("check", "-e", f"{first} -> ToDevice(eth0)")
    heddle.ok(
        "check", "-e", "FromDevice(eth0, ENCAP ETHER) -> ToHostSniffers(eth0); FromHost(tap0) -> ToHostSniffers(tap0)"
    )
    assert "METHOD af_xdp" in heddle.fails("check", "-e", f"{first[:-1]}, METHOD af_xdp) -> Discard")
    assert "METHOD must be" in heddle.fails("check", "-e", f"{first} -> ToHost(eth0)")
    with veth() as (one, far):
        chain = f"s :: ToHostSniffers({one}); FromDevice({one}) -> t :: Tee -> ToDevice({one}); t[1] -> s"
        got, control = tmp_path / "got.pcap", tmp_path / "control"
        with listening(far, got, 5), heddle.start_ready("run", "--json", "-u", control, "-e", chain) as running:
            wait_until(lambda: listens(running, one), what="a packet socket")
            send(far, [frame(60, n) for n in range(5)])
            wait_for_count(control, "s.count", 5)
            report = Report(running.interrupt().json)
        report.assert_accounted()
        assert report.one("s")["packets"] == 5
        assert recorded(got) == 5, "what is shown to sniffers is not sent"


def start_between(heddle, one, other, *options):
    chain = f"FromDevice({one}) -> c :: Counter -> ToDevice({other})"
    return heddle.start_ready("run", "--json", "-e", chain, *options)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "arguments, outgoing", [("", 0), (", OUTBOUND true", 5), (", CAPTURE PCAP, OUTBOUND false", 0)]
)
def test_frames_that_the_kernel_sends_come_in_on_request(heddle, root, tmp_path, threads, arguments, outgoing):
    control = tmp_path / "control"
    with veth() as (one, far):
        chain = f"FromDevice({one}{arguments}) -> c :: Counter -> Discard"
        with heddle.start("run", "--json", "-j", str(threads), "-u", control, "-e", chain) as running:
            wait_until(lambda: read_handler(control, "c.count") is not None, 60, "the ControlSocket, which opens last")
            send(one, [frame(60, n) for n in range(5)])
            # All that the kernel sends is in front of these in the socket.
            send(far, [frame(60, n) for n in range(3)])
            wait_for_count(control, "c.count", 3 + outgoing)
            result = running.interrupt()
    assert Report(result.json).count("c") == 3 + outgoing, result


def test_frames_that_the_kernel_sends_while_the_program_starts(heddle, root, tmp_path):
    """Packet sockets receive all frames from the moment in which they are made; none of these comes in."""
    control = str(tmp_path / "control")
    with veth() as (one, far):
        chain = f"FromDevice({one}) -> c :: Counter -> Discard"
        with heddle.start("run", "--json", "-u", control, "-e", chain) as running:
            ready = False
            while not ready:  # the socket is there once the ports receive
                ready = os.path.exists(control)
                assert running.alive()
                send(one, [frame(60, n) for n in range(20)])
            send(far, [frame(60, n) for n in range(3)])
            wait_for_count(control, "c.count", 3)
            result = running.interrupt()
    assert Report(result.json).count("c") == 3, result


def test_protocol_and_ip_by_request(heddle, root):
    arp = bytes(12) + bytes.fromhex("0806") + bytes(46)
    tagged = frame(60)[:12] + bytes.fromhex("81000001") + frame(60)[12:]
    broken = frame(60)[:14] + bytes(46)
    chain = "FromDevice({}, {}) -> c :: Counter -> IPFilter(allow dst host 10.0.0.2) -> ip :: Counter -> Discard"
    found = {}
    for arguments, not_ip in (("FORCE_IP true", 2), ("FORCE_IP true, PROTOCOL 0x0806", 1)):
        with veth() as (one, far), heddle.start_ready("run", "--json", "-e", chain.format(one, arguments)) as running:
            send(far, [frame(60), arp, tagged, broken])
            wait_for_metric(running, not_ip, "heddle_statistic", element="FromDevice@1", name="not_ip")
            report = Report(running.interrupt().json)
        found[arguments] = [report.count("c"), report.count("ip"), report.one("FromDevice@1")["statistics"]]
    assert found["FORCE_IP true"] == [2, 2, {"not_ip": 2}]
    assert found["FORCE_IP true, PROTOCOL 0x0806"] == [0, 0, {"not_ip": 1}]


def test_devices_are_names_of_their_addresses(heddle, root):
    with veth() as (one, _):
        network.call("ip", "link", "set", one, "address", LEFT)
        network.call("ip", "address", "add", "192.0.2.7/28", "dev", one)
        chain = (
            f"define($DEV {one}) Idle -> q :: ARPQuerier($DEV:ip, $DEV:eth) -> Discard; Idle -> [1]q;"
            "Idle -> MarkIPHeader -> a :: StoreIPAddress($DEV:bcast, src) -> e :: EtherEncap(0x0800, $DEV, $DEV:eth)"
            "-> Discard; Idle -> MarkIPHeader -> r :: StaticIPLookup($DEV:net 0) -> Discard;"
            'Script(print "$(q.ipaddr) $(e.src) $(r.table)", stop)'
        )
        out = heddle.ok("run", "--quiet", "-e", chain).out.split()
        assert [out[0], out[1].replace("-", ":").lower(), out[2]] == ["192.0.2.7", LEFT, "192.0.2.0/28"]
        given = f"AddressInfo({one} 10.0.0.9); Idle -> q :: ARPQuerier({one}, 2:0:0:0:0:1) -> Discard; Idle -> [1]q;"
        out = heddle.ok("run", "--quiet", "-e", given + 'Script(print "$(q.ipaddr)", stop)').out.split()
        assert out == ["10.0.0.9"]
        assert "is not an IPv4 address" in heddle.fails(
            "check", "-e", "Idle -> StoreIPAddress(hd_none, src) -> Discard"
        )


def test_promisc_and_snaplen_by_position(heddle, root, tmp_path):
    with (
        veth() as (one, far),
        heddle.start_ready(
            "run", "--json", "-e", f"FromDevice({one}, true, 40) -> ToDump({quoted(tmp_path / 'out.pcap')})"
        ) as running,
    ):
        send(far, [frame(60)])
        wait_for_metric(running, 1, "heddle_packets_total", element="FromDevice@1")
        running.interrupt()
    assert captures.frames(tmp_path / "out.pcap") == [frame(60)[:40]]


def test_what_the_kernel_drops_is_counted(heddle, root, tmp_path):
    """Each frame is received, or dropped by the kernel because the ring is full."""
    control, sent = tmp_path / "control", 3000
    with veth() as (one, far):
        chain = f"f :: FromDevice({one}, PROTOCOL 0x0800, NDESC 64, ACTIVE false) -> c :: Counter -> Discard"
        with heddle.start("run", "--json", "-u", control, "-e", chain) as running:
            wait_until(lambda: read_handler(control, "c.count") is not None, 60, "the ControlSocket, which opens last")
            assert read_handler(control, "f.kernel_drops") == "0"
            send(far, [frame(60)] * sent)
            wait_until(lambda: int(read_handler(control, "f.kernel_drops")) > 0, what="frames dropped")
            Control(control).write("f.active", "true")
            total = lambda: int(read_handler(control, "c.count")) + int(read_handler(control, "f.kernel_drops"))
            wait_until(lambda: total() == sent, what="all frames")
            result = running.interrupt()
    report = Report(result.json)
    drops = report.one("f")["statistics"]["kernel_drops"]
    assert 0 < drops < sent and report.count("c") == sent - drops


SIZES = [60, 1514, 2047, 2048, 2049, 4096, 8999, 9000, 9014]


def test_large_frames_over_af_packet(heddle, root, tmp_path):
    frames = [frame(size, n) for n, size in enumerate(SIZES * 5)]
    with veth(9000) as (outside, one), veth(9000) as (other, inside), start_between(heddle, one, other) as running:
        with listening(inside, tmp_path / "got.pcap", len(frames)):
            send(outside, frames)
        result = running.interrupt()
    assert result.code == 0, result
    report = Report(result.json)
    report.assert_accounted()
    assert report.dropped == 0
    assert ours(tmp_path / "got.pcap") == frames


def test_large_packets_are_sent_where_the_mtu_allows(heddle, root, tmp_path):
    source = captures.write(tmp_path / "in.pcap", [frame(size, n) for n, size in enumerate(SIZES)])
    with veth(1500) as (one, inside):
        with listening(inside, tmp_path / "got.pcap", 2):
            result = heddle("run", "--json", "-e", f"FromDump({quoted(source)}) -> d :: ToDevice({one})")
        assert result.code == 0, result
        assert ours(tmp_path / "got.pcap") == [frame(60, 0), frame(1514, 1)]
        assert Report(result.json).drops("d") == {"too_long": len(SIZES) - 2}
    with veth(1500) as (one, inside):
        network.call("ip", "link", "set", inside, "mtu", 9000)
        with listening(inside, tmp_path / "all.pcap", len(SIZES)):
            heddle.run(f"FromDump({quoted(source)}) -> ToDevice({one}, MTU 9000)")
            assert "mtu 9000" in network.call("ip", "link", "show", one)
        assert ours(tmp_path / "all.pcap") == [frame(size, n) for n, size in enumerate(SIZES)]


def test_two_threads_share_an_interface(heddle, root, tmp_path):
    frames = [frame(60 + n % 1400, n) for n in range(500)]
    with contextlib.ExitStack() as stack:
        outside, one = stack.enter_context(veth())
        other, inside = stack.enter_context(veth())
        running = stack.enter_context(start_between(heddle, one, other, "-j", "2"))
        with listening(inside, tmp_path / "got.pcap", len(frames)):
            send(outside, frames)
        report = Report(running.interrupt().json)
    report.assert_accounted()
    assert sorted(ours(tmp_path / "got.pcap")) == sorted(frames)


def test_af_xdp(heddle, root, tmp_path):
    frames = [frame(60 + n, n) for n in range(300)]
    with veth() as (outside, one):
        chain = f"FromDevice({one}, METHOD af_xdp) -> c :: Counter -> EtherMirror -> ToDevice({one})"
        with heddle.start_ready("run", "--json", "-e", chain) as running:
            if not running.alive():
                result = running.wait()
                assert result.code == 1
                pytest.skip(f"this kernel has no AF_XDP: {result.err}")
            with listening(outside, tmp_path / "got.pcap", len(frames)):
                send(outside, frames)
            report = Report(running.interrupt().json)
    report.assert_accounted()
    assert report.count("c") >= len(frames)
    got = [data for data in captures.frames(tmp_path / "got.pcap") if data[12:14] == b"\x08\x00"]
    assert got == [data[6:12] + data[:6] + data[12:] for data in frames]


def test_link_that_goes_down_and_comes_back(heddle, root, tmp_path):
    control = tmp_path / "control"
    with (
        veth() as (outside, one),
        veth() as (other, inside),
        start_between(heddle, one, other, "-u", control) as running,
    ):
        for state, carrier in (("down", "0"), ("up", "1")):
            network.call("ip", "link", "set", one, state)
            wait_until(lambda wanted=carrier: read_handler(control, "FromDevice@1.carrier") == wanted, what="the link")
        with listening(inside, tmp_path / "got.pcap", 5):
            send(outside, [frame(100, 1)] * 5)
        result = running.interrupt()
    assert result.code == 0, result
    report = Report(result.json)
    assert report.one("FromDevice")["statistics"]["link_downs"] == 1
    assert ours(tmp_path / "got.pcap") == [frame(100, 1)] * 5


def test_interface_removed_under_traffic_ends_its_source(heddle, root):
    with veth() as (outside, one), veth() as (other, _), start_between(heddle, one, other) as running:
        send(outside, [frame(100, 1)] * 50)
        wait_until(lambda: running.packets("c") == 50, what="the frames")
        network.call("ip", "link", "delete", one)
        result = running.wait()  # by itself: no other source is left
    assert result.code == 1, result
    assert result.err.count("was removed") == 1 and one in result.err
    report = Report(result.json)
    report.assert_accounted()
    assert report.count("c") == 50
    assert any(one in problem for problem in report.problems)


def test_interface_removed_at_the_far_end_drops(heddle, root):
    with veth() as (other, _):
        chain = f"RatedSource(RATE 2000, LENGTH 100) -> d :: ToDevice({other})"
        with heddle.start_ready("run", "--json", "-e", chain) as running:
            wait_until(lambda: running.packets("d") > 100, what="packets")
            network.call("ip", "link", "delete", other)
            wait_for_metric(running, 501, "heddle_drops_total", element="d", reason="removed")
            assert running.alive()
            result = running.interrupt()
    assert result.code == 1, result
    assert result.err.count("was removed") == 1 and other in result.err
    report = Report(result.json)
    report.assert_accounted()
    assert report.drops("d")["removed"] > 500


def test_large_frames_over_tap(heddle, root, tmp_path):
    """The kernel's frames come in; those of the program arrive at the interface."""
    frames = [frame(size, n) for n, size in enumerate(SIZES)]
    source = captures.write(tmp_path / "out.pcap", frames)
    name = f"hd{os.getpid()}t"
    chain = (
        f"FromDevice({name}, METHOD tap, MTU 9000) -> ToDump({quoted(tmp_path / 'in.pcap')});"
        f"FromDump({quoted(source)}, ACTIVE true) -> Queue(1000) -> Discard"
    )
    with heddle.start_ready("run", "--json", "-e", chain) as running:
        wait_until(lambda: name in network.call("ip", "-o", "link"), what="the tap device")
        wait_until(lambda: "mtu 9000" in network.call("ip", "link", "show", name), what="its MTU")
        network.call("ip", "link", "set", name, "up")
        send(name, frames)
        wait_until(lambda: recorded(tmp_path / "in.pcap") >= len(frames), what="the frames")
        result = running.interrupt()
    assert result.code == 0, result
    assert ours(tmp_path / "in.pcap") == frames


def test_missing_interface_is_an_error_at_start(heddle, root):
    message = heddle.fails("run", "-e", "FromDevice(nosuch0) -> Discard")
    assert "there is no interface 'nosuch0'" in message


@pytest.mark.parametrize(
    "chain, wanted",
    [
        ("FromDevice(eth0, SNIFFER false) -> Discard", "SNIFFER false needs METHOD af_xdp or tap"),
        ("FromDevice(eth0, METHOD pcap) -> Discard", "'pcap' is not one of af_packet, LINUX, PCAP, af_xdp, tap"),
        ("FromDevice(eth0, METHOD tap, OUTBOUND true) -> Discard", "OUTBOUND true and PROTOCOL need METHOD af_packet"),
        ("FromDevice(eth0, BPF_FILTER tcp) -> Discard", "BPF_FILTER: 'tcp' is not supported; leave it out: IPFilter"),
        ("FromDevice(eth0, ENCAP IP) -> Discard", "ENCAP: 'IP' is not ETHER: interfaces give Ethernet frames"),
        ("FromDevice(eth0, HEADROOM 129) -> Discard", "HEADROOM: '129' is not an integer from 0 to 128"),
        ('FromDevice("eth0,x=1") -> Discard', "is not the name of a kernel interface"),
        ("FromDevice(eth0) -> ToDevice(eth0, METHOD tap)", "METHOD must be the same everywhere"),
        ("FromDPDKDevice(net_null0, MAXTHREADS 0) -> Discard", "MAXTHREADS: '0' is not an integer from 1 to 128"),
        ("FromDPDKDevice(net_null0, PAUSE x) -> Discard", "PAUSE: 'x' is not one of unset, none, rx, tx, full"),
        ("DPDKInfo(NB_MBUF 65536, MBUF_SIZ 2048); Idle -> Discard", "unknown keyword 'MBUF_SIZ'"),
        ("DPDKInfo(NB_MBUF 1); Idle -> Discard", "'1' is not an integer from 256"),
        ("FromDPDKDevice(net_null0, MTU 10000) -> Discard", "'10000' is not an integer from 68 to 9216"),
    ],
)
def test_mistakes(heddle, chain, wanted):
    assert wanted in heddle.fails("check", "-e", chain)


def test_dpdk_info_sets_the_pool(heddle):
    few = "DPDKInfo(NB_MBUF 600, MBUF_CACHE_SIZE 64); InfiniteSource(BURST 1000) -> q :: Queue(100000) -> u :: Unqueue(ACTIVE false) -> Discard"
    report = Report(heddle("run", "--json", "--time", "0.3", "-e", few).json)
    assert report.received == 600


def test_lengths_that_no_buffer_has_are_dropped(heddle):
    chain = 'FromDPDKDevice("net_null0,size=%d") -> c :: Counter -> XOR -> Discard'
    for size in (2048, 2049, 4000, 70000):
        result = heddle("run", "--json", "--time", "0.2", "-e", chain % size)
        assert result.code == 0, result
        report = Report(result.json)
        statistics = report.one("FromDPDKDevice").get("statistics") or {}
        assert (report.count("c") > 0, statistics.get("bad_length", 0) > 0) == (size == 2048, size != 2048), result
    err = heddle.fails("run", "-e", chain.replace("%d", "4000,copy=1"))
    assert "writes frames of 4000 bytes into buffers of 2048" in err


def test_pcap_port(heddle, tmp_path):
    out = tmp_path / "out.pcap"
    chain = (
        f'FromDPDKDevice("net_pcap0,rx_pcap={TRAFFIC},tx_pcap={out}") -> EtherMirror -> c :: Counter'
        " -> ToDPDKDevice(net_pcap0)"
    )
    result = heddle("run", "--json", "--time", "1", "-e", chain)
    assert result.code == 0, result
    assert captures.frames(out) == [d[6:12] + d[:6] + d[12:] for d in captures.frames(TRAFFIC)]


def test_frames_longer_than_a_buffer_are_put_into_a_large_one(heddle, tmp_path):
    """net_pcap gives long frames as chains of buffers."""
    sizes = [60, 2048, 2049, 4000, 9000, 16000]
    frames = [frame(size, n) for n, size in enumerate(sizes)]
    source = captures.write(tmp_path / "in.pcap", frames)
    chain = f'FromDPDKDevice("net_pcap0,rx_pcap={source}") -> ToDump({quoted(tmp_path / "out.pcap")})'
    result = heddle("run", "--json", "--time", "0.5", "-e", chain)
    assert captures.frames(tmp_path / "out.pcap") == frames, result
    assert "too_long" not in Report(result.json).one("FromDPDKDevice").get("statistics", {})


def test_ring_port(heddle, tmp_path):
    chain = (
        f"FromDump({TRAFFIC}) -> ToDPDKDevice(net_ring0);"
        f"FromDPDKDevice(net_ring0) -> ToDump({quoted(tmp_path / 'out.pcap')})"
    )
    result = heddle("run", "--json", "--time", "0.5", "-e", chain)
    assert result.code == 0, result
    assert captures.read(tmp_path / "out.pcap") == captures.read(TRAFFIC)  # packets pass as they are, with their times
