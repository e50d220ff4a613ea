"""The tables of the records; their statements are in ``schema.sql``."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from wikisync.packaged import packaged_text

SCHEMA_VERSION = 1


def fold_search(path: str, name: str, description: str | None) -> str:
    """What a project's search reads, one value a line, cases folded."""
    values = (path, name, description or "")
    lines = (" ".join(value.casefold().split()) for value in values)
    return "\n" + "\n".join(lines) + "\n"


def create(db: sqlite3.Connection) -> None:
    """Make the tables; the caller holds a transaction."""
    for statement in _statements(packaged_text(__package__, "schema.sql")):
        db.execute(statement)
    db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _statements(script: str) -> Iterator[str]:
    # executescript would end the transaction, and triggers hold semicolons
    pending = ""
    for part in script.strip().removesuffix(";").split(";"):
        pending += part + ";"
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""
