"""What gopt refuses, and how it says so."""


class Refusal(Exception):
    """The input is outside what gopt transforms: where, why, and what would be right."""

    def __init__(self, where, reason: str, remedy: str = ""):
        """`where`: a pycparser coordinate, or a string such as "file.c:12"."""
        if where is not None and not isinstance(where, str):
            where = f"{where.file}:{where.line}"
        self.where, self.reason, self.remedy = where or "gopt", reason, remedy
        super().__init__(str(self))

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}" + (f"; {self.remedy}" if self.remedy else "")
