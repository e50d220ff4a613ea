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
    # the state knows the id of what was synced once
    (root / "wikisync.toml").write_text(text.replace("id = 1\n", ""))
    ran = await run("sync", "-C", root)
    assert (ran.code, ran.told) == (0, "handbook: 5 pages, nothing to do\n")


async def test_a_path_alone_is_told_how_to_get_through(
    proxy: BendingProxy, run: Run, tmp_path: Path
) -> None:
    """The hint can be followed: the file takes the id that it wants."""
    root = tmp_path / "wikis"
    refused = await run("clone", proxy.url, "--project", "docs/handbook", root)
    refused.ended(1, "--project 42")
    root.mkdir()
    text = f'[service]\nurl = "{proxy.url}"\n[[wiki]]\nproject = "docs/handbook"\n'
    file = write_config(root, text)
    (await run("sync", "-C", root)).ended(1, "id = 42")
    file.write_text(f"{text}id = 1\n")
    synced = await run("sync", "-C", root)
    assert (synced.code, synced.out) == (0, "handbook: 4 pages, 4 pulled\n")
    assert (root / "handbook/team/people.md").read_text() == "Ann\n"
