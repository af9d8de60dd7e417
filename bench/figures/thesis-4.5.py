"""Thesis, figure 4.5: CRC-32 of the whole packet."""

from thesis import comparison
from thesis_ports import as_doca

FIGURE = comparison(
    "4.5",
    "CRC computation performance depending on implementation",
    ["chains/crc.click"],
    as_doca("crc"),
    note="The thesis's text states no values for this figure. Its CPU computes the CRC byte by byte.",
)
