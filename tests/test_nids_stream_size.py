"""stream_size in rules, judged by Suricata, which reads the same rules and the same capture."""

import itertools
import random

from scapy.all import IP, TCP, Raw
from test_nids_applications import client, compare, mixed
from test_nids_http import connection
from test_nids_suricata import BOTH_VERSIONS, compare_packets
from whole.frames import SEED

SIDES, OPERATORS = ("client", "server", "both", "either"), ("<", ">", "=", "!=", "<=", ">=")
MARK = b"a mark"


def segments_of(rng):
    """Of a connection, perhaps of another on the same ports behind it: (from the client, TCP header, payload)."""
    segments, next_, begun = [], {}, rng.random() < 0.9

    def send(there, flags, payload=b"", ahead=0):
        ack = next_[not there] if "A" in flags else 0
        header = TCP(flags=flags, seq=(next_[there] + ahead) % 2**32, ack=ack, window=65000)
        segments.append((there, header, payload))

    def moves(there, count):
        next_[there] = (next_[there] + count) % 2**32

    for _ in range(rng.choice([1, 1, 2])):
        next_.update({True: rng.getrandbits(32), False: rng.getrandbits(32)})
        if begun:
            send(True, "S")
            moves(True, 1)
            send(False, "SA")
            moves(False, 1)
            send(True, "A")
        for _ in range(rng.randint(1, 6)):
            there, data = rng.random() < 0.6, MARK + b"." * rng.choice([0, 0, 1, 5, 20])
            kind = rng.random() if begun else 1
            if kind < 0.2:  # in two, of which the second comes first, and again
                send(there, "PA", data, len(data))
                send(there, "PA", data)
                send(there, "PA", data, len(data))
                moves(there, len(data))
            else:
                send(there, "PA", data)
            moves(there, len(data))
            send(not there, "A")
        if begun:
            for there in (True, False):
                data = rng.choice([b"", MARK]) if there else b""
                send(there, "FA", data)
                moves(there, len(data) + 1)
            send(True, "A")
    return segments


def traffic(rng, flows):
    timed = []
    for flow in range(flows):
        begin = rng.random()
        for number, (there, header, payload) in enumerate(segments_of(rng)):
            ends = ("10.0.0.1", "10.1.0.1") if there else ("10.1.0.1", "10.0.0.1")
            header.sport, header.dport = (1000 + flow, 80) if there else (80, 1000 + flow)
            packet = IP(src=ends[0], dst=ends[1]) / header
            timed.append((begin + number * 0.001, packet / Raw(payload) if payload else packet))
    timed.sort(key=lambda pair: pair[0])
    return [packet for _, packet in timed], [time for time, _ in timed]


@BOTH_VERSIONS
def test_suricata_judges_stream_sizes(heddle, tmp_path, ip6):
    """Of packets with payload: where ports are used again, Suricata counts from the SYN on, and not from its answer. It
    counts what comes with the second FIN when that is acknowledged."""
    rng = random.Random(f"{SEED} stream size")
    rules = [
        (rng.choice(["tcp-pkt", "ip"]), f'content:"mark"; dsize:>0; stream_size:{side},{operator},{number}')
        for side, operator, number in itertools.product(SIDES, OPERATORS, [1, 5, 7, 8, 13, 19, 33])
    ]
    rules += [("tcp-pkt", f"dsize:>0; flow:established,to_server; stream_size:{side},<,8") for side in SIDES]
    rules += [("tcp-pkt", 'stream_size:client,>,1; content:"mark"; stream_size:server,<,9')]
    counts = compare_packets(heddle, tmp_path, rules, *traffic(rng, 60), ip6)
    kinds = {f"{side},{operator}," for side, operator in itertools.product(SIDES, OPERATORS)}
    silent = {kind for kind in kinds if not any(kind in options for options in counts)}
    assert silent <= {"both,=,"}, silent


def test_suricata_judges_stream_sizes_of_connections(heddle, tmp_path):
    """What rules look for is cut by segments, or in HTTP; how much has been sent by then counts. Suricata looks at
    bytes of connections again with later packets, by which more has been sent."""
    rng = random.Random(f"{SEED} stream size connections")
    rules = [
        ("tcp", f'flow:established,to_server; content:"alfa mark"; stream_size:{side},<,{number}')
        for side, number in itertools.product(SIDES, [40, 80, 130])
    ]
    rules += [
        ("http", f'http.uri; content:"alfa mark"; stream_size:{side},<,{number}')
        for side, number in itertools.product(SIDES, [40, 80, 130])
    ]
    flows = []
    for n in range(60):
        turns = []
        for _ in range(rng.randint(1, 3)):
            turns.append(
                (True, b"GET /" + b"x" * rng.randint(0, 30) + b"alfa%20mark?alfa mark HTTP/1.1\r\nHost: a\r\n\r\n")
            )
            body = b"y" * rng.randint(0, 60)
            turns.append((False, b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body))
        flows.append(connection(rng, client(n), 1000 + n, turns))
    found = set(compare(heddle, tmp_path, rules, mixed(rng, flows)))
    assert len(found) > 20, found
