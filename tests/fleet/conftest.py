"""A fleet for each test; its servers are those of all tests of a process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import psycopg
import pytest

from tests.support.fleet import PATH, PICTURE, Fleet
from tests.support.service import embedded_service
from wikisync.core.model import WikiOwner
from wikisync.fleet.parts import BucketServer, DatabaseServer, database_server
from wikisync.fleet.rows import Rows
from wikisync.fleet.settings import Settings
from wikisync.workspace.discovery import Selection


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


@pytest.fixture
def places(
    s3: BucketServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Settings:
    """A fleet that nobody works on, with places in the buckets."""
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    site, state = f"s3://site/{tmp_path.name}", f"s3://state/{tmp_path.name}"
    return Settings("http://service", Selection(is_all=True), site, state, fleet="one")


@pytest.fixture
async def fleet(
    database: str, s3: BucketServer, tmp_path: Path, places: Settings
) -> AsyncIterator[Fleet]:
    del places  # whose buckets are in the environment
    async with AsyncExitStack() as stack:
        service = await stack.enter_async_context(embedded_service(tmp_path))
        rows = await stack.enter_async_context(Rows(database))
        pages = {"home": f"# Home\n\n![a]({PICTURE})", "guide": "Words of ONE."}
        await service.add_project(PATH, pages, visibility="public")
        await service.put_file(WikiOwner("project", PATH), PICTURE, b"a picture")
        fleet = Fleet(service, rows, s3, tmp_path)
        await stack.enter_async_context(fleet.client)
        await rows.make(fleet.settings)
        await fleet.discover()
        yield fleet
