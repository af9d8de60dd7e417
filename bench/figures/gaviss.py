"""What the figures of Gaviss share: chains of functions that want whole packets, which stay on the GPU between them or do not."""

SOURCE = "Guo, Zhang and Wang, Gaviss (TPDS 2022)"
CHAINS = {number: f"chains/whole-packets-{number}.click" for number in (1, 2, 4)}
GATHERED = {"device": ["gpu"], "transport": ["gather"], "share": ["yes", "no"]}


def shared(point):
    """Whether packets stay, and the functions."""
    number = next(n for n, chain in CHAINS.items() if chain == point.subject)
    return f"{number} function{'s' * (number > 1)}, {'shared' if point.get('share') == 'yes' else 'not shared'}"
