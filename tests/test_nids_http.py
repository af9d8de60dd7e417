"""NIDS over HTTP, judged by Suricata, which reads the same rules and the same capture."""

import gzip
import json
import random
import shutil
import zlib
from collections import Counter

import pytest
from scapy.all import IP, TCP, Ether, Raw
from test_nids_suricata import CHAIN, SETTINGS, run_suricata
from whole import captures
from whole.frames import SEED, tcp_frame

# What Suricata's own suricata.yaml says of libhtp.
HTTP_SETTINGS = SETTINGS.replace(
    "app-layer: {protocols: {}}",
    "app-layer: {protocols: {http: {enabled: yes, libhtp: {default-config: {personality: IDS,"
    " request-body-limit: 100kb, response-body-limit: 100kb,"
    " request-body-minimal-inspect-size: 32kb, request-body-inspect-window: 4kb,"
    " response-body-minimal-inspect-size: 40kb, response-body-inspect-window: 16kb,"
    " response-body-decompress-layer-limit: 2}}}}}",
)

WORDS = ["alfa", "brav", "Char", "delt", "echo", "ab", "foxtrot", "GOLF"]


def words(rng, most, glue=" "):
    return glue.join(rng.choice(WORDS) for _ in range(rng.randint(1, most)))


def random_uri(rng):
    parts = [rng.choice(WORDS + ["..", ".", "", "a%20b", "%61lfa", "x;y"]) for _ in range(rng.randint(1, 4))]
    uri = "/" + "/".join(parts)
    if rng.random() < 0.5:
        pairs = [
            f"{rng.choice(WORDS)}={rng.choice(WORDS + ['%41b', 'x+y', '%2e%2E'])}" for _ in range(rng.randint(1, 3))
        ]
        uri += "?" + "&".join(pairs)
    return uri + ("#" + rng.choice(WORDS) if rng.random() < 0.1 else "")


def random_body(rng, answers):
    """The body's lines of the header, and the body as it is sent."""
    text = words(rng, rng.choice([3, 30, 30, 300])).encode()
    lines, sent = [], text
    coding = rng.choice(["", "", "", "gzip", "deflate"]) if answers else ""
    if coding:
        sent = gzip.compress(text) if coding == "gzip" else zlib.compress(text)
        lines.append(f"Content-Encoding: {coding}")
    if rng.random() < 0.4:
        lines.append("Transfer-Encoding: chunked")
        chunks, at = b"", 0
        while at < len(sent):
            piece = sent[at : at + rng.randint(1, 200)]
            chunks += b"%x\r\n%s\r\n" % (len(piece), piece)
            at += len(piece)
        return lines, chunks + b"0\r\n\r\n"
    return [*lines, f"Content-Length: {len(sent)}"], sent


REQUEST_HEADERS = ["User-Agent", "Referer", "Accept", "Accept-Encoding", "Accept-Language", "Cookie", "X-Word"]
RESPONSE_HEADERS = ["Server", "Location", "Set-Cookie", "Content-Type", "X-Word", "Connection"]


def header_lines(rng, names):
    lines = []
    for name in rng.sample(names, rng.randint(0, len(names))):
        if rng.random() < 0.2:
            name = rng.choice([name.lower(), name.upper()])
        lines.append(f"{name}:{rng.choice([' ', '', '  '])}{words(rng, 3)}{rng.choice(['', '', ' '])}")
    return lines


def random_request(rng):
    method = rng.choice(["GET", "GET", "POST", "PUT", "DELETE", "OPTIONS"])
    lines = [f"{method} {random_uri(rng)} HTTP/1.{rng.choice('01111')}"]
    if rng.random() < 0.9:
        lines.append("Host: " + rng.choice(["alfa.example", "www.brav.example", "10.1.0.1"]))
    lines += header_lines(rng, REQUEST_HEADERS)
    more, body = random_body(rng, False) if method in ("POST", "PUT") else ([], b"")
    return "\r\n".join(lines + more).encode() + b"\r\n\r\n" + body


def random_response(rng):
    status = rng.choice(["200 OK", "200 OK", "404 Not Found", "302 Found", "500 alfa brav"])
    more, body = random_body(rng, True)
    lines = [f"HTTP/1.1 {status}", *header_lines(rng, RESPONSE_HEADERS), *more]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def cut(rng, data):
    """In segments; perhaps of a byte each."""
    longest = rng.choice([1, 7, 60, 400, 1400, 1400, 1400])
    pieces, at = [], 0
    while at < len(data):
        pieces.append(data[at : at + rng.randint(1, longest)])
        at += len(pieces[-1])
    return pieces


def connection(rng, client, port, turns, server_port=80):
    """Frames of a connection; turns: (from the client, bytes)."""
    ends = (client, port), ("10.1.0.1", server_port)
    ours, theirs = rng.getrandbits(32), rng.getrandbits(32)
    frames = []

    def send(there, flags, data=b""):
        nonlocal ours, theirs
        seq, ack = (ours, theirs) if there else (theirs, ours)
        frames.append(tcp_frame(*(ends if there else ends[::-1]), flags, seq, 0 if flags == "S" else ack, data))
        moved = len(data) + (1 if flags in ("S", "SA", "FA") else 0)
        if there:
            ours = (ours + moved) % 2**32
        else:
            theirs = (theirs + moved) % 2**32

    send(True, "S")
    send(False, "SA")
    send(True, "A")
    for there, data in turns:
        for piece in cut(rng, data):
            send(there, "PA", piece)
            send(not there, "A")
    send(True, "FA")
    send(False, "FA")
    send(True, "A")
    return frames


def random_traffic(rng, count):
    """Connections of some transactions each, one after the other or pipelined."""
    flows = []
    for flow in range(count):
        transactions = [(random_request(rng), random_response(rng)) for _ in range(rng.randint(1, 4))]
        if rng.random() < 0.3:
            turns = [(True, b"".join(r for r, _ in transactions)), (False, b"".join(a for _, a in transactions))]
        else:
            turns = [turn for request, response in transactions for turn in ((True, request), (False, response))]
        flows.append(connection(rng, f"10.0.{flow // 200}.{flow % 200 + 1}", 1000 + flow, turns))
    frames = []
    while any(flows):
        flow = rng.choice([flow for flow in flows if flow])
        frames += [flow.pop(0) for _ in range(min(len(flow), rng.randint(1, 8)))]
    return frames


REQUEST_BUFFERS = {
    "http.method": ["GET", "POST", "PUT", "ET", "O"],
    "http.uri": [*WORDS, "/", "a b", "=", "?", "..", "x+y", "Ab"],
    "http.uri.raw": [*WORDS, "/", "%20", "=", "..", "%41", "#"],
    "http.protocol": ["HTTP/1.1", "1.0"],
    "http.request_line": ["GET /", " HTTP/1.1", *WORDS],
    "http.host": ["alfa.example", "example", ".1."],
    "http.host.raw": ["alfa.example", "example", ".1."],
    "http.user_agent": WORDS,
    "http.referer": WORDS,
    "http.accept": WORDS,
    "http.accept_enc": WORDS,
    "http.accept_lang": WORDS,
    "http.request_body": WORDS,
}
RESPONSE_BUFFERS = {
    "http.stat_code": ["200", "404", "0"],
    "http.stat_msg": ["OK", "Not Found", "alfa"],
    "http.response_line": ["HTTP/1.1 200", "alfa", "OK"],
    "http.server": WORDS,
    "http.location": WORDS,
    "http.response_body": WORDS,
}
EITHER = {
    "http.header": [*WORDS, "|0d 0a|", ": ", "X-Word", "ontent"],
    "http.header.raw": [*WORDS, "|0d 0a|", ":", "X-Word", "ontent"],
    "http.header_names": ["Host", "|0d 0a|", "X-Word", "|0d 0a 0d 0a|", "Content-Length", "cookie"],
    "http.cookie": WORDS,
    "http.content_type": WORDS,
    "http.content_len": ["1", "2", "3"],
    "http.connection": WORDS,
    "http.start": [*WORDS, "HTTP/1.1", "|0d 0a 0d 0a|"],
    "file.data": WORDS,
}
# Older names: behind a content, and a letter of pcre.
MODIFIERS = {
    "http.method": ("http_method", "M"),
    "http.uri": ("http_uri", "U"),
    "http.uri.raw": ("http_raw_uri", "I"),
    "http.header": ("http_header", "H"),
    "http.header.raw": ("http_raw_header", "D"),
    "http.host": ("http_host", "W"),
    "http.host.raw": ("http_raw_host", "Z"),
    "http.cookie": ("http_cookie", "C"),
    "http.user_agent": ("http_user_agent", "V"),
    "http.request_body": ("http_client_body", "P"),
    "http.response_body": ("http_server_body", "Q"),
    "http.stat_code": ("http_stat_code", "S"),
    "http.stat_msg": ("http_stat_msg", "Y"),
}
TRANSFORMS = ["dotprefix", "to_lowercase", "to_uppercase", "strip_whitespace", "compress_whitespace", "url_decode"]


def size_of(text):
    """Bytes of a content's text."""
    return len("".join(part if k % 2 == 0 else "x" * len(part.split()) for k, part in enumerate(text.split("|"))))


def random_contents(rng, name, texts, older):
    """Options of contents in a buffer."""
    modifier, letter = MODIFIERS.get(name, ("", ""))
    options, relative_to = "", None
    for number in range(rng.choice([1, 1, 1, 2, 3])):
        text = rng.choice(texts)
        if rng.random() < 0.15 and "|" not in text:
            expression = "".join("." if rng.random() < 0.2 else "\\" + c if not c.isalnum() else c for c in text)
            negated = "!" if number > 0 and rng.random() < 0.2 else ""
            options += f'pcre:{negated}"/{expression}/{rng.choice(["", "i"])}{letter if older else ""}"; '
            relative_to = None
            continue
        negated = rng.random() < 0.15
        options += f'content:{"!" if negated else ""}"{text}"; '
        if rng.random() < 0.4 and "host" not in name:
            options += "nocase; "
        place = rng.random()
        if relative_to is not None and place < 0.5:
            options += f"distance:{rng.randint(-3, 10)}; "
            options += f"within:{size_of(text) + rng.randint(0, 30)}; " if rng.random() < 0.5 else ""
            relative_to = None
        elif place < 0.65:
            # Suricata looks at the first place only where an absent content may not end.
            options += "startswith; " if negated or rng.random() < 0.5 else "endswith; "
            relative_to = None
        elif place < 0.8:
            options += f"offset:{rng.randint(0, 8)}; depth:{size_of(text) + rng.randint(0, 30)}; "
            relative_to = None
        else:
            relative_to = None if negated else text
        if older:
            options += f"{modifier}; "
    return options


def random_rule(rng, sid):
    options = ""
    # Suricata looks for a rule that only says what is absent whenever something comes.
    while 'content:"' not in options:
        options = random_options(rng)
    protocol = rng.choice(["http", "http", "tcp"])
    return f'alert {protocol} any any -> any any (msg:"{sid}"; {options}sid:{sid}; rev:1;)'


def random_options(rng):
    answers = rng.random() < 0.4
    buffers = (RESPONSE_BUFFERS if answers else REQUEST_BUFFERS) | EITHER
    options = f"flow:established,{'to_client' if answers else 'to_server'}; "
    names = rng.sample(sorted(buffers), rng.choice([1, 1, 1, 2, 3]))
    older = rng.random() < 0.25 and all(name in MODIFIERS for name in names)
    for name in names:
        if older:
            options += random_contents(rng, name, buffers[name], True)
            continue
        options += f"{name}; "
        host = "http.host" in name
        texts = buffers[name]
        if rng.random() < 0.15 and not host:
            transform = rng.choice(TRANSFORMS)
            options += f"{transform}; "
            change = {"to_lowercase": str.lower, "to_uppercase": str.upper}.get(transform, str)
            texts = [change(text) for text in texts]
        if rng.random() < 0.1:
            low = rng.randint(0, 20)
            options += (
                f"bsize:{rng.choice([f'<{low + 2}', f'>{low}', f'{low}', f'{low}<>{low + rng.randint(5, 40)}'])}; "
            )
            if rng.random() < 0.5:
                continue
        options += random_contents(rng, name, texts, False)
    if rng.random() < 0.1 and not answers:
        low = rng.randint(1, 20)
        sizes = rng.choice([f"<{low + 2}", f">{low}", f"{low}", f"{low}<>{low + rng.randint(5, 20)}"])
        options += f"urilen:{sizes}{rng.choice(['', ',norm', ',raw'])}; "
    return options


def alerts_of(path):
    """How often rules alert of whose transactions. Suricata does so again and again where it has no pattern to look
    for; of a transaction each counts once."""
    found = []
    for line in path.read_text().splitlines():
        alert = json.loads(line)
        key = alert["alert"]["signature_id"], alert["src_ip"], alert["src_port"], alert["dest_port"]
        found.append((*key, alert.get("tx_id")))
    return Counter(key[:-1] for key in (set(found) if found and found[0][-1] is not None else found))


def write_capture(path, frames):
    """A hundred microseconds between packets."""
    path.write_bytes(
        captures.pcap([captures.plain(frame)._replace(ns=10**18 + n * 10**5) for n, frame in enumerate(frames)])
    )


def needs_suricata():
    if shutil.which("suricata") is None:
        pytest.skip("suricata is not installed (make deps)")


def compare(heddle, folder, rules, frames, device="cpu"):
    """That there are the same alerts; returns these by sid."""
    (folder / "suricata.yaml").write_text(HTTP_SETTINGS)
    (folder / "rules").write_text("".join(rule + "\n" for rule in rules))
    write_capture(folder / "in.pcap", frames)
    run_suricata(folder)
    heddle.ok("run", "--device", device, "-e", CHAIN.format(folder))
    ours, theirs = (alerts_of(folder / name) for name in ("ours.json", "eve.json"))
    differing = ours.copy()
    differing.subtract(theirs)
    differing = {key + (rules[key[0] - 1],): count for key, count in differing.items() if count != 0}
    assert not differing, differing
    by_sid = Counter()
    for key, count in ours.items():
        by_sid[key[0]] += count
    return by_sid


@pytest.mark.parametrize(("device", "rounds"), [("cpu", 2), ("simt", 1)])
def test_suricata_judges_http(heddle, tmp_path, device, rounds):
    """Random rules and transactions, one for one."""
    needs_suricata()
    rng = random.Random(f"{SEED} suricata http {device}")
    alerts, alerting = 0, 0
    for _ in range(rounds):
        rules = [random_rule(rng, sid) for sid in range(1, 401)]
        by_sid = compare(heddle, tmp_path, rules, random_traffic(rng, 20), device)
        alerts += sum(by_sid.values())
        alerting += len(by_sid)
    assert alerts > 500 * rounds and alerting > 80 * rounds


def fixed_traffic(conversations):
    rng = random.Random("fixed")
    frames = []
    for number, turns in enumerate(conversations):
        frames += connection(rng, f"10.0.0.{number + 1}", 1000 + number, turns)
    return frames


def test_suricata_judges_options(heddle, tmp_path):
    """What random rules do not have: rules of nothing but what is absent, of sizes, of numbers; payload beside buffers;
    older names; transforms whose results differ."""
    needs_suricata()
    get = (
        b"GET /a%20b/../c//d%2fe?q=%41+x&y=5000#frag HTTP/1.1\r\nHost: example.com\r\nUser-Agent:  Foo  \r\nCookie: a=b\r\n"
        b"X-Fold: one\r\n two\r\nCookie: c=d\r\n\r\n"
    )
    answer = b"HTTP/1.1 200 OK\r\nServer: some\r\nSet-Cookie: z=1\r\nContent-Length: 5\r\n\r\nhello"
    post = b"POST /b HTTP/1.1\r\nHost: EXAMPLE.com\r\nContent-Length: 9\r\n\r\nn=5000&ab"
    packed = gzip.compress(b"needle in gzip")
    coded = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed) + packed
    chunked = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n chunk\r\n0\r\nTrail: er\r\n\r\n"
    )
    chunked_post = b"POST /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nTr: ail\r\n\r\n"
    long_body = b"HTTP/1.1 200 OK\r\nContent-Length: 70000\r\n\r\n" + b"alfa" + b"x" * 60000 + b"brav" + b"x" * 9992
    conversations = [
        [(True, get), (False, answer), (True, post), (False, coded), (True, get), (False, chunked)],
        [(True, get + post + get), (False, answer + coded + chunked)],
        [(True, chunked_post), (False, answer)],
        [(True, get), (False, b"HTTP/1.1 200 OK\r\n\r\nneedle until the end")],
        [(True, get), (False, long_body)],
        [(True, b"GET /.. HTTP/1.0\r\n\r\n"), (False, b"HTTP/1.0 404 \r\nContent-Length: 0\r\n\r\n")],
    ]
    options = [
        'http.method; content:"GET"; content:!"POST"',
        'http.referer; content:!"x"',
        'http.header_names; content:!"Referer"',
        'http.uri; content:!"/"',
        'http.request_body; content:!"zz"',
        'http.request_body; content:!"n="',
        'file.data; content:!"hello"',
        'flow:to_server; file.data; content:"ab"; endswith',
        "http.uri; bsize:23",
        "http.method; bsize:2<>4",
        "http.method; bsize:3<>5",
        "http.request_body; bsize:9",
        "file.data; bsize:11",
        "http.response_body; bsize:>60000",
        "urilen:23",
        "urilen:!23",
        "urilen:30<>50,raw",
        "urilen:<10,norm",
        'http.uri; content:"y="; byte_test:0,=,5000,0,string,dec,relative',
        'http.uri; content:"y="; byte_test:4,>,4999,0,string,dec,relative',
        'http.request_body; content:"n="; byte_test:0,>,6000,0,string,dec,relative',
        "http.content_len; byte_test:0,<,6,0,string,dec",
        'http.uri; content:"/c"; isdataat:20,relative',
        'http.uri; content:"/c"; isdataat:!21,relative',
        'content:"/b"; http_uri; isdataat:!1,relative',
        'content:"User"; http.uri; content:"/c"',
        'content:"nothing"; http.uri; content:"/c"',
        'file_data; content:"needle"; pkt_data; content:"gzip"',
        'content:"/c"; http_uri; pcre:"/^.d/UR"',
        'uricontent:"/c"',
        'http.uri; pcre:"/^.c/U"',
        'http.uri; content:"/c"; http.method; content:"GET"; http.uri; content:"/d"; distance:0',
        'http.host; dotprefix; content:".example.com"; startswith; endswith',
        'http.header; header_lowercase; content:"user-agent: Foo"',
        'http.header; compress_whitespace; content:"com|0d|User"',
        'http.uri.raw; url_decode; content:"/a b/../c//d/e?q=A x&"',
        'http.method; xor:"010203"; content:"FGW"',
        'http.user_agent; strip_whitespace; to_uppercase; content:"FOO"',
        'flow:to_server; http.header.raw; content:"User-Agent:  Foo  |0d0a|"',
        'http.start; content:"Cookie: a=b"',
        'http.response_body; content:"alfa"; startswith',
        'http.response_body; content:"brav"; endswith',
        'app-layer-protocol:http; content:"/c"; http_uri',
        'threshold:type limit,track by_src,count 1,seconds 60; http.method; content:"GET"',
        'http.method; content:"GET"; flowbits:set,got; flowbits:noalert',
        'http.method; content:"POST"; flowbits:isset,got',
    ]
    protocols = ["tcp" if "app-layer" in text else "http" for text in options]
    rules = [
        f"alert {protocol} any any -> any any ({text}; sid:{sid}; rev:1;)"
        for sid, (protocol, text) in enumerate(zip(protocols, options, strict=True), 1)
    ]
    by_sid = compare(heddle, tmp_path, rules, fixed_traffic(conversations))
    silent = {options[sid - 1] for sid in range(1, len(options) + 1) if by_sid[sid] == 0}
    assert len(by_sid) > 35, silent


def test_http_wants_streams(heddle, tmp_path):
    """Without STREAM nobody follows connections: such rules are refused, or left out."""
    rules = tmp_path / "rules"
    rules.write_text(
        'alert http any any -> any any (content:"a"; sid:1;)\n'
        'alert tcp any any -> any any (http.uri; content:"a"; sid:2;)\n'
        'alert tcp any any -> any any (content:"a"; sid:3;)\n'
    )
    chain = f"Idle -> MarkIPHeader -> ids :: NIDS({rules}, SKIP_UNSUPPORTED {{}}); ids[0] -> Discard; ids[1] -> NIDSConfirm(ids) -> Discard;"
    errors = heddle.fails("check", "-e", chain.format("false"))
    assert all(
        f"{rules}:{sid}: sid {sid}: it is for an application protocol: give the NIDS STREAM true" in errors
        for sid in (1, 2)
    )
    done = heddle("check", "-e", chain.format("true"))
    assert (
        done.code == 0
        and "2: it is for an application protocol: give the NIDS STREAM true (line 1, sid 1; line 2, sid 2)" in done.err
    )


def test_a_rule_drops_what_completes_a_request(heddle, tmp_path):
    """Segments of a byte each: the one that ends the header is dropped, and what comes behind it in that direction."""
    (tmp_path / "rules").write_text(
        'drop http any any -> any any (flow:to_server; http.header; content:"X: evil"; sid:1;)\n'
    )
    request = b"GET / HTTP/1.1\r\nX: evil\r\n\r\nGET /more HTTP/1.1\r\n\r\n"
    packets = [
        IP(src="10.0.0.1", dst="10.1.0.1") / TCP(sport=1000, dport=80, flags="PA", seq=1000 + n) / Raw(bytes([byte]))
        for n, byte in enumerate(request)
    ]
    packets.insert(0, IP(src="10.0.0.1", dst="10.1.0.1") / TCP(sport=1000, dport=80, flags="S", seq=999))
    write_capture(
        tmp_path / "in.pcap",
        [bytes(Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / packet) for packet in packets],
    )
    chain = CHAIN.format(tmp_path).replace("out :: Discard", f"out :: ToDump({tmp_path}/out.pcap)")
    heddle.ok("run", "-e", chain)
    passed = b"".join(bytes(IP(frame[14:])[TCP].payload) for frame in captures.frames(tmp_path / "out.pcap"))
    end = request.index(b"\r\n\r\n") + 4
    assert passed == request[: end - 1]
    assert len((tmp_path / "ours.json").read_text().splitlines()) == 1
