from __future__ import annotations

from datetime import UTC, datetime

import pytest

from wikisync.api.pace import parse_retry_after

NOON = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("120", 120.0),
        (" 7 ", 7.0),
        ("Thu, 01 Jan 2026 12:01:30 GMT", 90.0),
        ("Thu, 01 Jan 2026 12:01:30", 90.0),
        ("Thu, 01 Jan 2026 11:00:00 GMT", 0.0),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("²", None),
        ("Thu, 99 Jan 2026 12:01:30 GMT", None),
    ],
)
def test_both_syntaxes_of_retry_after(text: str, seconds: float | None) -> None:
    assert parse_retry_after({"retry-after": text}, now=NOON) == seconds


def test_a_date_is_measured_from_the_clock_of_the_service() -> None:
    headers = {
        "retry-after": "Thu, 01 Jan 2026 03:00:30 GMT",
        "date": "Thu, 01 Jan 2026 03:00:00 GMT",
    }

    assert parse_retry_after(headers, now=NOON) == 30.0
