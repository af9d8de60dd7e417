"""A client of a running router's ControlSocket."""

import contextlib
import socket

from whole.program import TIMEOUT_S, wait_until


class Control:
    """One connection to a ControlSocket, over all that is asked."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(TIMEOUT_S)

        def connected():
            with contextlib.suppress(OSError):
                self.socket.connect(str(path))
                return True

        wait_until(connected, 60, "the control socket")
        self.file = self.socket.makefile("rb")
        assert self.file.readline().startswith(b"Click::ControlSocket")

    def command(self, line, data=b""):
        """The reply's code, text and data."""
        self.socket.sendall(line.encode() + b"\r\n" + data)
        text = ""
        while True:
            reply = self.file.readline().decode()
            text += reply[4:].rstrip("\r\n") + "\n"
            if reply[3] == " ":
                break
        code, got = int(reply[:3]), b""
        if code == 200 and line.split()[0].startswith("READ"):
            got = self.file.read(int(self.file.readline().split()[1]))
        return code, text, got.decode()

    def read(self, handler):
        code, text, data = self.command(f"READ {handler}")
        assert code == 200, text
        return data

    def write(self, handler, value=""):
        code, text, _ = self.command(f"WRITEDATA {handler} {len(value.encode())}", value.encode())
        assert code == 200, text

    def refused(self, chain):
        """What is wrong with a configuration that is not taken."""
        code, text, _ = self.command(f"WRITEDATA hotconfig {len(chain.encode())}", chain.encode())
        assert code == 520, (code, text)
        return text
