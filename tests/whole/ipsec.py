"""Security associations: files that IPsecEncap reads, and the same for Scapy."""

import os
import random
from dataclasses import dataclass, field

from scapy.layers.inet import IP
from scapy.layers.ipsec import ESP, SecurityAssociation

from whole.frames import SEED

SOURCE, DESTINATION = "198.51.100.1", "203.0.113.1"


@dataclass
class Association:
    spi: int
    window: int = 64
    lines: str = ""
    cipher_key: bytes = field(default=b"")  # AES key and nonce
    hash_key: bytes = field(default=b"")

    def __post_init__(self):
        keys = random.Random(f"{SEED} {self.spi}")
        self.cipher_key = self.cipher_key or keys.randbytes(20)
        self.hash_key = self.hash_key or keys.randbytes(20)

    def text(self):
        return (
            f"src {SOURCE} dst {DESTINATION}\n"
            f"\tproto esp spi {self.spi:#010x} reqid 1 mode tunnel\n"
            f"\treplay-window {self.window}\n"
            f"\tauth-trunc hmac(sha1) 0x{self.hash_key.hex()} 96\n"
            f"\tenc rfc3686(ctr(aes)) 0x{self.cipher_key.hex()}\n{self.lines}"
        )

    def scapy(self):
        return SecurityAssociation(
            ESP,
            spi=self.spi,
            crypt_algo="AES-CTR",
            crypt_key=self.cipher_key,
            auth_algo="HMAC-SHA1-96",
            auth_key=self.hash_key,
            tunnel_header=IP(src=SOURCE, dst=DESTINATION),
        )


def write(path, associations, mode=0o600):
    path.write_text("".join(a.text() for a in associations))
    os.chmod(path, mode)
    return path
