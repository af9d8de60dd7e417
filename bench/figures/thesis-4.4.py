"""Thesis, figure 4.4: IP lookup in a table of 100 routes."""

from figure import Paper
from thesis import comparison, routes, to_routes
from thesis_ports import as_doca

FIGURE = comparison(
    "4.4",
    "IP lookup performance depending on implementation",
    ["chains/lookup-direct.click", "chains/lookup-linear.click"],
    as_doca("lookup"),
    latency=(
        Paper(y=100, label="ROI", quote="4.4: a bit more latency ..., reaching 100 µs for the ROI implementation"),
        Paper(y=400, label="DOCA", quote="4.4: about 4 times worse than the other implementations, reaching 400 µs"),
    ),
    note="Linear is the thesis's algorithm (LinearIPLookup); DIR-24-8 is what one would use.",
    makes=routes(100),
    derive=to_routes,
)
