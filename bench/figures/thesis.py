"""What figures 4.3, 4.4 and 4.5 of the thesis share: each implementation's throughput and latency by packet size."""

from figure import Figure, Panel, Sweep

SOURCE = "Van Hauwaert and Vanliefde, GPU-based Packet Processing (2024)"
SIZES = [64, 128, 256, 512, 1024]
# Heddle's implementations: the CPU, a resident kernel, a launch a batch.
PLACES = {"device": ["cpu", "gpu"], "launch": ["persistent", "sync"]}
LAUNCHES = {"persistent": "stamped slots", "sync": "a launch a batch"}
NO_LAUNCH = ({"device": "cpu", "launch": "sync"},)
ALGORITHMS = {
    "chains/lookup-direct.click": "DIR-24-8, ",
    "chains/lookup-linear.click": "linear, ",
    "chains/ports-lookup.click": "linear, ",
}


def implementation(point):
    """Heddle's name for where and how a point runs."""
    if "ports-" in point.subject:
        place = "GPU ports"
    else:
        place = "CPU" if point.get("device") == "cpu" else f"GPU, {LAUNCHES[point.get('launch')]}"
    return ALGORITHMS.get(point.subject, "") + place


def no_more(point):
    """No further parameters."""
    return {}


def to_routes(point):
    """Where packets of the lookup chains go: where the table has routes."""
    return {"addresses": f"routes:inputs/routes-{point.get('routes', 100)}.txt"}


def with_fixed_rate(derive):
    """Section 4.2.2: 0.1 % of the link, 100 Mbit/s with preamble and gap."""
    return lambda point: {**derive(point), "rate": round(100e6 / 8 / (point["size"] + 20))}


def comparison(number, title, chains, ports, throughput=(), latency=(), note="", makes=None, derive=no_more):
    """Throughput at the highest load and latency at a fixed rate, on 4 cores. `ports`: sweeps of the same with GPU
    ports (thesis_ports.py). `derive`: as Sweep's."""
    sweeps = []
    for chain in chains:
        over = {"cores": [4], **PLACES}
        load = {**over, "size": SIZES}, "throughput", NO_LAUNCH, derive
        wait = {**over, "size": SIZES[::2]}, "latency", NO_LAUNCH, with_fixed_rate(derive)
        sweeps += [Sweep("bench", chain, *load), Sweep("bench", chain, *wait)]
    axes = {"x": "size", "x_label": "packet size [B]", "series": implementation}
    return Figure(
        name=f"thesis-{number}",
        title=title,
        source=f"{SOURCE}, section 4.4, figure {number}",
        note="CL, ROI, DOCA and DPU are implementations of the thesis. In DOCA's place stand Heddle's GPU ports, with a soft NIC "
        f"(docs/gpu-io.md) and 8 queues as there. {note}".strip(),
        sweeps=(*sweeps, *ports),
        panels=(
            Panel(
                y="line_gbps",
                title="(a) throughput",
                where={"measure": "throughput"},
                paper=throughput,
                **axes,
            ),
            Panel(
                y="latency_mean_us",
                title="(b) latency at 100 Mbit/s",
                where={"measure": "latency"},
                y_label="average latency [µs]",
                paper=latency,
                **axes,
            ),
        ),
        makes=makes or {},
        repetitions=3,
    )


def routes(count):
    """A route table of the lookup chains, and how it is made."""
    return {f"inputs/routes-{count}.txt": ["gen", "routes", "-n", str(count), "--hops", "4"]}
