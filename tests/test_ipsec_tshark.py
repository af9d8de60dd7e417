"""tshark deciphers what IPsecEncap has sent, with the same keys."""

import os
import shutil
import subprocess

import pytest
from test_ipsec_suites import FORMS, encap, files, fits_gpu, ip_packets
from test_ipsec_suites import ether as in_ethernet
from whole import captures, ipsec

pytestmark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed (make deps)")

CIPHERS = {"ctr": "AES-CTR [RFC3686]", "cbc": "AES-CBC [RFC3602]", "gcm": "AES-GCM [RFC4106]"}
HASHES = {"sha1": "HMAC-SHA-1-96 [RFC2404]", "sha256": "HMAC-SHA-256-128 [RFC4868]"}
CASES = {f"ctr-sha1-{bits}": {"bits": bits} for bits in (128, 192, 256)}
CASES |= {f"ctr-sha1-{name}": form for name, form in FORMS.items() if form}
CASES |= {"cbc-sha256": {"cipher": "cbc", "hash": "sha256"}, "ctr-sha256": {"hash": "sha256"}, "gcm": {"cipher": "gcm"}}


def deciphered(association, capture, home):
    """Of each packet its sequence number and what was enciphered; tshark takes the ICV of GCM for a part of it."""
    gcm = association.cipher == "gcm"
    row = [
        "IPv6" if association.ip6 else "IPv4",
        "*",  # in transport mode packets have sources of their own
        association.ends[1],
        f"{association.spi:#010x}",
        CIPHERS[association.cipher],
        f"0x{association.cipher_key.hex()}",
        "NULL" if gcm else HASHES[association.hash],
        "" if gcm else f"0x{association.hash_key.hex()}",
    ]
    words = ["tshark", "-r", capture, "-o", "esp.enable_encryption_decode:TRUE"]
    words += ["-o", "uat:esp_sa:" + ",".join(f'"{word}"' for word in row), "-T", "fields", "-e", "esp.sequence"]
    # Where the ICV of GCM ends like a trailer that says ESP, there is another one inside for tshark.
    words += ["-e", "esp.decrypted_data", "-E", "occurrence=f"]
    done = subprocess.run(
        words, capture_output=True, text=True, check=True, env={**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": ""}
    )
    return [(int(n), bytes.fromhex(data)) for n, data in (line.split("\t") for line in done.stdout.splitlines())]


@pytest.mark.parametrize("form", CASES)
def test_tshark_deciphers_what_encap_sends(heddle, tmp_path, form, mode):
    association = ipsec.Association(0x1001, **CASES[form])
    if "cpu" not in mode and not fits_gpu(CASES[form]):
        pytest.skip("no GPU does this")
    plain = ip_packets(association)
    keys, source = files(tmp_path, [association], [in_ethernet(p) for p in plain])
    heddle.run(encap(keys, source, tmp_path / "out.pcap"), *mode)
    assert len(captures.frames(tmp_path / "out.pcap")) == len(plain)
    found = deciphered(association, tmp_path / "out.pcap", tmp_path)
    assert [number for number, _ in found] == list(range(1, len(plain) + 1))
    for (_, text), packet in zip(found, plain):
        text = text[:-16] if association.cipher == "gcm" else text
        contained = text[: -2 - text[-2]]
        if association.transport:  # what is behind the headers that stay
            assert len(contained) >= 8 and packet.endswith(contained)
        else:
            assert contained == packet
