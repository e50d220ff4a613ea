"""The database is restored from a backup, on each PostgreSQL that is here."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from msgspec.structs import replace

from tests.support.bucket_server import got
from tests.support.fleet import PATH, Fleet
from wikisync.api.projects import Projects
from wikisync.fleet.beside import MOVED
from wikisync.fleet.parts import NOBODY, DatabaseServer, database_server

DEBIAN = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))


@pytest.fixture(scope="module", params=[None, *DEBIAN], ids=str)
def postgres(request: pytest.FixtureRequest) -> Iterator[DatabaseServer]:
    if request.param is None:
        with database_server() as server:
            yield server
        return
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        user = None
        if os.geteuid() == 0:
            user = NOBODY
            os.chown(name, user, user)
        server = DatabaseServer(Path(name), request.param.parent, user)
        server.make()
        server.start()
        try:
            yield server
        finally:
            server.stop()


async def settle(fleet: Fleet) -> None:
    """Work on all that lists bring, as within some hours."""
    fleet.lists_all = True
    for _ in range(2):
        await fleet.discover()
        await fleet.rows._do("UPDATE fleet_wiki SET due_at = '-infinity'")
        await fleet.work(fleet.worker(folder="one"))


async def test_fleet_goes_on_from_the_database_of_yesterday(
    fleet: Fleet, postgres: DatabaseServer
) -> None:
    projects, service = Projects(fleet.client), fleet.service
    fleet.settings = replace(fleet.settings, title="All our wikis")
    await fleet.rows.make(fleet.settings)
    for number in range(8):
        await service.add_project(f"docs/{number}", visibility="public")
    for name in ("moves", "hides", "goes"):
        page = {"guide": f"Old words of {name}."}
        await service.add_project(f"docs/{name}", page, visibility="public")
    await settle(fleet)
    (folder,) = parse_qs(urlsplit(postgres.url).query)["host"]
    words = ("-h", folder, "-U", "fleet", "-f", "dump.sql", "postgres")
    assert postgres.call("pg_dump", "--clean", "--if-exists", *words).wait() == 0
    await fleet.write("Words of TWO.")
    await fleet.work()
    await fleet.write("Words of THREE.")
    await projects.edit_project("docs/moves", path="moved")
    await projects.edit_project("docs/hides", visibility="private")
    await projects.delete_project_permanently("docs/goes")
    await service.add_project("docs/new", {"guide": "NEW"}, visibility="public")
    await settle(fleet)
    assert postgres.call("psql", "-q", "-v", "ON_ERROR_STOP=1", *words).wait() == 0
    await fleet.write("Words of FOUR.")
    await settle(fleet)
    assert "Words of FOUR." in (fleet.page() or "")
    assert "NEW" in (fleet.page(path="docs/new") or "")
    assert "Old words" in (fleet.page(path="docs/moved") or "")
    assert MOVED in (fleet.page(path="docs/moves") or "")
    assert fleet.page(path="docs/hides") is None
    assert fleet.page(path="docs/goes") is None
    problems = {one.path: one.problem for one in await fleet.rows.shown()}
    assert "not public (wikisync fleet init" in problems.pop("docs/hides")
    assert {*problems.values()} == {""}
    landing = got(fleet.server, f"{fleet.name}/index.html")
    assert landing
    there = [f'href="{path}/' in landing[0].decode() for path in PATHS]
    assert there == [True, True, True, False, False]
    for path in PATHS[:3]:
        await fleet.audit(path)


PATHS = [PATH, "docs/new", "docs/moved", "docs/hides", "docs/goes"]
