"""An empty database for each test, on one server for all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from wikisync.fleet.parts import DatabaseServer, database_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[DatabaseServer]:
    with database_server() as server:
        yield server


@pytest.fixture
def database(postgres: DatabaseServer) -> str:
    # a database has some hundred files, which cost more than all that is in it
    with psycopg.connect(postgres.url) as connection:
        connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    return postgres.url
