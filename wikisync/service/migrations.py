"""The tables of the records, version by version.

A data folder of any earlier version is brought up to the present one in one
transaction when it is opened.  Each step is a file in ``schema``; steps are only ever
appended to the list.
"""

from __future__ import annotations

import sqlite3

from wikisync.packaged import packaged_text

STEPS = tuple(
    packaged_text(__package__, f"schema/{name}.sql")
    for name in (
        *("01_first", "02_projects_api", "03_page_ids", "04_forks", "05_measures"),
        *("06_groups_go", "07_template_type", "08_comments"),
    )
)
SCHEMA_VERSION = len(STEPS)


def fold_search(path: str, name: str, description: str | None) -> str:
    """What a project's search reads, one value a line, cases folded."""
    values = (path, name, description or "")
    lines = (" ".join(value.casefold().split()) for value in values)
    return "\n" + "\n".join(lines) + "\n"


def migrate(db: sqlite3.Connection, found: int) -> None:
    """Take every step after version ``found``; the caller holds a transaction."""
    for step in STEPS[found:]:
        for statement in _statements(step):
            db.execute(statement)
    db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _statements(step: str) -> list[str]:
    # executescript would end the transaction, and triggers hold semicolons
    statements: list[str] = []
    pending = ""
    for part in step.split(";"):
        pending += part + ";"
        if sqlite3.complete_statement(pending):
            statements.append(pending)
            pending = ""
    return [statement for statement in statements if statement.strip(" \n;")]
