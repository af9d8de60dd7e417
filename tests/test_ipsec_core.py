"""Keys of associations are in no core dump: neither as their file has them, nor as what is made of them."""

import hashlib
import pathlib
import re
import resource
import signal
import struct

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB
from whole import ipsec, judge
from whole.program import Program, quoted, wait_for_count

PAGE = 4096
ZEROS = bytes(PAGE)
MARK = b"what packets say may be in a dump"


def sbox():
    """S-box of AES (FIPS 197, 5.1.1): the inverse in GF(2^8), by logarithms to base 3, then an affine map."""
    powers = [1]
    for _ in range(254):
        power = powers[-1] ^ powers[-1] << 1
        powers.append(power ^ 0x11B if power & 0x100 else power)
    twice = {0: 0} | {power: powers[-n % 255] * 0x101 for n, power in enumerate(powers)}
    return [0x63 ^ (q ^ q >> 4 ^ q >> 5 ^ q >> 6 ^ q >> 7) & 0xFF for q in map(twice.get, range(256))]


def round_keys(key):
    """All of AES, 16 bytes each (FIPS 197, 5.2)."""
    table, size, factor = sbox(), len(key), 1
    keys = bytearray(key)
    while len(keys) < 4 * size + 112:
        word = keys[-4:]
        if len(keys) % size == 0:
            word = bytes(table[byte] for byte in word[1:] + word[:1])
            word = bytes([word[0] ^ factor]) + word[1:]
            factor = factor << 1 ^ (0x11B if factor & 0x80 else 0)
        elif size == 32 and len(keys) % size == 16:
            word = bytes(table[byte] for byte in word)
        keys += bytes(a ^ b for a, b in zip(keys[-size:][:4], word, strict=True))
    return [bytes(keys[at : at + 16]) for at in range(0, len(keys), 16)]


def test_round_keys():
    """FIPS 197, A.1 and A.3."""
    keys = round_keys(bytes.fromhex("2b7e151628aed2a6abf7158809cf4f3c"))
    assert (len(keys), keys[10].hex()) == (11, "d014f9a8c9ee2589e13f0cc8b6630ca6")
    keys = round_keys(bytes.fromhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4"))
    assert (len(keys), keys[14].hex()) == (15, "fe4890d1e6188d0b046df344706c631e")


def sha1_state(block):
    """After one block (FIPS 180-4, 6.1.2)."""

    def rotated(word, bits):
        return (word << bits | word >> 32 - bits) & 0xFFFFFFFF

    words = list(struct.unpack(">16I", block))
    for t in range(16, 80):
        words.append(rotated(words[t - 3] ^ words[t - 8] ^ words[t - 14] ^ words[t - 16], 1))
    start = a, b, c, d, e = 0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0
    for t, word in enumerate(words):
        mixed, constant = (
            (b & c | ~b & d, 0x5A827999),
            (b ^ c ^ d, 0x6ED9EBA1),
            (b & c | b & d | c & d, 0x8F1BBCDC),
            (b ^ c ^ d, 0xCA62C1D6),
        )[t // 20]
        a, b, c, d, e = (rotated(a, 5) + mixed + e + constant + word) & 0xFFFFFFFF, a, rotated(b, 30), c, d
    return [(old + new) & 0xFFFFFFFF for old, new in zip(start, (a, b, c, d, e), strict=True)]


def test_sha1_state():
    block = b"abc\x80" + bytes(59) + b"\x18"
    assert struct.pack(">5I", *sha1_state(block)) == hashlib.sha1(b"abc").digest()


def secrets_of(association):
    """Names, and 16 bytes that are to be nowhere."""
    key, hash_key = association.cipher_key[: association.bits // 8], association.hash_key
    found = {f"round key {number}": one for number, one in enumerate(round_keys(key))}
    found["key, written"] = association.cipher_key.hex().encode()[:16]
    found["key, words backwards"] = words_backwards(key[:16])
    if association.cipher == "gcm":
        found["GHASH's key"] = Cipher(AES(key), ECB()).encryptor().update(bytes(16))
        found["GHASH's key, backwards"] = found["GHASH's key"][::-1]
    else:
        found["hash key, written"] = hash_key.hex().encode()[:16]
        for name, pad in (("hash key", 0), ("inner pad", 0x36), ("outer pad", 0x5C)):
            found[name] = bytes(byte ^ pad for byte in hash_key[:16])
            found[f"{name}, words backwards"] = words_backwards(found[name])
    if association.cipher != "gcm" and association.hash == "sha1":
        for name, pad in (("inner", 0x36), ("outer", 0x5C)):
            state = sha1_state(bytes(byte ^ pad for byte in hash_key.ljust(64, b"\0")))
            found[f"state behind the {name} pad"] = struct.pack("<4I", *state[:4])
    return {f"{association.cipher}: {name}": one for name, one in found.items()}


def words_backwards(text):
    return b"".join(text[at : at + 4][::-1] for at in range(0, len(text), 4))


def writes_core_files():
    """Whether the system writes them to a program's folder, and may."""
    pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text(encoding="utf-8")
    return pattern[0] not in "|/" and resource.getrlimit(resource.RLIMIT_CORE)[1] == resource.RLIM_INFINITY


def memory_of(process):
    """What a core file would have of memory: all but what is to be left out (MADV_DONTDUMP), and the program's text."""
    with open(f"/proc/{process}/smaps", encoding="ascii") as file:
        parts = re.split(r"\n(?=[0-9a-f]+-[0-9a-f]+ )", file.read())
    with open(f"/proc/{process}/mem", "rb", 0) as memory:
        for part in parts:
            begin, end, is_data = re.match(r"(\w+)-(\w+) (rw)?", part).groups()
            if is_data and " dd" not in part.splitlines()[-1]:
                memory.seek(int(begin, 16))
                yield memory.read(int(end, 16) - int(begin, 16))


def found_in(memory, secrets):
    """Without pages of zeros, which are most."""
    pages = (memory[at : at + PAGE] for at in range(0, len(memory), PAGE))
    memory = b"".join(page for page in pages if page != ZEROS)
    return {name for name, one in secrets.items() if one in memory}


@pytest.mark.parametrize("device", ["cpu", "simt"])
def test_no_key_is_in_a_core_dump(heddle, tmp_path, device):
    """Of a program that is under way, and killed."""
    associations = [ipsec.Association(0x1001), ipsec.Association(0x1002, cipher="gcm", bits=256)]
    if device == "cpu":
        associations.append(ipsec.Association(0x1003, cipher="cbc", bits=192, hash="sha256"))
    keys, control = quoted(ipsec.write(tmp_path / "keys", associations)), tmp_path / "control"
    frame = judge.ip4(bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]), 17, judge.transport(17, 1, 2, 0)[:8] + MARK)
    chain = f"RatedSource(DATA \\<{frame.hex()}>, RATE 2000) -> way :: RoundRobinSwitch;"
    for number, association in enumerate(associations):
        chain += f" way[{number}] -> IPsecSequence(esp, SPI {association.spi}) -> esp;"
    chain += f" esp :: IPsecEncap({keys}, OFFSET 14) -> d :: IPsecDecap({keys}, OFFSET 14) -> IPsecReplay(d)"
    chain += " -> out :: Counter -> Discard;"
    there = Program(heddle.path, ["sh", "-c", 'cd "$0" && ulimit -S -c unlimited && exec "$@"', str(tmp_path)])
    secrets = {"packets": MARK}
    for association in associations:
        secrets |= secrets_of(association)
    if device == "simt":  # its shared memory is in a dump, and hashing begins with this state there
        del secrets["ctr: state behind the inner pad"]
    with (there if writes_core_files() else heddle).start(
        "run", "-u", control, "-e", chain, "--device", device
    ) as running:
        wait_for_count(control, "out.count", 600)
        if writes_core_files():
            running.signal(signal.SIGABRT)
            running.wait()
            parts = [path.read_bytes() for path in tmp_path.glob("core*")]
        else:
            parts = memory_of(running.process.pid)
        found = set().union(*(found_in(part, secrets) for part in parts))
    assert found == {"packets"}
