"""The records behind their thread."""

from __future__ import annotations

from pathlib import Path

import pytest

from wikisync.errors import ServiceError
from wikisync.service.records import Records
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
