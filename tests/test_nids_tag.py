"""tag in rules, which changes no alert of Suricata's, nor one here, where it is warned of."""

import shutil

import pytest
from scapy.all import IP, UDP, Raw
from test_nids_suricata import CHAIN, SETTINGS, alerts_of, frames_of, run_suricata
from whole import captures
from whole.program import quoted

TAGS = ["session", "host", "session,5,packets", "session, 300 , seconds", "host,100,bytes,dst", "host,0,packets,src"]


def test_suricata_alerts_the_same_with_tags(heddle, tmp_path):
    """Of packets in whose flow a rule has tagged what follows, too."""
    if shutil.which("suricata") is None:
        pytest.skip("suricata is not installed (make deps)")
    options = [f'content:"mark"; tag:{tag}' for tag in TAGS]
    options += ['content:"mark"', 'content:"tag"; tag:session,5,packets; tag:host,3,packets,dst']
    rules = [f"alert udp any any -> any any ({text}; sid:{sid};)\n" for sid, text in enumerate(options, 1)]
    payloads = [b"a tag", b"a mark", b"none", b"mark, tag", b"none"] * 8
    packets = [
        IP(src=f"10.0.0.{1 + n % 2}", dst="10.0.0.9") / UDP(sport=1000, dport=53) / Raw(payload)
        for n, payload in enumerate(payloads)
    ]
    (tmp_path / "suricata.yaml").write_text(SETTINGS)
    (tmp_path / "rules").write_text("".join(rules))
    captures.write(tmp_path / "in.pcap", frames_of(packets, False))
    run_suricata(tmp_path)
    chain = CHAIN.format(tmp_path).replace(", STREAM true", "").replace("FLOWS flows, ", "")
    done = heddle("run", "-e", chain)
    assert done.code == 0 and "by tag, 7 rules (line 1, sid 1; ...)" in done.err, done
    ours, theirs = (alerts_of(tmp_path / name) for name in ("ours.json", "eve.json"))
    assert ours == theirs and len(ours) == 8 * 16


def test_what_is_not_logged_is_warned_of(heddle, tmp_path):
    rules = tmp_path / "rules"
    rules.write_text(
        'alert udp any any -> any any (content:"a"; sid:1;)\nalert udp any any -> any any (content:"a"; tag:host; sid:2;)\n'
    )
    chain = f"Idle -> ids :: NIDS({quoted(rules)}); ids[0] -> Discard; ids[1] -> NIDSConfirm(ids) -> Discard;"
    warning = (
        "heddle: warning: NIDS 'ids': by tag, {} of '{}' ask for packets behind a match to be logged, which is not"
    )
    done = heddle("check", "-e", chain)
    assert done.code == 0 and done.err.startswith(warning.format("1 rule (line 2, sid 2)", rules)), done
    rules.write_text(rules.read_text() + 'alert udp any any -> any any (content:"a"; tag:session; sid:3;)\n')
    done = heddle("check", "-e", chain)
    assert done.code == 0 and done.err.startswith(warning.format("2 rules (line 2, sid 2; ...)", rules)), done


@pytest.mark.parametrize(
    "tag", ["", "flow,5,packets", "session,5", "session,-1,packets", "session,5,exclusive,packets"]
)
def test_mistakes_say_what_is_wrong(heddle, tmp_path, tag):
    (tmp_path / "rules").write_text(f'alert udp any any -> any any (content:"a"; tag:{tag}; sid:1;)\n')
    errors = heddle.fails("check", "-e", f"Idle -> NIDS({quoted(tmp_path / 'rules')}) -> Discard")
    assert f":1: sid 1: tag '{tag}' is not session or host, and perhaps NUMBER, packets" in errors
