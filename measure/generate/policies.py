"""Writes a filter set that we made up, in ClassBench's format: policies.py acl|fw|ipc.

The parameter files that come with Heddle (data/*.parameters) are `heddle gen parameters` of these. Three imaginary
sites, in the manner of ClassBench's three families: an access list of a router (acl), a firewall (fw), a chain of a
Linux router (ipc).
"""

import random
import sys

ANY, HIGH, LOW = (0, 65535), (1024, 65535), (0, 1023)
TCP, UDP, ICMP, GRE, ESP, ALL = 6, 17, 1, 47, 50, 0
NO_FLAGS, SYN, ACK = (0, 0), (0x0000, 0x0200), (0x1000, 0x1000)
SERVICES = [
    (
        TCP,
        [80, 443, 25, 22, 21, 53, 110, 143, 389, 636, 993, 1433, 1521, 1723, 3128, 3306, 3389, 5060, 5432, 8080, 8443],
    ),
    (UDP, [53, 123, 161, 162, 67, 69, 137, 138, 500, 514, 1645, 1646, 1812, 1813, 2055, 4500, 5060]),
]
RANGES = [
    (20, 21),
    (109, 110),
    (137, 139),
    (1645, 1646),
    (5060, 5061),
    (6000, 6063),
    (8000, 8099),
    (20000, 30000),
    (33434, 33600),
]


def weighted(choices: dict):
    return random.choices(list(choices), weights=choices.values())[0]


def within(prefix: tuple[int, int], length: int) -> tuple[int, int]:
    """A random prefix of `length` in `prefix`, near its start, as addresses are given out."""
    address, own = prefix
    if length <= own:
        return address, own
    room = 1 << (length - own)
    index = min(room - 1, int(random.expovariate(1 / max(1.0, room / 6))))
    return address | index << (32 - length), length


def networks(count: int, lengths: dict) -> list[tuple[int, int]]:
    return [within((random.randrange(1, 223) << 24, 8), weighted(lengths)) for _ in range(count)]


def port(share_of_ranges: float) -> tuple[int, tuple[int, int]]:
    protocol, ports = random.choices(SERVICES, weights=[3, 2])[0]
    if random.random() < share_of_ranges:
        return protocol, random.choice(RANGES)
    # The first of the list are the popular ones.
    one = ports[min(len(ports) - 1, int(random.expovariate(1 / 5)))]
    return protocol, (one, one)


def acl():
    sites = networks(5, {16: 3, 18: 1, 20: 1})
    servers = [within(random.choice(sites), weighted({32: 70, 31: 12, 30: 8, 28: 5, 24: 5})) for _ in range(260)]
    partners = (
        [(0, 0)] * 6 + networks(40, {32: 40, 24: 20, 23: 10, 30: 10, 22: 10, 16: 10}) + random.sample(servers, 40)
    )
    while True:
        source, destination = random.choice(partners), random.choice(servers)
        kind = weighted({"service": 66, "host": 24, "range": 10})
        if kind == "host":
            yield source, destination, ANY, ANY, weighted({ALL: 4, TCP: 5, ICMP: 1}), NO_FLAGS
        else:
            protocol, ports = port(1 if kind == "range" else 0)
            flags = weighted({NO_FLAGS: 8, SYN: 1, ACK: 1}) if protocol == TCP else NO_FLAGS
            yield source, destination, ANY, ports, protocol, flags


def fw():
    inside = networks(2, {16: 1, 20: 1})
    zones = [within(random.choice(inside), weighted({24: 4, 26: 2, 28: 3})) for _ in range(14)]
    servers = [within(random.choice(zones), weighted({32: 75, 31: 10, 30: 10, 29: 5})) for _ in range(160)]
    halves = [(0, 1), (1 << 31, 1), (0, 0)]
    while True:
        kind = weighted({"in": 52, "out": 22, "reply": 12, "high": 8, "tunnel": 6})
        server, zone = random.choice(servers), random.choice(zones + servers)
        outside = random.choice(halves + [(0, 0)] * 4 + zones)
        protocol, ports = port(0.02)
        if kind == "in":
            yield outside, server, ANY, ports, protocol, NO_FLAGS
        elif kind == "out":
            yield zone, outside, ANY, ANY, weighted({TCP: 5, UDP: 3, ICMP: 2, ALL: 1}), NO_FLAGS
        elif kind == "reply":
            yield server, outside, ports, weighted({ANY: 3, HIGH: 1}), protocol, NO_FLAGS
        elif kind == "high":
            yield zone, outside, HIGH, weighted({HIGH: 6, ports: 3, LOW: 1}), protocol, NO_FLAGS
        else:
            yield outside, server, ANY, ANY, weighted({GRE: 4, ESP: 1}), NO_FLAGS


def ipc():
    sites = networks(12, {16: 4, 20: 4, 22: 2, 24: 2})
    hosts = [
        within(random.choice(sites), weighted({32: 40, 31: 12, 24: 20, 25: 10, 23: 12, 28: 6})) for _ in range(420)
    ] + sites
    ends = hosts + [(0, 0)] * 30
    while True:
        source, destination = random.choice(ends), random.choice(ends)
        if random.random() < 0.3:  # within one site
            destination = within((source[0] & 0xFFFF0000, 16), destination[1]) if destination[1] >= 16 else destination
        kind = weighted({"hosts": 37, "service": 38, "reply": 17, "range": 4, "high": 4})
        protocol, ports = port(1 if kind == "range" else 0)
        if kind == "hosts":
            yield source, destination, ANY, ANY, weighted({ALL: 30, TCP: 3, UDP: 3, ICMP: 1}), NO_FLAGS
        elif kind == "reply":
            yield source, destination, ports, ANY, protocol, NO_FLAGS
        elif kind == "high":
            yield source, destination, ANY, HIGH, protocol, NO_FLAGS
        else:
            flags = weighted({NO_FLAGS: 4, SYN: 1}) if protocol == TCP else NO_FLAGS
            yield source, destination, ANY, ports, protocol, flags


def text(rule) -> str:
    (source, source_length), (destination, destination_length), source_ports, ports, protocol, (flags, mask) = rule
    prefix = [
        f"{a >> 24}.{a >> 16 & 255}.{a >> 8 & 255}.{a & 255}/{length}"
        for a, length in ((source, source_length), (destination, destination_length))
    ]
    return "\t".join(
        [
            f"@{prefix[0]}",
            prefix[1],
            f"{source_ports[0]} : {source_ports[1]}",
            f"{ports[0]} : {ports[1]}",
            f"0x{protocol:02x}/0x{'00' if protocol == ALL else 'FF'}",
            f"0x{flags:04x}/0x{mask:04x}",
        ]
    )


def main(name: str) -> None:
    random.seed(name)
    lines: dict[str, None] = {}
    rules = {"acl": acl, "fw": fw, "ipc": ipc}[name]()
    while len(lines) < 1000:
        lines[text(next(rules))] = None
    print("\n".join(lines))


main(*sys.argv[1:])
