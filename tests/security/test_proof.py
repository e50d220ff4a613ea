"""The table of attacks: what it counts, and that it misses nothing that got through."""

import pytest

from tests.security.attack_pages import attack_pages
from tests.security.proof import Row, table
from tests.security.prove_security import FAMILIES, main


def test_there_are_attacks_of_every_kind_by_the_hundred() -> None:
    pages = list(attack_pages())
    assert len(pages) > 4000
    assert len({page.path for page in pages}) == len(pages)
    assert {page.kind for page in pages} == {
        *("snippets", "html", "clobbering", "addresses", "break-outs", "names")
    }


def test_what_got_through_is_named_and_counted() -> None:
    held, broken = Row("good", 1.0), Row("bad", 1.0)
    held.note("x", 0.5, is_held=True)
    broken.note("the token is in a log", 0.5, is_held=False)

    shown = table([held, broken])

    assert (held.is_held, broken.is_held) == (True, False)
    assert "2 attacks, 1 got through" in shown
    assert "bad: the token is in a log" in shown


def test_what_took_too_long_or_was_not_tried_does_not_hold() -> None:
    slow, untried = Row("slow", 1.0), Row("untried")
    slow.note("x", 1.5, is_held=True)

    assert (slow.is_held, untried.is_held) == (False, False)
    assert "SLOW" in table([slow])
    assert "NOT TRIED" in table([untried])


def test_family_of_another_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nobody"]) == 2
    said = capsys.readouterr().err
    assert all(name in said for name in FAMILIES)
