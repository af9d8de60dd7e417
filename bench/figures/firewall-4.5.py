"""Schramm's thesis, figure 4.5: round-trip times."""

from figure import Paper
from firewall import ACL, ASYNC, ON_DEMAND, PERSISTENT, figure, sweeps

TIMES = (
    Paper(
        y=31,
        label="on demand, RTT",
        quote="4.5: All configurations of the on-demand launched kernel have nearly the same RTT of 31 µs",
    ),
    Paper(y=18, label="rte_acl, RTT", quote="4.5: the ACL library of dpdk has the best RTT of 18 µs"),
)

FIGURE = figure(
    "4.5",
    "Time that a packet takes through the firewall",
    sweeps("chains/firewall-through.click", "latency", (*ON_DEMAND, ASYNC, PERSISTENT, *ACL), rate=20000),
    y="latency_mean_us",
    y_label="average latency [µs]",
    paper={"random": TIMES, "fw": TIMES},
    note="The thesis pings a host behind the tap: its times are of the way there and back, with two kernels on it; ours are of the way "
    "there through the firewall alone, from one port of the wire to another, at 20,000 packets a second. Of its persistent kernel it "
    "says (4.5) that it has an at least ~ 3 times higher RTT than all other launching types.",
)
