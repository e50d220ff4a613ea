"""The tables of the state file, as ``schema.sql`` has them."""

from __future__ import annotations

import sqlite3

from wikisync.core.packaged import packaged_text
from wikisync.sync.base.memory import FIELDS

SCHEMA_VERSION = 1
"""A file of any other version is set aside, and the folder is adopted anew."""


def create(connection: sqlite3.Connection) -> None:
    """Make the tables of this version, inside a transaction."""
    schema = packaged_text(__package__, "schema.sql")
    # executescript would end the transaction
    for statement in schema.replace("{fields}", ", ".join(FIELDS)).split(";"):
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
