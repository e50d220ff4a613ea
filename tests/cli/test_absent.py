"""Attachments that pages mention and that the wiki itself lacks."""

from pathlib import Path

import pytest

from tests.support.commands import Run
from tests.support.service import EmbeddedService
from tests.support.workspaces import HANDBOOK

LOST = "uploads/" + "0123456789abcdef" * 2 + "/lost.png"


@pytest.fixture
async def handbook(service: EmbeddedService) -> EmbeddedService:
    pages = {"home": f"Write `![a]({LOST})`.\n", "guide": f"![b]({LOST})\n"}
    await service.add_project("docs/handbook", pages)
    return service


async def test_clone_tells_once_of_what_the_wiki_lacks_and_is_done(
    handbook: EmbeddedService, run: Run, tmp_path: Path
) -> None:
    """Folder and wiki hold the same; a script would take the clone for failed."""
    root = tmp_path / "wikis"
    words = ("clone", handbook.url, "--project", "docs/handbook", root)
    first, again = await run(*words), await run(*words)
    synced, status = await run("sync", "-C", root), await run("status", "-C", root)
    assert (first.code, again.code, synced.code, status.code) == (0, 0, 0, 0)
    assert first.err.count(LOST) == 2  # as what it is about, and as what was asked for
    assert LOST not in again.err + synced.err
    assert "in sync, last good sync " in status.out
    assert f"missing here: 1 attachment that pages mention ({LOST})" in status.out


async def test_programs_are_told_of_it_beside_the_problems(
    handbook: EmbeddedService, run: Run, tmp_path: Path
) -> None:
    root = tmp_path / "wikis"
    words = ("clone", handbook.url, "--project", "docs/handbook", root)
    (cloned,) = (await run(*words, "--json")).json["wikis"]
    await handbook.add_pages(HANDBOOK, {"home": f"![c]({LOST}.svg)\n"})
    (synced,) = (await run("sync", "--json", "-C", root)).json["wikis"]
    assert LOST not in (await run("sync", "-C", root)).err
    assert cloned["problems"] == synced["problems"] == []
    assert [one["subject"] for one in cloned["absent"]] == [LOST]
    assert [one["subject"] for one in synced["absent"]] == [f"{LOST}.svg"]


async def test_export_tells_of_it_every_time(
    handbook: EmbeddedService, run: Run, tmp_path: Path
) -> None:
    """The site has a placeholder where the page has a picture."""
    project = ("--project", "docs/handbook")
    words = ("export", handbook.url, *project, "-o", tmp_path / "site", "--json")
    first, again = await run(*words), await run(*words)
    assert (first.code, again.code) == (3, 3)
    assert "attachment-missing" in first.problem_codes
    assert "attachment-missing" in again.problem_codes
