"""`heddle gen`: what it writes is what the elements and other tools read, and mistakes are told with a remedy."""

import hashlib
import ipaddress
import subprocess

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from whole import captures
from whole.program import Report


def lines(result):
    assert result.code == 0, result
    return result.out.splitlines()


def digest(result):
    assert result.code == 0, result
    return hashlib.sha256(result.raw).hexdigest()


GENERATORS = {
    "routes": ["routes"],
    "routes6": ["routes", "--ipv6"],
    "filters": ["filters", "--like", "fw"],
    "patterns": ["patterns"],
    "rules": ["patterns", "--rules"],
    "names": ["names"],
    "urls": ["names", "--form", "url"],
    "names with outputs": ["names", "--hops", "3"],
    "macs": ["macs"],
}


@pytest.mark.parametrize("name", GENERATORS)
def test_same_seed_same_bytes(heddle, name):
    command = GENERATORS[name]
    first = digest(heddle("gen", *command, "-n", 500, "--seed", 7))
    assert digest(heddle("gen", *command, "-n", 500, "--seed", 7)) == first
    assert digest(heddle("gen", *command, "-n", 500, "--seed", 8)) != first
    assert digest(heddle("gen", *command, "-n", 500)) == digest(heddle("gen", *command, "-n", 500, "--seed", 1))


@pytest.mark.parametrize("name", GENERATORS)
def test_exactly_as_many_different_ones(heddle, name):
    for count in (1, 300):
        made = lines(heddle("gen", *GENERATORS[name], "-n", count))
        assert len(made) == len(set(made)) == count


def test_routes_are_what_the_lookup_reads(heddle, tmp_path):
    table = tmp_path / "table.routes"
    assert heddle("gen", "routes", "-n", 2000, "--hops", 3, "-o", table).code == 0
    report = heddle("routes", table, "--json").json
    assert report["routes"] == 2000
    assert report["duplicates"] == 0
    assert report["hops"] == 3
    assert report["by_length"]["24"] == pytest.approx(2000 * 269983 / 512490, abs=1)
    chain = f"Idle -> rt :: DirectIPLookup(FILE {table}); rt[0] -> Discard; rt[1] -> Discard; rt[2] -> Discard"
    assert heddle("check", "-e", chain).code == 0


def test_ipv6_routes_are_prefixes(heddle):
    for line in lines(heddle("gen", "routes", "-n", 500, "--ipv6")):
        prefix, output = line.split()
        assert ipaddress.ip_network(prefix).version == 6
        assert int(output) < 4


def test_routes_like_another_table(heddle, tmp_path):
    table = tmp_path / "table"
    table.write_text("".join(f"10.{i}.0.0/16 1\n10.{i}.7.0/24 2\n" for i in range(100)))
    made = lines(heddle("gen", "routes", "-n", 200, "--like", table))
    assert sum("/16 " in line for line in made) == sum("/24 " in line for line in made) == 100
    covers = {line.split(".")[1] for line in made if "/16 " in line}
    assert {line.split(".")[1] for line in made if "/24 " in line} <= covers
    profile = tmp_path / "profile"
    assert heddle("gen", "profile", table, "-o", profile).code == 0
    assert lines(heddle("gen", "routes", "-n", 200, "--like", profile)) == made


def test_filters_headers_and_parameters(heddle, tmp_path):
    filters, parameters, trace = tmp_path / "filters", tmp_path / "parameters", tmp_path / "trace"
    assert heddle("gen", "filters", "-n", 200, "-o", filters).code == 0
    assert heddle("gen", "parameters", filters, "-o", parameters).code == 0
    assert len(lines(heddle("gen", "filters", "-n", 200, "--like", parameters))) == 200
    assert heddle("gen", "headers", "--filters", filters, "--scale", 3, "-o", trace).code == 0
    headers = [tuple(map(int, line.split("\t"))) for line in trace.read_text().splitlines()]
    assert len(headers) == 600
    rules = filters.read_text().splitlines()
    for source, destination, source_port, port, protocol, flags, number in headers:
        # Read anew here, without our reader.
        words = rules[number][1:].replace(" : ", ":").split("\t")
        assert ipaddress.ip_address(source) in ipaddress.ip_network(words[0])
        assert ipaddress.ip_address(destination) in ipaddress.ip_network(words[1])
        for at, value in ((2, source_port), (3, port)):
            low, high = map(int, words[at].split(":"))
            assert low <= value <= high
        for at, value in ((4, protocol), (5, flags)):
            wanted, mask = (int(word, 16) for word in words[at].split("/"))
            assert value & mask == wanted & mask


def test_too_few_different_filters(heddle, tmp_path):
    filters, parameters = tmp_path / "filters", tmp_path / "parameters"
    filters.write_text("@0.0.0.0/0\t0.0.0.0/0\t0 : 65535\t80 : 80\t0x06/0xFF\t0x0000/0x0000\t\n")
    assert heddle("gen", "parameters", filters, "-o", parameters).code == 0
    result = heddle("gen", "filters", "-n", 10, "--like", parameters)
    assert len(lines(result)) == 1
    assert "only 1 different filters" in result.err


def test_random_filters_have_no_structure_to_change(heddle, tmp_path):
    assert len(lines(heddle("gen", "filters", "-n", 10, "--like", "random"))) == 10
    for option in (["--smoothness", 5], ["--address-scope", 1], ["--port-scope", 1], ["--no-address-scaling"]):
        assert option[0] in heddle.fails("gen", "filters", "-n", 10, "--like", "random", *option)


def test_packets_of_routes(heddle, tmp_path):
    table, capture = tmp_path / "table", tmp_path / "out.pcap"
    assert heddle("gen", "routes", "-n", 100, "-o", table).code == 0
    command = ["gen", "packets", "-n", 1200, "--size", "imix", "--addresses", f"routes:{table}", "-o", capture]
    assert heddle(*command).code == 0
    packets = list(captures.read(capture))
    assert len(packets) == 1200
    sizes = [len(packet.data) + 4 for packet in packets]
    assert {size: sizes.count(size) for size in set(sizes)} == {64: 700, 594: 400, 1518: 100}
    networks = [ipaddress.ip_network(line.split()[0]) for line in table.read_text().splitlines()]
    for packet in packets[:200]:
        destination = ipaddress.ip_address(packet.data[30:34])
        assert any(destination in network for network in networks)


def test_packets_of_tcp(heddle, tmp_path):
    capture = tmp_path / "packets.pcap"
    command = ["gen", "packets", "-n", 1000, "--size", 200, "--protocol", "tcp", "--flows", 40, "-o", capture]
    assert heddle(*command).code == 0
    flows = set()
    for packet in captures.read(capture):
        ip = IP(packet.data[14:])
        assert (ip.proto, ip.len, ip[TCP].dataofs, ip[TCP].flags) == (6, 182, 5, "A")
        flows.add((ip.src, ip.dst, ip.sport, ip.dport))
        checksums = ip.chksum, ip[TCP].chksum
        del ip.chksum, ip[TCP].chksum
        again = IP(bytes(ip))
        assert (again.chksum, again[TCP].chksum) == checksums
    assert len(flows) == 40


def test_packets_of_routes_of_ip6(heddle, tmp_path):
    table, capture = tmp_path / "table", tmp_path / "out.pcap"
    heddle.ok("gen", "routes", "-n", 100, "--ipv6", "--hops", 2, "-o", table)
    networks = [ipaddress.ip_network(line.split()[0]) for line in table.read_text().splitlines()]
    for protocol, layer in {"udp": UDP, "tcp": TCP}.items():
        words = ["--size", 100, "--protocol", protocol, "--addresses", f"routes6:{table}", "-o", capture]
        heddle.ok("gen", "packets", "-n", 300, *words)
        for packet in captures.read(capture):
            ip = IPv6(packet.data[14:])
            assert len(packet.data) == 96 and ip.plen == 42 and ip.hlim == 64
            assert any(ipaddress.ip_address(ip.dst) in network for network in networks)
            checksum = ip[layer].chksum
            del ip[layer].chksum
            assert IPv6(bytes(ip))[layer].chksum == checksum
        lookup = f"CheckIP6Header(OFFSET 14) -> r :: LookupIP6Route(FILE {table})"
        chain = f"FromDump({capture}) -> {lookup}; d :: Discard; r[0] -> d; r[1] -> d"
        assert Report(heddle.ok("run", "--json", "-e", chain).json).dropped == 0


def test_packets_between_ethernet_addresses(heddle, tmp_path):
    table, capture = tmp_path / "table", tmp_path / "out.pcap"
    heddle.ok("gen", "macs", "-n", 500, "--ports", 3, "-o", table)
    hosts = dict(line.split() for line in table.read_text().splitlines())
    assert set(hosts.values()) == {"0", "1", "2"}
    heddle.ok("gen", "packets", "-n", 2000, "--flows", 2000, "--addresses", f"macs:{table}", "-o", capture)
    wanted = {"0": 0, "1": 0, "2": 0}
    for packet in captures.read(capture):
        to, source = (packet.data[at : at + 6].hex("-").upper() for at in (0, 6))
        wanted[hosts[to]] += 1
        assert source in hosts and source != to
    ports = "; ".join(f"s[{k}] -> c{k} :: Counter -> Discard" for k in range(4))
    chain = f"FromDump({capture}) -> Paint(9) -> s :: L2Switch(FILE {table}); {ports}"
    report = Report(heddle.ok("run", "--json", "-e", chain).json)
    assert {str(k): report.count(f"c{k}") for k in range(3)} == wanted and report.count("c3") == 0


def test_interests_for_names(heddle, tmp_path):
    table, capture = tmp_path / "table", tmp_path / "out.pcap"
    heddle.ok("gen", "names", "-n", 300, "--hops", 2, "-o", table)
    assert {line.split()[1] for line in table.read_text().splitlines()} == {"0", "1"}
    words = ["--size", 200, "--flows", 2000, "--addresses", f"names:{table}"]
    heddle.ok("gen", "packets", "-n", 2000, *words, "-o", capture)
    chain = f"FromDump({capture}) -> n :: NDNLookup(FILE {table}); d :: Discard; n[0] -> d; n[1] -> d"
    assert Report(heddle.ok("run", "--json", "-e", chain).json).dropped == 0
    assert {len(frame) for frame in captures.frames(capture)} == {196}
    # Names without outputs are read as well.
    table.write_text("".join(line.split()[0] + "\n" for line in table.read_text().splitlines()))
    heddle.ok("gen", "packets", "-n", 2000, *words, "-o", tmp_path / "same.pcap")
    assert (tmp_path / "same.pcap").read_bytes() == capture.read_bytes()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["routes", "-n", "0"], "Value 0 not in range 1 to 1000000"),
        (["routes"], "-n is required"),
        (["routes", "-n", "5", "--like", "/nonexistent"], "cannot read '/nonexistent': No such file or directory"),
        (["routes", "-n", "5", "-o", "/nonexistent/x"], "cannot write '/nonexistent/x'"),
        (["filters", "-n", "5", "--like", "nothing"], "neither a parameter file nor one of acl, fw and ipc"),
        (["filters", "-n", "5", "--smoothness", "65"], "Value 65 not in range 0 to 64"),
        (["filters", "-n", "5", "--port-scope", "1.5"], "not in range"),
        (["headers", "--filters", "README.md"], "README.md:3: expected @SOURCE/LENGTH"),
        (["filters", "-n", "5", "--address-scope", "nan"], "Value nan not in range -1 to 1"),
        (["names", "-n", "5", "--form", "uri"], "uri not in"),
        (["packets", "-n", "10", "-o", "/tmp/never", "--zipf", "nan"], "Value nan not in range 0 to 10"),
        (["packets", "-n", "10", "-o", "/tmp/never", "--zipf", "1e300"], "not in range 0 to 10"),
        (["packets", "-n", "10", "-o", "/tmp/never", "--rate", "inf"], "Value inf not in range 1e-06 to 1000000"),
        (
            ["packets", "-n", "5", "-o", "/tmp/never", "--addresses", "zipf"],
            "expected uniform, routes:FILE or trace:FILE",
        ),
        (["packets", "-n", "5", "-o", "/tmp/never", "--addresses", "trace:."], "cannot read the header trace '.'"),
        (["packets", "-n", "5", "-o", "/tmp/never", "--addresses", "uniform6"], "a frame of IPv6 and UDP has 84 bytes"),
        (
            ["packets", "-n", "5", "-o", "/tmp/never", "--addresses", "macs:README.md"],
            "README.md:3: expected ADDRESS PORT",
        ),
        (["packets", "-n", "5", "-o", "/tmp/never", "--addresses", "names:/none"], "'/none'"),
        (["packets", "-n", "5", "-o", "/tmp/never", "--protocol", "icmp"], "icmp not in"),
        (["packets", "-n", "5", "-o", "/tmp/never", "--protocol", "tcp"], "a frame of TCP has 76 bytes at least"),
    ],
)
def test_mistakes(heddle, command, message):
    result = heddle("gen", *command)
    assert result.code != 0
    assert message in result.err + result.out


def test_headers_need_a_number(heddle, tmp_path):
    filters = tmp_path / "filters"
    assert heddle("gen", "filters", "-n", 5, "-o", filters).code == 0
    result = heddle("gen", "headers", "--filters", filters)
    assert result.code == 1
    assert "-n N or --scale S" in result.err
    for scale, message in {
        "1e300": "not in range 0 to 1000000",
        "nan": "not in range 0 to 1000000",
        "0.0001": "is 0 headers, not 1 to 1000000",
        "300000": "is 1500000 headers, not 1 to 1000000",
    }.items():
        result = heddle("gen", "headers", "--filters", filters, "--scale", scale)
        assert result.code != 0 and message in result.err + result.out, result
    for shape in ("nan", "1e-300"):
        result = heddle("gen", "headers", "--filters", filters, "-n", 5, "--pareto", shape, 1)
        assert result.code != 0 and ("not in range" in result.err or "not a shape" in result.err), result


@pytest.mark.parametrize("suite", ["ctr-sha1", "ctr-sha256", "gcm"])
def test_associations_are_what_ipsec_reads(heddle, tmp_path, suite):
    """Every destination has an association, whatever their number, and nobody else can read the file."""
    for count in (1, 3, 500):
        keys = tmp_path / f"{count}.keys"
        words = ["gen", "associations", "-n", count, "--suite", suite, "-o"]
        heddle.ok(*words, keys)
        assert keys.stat().st_mode & 0o777 == 0o600
        heddle.ok(*words, tmp_path / "same")
        assert keys.read_bytes() == (tmp_path / "same").read_bytes()
        capture = tmp_path / "in.pcap"
        heddle.ok("gen", "packets", "-n", 1000, "--flows", 1000, "-o", capture)
        chain = (
            f"FromDump({capture}) -> CheckIPHeader(14) -> IPsecSequence(e) -> e :: IPsecEncap({keys}, OFFSET 14) -> "
        )
        report = heddle.ok(
            "run", "--json", "-e", f"{chain} IPsecDecap({keys}, OFFSET 14) -> ToDump({tmp_path / 'out.pcap'})"
        )
        assert Report(report.json).dropped == 0
        assert [f[14:] for f in captures.frames(tmp_path / "out.pcap")] == [f[14:] for f in captures.frames(capture)]
        if count == 500:
            spis = {line.split()[3] for line in keys.read_text().splitlines() if "proto esp" in line}
            assert len(spis) == count


def test_rules_of_patterns_are_what_the_nids_reads(heddle, tmp_path):
    rules = tmp_path / "rules"
    heddle.ok("gen", "patterns", "-n", 200, "--rules", "-o", rules)
    heddle.ok("check", "-e", f"Idle -> MarkIPHeader(14) -> NIDS({rules}) -> Discard")
    assert [line.rpartition("sid:")[2].split(";")[0] for line in rules.read_text().splitlines()] == [
        str(1000001 + i) for i in range(200)
    ]


def test_associations_are_not_printed(heddle):
    assert "--output" in heddle("gen", "associations", "-n", 1).err
    assert "100000" in heddle.fails("gen", "associations", "-n", 100001, "-o", "/dev/null")


def test_a_file_that_cannot_be_written_whole_stays_as_it_was(heddle, tmp_path):
    file = tmp_path / "routes.txt"
    file.write_text("10.0.0.0/8 0\n")
    command = f'ulimit -f 8; exec "{heddle.path}" gen routes -n 100000 -o "{file}"'
    done = subprocess.run(["sh", "-c", command], check=False, capture_output=True, text=True)
    assert done.returncode == 1 and f"cannot write '{file}'" in done.stderr, done
    assert file.read_text() == "10.0.0.0/8 0\n" and [path.name for path in tmp_path.iterdir()] == ["routes.txt"]


def test_files_keep_their_mode_and_links_lead_on(heddle, tmp_path):
    file, link = tmp_path / "routes.txt", tmp_path / "link"
    file.write_text("")
    file.chmod(0o640)
    link.symlink_to(file)
    assert heddle("gen", "routes", "-n", "5", "-o", link).code == 0
    assert link.is_symlink() and file.stat().st_mode & 0o777 == 0o640 and len(file.read_text().splitlines()) >= 5
