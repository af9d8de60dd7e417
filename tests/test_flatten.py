"""heddle flatten and heddle graph: the chain without compounds, which is the same chain; and its picture."""

import colorsys
import itertools
import re
import shutil
import socket
import subprocess
import threading
from xml.etree import ElementTree

import pytest
from whole.control import Control
from whole.program import CHAINS, ROOT, wait_for_count, wait_until

TRAFFIC = CHAINS / "traffic.pcap"
NESTED = f"""
elementclass Twice {{ $a, SECOND $b | input -> Paint($a) -> o :: {{ [0] -> Paint($b) -> [0] }} -> output;
    input [1] -> Strip(2) -> [1] output; }}
define($WHERE "{TRAFFIC}", $PRICE 5)
s :: FromDump($WHERE) -> r :: RoundRobinSwitch -> t :: Twice(1, SECOND $PRICE) -> d :: Discard;
r [1] -> [1] t [1] -> Print("costs \\$5, {{x}} // no comment", 0) -> d;
r [2] -> {{ [0] -> Null -> Strip(1) -> [0] }} -> d; // a comment
"""


def edges(text):
    """What a picture says: (from, output, to, input)."""
    arrow = r'"([^"]+)" -> "([^"]+)" \[taillabel="(\d*)", headlabel="(\d*)"\]'
    return {(a, int(o or 0), b, int(i or 0)) for a, b, o, i in re.findall(arrow, text)}


def own_edges(flat):
    """The connections of a flat configuration, each in a line of its own or in a chain; read without Heddle's
    parser."""
    found = set()
    for statement in flat.split("\n\n", 1)[1].replace("\n    ", " ").splitlines():
        parts = statement.rstrip(";").split(" -> ")
        for left, right in itertools.pairwise(parts):
            source = re.fullmatch(r"(?:\[\d+\] )?(\S+)(?: \[(\d+)\])?", left)
            target = re.fullmatch(r"(?:\[(\d+)\] )?(\S+)(?: \[\d+\])?", right)
            found.add((source[1], int(source[2] or 0), target[2], int(target[1] or 0)))
    return found


@pytest.fixture(autouse=True)
def demonstration_keys():
    """Git keeps no modes; a file of keys must be its owner's alone."""
    (ROOT / "build").mkdir(exist_ok=True)
    keys, wanted = ROOT / "build/ipsec.keys", (CHAINS / "ipsec.keys").read_bytes()
    if not keys.exists() or keys.read_bytes() != wanted:  # another worker may be reading it
        keys.write_bytes(wanted)
    keys.chmod(0o600)


def plan(heddle, chain, *options):
    """Without what elements have chosen, which they measure."""
    return re.sub("chosen: .*", "", heddle.ok("plan", chain, *options).out)


def assert_same_chain(heddle, chain, flat, *options):
    again = heddle.ok("flatten", flat).out
    assert again == flat.read_text()
    assert plan(heddle, flat, *options) == plan(heddle, chain, *options)
    assert edges(heddle.ok("graph", flat).out) == edges(heddle.ok("graph", chain).out) == own_edges(again)


@pytest.mark.parametrize("path", sorted(CHAINS.glob("*.click")), ids=lambda path: path.stem)
def test_flatten_gives_the_same_chain(heddle, tmp_path, path):
    flat = tmp_path / "flat.click"
    flat.write_text(heddle.ok("flatten", path).out)
    assert "elementclass" not in flat.read_text()
    assert_same_chain(heddle, path, flat)


def test_flatten_writes_files(heddle, tmp_path):
    flat = tmp_path / "flat.click"
    assert heddle.ok("flatten", "-o", flat, "-e", "a :: { b :: Idle -> output } -> Discard").out == ""
    assert flat.read_text() == "a/b :: Idle;\nDiscard@2 :: Discard;\n\na/b -> Discard@2;\n"


def test_compounds_variables_and_comments_are_gone(heddle, tmp_path):
    (tmp_path / "nested.click").write_text(NESTED)
    flat = tmp_path / "flat.click"
    flat.write_text(heddle.ok("flatten", tmp_path / "nested.click").out)
    text = flat.read_text()
    assert "elementclass" not in text and "define" not in text and "$WHERE" not in text and "// a" not in text
    assert "t/Paint@1 :: Paint(1);" in text.splitlines() and "t/o/Paint@1 :: Paint(5);" in text.splitlines()
    assert_same_chain(heddle, tmp_path / "nested.click", flat)
    assert_same_chain(heddle, tmp_path / "nested.click", flat, "--device", "simt")


def test_secrets_are_not_shown(heddle, tmp_path):
    """They become variables, which whoever runs the flat chain gives."""
    chain = (
        "define($KEY hidden1) a :: FromGPUPort(a, SOCKET x, SECRET $KEY) -> EtherMirror -> ToGPUPort(b, SOCKET y, SECRET"
        ' "hidden 2"); FromGPUPort(c, SOCKET z, SECRET hidden1) -> EtherMirror -> ToGPUPort(c)'
    )
    out = heddle.ok("flatten", "--device", "simt", "-e", chain).out
    assert "hidden" not in out and "hidden" not in heddle.ok("graph", "--device", "simt", "-e", chain).out
    assert [line for line in out.splitlines() if "SECRET" in line] == [
        "// $SECRET is a secret that is not printed; give it with the chain: SECRET=...",
        "// $SECRET2 is a secret that is not printed; give it with the chain: SECRET2=...",
        "a :: FromGPUPort(a, SOCKET x, SECRET $SECRET);",
        "ToGPUPort@3 :: ToGPUPort(b, SOCKET y, SECRET $SECRET2);",
        "FromGPUPort@4 :: FromGPUPort(c, SOCKET z, SECRET $SECRET);",
    ]
    (tmp_path / "flat.click").write_text(out)
    assert "'$SECRET' is not defined" in heddle.fails("check", "--device", "simt", tmp_path / "flat.click")
    given = ("SECRET=hidden1", 'SECRET2="hidden 2"')
    assert heddle.ok("flatten", "--device", "simt", tmp_path / "flat.click", *given).out == out


def test_secrets_of_a_running_router_are_not_shown(heddle, place):
    """By its handlers; and nothing takes a variable for the secret."""
    chain = f"define($KEY hidden1) a :: FromGPUPort(a, SOCKET {place}/port, SECRET $KEY) -> m :: EtherMirror -> ToGPUPort(a)"
    with heddle.start("run", "-R", "-u", f"{place}/control", "--device", "simt", "-e", chain) as router:
        control = Control(f"{place}/control")
        for name in ("config", "flatconfig", "a.config"):
            shown = control.read(name)
            assert "hidden" not in shown and "SECRET $SECRET" in shown
        drawn = heddle.ok("graph", "-r", f"{place}/control", "-i", "0.01").out
        assert "hidden" not in drawn and "SECRET $SECRET" in drawn
        assert "'$SECRET' is not defined" in control.refused(control.read("config"))
        assert router.interrupt().code == 0


def test_secrets_of_dpdk_devices_are_not_shown(heddle):
    """They are in the middle of an argument, within quotes of both kinds."""
    devices = (
        '"net_memif0,secret=hidden1,role=client"',
        "'net_memif1,secret=hidden1'",
        "'net_memif2,secret=hidden2,id=1'",
    )
    chain = "; ".join(f"FromDPDKDevice({device}) -> Discard" for device in devices)
    flat = heddle.ok("flatten", "-e", chain).out
    assert "hidden" not in flat
    assert [line.split(" :: ")[1] for line in flat.splitlines() if " :: From" in line] == [
        'FromDPDKDevice("net_memif0,secret=$SECRET,role=client");',
        'FromDPDKDevice("net_memif1,secret=$SECRET");',
        'FromDPDKDevice("net_memif2,secret=$SECRET2,id=1");',
    ]
    given = heddle.ok("flatten", "-e", flat, "SECRET=hidden1", "SECRET2=hidden2").out
    assert "hidden" not in given and given.count("$SECRET") == flat.count("$SECRET")


def test_graph_shows_elements_and_connections(heddle):
    chain = f"s :: FromDump({TRAFFIC}) -> a :: RoundRobinSwitch; a [1] -> b :: Discard; a -> b"
    out = heddle.ok("graph", "-e", chain).out
    assert edges(out) == {("s", 0, "a", 0), ("a", 1, "b", 0), ("a", 0, "b", 0)}
    assert re.search(r'"s" \[label="s\\nFromDump"', out) and out.count("lightblue") == 3
    out = heddle.ok("graph", "--device", "simt", "-e", f"FromDump({TRAFFIC}) -> EtherMirror -> Discard").out
    assert out.count("palegreen") == 1 and "EtherMirror" in next(x for x in out.splitlines() if "palegreen" in x)
    assert out.count("lightblue") == 2 and out.startswith("digraph") and out.endswith("}\n")


def test_graph_quotes_what_it_prints(heddle):
    out = heddle.ok("graph", "-e", r'InfiniteSource(DATA "a\"b\\", LIMIT 1) -> Discard').out
    for line in out.splitlines():
        assert re.sub(r"\\.", "", line).count('"') % 2 == 0, line
    assert r"\"a\\\"b\\\\\"" in out


NEEDS_DOT = pytest.mark.skipif(shutil.which("dot") is None, reason="needs Graphviz's dot")
SVG = "{http://www.w3.org/2000/svg}"


def drawn(svg):
    """{element: (its lines of text, (hue, saturation))}, and the connections, of an SVG of dot's."""
    root = ElementTree.fromstring(svg)
    assert root.tag == SVG + "svg"
    nodes, connections = {}, []
    for group in root.iter(SVG + "g"):
        title = group.findtext(SVG + "title")
        if group.get("class") == "node":
            colour = group.find(f".//{SVG}polygon").get("fill")
            named = {"lightblue": "#add8e6", "palegreen": "#98fb98"}.get(colour, colour)
            hue, saturation, _ = colorsys.rgb_to_hsv(*(int(named[i : i + 2], 16) / 255 for i in (1, 3, 5)))
            nodes[title] = ([text.text for text in group.iter(SVG + "text")], (hue, saturation))
        elif group.get("class") == "edge":
            connections.append(tuple(title.split("->")))
    return nodes, sorted(connections)


@NEEDS_DOT
def test_svg_shows_elements_on_their_processors(heddle):
    chain = f"s :: FromDump({TRAFFIC}) -> m :: EtherMirror -> a :: RoundRobinSwitch; a [1] -> b :: Discard; a -> b"
    nodes, connections = drawn(heddle.ok("graph", "--svg", "--device", "simt", "-e", chain).out)
    assert {name: lines for name, (lines, _) in nodes.items()} == {
        "s": ["s", "FromDump"],
        "m": ["m", "EtherMirror"],
        "a": ["a", "RoundRobinSwitch"],
        "b": ["b", "Discard"],
    }
    assert connections == [("a", "b"), ("a", "b"), ("m", "a"), ("s", "m")]
    green, blue = nodes["m"][1][0], nodes["s"][1][0]
    assert 0.3 < green < 0.37 and 0.5 < blue < 0.57
    assert len(drawn(heddle.ok("graph", "--svg", CHAINS / "ip_router.click").out)[0]) > 30


@NEEDS_DOT
def test_svg_of_a_running_router_shows_its_load(heddle, tmp_path):
    chain = """s :: InfiniteSource(LENGTH 60) -> c :: Counter -> a :: RandomSample(0.25) -> d :: Discard;
        i :: Idle -> e :: Discard"""
    rate = lambda name: int(re.match(r"(\d+) packets/s", nodes[name][0][2])[1])
    saturation = lambda name: nodes[name][1][1]
    with heddle.start("run", "-u", tmp_path / "socket", "-e", chain) as running:
        wait_for_count(tmp_path / "socket", "d.count", 1000)
        nodes, connections = {}, []

        def is_busy():  # the machine may have had other things to do
            nonlocal nodes, connections
            nodes, connections = drawn(heddle.ok("graph", "--svg", "-i", "0.5", "-r", tmp_path / "socket").out)
            return rate("d") >= 1000

        wait_until(is_busy, what="packets in a drawing")
        assert running.interrupt().code == 0
    assert {("s", "c"), ("c", "a"), ("a", "d"), ("i", "e")} <= set(connections)
    assert rate("e") == 0 and 0.15 < rate("d") / rate("c") < 0.35
    assert re.search(r", \d+ dropped/s$", nodes["a"][0][2]) and "dropped" not in nodes["c"][0][2]
    assert saturation("e") < 0.1 < saturation("d") < 0.5 < saturation("c")


@NEEDS_DOT
def test_svg_on_a_full_disk(heddle):
    with open("/dev/full", "wb") as full:
        words = [heddle.path, "graph", "--svg", "-e", "Idle -> Discard"]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, timeout=120, check=False)
    assert done.returncode == 1 and b"No space left" in done.stderr, done


@NEEDS_DOT
def test_svg_shows_arguments_as_they_are(heddle):
    tooltip = "{http://www.w3.org/1999/xlink}title"
    arguments = r'DATA "a&lt;b&amp;&#65;", LIMIT 1'
    svg = heddle.ok("graph", "--svg", "-e", f"s :: InfiniteSource({arguments}) -> Discard").out
    shown = [each.get(tooltip) for each in ElementTree.fromstring(svg).iter(SVG + "a")]
    assert f"{arguments} on cpu" in [text.replace("cpu0", "cpu") for text in shown]


def test_dot_that_ends_early_is_named(heddle, tmp_path):
    dot = tmp_path / "dot"
    dot.write_text("#!/bin/sh\nexec 0<&-\nexit 0\n")
    dot.chmod(0o755)
    many = "; ".join("Idle -> Counter -> Discard" for _ in range(2000))  # more than a pipe holds
    path = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    result = heddle("graph", "--svg", "-f", "-", input=many.encode(), env=path)
    assert result.code == 1 and "`dot` has failed" in result.err


def test_graph_takes_either_a_chain_or_a_router(heddle, tmp_path):
    both = heddle("graph", "-r", tmp_path / "socket", "-e", "Idle -> Discard")
    assert both.code == 1 and "not both" in both.err
    neither = heddle("graph", "-i", "2", "-e", "Idle -> Discard")
    assert neither.code == 1 and "-i" in neither.err
    assert "--json" in heddle.fails("graph", "--json", "-e", "Idle -> Discard", code=109)


@pytest.mark.parametrize("report", ["{}", '{"elements": [{"name": "a"}]}', '{"elements": 3}', "[]", "nonsense"])
def test_graph_of_a_router_that_answers_otherwise(heddle, tmp_path, report):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        listener.listen()

        def answer():
            with listener.accept()[0] as client, client.makefile("rb") as lines:
                client.sendall(b"Click::ControlSocket/1.3\r\n")
                for line in lines:
                    text = b"Idle -> Discard" if b"config" in line else report.encode()
                    client.sendall(b"200 Read handler OK\r\nDATA %d\r\n" % len(text) + text)

        threading.Thread(target=answer, daemon=True).start()
        result = heddle("graph", "-i", "0.01", "-r", tmp_path / "socket")
    assert result.code == 1 and "handler `report`" in result.err, result


def test_svg_without_graphviz(heddle, tmp_path):
    result = heddle("graph", "--svg", "-e", "Idle -> Discard", env={"PATH": str(tmp_path)})
    assert result.code == 1 and "install Graphviz" in result.err and result.out == ""


def test_mistakes_are_reported(heddle):
    for command in ("flatten", "graph"):
        assert "1 mistake" in heddle.fails(command, "-e", "FromDump(a) -> Nonsense -> Discard")
