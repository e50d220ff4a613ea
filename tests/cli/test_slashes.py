"""A proxy that takes ``%2F`` apart: requests by the numeric id get through."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.agreed import write_config
from tests.support.bending import BendingProxy, bending_proxy
from tests.support.commands import Run
from tests.support.service import EmbeddedService
from tests.support.workspaces import HANDBOOK, PAGES

NOT_FOUND = b"<html><head><title>404 Not Found</title></head></html>"
UNKNOWN = b'{"error":"404 Not Found"}'


@pytest.fixture(params=["Apache refuses it", "the service gets slashes"])
async def proxy(
    service: EmbeddedService, request: pytest.FixtureRequest
) -> AsyncIterator[BendingProxy]:
    """Neither lets a path with an encoded slash come to the service as it is."""
    await service.add_project("docs/handbook", PAGES)
    async with bending_proxy(service.url) as running:
        if request.param == "Apache refuses it":
            running.bend("%2F", status=404, html=NOT_FOUND)
        else:
            headers = {"Content-Type": "application/json"}
            running.bend("%2F", status=404, headers=headers, body=UNKNOWN)
        yield running


async def test_a_workspace_made_with_an_id_is_synced_by_it(
    service: EmbeddedService, proxy: BendingProxy, run: Run, tmp_path: Path
) -> None:
    root = tmp_path / "wikis"
    cloned = await run("clone", proxy.url, "--project", "1", root)
    assert cloned.code == 0, cloned.err
    text = (root / "wikisync.toml").read_text()
    assert 'project = "docs/handbook"\nid = 1\n' in text
    (root / "handbook/home.md").write_text("edited here\n")
    (root / "handbook/team/people.md").write_text("Bob\n")
    (root / "handbook/team/new.md").write_text("new\n")
    await service.add_pages(HANDBOOK, {"team/rules": "be kinder\n"})

    ran = await run("sync", "-C", root)

    assert (ran.code, ran.out) == (0, "handbook: 5 pages, 1 pulled, 3 pushed\n")
    files = await service.files(HANDBOOK)
    assert files["team/people.md"] == b"Bob\n"
    for command in ("status", "doctor"):
        scanned = await run(command, "-C", root)
        assert "wrong" not in scanned.out, scanned.out
        assert scanned.err == ""


async def test_a_path_alone_is_told_how_to_get_through(
    proxy: BendingProxy, run: Run, tmp_path: Path
) -> None:
    """The hint can be followed: the file takes the id that it wants."""
    root = tmp_path / "wikis"
    refused = await run("clone", proxy.url, "--project", "docs/handbook", root)
    assert refused.code == 1
    assert "--project 42" in refused.err
    root.mkdir()
    text = f'[service]\nurl = "{proxy.url}"\n[[wiki]]\nproject = "docs/handbook"\n'
    file = write_config(root, text)
    ran = await run("sync", "-C", root)
    assert ran.code == 1
    assert "id = 42" in ran.err
    file.write_text(f"{text}id = 1\n")
    synced = await run("sync", "-C", root)
    assert (synced.code, synced.out) == (0, "handbook: 4 pages, 4 pulled\n")
    assert (root / "handbook/team/people.md").read_text() == "Ann\n"


async def test_a_record_of_before_gets_through_without_an_id_in_the_file(
    service: EmbeddedService, proxy: BendingProxy, run: Run, tmp_path: Path
) -> None:
    """The state knows the id of what was synced once."""
    del service
    root = tmp_path / "wikis"
    await run("clone", proxy.url, "--project", "1", root)
    file = root / "wikisync.toml"
    file.write_text(file.read_text().replace("id = 1\n", ""))
    ran = await run("sync", "-C", root)
    assert (ran.code, ran.out, ran.err) == (
        *(0, "handbook: 4 pages, nothing to do\n"),
        "",
    )
