"""The time of what reads a page's text grows with the text: a seeded few marks.

All marks and pairs are those of ``make prove-security``.
"""

import re

import pytest

from tests.security.text_growth import (
    LARGEST_S,
    RATIO_MAX,
    READERS,
    TRIES,
    growth,
    some_marks,
)

MARKS_OF_EACH = 8


@pytest.mark.parametrize("name", READERS)
def test_time_of_a_reader_grows_with_its_text(name: str) -> None:
    for mark in some_marks(MARKS_OF_EACH, len(name)):
        seconds, ratio = growth(READERS[name], mark)
        assert ratio <= RATIO_MAX, f"{mark!r}: {ratio:.1f} times for twice the text"
        assert seconds < LARGEST_S, mark


def test_square_is_seen() -> None:
    square = re.compile(r"(?:^|\s+)#.*$").search
    # other work on the machine may hide it once
    assert any(
        growth(lambda text: square(text[::3]), " ")[1] > RATIO_MAX for _ in range(TRIES)
    )
