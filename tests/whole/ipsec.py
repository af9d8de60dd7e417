"""Security associations: files that IPsecEncap reads, and the same for Scapy."""

import hmac
import os
import random
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import GCM
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.ipsec import ESP, SecurityAssociation
from scapy.utils import checksum

from whole.frames import SEED

SOURCE, DESTINATION = "198.51.100.1", "203.0.113.1"
SOURCE6, DESTINATION6 = "2001:db8:a::1", "2001:db8:b::1"
CIPHERS = {  # for `ip`, Scapy, bytes of IV and behind an AES key
    "ctr": ("rfc3686(ctr(aes))", "AES-CTR", 8, 4),
    "cbc": ("cbc(aes)", "AES-CBC", 16, 0),
    "gcm": ("rfc4106(gcm(aes))", "AES-GCM", 8, 4),
}
HASHES = {  # for `ip`, Scapy, bytes of a key and of the ICV
    "sha1": ("hmac(sha1)", "HMAC-SHA1-96", 20, 12),
    "sha256": ("hmac(sha256)", "SHA2-256-128", 32, 16),
}


@dataclass
class Association:
    spi: int
    window: int = 64
    lines: str = ""
    cipher_key: bytes = field(default=b"", repr=False)  # AES key, and nonce or salt
    hash_key: bytes = field(default=b"", repr=False)
    cipher: str = "ctr"
    hash: str = "sha1"
    bits: int = 128  # of the AES key
    icv: int = 16  # bytes, of gcm
    ip6: bool = False
    transport: bool = False
    port: int = 0  # both of UDP around ESP
    esn: bool = False
    sent: int = 0
    seen: int = 0
    ends: tuple = ()  # outer addresses

    def __post_init__(self):
        keys = random.Random(f"{SEED} {self.spi}")
        self.cipher_key = self.cipher_key or keys.randbytes(self.bits // 8 + CIPHERS[self.cipher][3])
        self.hash_key = self.hash_key or keys.randbytes(HASHES[self.hash][2])
        self.ends = self.ends or ((SOURCE6, DESTINATION6) if self.ip6 else (SOURCE, DESTINATION))
        self.iv_bytes = CIPHERS[self.cipher][2]
        self.alignment = 16 if self.cipher == "cbc" else 4
        self.icv_bytes = self.icv if self.cipher == "gcm" else HASHES[self.hash][3]

    def algorithms(self):
        name = CIPHERS[self.cipher][0]
        if self.cipher == "gcm":
            return f"\taead {name} 0x{self.cipher_key.hex()} {8 * self.icv_bytes}\n"
        auth = f"\tauth-trunc {HASHES[self.hash][0]} 0x{self.hash_key.hex()} {8 * self.icv_bytes}\n"
        return auth + f"\tenc {name} 0x{self.cipher_key.hex()}\n"

    def text(self):
        source, destination = self.ends
        mode = "transport" if self.transport else "tunnel"
        text = f"src {source} dst {destination}\n\tproto esp spi {self.spi:#010x} reqid 1 mode {mode}\n"
        text += f"\treplay-window {0 if self.esn else self.window}{' flag esn' if self.esn else ''}\n"
        text += self.algorithms()
        if self.port:
            text += f"\tencap type espinudp sport {self.port} dport {self.port} addr 0.0.0.0\n"
        if self.esn:
            text += (
                "\tanti-replay esn context:\n"
                f"\t seq-hi {self.seen >> 32:#x}, seq {self.seen & 0xFFFFFFFF:#x},"
                f" oseq-hi {self.sent >> 32:#x}, oseq {self.sent & 0xFFFFFFFF:#x}\n"
                f"\t replay_window {self.window}, bitmap-length {-(-self.window // 32)}\n\t 00000000 00000000\n"
            )
        return text + self.lines

    def scapy(self):
        outer = (IPv6 if self.ip6 else IP)(src=self.ends[0], dst=self.ends[1])
        return SecurityAssociation(
            ESP,
            spi=self.spi,
            crypt_algo=CIPHERS[self.cipher][1],
            crypt_key=self.cipher_key,
            auth_algo=None if self.cipher == "gcm" else HASHES[self.hash][1],
            auth_key=None if self.cipher == "gcm" else self.hash_key,
            tunnel_header=None if self.transport else outer,
            nat_t_header=UDP(sport=self.port, dport=self.port) if self.port else None,
            esn_en=self.esn,
        )

    def _esp(self, packet):
        return packet.index(self.spi.to_bytes(4, "big"), 20)

    def _with_icv(self, packet, high):
        """Scapy hashes no upper half of ESP's sequence numbers: the packet with the ICV that this makes."""
        if not self.esn or self.cipher == "gcm":
            return packet
        hashed = packet[self._esp(packet) : -self.icv_bytes] + high.to_bytes(4, "big")
        return packet[: -self.icv_bytes] + hmac.digest(self.hash_key, hashed, self.hash)[: self.icv_bytes]

    def _with_whole_icv(self, packet, high):
        """Scapy knows no ICVs of less than 16 bytes of GCM: the packet with such a one, if its own is right."""
        at, end = self._esp(packet), -self.icv_bytes
        key, iv = self.cipher_key[:-4], self.cipher_key[-4:] + packet[at + 8 : at + 16]
        aad = packet[at : at + 4] + (high.to_bytes(4, "big") if self.esn else b"") + packet[at + 4 : at + 8]
        decryptor = Cipher(AES(key), GCM(iv, packet[end:], self.icv_bytes)).decryptor()
        decryptor.authenticate_additional_data(aad)
        text = decryptor.update(packet[at + 16 : end]) + decryptor.finalize()
        return resized(packet[: at + 16] + AESGCM(key).encrypt(iv, text, aad))

    def encrypt(self, packet, number):
        """An IP packet protected by Scapy, bytes."""
        low, high = number & 0xFFFFFFFF, number >> 32
        association = self.scapy()
        association.seq_num = low
        made = bytes(association.encrypt(packet, esn=high))
        if self.port:  # Scapy's UDP length is that of the header alone
            made = made[:24] + (len(made) - 20).to_bytes(2, "big") + made[26:]
        if self.cipher == "gcm" and self.icv_bytes < 16:
            return resized(made[: self.icv_bytes - 16])
        return self._with_icv(made, high)

    def decrypt(self, packet, number):
        """What Scapy takes out of bytes that should have this sequence number."""
        high = number >> 32
        assert self._with_icv(packet, high) == packet
        if self.cipher == "gcm" and self.icv_bytes < 16:
            packet = self._with_whole_icv(packet, high)
        outer = (IPv6 if packet[0] >> 4 == 6 else IP)(packet)
        if self.port:
            udp = UDP(packet[20:])
            assert (udp.sport, udp.dport, udp.len, udp.chksum) == (self.port, self.port, len(packet) - 20, 0)
            outer = IP(bytes(IP(src=outer.src, dst=outer.dst, proto=50) / packet[28:]))
        hashed = self.cipher != "gcm" and self.esn
        return bytes(self.scapy().decrypt(outer, verify=not hashed, esn=high))


def resized(packet):
    """An IPv4 packet without options that says its true length."""
    header = packet[:2] + len(packet).to_bytes(2, "big") + packet[4:10] + b"\0\0" + packet[12:20]
    return header[:10] + checksum(header).to_bytes(2, "big") + header[12:] + packet[20:]


def write(path, associations, mode=0o600):
    path.touch()
    os.chmod(path, mode)
    path.write_text("".join(a.text() for a in associations))
    return path
