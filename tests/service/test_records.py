"""The records behind their thread."""

import sqlite3
from pathlib import Path

import pytest

from wikisync.errors import ServiceError
from wikisync.service.instance import Records
from wikisync.service.tables import Tables


async def test_file_that_is_no_database_is_a_plain_error(tmp_path: Path) -> None:
    path = tmp_path / "records.db"
    path.write_bytes(b"no database at all, but long enough to be looked at" * 9)
    records = Records(path)

    with pytest.raises(ServiceError, match="cannot use"):
        await records.open()
    await records.close()


async def test_records_outlive_the_process(tmp_path: Path) -> None:
    records = Records(tmp_path / "records.db")
    await records.open()
    await records.ask(Tables.add_user, "dana", email="d@example.com")
    await records.close()

    again = Records(tmp_path / "records.db")
    await again.open()
    user = await again.ask(Tables.user_named, "DANA")
    await again.close()

    assert user is not None
    assert user.email == "d@example.com"


async def test_what_was_told_is_noted_for_who_asks_later(tmp_path: Path) -> None:
    records = Records(tmp_path / "records.db")
    await records.open()

    records.note(add_user, "dana")
    user = await records.ask(Tables.user_named, "dana")
    await records.close()

    assert user is not None


async def test_note_that_cannot_be_taken_is_logged_and_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    records = Records(tmp_path / "records.db")
    await records.open()

    records.note(run_out_of_disk)
    records.note(add_user, "dana")
    user = await records.ask(Tables.user_named, "dana")
    await records.close()

    assert user is not None
    assert [one.levelname for one in caplog.records] == ["ERROR"]
    assert "do not take a note" in caplog.text


def add_user(tables: Tables, name: str) -> None:
    tables.add_user(name, email=f"{name}@example.com")


def run_out_of_disk(_tables: Tables) -> None:
    raise sqlite3.OperationalError("database or disk is full")
