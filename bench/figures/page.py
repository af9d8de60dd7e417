"""The HTML page of a figure: the picture, all numbers, what the paper states, how it was measured."""

import html
import pathlib

import records as rec

VALUE_LABELS = {
    "mpps": "throughput",
    "gbps": "throughput, frames alone",
    "line_gbps": "throughput on the line",
    "loss": "loss",
    "offered_mpps": "offered load",
    "lossy_mpps": "least load with losses",
    "core_share": "share of the cores that it got",
    "cycles_per_packet": "CPU cycles per packet",
    "cpu_utilisation": "CPU utilisation",
    "bytes_to_gpu": "bytes to the GPU per packet",
    "bytes_from_gpu": "bytes from the GPU per packet",
    "gpu_utilisation": "GPU utilisation",
    "gpu_power_w": "GPU power",
    "packets_per_joule": "packets per joule",
}
PARAMETER_LABELS = {
    "size": "frame size [B]",
    "cores": "CPU cores",
    "subject": "chain",
    "rate": "offered rate",
    "flows": "flows",
    "batch": "batch size [packets]",
    "routes": "routes in the table",
}


CURVE_LABELS = {"size": "{} B", "cores": "cores: {}", "chains": "chains: {}"}  # of a number in a legend


def value_label(name, unit):
    """An axis title: the quantity with its unit."""
    words = VALUE_LABELS.get(name, name.removesuffix("_" + unit.replace("%", "percent")).replace("_", " "))
    for short in ("us", "ns", "ms", "w"):
        words = words.removesuffix(" " + short)
    return f"{words} [{unit}]" if unit and unit != "1" else words


def short(value):
    """A parameter's value in a legend: a chain without its folder."""
    return pathlib.Path(value).stem if isinstance(value, str) and value.endswith(".click") else str(value)


PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 15px/1.45 sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #222 }}
svg {{ max-width: 100%; height: auto }} table {{ border-collapse: collapse; margin: .6rem 0 1.4rem }}
td, th {{ padding: .15rem .7rem; border-bottom: 1px solid #ddd; text-align: right; font-variant-numeric: tabular-nums }}
th {{ background: #f4f4f4 }} td.t {{ text-align: left }} code {{ font-size: 13px }} .warn {{ color: #a33 }}
.i {{ color: #777; font-size: 12px }}
</style></head><body><h1>{title}</h1>
"""


def text(value):
    """A cell's text, safe in HTML."""
    return html.escape("" if value is None else short(value) if isinstance(value, str) else f"{value:,}")


def page(figure, points, all_drawn, svg):
    """Self-contained HTML: the picture, all numbers, what the paper says, machine, commands, warnings. `all_drawn`: the
    points with the samples that bars are of."""
    out = [PAGE.format(title=html.escape(f"{figure.name}: {figure.title}" if figure.source else figure.title))]
    if figure.source:
        out.append(f"<p>{html.escape(figure.source)}</p>")
    if figure.note:
        out.append(f"<p>{html.escape(figure.note)}</p>")
    out.append(svg[svg.index("<svg") :])
    out += [f"<p>{html.escape(words)}</p>" for words in figure.findings(points)]
    records = [r for p in points for r in p.records]
    parameters = list(dict.fromkeys(name for p in points for name in p.parameters))
    for measure in dict.fromkeys(p.measure for p in points):
        rows = [p for p in points if p.measure == measure]
        names = list(dict.fromkeys(n for p in rows for n in p.values))
        units = {n: next(p.values[n].unit for p in rows if n in p.values) for n in names}
        out.append(f"<h2>{html.escape(measure or 'values')}</h2><table><tr><th>subject</th>")
        out += [f"<th>{html.escape(name)}</th>" for name in parameters]
        out += [f"<th>{html.escape(value_label(name, units[name]))}</th>" for name in names]
        out.append("<th>samples</th></tr>")
        for p in rows:
            variant = f" <span class=i>{html.escape(p.variant)}</span>" if p.variant else ""
            out.append(f"<tr><td class=t>{text(p.subject)}{variant}</td>")
            out += [f"<td>{text(p.parameters.get(name))}</td>" for name in parameters]
            for name in names:
                v = p.values.get(name)
                interval = f" <span class=i>{v.low:.4g}–{v.high:.4g}</span>" if v and len(v.samples) > 1 else ""
                out.append(f"<td>{v.median:.4g}{interval}</td>" if v else "<td></td>")
            out.append(f"<td>{max(len(v.samples) for v in p.values.values())}</td></tr>")
        out.append("</table>")
    stated = [s for panel in figure.panels for s in panel.paper]
    if stated:
        out.append("<h2>What the paper states</h2><table>")
        for s in stated:
            out.append(f"<tr><td class=t>{html.escape(s.label)}</td><td class=t>{html.escape(s.quote)}</td></tr>")
        out.append("</table>")
    for warning in dict.fromkeys(w for r in records for w in r.get("warnings", [])):
        out.append(f"<p class=warn>Warning: {html.escape(warning)}</p>")
    bars, figures = rec.interval_names(all_drawn), rec.interval_names(points)
    intervals = f"bars and grey figures: {figures}" if bars == figures else f"bars: {bars}; grey figures: {figures}"
    confidence = "confidence that the median lies within"
    out.append(f"<h2>How it was measured</h2><p>Medians; {intervals} ({confidence}).</p><ul>")
    for machine in dict.fromkeys(rec.machine_name(r) for r in records):
        out.append(f"<li>{html.escape(machine)}</li>")
    for commit in dict.fromkeys(r.get("commit", "unknown") for r in records):
        dates = sorted(r.get("date", "") for r in records if r.get("commit", "unknown") == commit)
        out.append(f"<li>commit {html.escape(commit)}, {html.escape(dates[0])} to {html.escape(dates[-1])}</li>")
    for command in dict.fromkeys(r.get("command", "") for r in records):
        out.append(f"<li><code>{html.escape(command)}</code></li>")
    out.append("</ul></body></html>\n")
    return "".join(out)
