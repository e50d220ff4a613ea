"""A database of its own for each test, on one server for all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import psycopg
import pytest

from wikisync.fleet.parts import DatabaseServer, database_server

NUMBERS = count(1)


@pytest.fixture(scope="session")
def postgres() -> Iterator[DatabaseServer]:
    with database_server() as server:
        yield server


@pytest.fixture
def database(postgres: DatabaseServer) -> str:
    name = f"fleet{next(NUMBERS)}"
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return postgres.url.replace("/postgres?", f"/{name}?")
