"""IPsecEncap and IPsecDecap against DPDK's librte_ipsec, both ways: raw ESP, transport mode, extended numbers, replay
windows."""

import random
import subprocess

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.utils import checksum
from test_ipsec_suites import CASES, decap, encap, ether, files, fits_gpu
from whole import captures, ipsec
from whole.frames import SEED
from whole.program import program_path, quoted

JUDGE = program_path().parent / "tests/librte_ipsec"
# DPDK's openssl driver has ICVs of 16 bytes of GCM only, and the judge no UDP.
FORMS = {"ctr-sha1": {}} | {n: f for n, f in CASES.items() if "port" not in f and f.get("icv", 16) == 16}
ON_GPU = {name for name, form in FORMS.items() if fits_gpu(form)}


@pytest.fixture(autouse=True)
def judge_is_there():
    if not JUDGE.exists():
        pytest.skip(f"{JUDGE} is not built: it wants DPDK's librte_crypto_openssl")


@pytest.fixture(params=FORMS)
def form(request):
    return request.param


def with_checksum(packet):
    """An IP packet with its checksum, which is not librte_ipsec's business."""
    if packet[0] >> 4 == 6:
        return packet
    header = packet[:10] + b"\0\0" + packet[12:20]
    return header[:10] + checksum(header).to_bytes(2, "big") + packet[12:]


def judge(way, association, source, out):
    """The IP packets that librte_ipsec makes of the frames of `source`, and whether it took each."""
    words = {
        "spi": association.spi,
        "cipher": association.cipher,
        "key": association.cipher_key.hex(),
        "hash": "none" if association.cipher == "gcm" else association.hash,
        "hash_key": association.hash_key.hex(),
        "icv": association.icv_bytes,
        "mode": "transport" if association.transport else "tunnel",
        "source": association.ends[0],
        "destination": association.ends[1],
        "esn": int(association.esn),
        "next": association.sent + 1,
        "window": association.window,
    }
    done = subprocess.run(
        [JUDGE, way, source, out, *(f"{k}={v}" for k, v in words.items())], capture_output=True, text=True, check=True
    )
    return [with_checksum(frame[14:]) for frame in captures.frames(out)], [
        line == "good" for line in done.stdout.split()
    ]


def packets_for(association, count=60):
    """Packets of its ends, or, of a tunnel, IPv4 packets: the judge's tunnels have one family inside."""
    generator = random.Random(f"{SEED} librte")
    list_ = []
    for number in range(count):
        text = generator.randbytes(generator.choice([0, 1, 2, 3, 13, 14, 15, 16, 17, 33, 100, 700, 1399]))
        ends = dict(zip(("src", "dst"), association.ends if association.transport else ("10.1.2.3", "10.9.8.7")))
        head = IPv6(**ends) if association.transport and association.ip6 else IP(**ends, id=number)
        list_.append(ether(bytes(head / UDP(sport=7, dport=9) / text)))
    return list_


def test_librte_takes_out_what_encap_puts_in(heddle, tmp_path, form, mode):
    if form not in ON_GPU and "cpu" not in mode:
        pytest.skip("no GPU does this")
    association = ipsec.Association(0x1001, **FORMS[form])
    plain = packets_for(association)
    keys, source = files(tmp_path, [association], plain)
    heddle.run(encap(keys, source, tmp_path / "esp.pcap"), *mode)
    found, good = judge("in", association, tmp_path / "esp.pcap", tmp_path / "back.pcap")
    assert good == [True] * len(plain)
    assert found == [frame[14:] for frame in plain]


def test_decap_takes_out_what_librte_puts_in(heddle, tmp_path, form, mode):
    if form not in ON_GPU and "cpu" not in mode:
        pytest.skip("no GPU does this")
    association = ipsec.Association(0x1001, **FORMS[form])
    plain = packets_for(association)
    keys, source = files(tmp_path, [association], plain)
    made, good = judge("out", association, source, tmp_path / "esp.pcap")
    assert len(made) == len(plain) and all(good)
    chain = decap(keys, tmp_path / "esp.pcap", tmp_path / "out.pcap").replace(
        "-> ToDump", "-> r :: IPsecReplay(d) -> ToDump"
    )
    report = heddle.run(chain, *mode)
    assert [frame[14:] for frame in captures.frames(tmp_path / "out.pcap")] == [frame[14:] for frame in plain]
    assert report.drops("d") == {}
    assert {e["processor"] for e in report.elements("IPsecDecap")} == {"cpu" if "cpu" in mode else "simt"}


def arrivals(association, count):
    """Sequence numbers as a bad network has them: reordered, replayed, late, with gaps. None at the window's bottom,
    where librte_ipsec takes one number more than RFC 4303 (3.4.3), and of 64 only the first 32: of the others that of
    DPDK 22.11 takes some again, and with longer windows it refuses new ones."""
    generator = random.Random(f"{SEED} {association.window} {association.esn}")
    top, list_ = association.sent + 1, []
    while len(list_) < count:
        number = top + generator.choice([1, 1, 1, 2, 5, 40, -1, -2, -7, -30, -association.window // 2, -2000])
        number += generator.choice([0, 0, 0, -association.window + 2, association.window])
        if list_ and generator.random() < 0.15:
            number = generator.choice(list_)
        if number <= association.sent or top - number == association.window or number % 64 >= 32:
            continue
        top = max(top, number)
        list_.append(number)
    return list_


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"cipher": "gcm"},
        {"esn": True, "sent": (1 << 32) - 3000, "seen": (1 << 32) - 3000, "cipher": "gcm"},
        {"esn": True, "sent": (5 << 32) - 4000, "seen": (5 << 32) - 4000},
    ],
)
def test_librte_and_decap_judge_replays_alike(heddle, tmp_path, form, mode):
    association = ipsec.Association(0x1001, **form)
    if not fits_gpu(form) and "cpu" not in mode:
        pytest.skip("no GPU does this")
    packet = IP(src="10.1.2.3", dst="10.9.8.7") / UDP() / b"x"
    frames, numbers = [], arrivals(association, 700)
    generator = random.Random(f"{SEED} bad")
    for number in numbers:
        frame = ether(association.encrypt(packet, number))
        # What is not authentic must not move the window.
        frames.append(frame[:-1] + bytes([frame[-1] ^ 1]) if generator.random() < 0.1 else frame)
    keys, source = files(tmp_path, [association], frames)
    _, good = judge("in", association, source, tmp_path / "theirs.pcap")
    assert 100 < sum(good) < 600
    # Which ones leave is told by time stamps.
    chain = (
        f"FromDump({quoted(source)}) -> d :: IPsecDecap({quoted(keys)}, OFFSET 14) -> r :: IPsecReplay(d)"
        f" -> ToDump({quoted(tmp_path / 'ours.pcap')})"
    )
    heddle.run(chain, *mode)
    times = {packet.ns: k for k, packet in enumerate(captures.read(source))}
    ours = [times[packet.ns] for packet in captures.read(tmp_path / "ours.pcap")]
    assert ours == [k for k, g in enumerate(good) if g]
