"""No message has a key, wherever associations are written that should be in a file."""

import re

import pytest
from test_hotconfig import running
from whole import ipsec
from whole.program import quoted

PASTED = {
    "gcm": ipsec.Association(0x1001, cipher="gcm"),
    "two long keys": ipsec.Association(0x1001, cipher="cbc", bits=256, hash="sha256", esn=True),
}


def digits_of(association):
    """Of each key eight digits in a row are too many to be there by chance."""
    text = association.cipher_key.hex() + " " + association.hash_key.hex()
    return {text[at : at + 8] for at in range(len(text) - 7)}


def shows_keys(text, association):
    return any(digits in text.lower() for digits in digits_of(association))


def forms_of(association):
    """As `ip xfrm state` prints it, twice on one line, and a key."""
    text = association.text()
    lines = [line.strip() for line in text.splitlines()]
    return [text, " ".join(lines + lines), next(word for line in lines for word in line.split() if len(word) > 40)]


@pytest.mark.parametrize("name", PASTED)
def test_associations_in_place_of_arguments_are_not_shown(heddle, tmp_path, name):
    association = PASTED[name]
    keys = quoted(ipsec.write(tmp_path / "keys", [association]))
    for form in forms_of(association):
        for chain in (
            'Idle -> IPsecSequence(e) -> e :: IPsecEncap("{}") -> Discard',
            "Idle -> IPsecSequence(e) -> e :: IPsecEncap({}) -> Discard",
            'Idle -> IPsecDecap("{}") -> Discard',
            f"Idle -> IPsecDecap({keys}, OFFSET {{}}) -> Discard",
            f"Idle -> d :: IPsecDecap({keys}, {{}}) -> Discard",
            f'Idle -> IPsecDecap({keys}) -> IPsecReplay("{{}}") -> Discard',
            f'Idle -> IPsecSequence("{{}}") -> e :: IPsecEncap({keys}) -> Discard',
            f"Idle -> IPsecSequence(e, SPI {{}}) -> e :: IPsecEncap({keys}) -> Discard",
            f"Idle -> IPsecSequence(e, BY {{}}) -> e :: IPsecEncap({keys}) -> Discard",
        ):
            said = str(heddle.fails("check", "-e", chain.format(form)))
            assert not shows_keys(said, association), said
    said = heddle.fails("run", "-e", f'Idle -> IPsecDecap("{association.text()}") -> Discard')
    assert "give the path of a readable file, not associations" in said and not shows_keys(said, association), said


@pytest.mark.parametrize("name", PASTED)
def test_associations_in_place_of_paths_are_not_answered(heddle, tmp_path, name):
    association = PASTED[name]
    other = ipsec.Association(0x2001, cipher=association.cipher, hash=association.hash, esn=association.esn)
    keys = quoted(ipsec.write(tmp_path / "keys", [other]))
    chain = (
        f"Idle -> s :: IPsecSequence(e) -> e :: IPsecEncap({keys}) -> Discard;"
        f" Idle -> d :: IPsecDecap({keys}) -> Discard"
    )
    with running(heddle, tmp_path, chain) as (_, control):
        for form in forms_of(association):
            line = re.sub(r"\s+", " ", form)
            for command in ("e.add {}", "d.add {}", "e.remove {}", "e.remove 0x2001 {}", "d.remove 7 {}", "s.mtu {}"):
                code, text, data = control.command("WRITE " + command.format(line))
                assert code == 520 and not shows_keys(f"{text} {data}", association), (command, text, data)
            code, text, data = control.command(f'WRITE hotconfig Idle -> IPsecDecap("{line}") -> Discard')
            assert code >= 500 and not shows_keys(f"{text} {data}", association), (text, data)
        code, text, _ = control.command("WRITE e.add " + re.sub(r"\s+", " ", association.text()))
        assert "FILE (not shown, for it may have keys)" in text and "not associations" in text
