"""Associations that change by handlers: what is answered, what stays, and what the plan does not allow."""

import re
import signal

import pytest
from test_hotconfig import running
from whole import ipsec
from whole.control import Control
from whole.program import quoted, wait_for_count, wait_until

SOURCE = "InfiniteSource(DATA \\<45000014000000004011000001020304c0000201>, LIMIT 100)"


def association(spi, number=0, **form):
    """`number`: which keys it has."""
    keys = {
        "cipher_key": ipsec.Association(spi * 100 + number, cipher="gcm").cipher_key,
        "hash_key": ipsec.Association(spi * 100 + number).hash_key,
    }
    return ipsec.Association(spi, **{"cipher": "gcm", **keys, **form})


def places(text):
    """The SPIs by place, of handler `associations` or `numbers`."""
    return {int(line.split()[0]): int(line.split()[1], 16) for line in text.splitlines()}


def refused(control, command):
    code, text, _ = control.command(f"WRITE {command}")
    assert code == 520 and text.splitlines()[-1].endswith("the associations stay as they are"), (command, code, text)
    return text


def test_numbers_go_on_and_others_begin(heddle, tmp_path):
    first, second, third = (association(0x1000 + k) for k in range(3))
    keys = ipsec.write(tmp_path / "keys", [first, second])
    chain = (
        f"s :: {SOURCE} -> q :: IPsecSequence(e, SPI 0x1000) -> e :: IPsecEncap({quoted(keys)}) -> d :: Discard;"
        f" Idle -> late :: IPsecEncap({quoted(keys)}) -> Discard"
    )
    with running(heddle, tmp_path, chain) as (_, control):
        wait_for_count(tmp_path / "control", "d.count", 100)
        assert control.read("q.numbers") == "0 0x00001000 100\n1 0x00001001 0\n"
        first.ends = ("192.0.2.1", "192.0.2.2")  # with the same keys
        ipsec.write(keys, [third, first])
        control.write("e.reload")
        assert control.read("q.numbers") == "0 0x00001000 100\n2 0x00001002 0\n"
        assert control.read("late.associations").startswith("0 0x00001000 192.0.2.1 192.0.2.2 (aead")
        assert places(control.read("late.associations")) == {0: 0x1000, 2: 0x1002}
        more = ipsec.write(tmp_path / "more", [second])
        control.write("late.add", str(more))
        assert control.read("q.numbers") == "0 0x00001000 100\n1 0x00001001 0\n2 0x00001002 0\n"
        assert "there is an association 0x00001001; remove it first" in refused(control, f"e.add {more}")
        control.write("e.remove", "0x1000 192.0.2.2")
        assert places(control.read("late.associations")) == {1: 0x1001, 2: 0x1002}
        for wrong in ("0x1000", "0x1001 192.0.2.9", "0x1001 192.0.2.2 x", "x", "0x1001 ::1", ""):
            refused(control, f"e.remove {wrong}".strip())
        control.write("s.reset")
        wait_until(lambda: "no_sa 100" in control.read("q.drops"), 60, "drops")
        control.write("e.remove", "0x1002 " + ipsec.DESTINATION)
        ipsec.write(keys, [first])
        control.write("late.reload")
        # What went and comes again is a new one: the file has to say where it goes on.
        assert control.read("q.numbers") == "0 0x00001000 0\n"


def test_hangup_changes_all(heddle, tmp_path):
    keys = ipsec.write(tmp_path / "keys", [association(0x1000)])
    file = quoted(keys)
    chain = (
        f"Idle -> e :: IPsecEncap({file}) -> Discard;"
        f" Idle -> f :: IPsecEncap({file}) -> d :: IPsecDecap({file}) -> Discard"
    )
    with heddle.start("run", "--quiet", "-u", tmp_path / "control", "-e", chain) as run:
        control = Control(tmp_path / "control")
        ipsec.write(keys, [association(0x1000), association(0x1001)])
        run.signal(signal.SIGHUP)
        said = {run.process.stderr.readline().decode() for _ in range(3)}
        assert said == {f"heddle: {name}: reloaded\n" for name in "efd"}
        for name in "efd":
            assert places(control.read(f"{name}.associations")) == {0: 0x1000, 1: 0x1001}
        assert run.interrupt().code == 0


WRONG = {  # what the first association is, what it becomes, and why not
    "room": ({}, {"port": 4500, "number": 1}, "it puts 44 bytes before packets, and the chain was planned for 36"),
    "behind": (
        {"icv": 8},
        {"icv": 16, "number": 1},
        "it puts up to 21 bytes behind packets, and the chain was planned for 13",
    ),
    "transport": ({}, {"transport": True, "number": 1}, "none had mode transport when the chain was planned"),
    "window": ({}, {"window": 128}, "it has a replay window of another size than before, and the same keys"),
    "esn": ({}, {"esn": True}, "it has another flag esn than before, and the same keys"),
    "limits": ({}, {"lines": "\tlimit packet-hard 9\n"}, "it has other limits than before, and the same keys"),
    "selector": ({}, {"lines": "\tsel src 10.1.0.0/16 dst 10.2.0.0/16\n"}, "0x00001000 has the selector of 0x00001001"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_change_is_said_by_line_and_without_keys(heddle, tmp_path, name):
    form, other, why = WRONG[name]
    selected = association(0x1001, lines="\tsel src 10.1.0.0/16 dst 10.2.0.0/16\n", **form)
    before, after = association(0x1000, **form), association(0x1000, **{**form, **other})
    keys = ipsec.write(tmp_path / "keys", [before, selected])
    chain = f"Idle -> q :: IPsecSequence(e) -> e :: IPsecEncap({quoted(keys)}) -> Discard"
    with running(heddle, tmp_path, chain) as (_, control):
        ipsec.write(keys, [selected, after])
        line = len(selected.text().splitlines()) + 1
        answer = refused(control, "e.reload")
        assert f"\n{keys}:{line}: association 0x00001000" in answer and why in answer, answer
        assert answer.count("\n") == 2
        for key in (before.cipher_key, after.cipher_key, selected.cipher_key):
            assert key.hex()[:8] not in answer
        assert places(control.read("e.associations")) == {0: 0x1000, 1: 0x1001}
        ipsec.write(keys, [selected, before])
        control.write("e.reload")


def test_what_a_receiver_was_planned_for(heddle, tmp_path):
    keys = ipsec.write(tmp_path / "keys", [association(0x1000)])
    chain = f"Idle -> d :: IPsecDecap({quoted(keys)}) -> IPsecReplay(d) -> Discard"
    with running(heddle, tmp_path, chain, "--device", "simt") as (_, control):
        for other, why in (
            ({"cipher": "cbc", "cipher_key": b""}, "a GPU deciphers with"),
            ({"esn": True}, "none had flag esn when the chain was planned"),
            ({"transport": True, "lines": "\tlimit packet-hard 9\n"}, "cannot count limits of mode transport"),
        ):
            more = ipsec.write(tmp_path / "more", [association(0x1001, **other)])
            assert why in refused(control, f"d.add {more}")
        ipsec.write(tmp_path / "more", [association(0x1001, transport=True), association(0x1002, ip6=True)])
        control.write("d.add", str(tmp_path / "more"))
        assert places(control.read("d.associations")) == {0: 0x1000, 1: 0x1001, 2: 0x1002}


def test_no_place_is_used_again_behind_a_queue(heddle, tmp_path):
    keys = ipsec.write(tmp_path / "keys", [association(0x1000)])
    ends = f"e :: IPsecEncap({quoted(keys)}) -> Discard"
    for between, places_of in (("", [1, 0, 1]), ("Queue -> Unqueue -> ", [1, 2, 3])):
        with running(heddle, tmp_path, f"Idle -> q :: IPsecSequence(e) -> {between}{ends}") as (_, control):
            for number, place in enumerate(places_of, 1):
                ipsec.write(keys, [association(0x1000, number)])
                control.write("e.reload")
                assert places(control.read("e.associations")) == {place: 0x1000}
        ipsec.write(keys, [association(0x1000)])


def test_encaps_with_the_same_associations_need_one_file(heddle, tmp_path):
    a = ipsec.write(tmp_path / "a", [association(0x1000)])
    b = ipsec.write(tmp_path / "b", [association(0x2000)])
    chain = f"Idle -> e :: IPsecEncap({quoted(a)}) -> Discard; Idle -> f :: IPsecEncap({quoted(b)}) -> Discard"
    with running(heddle, tmp_path, chain) as (_, control):
        answer = refused(control, f"e.add {b}")
        assert re.search(r"b:1: association 0x00002000: 'f' has it as well, from another FILE", answer), answer
        ipsec.write(b, [association(0x2000, 1)])
        control.write("e.add", str(b))


def test_associations_stay_where_a_gpu_numbers_or_judges_them(heddle, tmp_path):
    keys = quoted(ipsec.write(tmp_path / "keys", [association(0x1000)]))
    chain = (
        f"FromGPUPort(a, SOCKET {tmp_path}/a, ROLE client) -> q :: IPsecSequence(e, DEVICE gpu)"
        f" -> e :: IPsecEncap({keys}) -> ToGPUPort(b);"
        f" FromGPUPort(b, SOCKET {tmp_path}/b, ROLE server) -> d :: IPsecDecap({keys}) -> r :: IPsecReplay(d, DEVICE gpu)"
        f" -> ToGPUPort(a)"
    )
    with running(heddle, tmp_path, chain, "--device", "simt") as (_, control):
        assert "'q' takes their numbers between GPU ports, where they cannot change" in refused(control, "e.reload")
        assert "'r' judges them between GPU ports, where they cannot change" in refused(control, "d.remove 0x1000")


def test_destinations_tell_apart_what_has_one_spi(heddle, tmp_path):
    one, two, six = (association(0x1000, number, ends=("192.0.2.9", f"192.0.2.{number}")) for number in (1, 2, 3))
    for number, of in enumerate((one, two, six), 1):
        of.lines = f"\tsel src 10.{number}.0.0/16 dst 10.0.0.0/8\n"
    six.ends = ("2001:db8::9", "2001:db8::1")
    keys, more = ipsec.write(tmp_path / "keys", [one, two]), ipsec.write(tmp_path / "more", [six])
    chain = (
        f"Idle -> e :: IPsecEncap({quoted(keys)}) -> d :: IPsecDecap({quoted(keys)}) -> Discard;"
        f" Idle -> q :: IPsecSequence(f, SPI 0x3000) -> f :: IPsecEncap({quoted(tmp_path / 'other')}) -> Discard"
    )
    ipsec.write(tmp_path / "other", [association(0x3000)])
    with running(heddle, tmp_path, chain) as (_, control):
        control.write("d.add", str(more))
        assert places(control.read("d.associations")) == {0: 0x1000, 1: 0x1000, 2: 0x1000}
        assert "there is an association 0x00001000; remove it first" in refused(control, f"d.add {more}")
        assert "there are several associations 0x00001000; say whose: remove SPI DST" in refused(
            control, "d.remove 0x1000"
        )
        assert "there is no association 0x00001000 to 192.0.2.3" in refused(control, "d.remove 0x1000 192.0.2.3")
        control.write("d.remove", "0x1000 192.0.2.1")
        control.write("d.remove", "0x1000 2001:db8::1")
        assert re.fullmatch(r"1 0x00001000 192\.0\.2\.9 192\.0\.2\.2 .*\n", control.read("d.associations"))
        control.write("d.remove", "0x1000")
        ipsec.write(more, [association(0x3000, 1, ends=("192.0.2.9", "192.0.2.1"))])
        assert "there would be several associations 0x00003000, and an IPsecSequence names that SPI" in refused(
            control, f"f.add {more}"
        )
