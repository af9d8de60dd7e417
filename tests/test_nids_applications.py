"""NIDS and the application protocols of rules, judged by Suricata, which reads the same rules and the same capture."""

import datetime
import json
import random
import re
import ssl
import struct

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from test_nids import DATA, needs_data
from test_nids_http import CHAIN, HTTP_SETTINGS, connection, needs_suricata, write_capture
from test_nids_suricata import run_suricata
from whole.frames import SEED, udp_frame
from whole.program import Report


def alerts_of(path):
    """Which rules alert of packets between which ports. Suricata does so again as long as bytes are in its window."""
    found = (json.loads(line) for line in path.read_text().splitlines())
    return {(a["alert"]["signature_id"], a["src_ip"], a["src_port"], a["dest_ip"], a["dest_port"]) for a in found}


def compare(heddle, folder, rules, frames, device="cpu"):
    """That rules, (header, options) each, alert of the same connections and datagrams; returns which do, by sid."""
    needs_suricata()
    (folder / "suricata.yaml").write_text(HTTP_SETTINGS)
    (folder / "rules").write_text(
        "".join(f"alert {header} any any -> any any ({text}; sid:{k};)\n" for k, (header, text) in enumerate(rules, 1))
    )
    write_capture(folder / "in.pcap", frames)
    run_suricata(folder)
    heddle.ok("run", "--device", device, "-e", CHAIN.format(folder))
    ours, theirs = alerts_of(folder / "ours.json"), alerts_of(folder / "eve.json")
    assert ours == theirs, [(*rules[alert[0] - 1], alert in ours, alert) for alert in sorted(ours ^ theirs)]
    return sorted(alert[0] for alert in ours)


def mixed(rng, flows):
    """Frames of these, in turns."""
    frames = []
    while any(flows):
        flow = rng.choice([flow for flow in flows if flow])
        frames += [flow.pop(0) for _ in range(min(len(flow), rng.randint(1, 4)))]
    return frames


def client(number):
    return f"10.0.{number // 200}.{number % 200 + 1}"


@needs_data
def test_rules_of_emerging_threats(heddle, tmp_path):
    """How many of the rules in use it takes; the rest ask for something that is not supported, and are named."""
    write_capture(tmp_path / "in.pcap", [udp_frame(("10.0.0.1", 1000), ("10.1.0.1", 2000), b"")])
    source, taken, left_out = f"FromDump({tmp_path}/in.pcap) -> CheckIPHeader(14)", 0, 0
    for path in sorted((DATA / "nids").glob("emerging-*.rules")):
        names = set(re.findall(r"\$(\w+)", path.read_text(errors="replace")))
        (tmp_path / "variables").write_text(
            "".join(f"portvar {name} 80\n" if name.endswith("PORTS") else f"ipvar {name} any\n" for name in names)
        )
        rules = f"NIDS({path}, VARIABLES {tmp_path}/variables, SKIP_UNSUPPORTED true, STREAM true)"
        chain = f"{source} -> flows :: FlowTable -> ids :: {rules}; ids[0] -> Discard; ids[1]"
        done = heddle("run", "--json", "-e", chain + " -> NIDSConfirm(ids, FLOWS flows) -> Discard;")
        assert done.code == 0, done
        statistics = Report(done.json).one("ids")["statistics"]
        taken, left_out = taken + statistics["rules"], left_out + statistics["unsupported"]
    assert (taken, left_out) == (3090, 25)


APPLICATIONS = ["http", "smtp", "ftp", "ssh", "smb", "tls", "dns"]


def counted(message):
    return struct.pack(">H", len(message)) + message


def netbios(message, kind=0):
    return bytes([kind]) + len(message).to_bytes(3, "big") + message


def beginnings():
    """What connections may begin with, of one side or the other, right and nearly so; "mark" is in all."""
    smb = {mark: mark + b"SMBr" + bytes(27) + b"\0\0\0mark" for mark in (b"\xff", b"\xfe", b"\xfd", b"\xfc")}
    list_ = [word + b" mark\r\n" for word in (b"EHLO", b"helo", b"QUIT", b"MAIL", b"WORD", b"USER", b"Pass", b"port")]
    list_ += [word + b"mark\r\n" for word in (b"HELO", b"QUI", b"USER", b"FEAT", b" EHLO ", b"GET", b"SSH", b"RSET")]
    list_ += [b"220 (mark)\r\n", b"220 mark\r\n", b"220-(mark)\r\n", b"SSH-2.0-mark\r\n", b"ssh-1.99-mark\r\n"]
    list_ += [netbios(text, kind) for text in smb.values() for kind in (0, 0x81, 0x85, 0x01, 0x86)]
    list_ += [
        netbios(b"\xffSMBmark"),
        netbios(b"\xffSMBr" + bytes(23) + b"mark"),
        netbios(b"\xffSMb" + bytes(28) + b"mark"),
    ]
    for version in range(5):
        list_ += [bytes([kind, 3, version, 0, 12]) + b"mark........" for kind in (1, 0x15, 0x16, 0x17, 0x18)]
    list_ += [b"\x80\x2e\1\0\2mark" + bytes(40), b"\x80\x2e\1\3\1mark" + bytes(40), b"xx\1\0\2mark", b"\x16\2\1mark"]
    list_ += [counted(message(b"mark.example.com")), counted(b"mark............"), b"hello mark\r\n"]
    list_ += [b"GET /mark HTTP/1.1\r\n\r\n"]
    list_ += [counted(message(b"mark.example.com", flags=0x8180)), b"\0\x20" + message(b"mark")]
    return list_


def message(*names, flags=0x100, questions=None, behind=b""):
    """Of DNS, with the names, dots between their labels."""
    header = struct.pack(">6H", 1, flags, len(names) if questions is None else questions, 0, 0, 0)
    asked = b"".join(labels(name) + b"\0\1\0\1" for name in names)
    return header + asked + behind


def labels(name):
    return b"".join(bytes([len(label)]) + label for label in name.split(b".")) + b"\0" if name else b"\0"


def application_rules():
    rules = []
    for application in APPLICATIONS:
        for way in ("to_server", "to_client"):
            rules.append((application, f'flow:{way}; content:"mark"'))
            rules.append((application, f'flow:{way},established; content:"mark"; depth:30; pcre:"/mar[k]/"'))
        rules.append((application, 'content:"once"'))
        rules.append((application, 'flow:to_server,no_stream; content:"mark"; dsize:<80'))
    return rules


def test_suricata_judges_what_connections_speak(heddle, tmp_path):
    """One side begins, or the other, in one piece or in several; where the client does not, what has been said before
    it is known counts as well."""
    rng = random.Random(f"{SEED} suricata applications")
    texts, flows = beginnings(), []
    ports = [80, 80, 21, 25, 22, 443, 445, 53]
    for number in range(400):
        first, second = rng.choice(texts), rng.choice(texts)
        if number < 2 * len(texts):
            first, second = texts[number // 2], b"other mark\r\n"
        turns = [(True, first), (False, second), (True, b"more mark")]
        if number % 2 == 1:
            turns = [(False, first), (True, second), (False, b"more mark")]
        if rng.random() < 0.3:
            turns = [(False, b"once, hello\r\n"), (True, first), (False, b"more")]
        # What no server begins with: Suricata knows TLS by it as well, but not any longer where its parser fails.
        if any(not there and text[0] in (0x15, 0x17) for there, text in turns):
            continue
        flows.append(connection(rng, client(number), 1000 + number, turns, rng.choice(ports)))
    alerting = compare(heddle, tmp_path, application_rules(), mixed(rng, flows))
    assert len(alerting) > 300 and len(set(alerting)) > 30


def test_suricata_judges_app_layer_protocol(heddle, tmp_path):
    """Conversations as they are. Suricata asks for what each side is known by, Heddle for what both are: of SMTP and
    FTP that is mostly the client's alone."""
    talks = {
        "smtp": (25, [(False, b"220 mark\r\n"), (True, b"EHLO mark\r\n"), (False, b"250 mark\r\n")]),
        "ftp": (21, [(False, b"220 mark\r\n"), (True, b"USER mark\r\n"), (False, b"331 mark\r\n")]),
        "ssh": (22, [(False, b"SSH-2.0-mark\r\n"), (True, b"SSH-2.0-mark\r\n"), (False, b"mark")]),
        "smb": (
            445,
            [(True, netbios(b"\xffSMBr" + bytes(27) + b"mark")), (False, netbios(b"\xffSMBr" + bytes(27) + b"mark"))],
        ),
        "tls": (443, [(True, b"\x16\3\1\0\4mark"), (False, b"\x16\3\3\0\4mark")]),
        "dns": (53, [(True, counted(message(b"mark"))), (False, counted(message(b"mark", flags=0x8180)))]),
        "http": (80, [(True, b"GET /mark HTTP/1.1\r\n\r\n"), (False, b"HTTP/1.1 200 mark\r\n\r\n")]),
    }
    rng = random.Random("talks")
    flows = [connection(rng, client(k), 1000 + k, turns, port) for k, (port, turns) in enumerate(talks.values())]
    rules = [("tcp", f'app-layer-protocol:{name}; flow:to_server; content:"mark"') for name in talks]
    rules += [
        ("tcp", f'app-layer-protocol:{name}; flow:to_client; content:"mark"') for name in ("ssh", "smb", "tls", "dns")
    ]
    assert compare(heddle, tmp_path, rules, mixed(rng, flows)) == list(range(1, len(rules) + 1))


def random_name(rng):
    words = ["mark", "Mark", "example", "com", "a", "xn--b", "org"]
    return ".".join(rng.choice(words) for _ in range(rng.randint(1, 5))).encode()


def random_message(rng):
    names = [random_name(rng) for _ in range(rng.choice([1, 1, 1, 2, 3]))]
    flags = rng.choice([0x100, 0x100, 0x100, 0x2100, 0x0, 0x2800])
    text = message(*names, flags=flags)
    kind = rng.random()
    if kind < 0.1:
        text = message(*names, flags=flags, questions=len(names) + 1, behind=b"\5other" + b"\xc0\x0c\0\1\0\1")
    elif kind < 0.15:
        text = text[: rng.randint(0, len(text))]
    elif kind < 0.2:
        text += bytes(rng.getrandbits(8) for _ in range(rng.randint(1, 9)))
    elif kind < 0.25:
        text = message(b".".join([b"mark"] * rng.choice([3, 60, 250, 255])))
    elif kind < 0.3:
        text = message(
            questions=1,
            behind=rng.choice([b"\xc0\x0c", b"\4mark\xc0\x0c", b"\4mark\xcf\xff", b"\4mark\x41", b"\0"]) + b"\0\1\0\1",
        )
    elif kind < 0.33:
        text = message(*names, questions=rng.choice([0, 2, 30, 3000]))
    return text


DNS_OPTIONS = [
    'dns.query; content:"mark"',
    'dns.query; content:"mark"; nocase; content:"example"; distance:1',
    'dns.query; content:"com"; endswith',
    'dns.query; dotprefix; content:".example.com"; nocase; endswith; fast_pattern',
    'dns.query; dotprefix; content:".com"; endswith; content:!"mark"',
    'dns.query; content:!"mark"',
    'dns.query; content:"mark"; startswith; dns.query; content:"example"; startswith',
    'dns.query; content:"mark"; content:"other"',
    'dns.query; pcre:"/^[a-z]+\\.com$/"',
    "dns.query; bsize:<10",
    "dns.query; bsize:>200",
    "dns.query; bsize:>700",
    "dns.query; bsize:1024",
    "dns.query; bsize:1025",
    'dns.query; to_lowercase; content:"mark"; startswith',
    'dns_query; content:"org"',
    "dns.opcode:0",
    "dns.opcode:!0",
    'dns.opcode:4; dns.query; content:"mark"',
    'dns.query; content:"mark"; pkt_data; content:"|07|example"',
    'content:"mark"',
    'content:"|01 00 00 01|"; content:"mark"; nocase; distance:0',
    'flow:to_server; dns.query; content:"mark"',
]


@pytest.mark.parametrize("device", ["cpu", "simt"])
def test_suricata_judges_dns(heddle, tmp_path, device):
    """Questions over UDP and TCP, right and wrong; answers too."""
    rng = random.Random(f"{SEED} suricata dns {device}")
    rules = [(header, text) for text in DNS_OPTIONS for header in ("dns", "udp", "tcp")]
    rules = [rule for rule in rules if rule[0] == "dns" or "dns" in rule[1]]
    flows = []
    for number in range(500):
        asks, port = (client(number), 1000 + number), rng.choice([53, 53, 53, 5353])
        text = random_message(rng)
        answer = message(b"mark.example.com", flags=0x8180, behind=b"\xc0\x0c\0\1\0\1\0\0\0\1\0\4abcd")
        if number % 2 == 0:
            flow = [udp_frame(asks, ("10.1.0.1", port), text)]
            if rng.random() < 0.3:
                flow.append(udp_frame(("10.1.0.1", port), asks, answer))
        else:
            # Nobody answers one that is wrong, if there is nothing before it.
            turns = [(True, counted(message(random_name(rng)))) for _ in range(rng.randint(0, 2))]
            turns.append((True, counted(text)))
            turns += [(False, counted(answer))] if len(turns) > 1 else []
            flow = connection(rng, *asks, turns, port)
        flows.append(flow)
    alerting = compare(heddle, tmp_path, rules, mixed(rng, flows), device)
    silent = {rules[sid - 1] for sid in set(range(1, len(rules) + 1)) - set(alerting)}
    assert len(alerting) > 1000 and len(silent) < 8, silent


def test_a_name_of_which_a_transform_leaves_nothing_ends_no_list(heddle, tmp_path):
    query = udp_frame((client(1), 1000), ("10.1.0.1", 53), message(b" ", b"evil.example"))
    rules = [("dns", f'dns.query; strip_whitespace; content:"{name}"') for name in ("evil", "good")]
    assert compare(heddle, tmp_path, rules, [query]) == [1]


def certificate(rng, folder, number):
    """A file with a chain of certificates and a key, and their names."""
    words = ["mark", "Example", "corp", "http", "other", "xn--mark"]
    key = ec.generate_private_key(ec.SECP256R1())
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    for _ in range(rng.randint(1, 3)):
        kinds = rng.sample(
            [x509.NameOID.COMMON_NAME, x509.NameOID.ORGANIZATION_NAME, x509.NameOID.LOCALITY_NAME], rng.randint(1, 3)
        )
        name = x509.Name([x509.NameAttribute(kind, rng.choice(words)) for kind in kinds])
        begin = datetime.datetime(2026, 1, 1)
        made = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(rng.getrandbits(60) + 1)
            .not_valid_before(begin)
            .not_valid_after(begin + datetime.timedelta(days=3650))
            .sign(key, hashes.SHA256())
        )
        text += made.public_bytes(serialization.Encoding.PEM)
    path = folder / f"chain{number}.pem"
    path.write_bytes(text)
    return path


def handshake(path, name, newest):
    """What a client and a server of OpenSSL say to each other, in turns."""
    ends = []
    for is_server in (False, True):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if is_server else ssl.PROTOCOL_TLS_CLIENT)
        context.maximum_version = newest
        if is_server:
            context.load_cert_chain(path)
        else:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        to, from_ = ssl.MemoryBIO(), ssl.MemoryBIO()
        end = context.wrap_bio(to, from_, server_side=is_server, server_hostname=None if is_server else name)
        ends.append((end, to, from_))
    turns = []
    for turn in range(8):
        is_server = turn % 2 == 1
        (end, _, says), (_, hears, _) = ends[is_server], ends[not is_server]
        try:
            end.do_handshake()
            end.write(b"mark " * 20)
        except ssl.SSLWantReadError:
            pass
        said = says.read()
        hears.write(said)
        if said:
            turns.append((not is_server, said))
    return turns


def in_two_records(rng, text):
    """The same with the messages of the handshake in two records, up to what is encrypted. Suricata 7.0.10 does not
    follow all that are in more, nor one whose own header of four bytes is in two."""
    messages, at = b"", 0
    while text[at : at + 1] == b"\x16":
        (length,) = struct.unpack_from(">H", text, at + 3)
        messages += text[at + 5 : at + 5 + length]
        at += 5 + length
    begins = [0]
    while begins[-1] < len(messages):
        begins.append(begins[-1] + 4 + int.from_bytes(messages[begins[-1] + 1 : begins[-1] + 4], "big"))
    cuts = [cut for cut in range(1, len(messages)) if not any(0 < cut - begin < 4 for begin in begins)]
    cut = rng.choice(cuts or [len(messages)])
    records = [struct.pack(">BHH", 22, 0x303, len(part)) + part for part in (messages[:cut], messages[cut:]) if part]
    return b"".join(records) + text[at:]


TLS_OPTIONS = [
    'tls.certs; content:"mark"',
    'tls.certs; content:"Example"; fast_pattern; content:"|06 03 55 04 03|"',
    'tls.certs; content:"|06 03 55 04 0a 0c|"; pcre:"/^.(corp|http)/R"; content:!"Example"',
    'tls.certs; content:!"mark"',
    'tls.certs; content:"mark"; content:"corp"',
    'tls.certs; content:"mark"; tls.certs; content:"corp"',
    'flow:established,to_client; tls.certs; content:"|30 82|"; startswith; content:"other"',
    "tls.certs; bsize:>250",
    'tls.sni; content:"mark"',
    'tls.sni; content:"mark.example"; startswith; content:".com"; endswith',
    'tls.sni; dotprefix; content:".example.com"; endswith',
    'tls.sni; content:!"mark"',
    "tls.sni; bsize:16",
    'tls_sni; content:"org"',
    'flow:to_server; content:"|16 03 01|"; depth:3',
    'flow:to_client; content:"mark"',
]


def test_suricata_judges_tls(heddle, tmp_path):
    """Handshakes of OpenSSL, of TLS 1.2, in which certificates can be seen, and 1.3, in records of other sizes and in
    segments of any."""
    rng = random.Random(f"{SEED} suricata tls")
    rules = [(header, text) for text in TLS_OPTIONS for header in ("tls", "tcp")]
    rules = [rule for rule in rules if rule[0] == "tls" or rule[1].startswith("tls") or "tls." in rule[1]]
    flows = []
    for number in range(60):
        name = rng.choice(["mark.example.com", "www.mark.org", "other.example.com", "other.org"])
        newest = rng.choice([ssl.TLSVersion.TLSv1_2] * 3 + [ssl.TLSVersion.TLSv1_3])
        turns = handshake(certificate(rng, tmp_path, number), name, newest)
        if newest == ssl.TLSVersion.TLSv1_2 and rng.random() < 0.5:
            turns = [(there, text if there or text[0] != 22 else in_two_records(rng, text)) for there, text in turns]
        flows.append(connection(rng, client(number), 1000 + number, turns, rng.choice([443, 8443])))
    alerting = compare(heddle, tmp_path, rules, mixed(rng, flows))
    silent = {rules[sid - 1] for sid in set(range(1, len(rules) + 1)) - set(alerting)}
    assert len(alerting) > 400 and not silent, silent
