"""base64_decode and base64_data in rules, judged by Suricata, which reads the same rules and the same capture."""

import base64
import random
from collections import Counter

from scapy.all import IP, TCP, UDP, Raw
from test_nids_applications import client, compare, mixed
from test_nids_http import connection
from test_nids_suricata import compare_packets
from whole.frames import SEED

WORDS = ["alfa", "Brav", "char", "delt", "ab", "ba", "\0\x01", "~~?", "\r\n"]


def random_decode(rng):
    """What stands behind "key=", which a payload has once: Suricata looks behind its first match only."""
    words = [f"bytes {rng.choice([0, 1, 3, 4, 7, 8, 12, 20, 65535])}"] if rng.random() < 0.4 else []
    words += [f"offset {rng.choice([0, 0, 1, 2, 4, 300])}"] if rng.random() < 0.4 else []
    return "base64_decode" + (f":{', '.join(words)}" if words else "")


def random_options(rng):
    """Suricata tries all places of a content only if the very next one is relative to it, and finds a negated content
    with endswith where it stands elsewhere, too. A relative content right behind base64_data counts from the start of
    what is decoded in Suricata 8; in 7.0.10 from as far behind it as the content before base64_decode ends."""
    decode = random_decode(rng)
    if rng.random() < 0.8:
        decode = 'content:"key="; ' + decode + (",relative" if ":" in decode else ":relative")
    options, last = [decode, "base64_data"], ""
    for _ in range(rng.randint(1, 3)):
        word, before, last = rng.choice(WORDS[:6]), last, ""
        kind = rng.choice(["content"] * 5 + ["pcre", "isdataat", "byte_test"])
        if kind == "content":
            no = rng.choice(["", "", "", "!"])
            options.append(f'content:{no}"{word}"' + rng.choice(["", "; nocase"]))
            place = rng.choice(
                ["", "", *["relative" if before else ""] * 3, "startswith", "offset", "" if no else "endswith"]
            )
            if place == "relative":
                options.append(f"distance:{rng.randint(-2, 4)}")
                options += [f"within:{len(word) + rng.randint(0, 6)}"] if rng.random() < 0.5 else []
            elif place == "offset":
                options += [f"offset:{rng.randint(0, 6)}", f"depth:{len(word) + rng.randint(0, 9)}"]
            elif place:
                options.append(place)
            last = "" if no else word
        elif kind == "pcre":
            options.append(f'pcre:{rng.choice(["", "!"])}"/{word[:2]}.?[a-c]/{rng.choice(["", "i", "s"])}"')
        elif kind == "isdataat":
            options.append(f"isdataat:{rng.choice(['', '!'])}{rng.randint(0, 20)}")
        else:
            options.append(f"byte_test:1,{rng.choice('<>=')},{rng.choice([0x40, 0x61, 0x62])},{rng.randint(0, 5)}")
    return "; ".join(options)


def random_text(rng):
    """Base64, often as nobody should write it."""
    text = "".join(rng.choice(WORDS) for _ in range(rng.randint(0, 8))).encode()
    text = bytearray(base64.b64encode(text))
    for _ in range(rng.choice([0, 0, 0, 1, 3])):
        text.insert(rng.randint(0, len(text)), rng.choice(b"= -_\r\nAz\0\xff"))
    return bytes(text[: rng.choice([len(text), len(text), rng.randint(0, len(text))])])


def test_suricata_judges_base64(heddle, tmp_path):
    rng = random.Random(f"{SEED} base64")
    alerting = Counter()
    for _ in range(3):
        rules = [(rng.choice(["udp", "tcp-pkt"]), random_options(rng)) for _ in range(150)]
        packets = []
        for number in range(300):
            begin = rng.choice([b"key=", b"key=", b". key=", b"", b"."])
            header = UDP(sport=1000 + number, dport=53) if number % 2 else TCP(sport=1000 + number, dport=80, flags="A")
            payload = begin + (random_text(rng) or b".") + rng.choice([b"", b" behind", b"=="])
            packets.append(IP(src="10.0.0.1", dst="10.0.0.2") / header / Raw(payload))
        for options in compare_packets(heddle, tmp_path, rules, packets):
            alerting.update(
                word for word in ("bytes", "offset ", "relative", "!", "distance", "pcre") if word in options
            )
    assert len(alerting) == 6 and min(alerting.values()) > 10, alerting


RULES = [
    ("smtp", 'content:"|0d 0a 0d 0a|"; base64_decode:offset 0,relative; base64_data; content:"alfa"; startswith'),
    (
        "smtp",
        'content:"DATA"; content:"|0d 0a 0d 0a|"; distance:0; base64_decode:relative; base64_data; pcre:"/^al.a/"',
    ),
    ("tcp", 'content:"|0d 0a 0d 0a|"; base64_decode:offset 0,relative; base64_data; content:"brav"; content:"char"'),
    ("tcp", 'flow:to_server; content:"key="; base64_decode:relative; base64_data; content:"delt"; depth:8'),
    (
        "http",
        'http.uri; content:"key="; base64_decode:relative; base64_data; content:"alfa"; content:"brav"; distance:0',
    ),
    ("http", 'http.uri; content:"/?key="; startswith; base64_decode:bytes 8,relative; base64_data; content:"char"'),
    (
        "http",
        'content:"key="; http_uri; base64_decode:relative; base64_data; content:"alfa"; nocase; isdataat:5,relative',
    ),
    (
        "http",
        'http.header; content:"Authorization: Basic "; base64_decode:offset 0,relative; base64_data; content:"brav"',
    ),
    (
        "http",
        'http.request_body; content:"<d>"; base64_decode:offset 1,relative; base64_data; content:"alfa"; content:"char"',
    ),
    ("http", 'http.request_body; content:"<d>"; base64_decode:relative; base64_data; content:!"alfa"; content:"brav"'),
    ("http", 'http.request_body; base64_decode:bytes 16, offset 4; base64_data; content:"delt"; endswith'),
    (
        "http",
        'http.response_body; content:"YWxmYQ"; depth:6; base64_decode:bytes 11, offset 0; base64_data; content:"alfa"',
    ),
    ("http", 'file.data; content:"<d>"; base64_decode:relative; base64_data; isdataat:!10; content:"brav"; depth:4'),
]


def test_suricata_judges_base64_of_connections(heddle, tmp_path):
    """Cut into segments anywhere, in mails, and in the buffers of HTTP."""
    rng = random.Random(f"{SEED} base64 connections")

    def text():
        words = "".join(rng.choice(["alfa", "brav", "char", "delt", "x"]) for _ in range(rng.randint(1, 4)))
        return base64.b64encode(words.encode())

    def http():
        lines = [b"Host: a.example"] + ([b"Authorization: Basic " + text()] if rng.random() < 0.5 else [])
        body = (
            rng.choice([b"", b"<d>", b"<d> ", b"<d> ", b"<x>="]) + text() + rng.choice([b"", b"</d>", b"\r\n" + text()])
        )
        lines.append(b"Content-Length: %d" % len(body))
        request = rng.choice([b"POST", b"POST", b"PUT"]) + b" /?key=" + text().replace(b"+", b"%2B") + b" HTTP/1.1\r\n"
        answer = rng.choice([b"", b"<d>"]) + text()
        return [
            (True, request + b"\r\n".join(lines) + b"\r\n\r\n" + body),
            (False, b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(answer) + answer),
        ]

    def mail():
        data = b"Subject: key=" + text() + b"\r\n\r\n" + text() + b"\r\n" + text() + b"\r\n.\r\n"
        turns = [(False, b"220 a.example\r\n"), (True, b"EHLO b.example\r\n"), (False, b"250 a.example\r\n")]
        turns += [(True, b"MAIL FROM:<a@b.example>\r\n"), (False, b"250 OK\r\n"), (True, b"RCPT TO:<b@a.example>\r\n")]
        return turns + [(False, b"250 OK\r\n"), (True, b"DATA\r\n"), (False, b"354 go on\r\n"), (True, data)]

    flows = [connection(rng, client(n), 1000 + n, http()) for n in range(200)]
    flows += [connection(rng, client(n), 1000 + n, mail(), server_port=25) for n in range(200, 280)]
    counts = Counter(compare(heddle, tmp_path, RULES, mixed(rng, flows)))
    assert len(counts) == len(RULES) and min(counts.values()) > 2, counts
