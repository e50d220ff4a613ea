"""What a person decides in a preview is what the commands do."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.workspaces import HANDBOOK, HERE, PAGES, Cloned
from wikisync.cli.console import Console
from wikisync.core.layout import PRIVATE_FOLDER, STATE_FILE
from wikisync.core.model import Slug
from wikisync.errors import NotFound, PreconditionFailed, UsageError
from wikisync.folder.workspace import locked
from wikisync.merging.conflict import Choice, Clash, Piece, resolved
from wikisync.site.preview.states import (
    PageStatus,
    SyncStatus,
    Waiting,
    digest_of_pieces,
)
from wikisync.workspace.deciding import WorkspaceDecisions
from wikisync.workspace.service import Credentials

if TYPE_CHECKING:
    from wikisync.site.preview.states import EarlierText

HOME = Slug("home")


class Decider:
    """The decisions of a preview of the workspace, each in a thread as there."""

    def __init__(self, root: Path, token_file: Path) -> None:
        self.health: dict[str, Any] = {}
        self._made = WorkspaceDecisions(
            root, Credentials(Console(quiet=True), token_file), lambda: self.health
        )

    async def sync_status(self) -> SyncStatus:
        return await asyncio.to_thread(self._made.sync_status, HANDBOOK)

    async def waiting(self) -> Sequence[Waiting]:
        return (await self.sync_status()).rows

    def stamp(self) -> object:
        return self._made.stamp()

    async def decide(self, batch: int, *, is_approved: bool) -> str:
        decide = self._made.decide
        return await asyncio.to_thread(decide, HANDBOOK, batch, is_approved=is_approved)

    async def pieces(self, slug: Slug = HOME) -> Sequence[Piece]:
        return await asyncio.to_thread(self._made.pieces, HANDBOOK, slug)

    async def settle(self, text: str, seen: Sequence[Piece]) -> str:
        digest = digest_of_pieces(seen)
        return await asyncio.to_thread(self._made.settle, HANDBOOK, HOME, text, digest)

    async def earlier(self, *, of_wiki: bool = False) -> Sequence[EarlierText]:
        earlier = self._made.earlier
        return await asyncio.to_thread(earlier, HANDBOOK, HOME, of_wiki=of_wiki)

    async def restore(self, text_id: str) -> None:
        await asyncio.to_thread(self._made.restore, HANDBOOK, HOME, text_id)


@pytest.fixture
def decider(cloned: Cloned, tmp_path: Path) -> Decider:
    token = tmp_path / "token"
    token.write_text(cloned.service.token)
    token.chmod(0o600)
    return Decider(cloned.root, token)


# Conflicts --------------------------------------------------------------------------


@pytest.mark.parametrize("choice", ["mine", "wiki", "both"])
async def test_a_conflict_is_settled_as_resolve_does(
    clashing: Cloned, decider: Decider, choice: Choice
) -> None:
    pieces = await decider.pieces()
    said = await decider.settle(resolved(pieces, choice), pieces)
    here = clashing.read("home.md")
    assert said == "the next sync applies it"
    assert "home.conflict.md" not in clashing.files()
    assert (await clashing.run("sync")).code == 0
    assert (await clashing.wiki())["home.md"] == here
    assert "resolve home in the preview" in (await clashing.run("log")).out
    ending = {"mine": "here\n", "wiki": "there\n", "both": "there\nTHREE here\n"}
    assert here == f"ONE\n\nTWO there\n\nTHREE {ending[choice]}"


async def test_a_conflict_whose_file_was_deleted_is_settled(
    clashing: Cloned, decider: Decider
) -> None:
    (clashing.folder / "home.conflict.md").unlink()
    pieces = await decider.pieces()
    assert [one.local for one in pieces if isinstance(one, Clash)] == ["THREE here\n"]
    await decider.settle("settled\n", pieces)
    assert (await clashing.run("sync")).code == 0
    assert (await clashing.wiki())["home.md"] == "settled\n"


async def test_a_watch_that_runs_finds_it_in_the_conflict_file(
    clashing: Cloned, decider: Decider
) -> None:
    pieces = await decider.pieces()
    with locked(clashing.root / ".wikisync", "it"):
        said = await decider.settle("settled\n", pieces)
    assert said == "the running watch applies it"
    assert clashing.read("home.md") == HERE
    assert clashing.read("home.conflict.md") == "settled\n"


async def test_a_conflict_that_is_another_one_by_now_is_not_settled(
    clashing: Cloned, decider: Decider
) -> None:
    seen = await decider.pieces()
    path = clashing.folder / "home.conflict.md"
    path.write_text(path.read_text().replace("THREE there", "more of theirs"))
    with pytest.raises(PreconditionFailed, match="another one by now"):
        await decider.settle("settled\n", seen)
    assert clashing.read("home.md") == HERE


async def test_marker_lines_are_no_text_of_a_page(
    clashing: Cloned, decider: Decider
) -> None:
    text = clashing.read("home.conflict.md")
    with pytest.raises(UsageError, match="marker lines"):
        await decider.settle(text, await decider.pieces())


async def test_a_page_without_a_conflict_has_no_pieces(decider: Decider) -> None:
    assert await decider.pieces() == ()


# What waits -------------------------------------------------------------------------


async def test_what_waits_is_what_status_says(
    clashing: Cloned, decider: Decider
) -> None:
    clashing.write("guide.md", "edited\n")
    status = (await clashing.run("status", "--offline")).out
    rows = await decider.waiting()
    assert {one.slug: one.is_conflict for one in rows if one.slug} == {
        "home": True,
        "guide": False,
    }
    assert [f"  {one.sentence}" for one in rows] == status.splitlines()[1:]


def health_of(condition: str = "in sync", problem: str = "") -> dict[str, Any]:
    """What a watch says of itself, an hour after its start."""
    outage = condition if problem else "in reach"
    return {
        "wikis": [{"folder": "handbook", "condition": condition}],
        "service": {"condition": outage, "problem": problem, "since": 0.0},
    }


@pytest.mark.parametrize(
    ("health", "changed", "usual", "line"),
    [
        ({}, "changed", "same", "1 changed here, 1 held"),
        (health_of(), "waiting", "synced", "1 on the way, 1 held"),
        (health_of("offline", "no route"), "waiting", "away", "service away since "),
        (health_of("refused", "401"), "waiting", "away", "service rejects the token"),
        (health_of("paused"), "waiting", "same", "1 on the way, 1 held"),
    ],
)
async def test_pages_stand_as_the_folder_and_the_watch_have_it(
    clashing: Cloned,
    decider: Decider,
    health: dict[str, Any],
    changed: str,
    usual: str,
    line: str,
) -> None:
    clashing.write("guide.md", "edited\n")
    decider.health = health
    found = await decider.sync_status()
    assert found.pages[HOME].state == "held"
    assert found.pages[Slug("guide")].state == changed
    assert found.usual.state == usual
    assert found.line.startswith(line)


async def test_a_wiki_in_which_nothing_waits_says_when_it_was_synced(
    decider: Decider,
) -> None:
    found = await decider.sync_status()
    assert found.line.startswith("last sync ")
    assert (found.usual, found.pages) == (PageStatus("same"), {})
    decider.health = health_of()
    found = await decider.sync_status()
    assert (found.line, found.usual) == ("in sync", PageStatus("synced"))


async def test_a_look_at_the_wiki_leaves_its_stamp_and_a_sync_does_not(
    cloned: Cloned, decider: Decider
) -> None:
    state = sqlite3.connect(cloned.root / PRIVATE_FOLDER / STATE_FILE)
    # as a watch, which keeps SQLite's log there
    with closing(state), locked(cloned.root / PRIVATE_FOLDER, "it"):
        (version,) = state.execute("PRAGMA user_version").fetchone()
        state.execute(f"PRAGMA user_version = {version}")
        before = decider.stamp()
        await decider.sync_status()
        assert decider.stamp() == before
    before = decider.stamp()
    await decider.sync_status()
    assert decider.stamp() == before
    cloned.write("guide.md", "edited\n")
    await cloned.run("sync")
    assert decider.stamp() != before


@pytest.mark.parametrize("is_approved", [True, False])
async def test_a_batch_is_approved_or_refused(
    cloned: Cloned, decider: Decider, is_approved: bool
) -> None:
    for slug in PAGES:
        await cloned.remove(slug)
    await cloned.run("sync")
    assert (await cloned.sync_later()).code == 4
    row = next(one for one in await decider.waiting() if one.batch)
    assert not [one for one in await decider.waiting() if one.slug]
    assert set(row.pages) == set(PAGES)
    said = await decider.decide(row.batch, is_approved=is_approved)
    assert said.endswith("the next sync applies it")
    assert (await cloned.run("sync")).code == 0
    assert len(cloned.files()) == (0 if is_approved else len(PAGES))
    with pytest.raises(NotFound, match=f"no batch {row.batch} is waiting"):
        await decider.decide(row.batch, is_approved=is_approved)


# Earlier texts ----------------------------------------------------------------------


async def test_an_earlier_text_comes_back_and_the_present_one_is_kept(
    cloned: Cloned, decider: Decider
) -> None:
    cloned.write("home.md", "edited here\n")
    before = await decider.earlier()
    assert [one.at for one in before] == ["the last sync"]
    await decider.restore(before[0].id)
    assert cloned.read("home.md") == PAGES["home"]
    after = await decider.earlier()
    assert len(after) == 2
    await decider.restore(after[1].id)
    assert cloned.read("home.md") == "edited here\n"


async def test_revisions_of_the_wiki_are_shown_with_what_they_changed(
    cloned: Cloned, decider: Decider
) -> None:
    await cloned.edit({"home": PAGES["home"].replace("two", "<b>second</b>")})
    rows = await decider.earlier(of_wiki=True)
    assert "<ins>&lt;b&gt;second" in rows[0].html
    assert "<b>" not in rows[0].html
    cloned.write("home.md", "edited here\n")
    await decider.restore(rows[-1].id)
    assert cloned.read("home.md") == PAGES["home"]


async def test_a_conflict_file_that_was_kept_is_not_restored_as_the_page(
    clashing: Cloned, decider: Decider
) -> None:
    await decider.settle("settled\n", await decider.pieces())
    before = await decider.earlier()
    (kept,) = [one for one in before if one.where.startswith("conflict file: ")]
    with pytest.raises(UsageError, match="conflict file with marker lines"):
        await decider.restore(kept.id)
    assert clashing.read("home.md") == "settled\n"


async def test_a_text_that_is_none_of_the_page_is_not_restored(
    cloned: Cloned, decider: Decider
) -> None:
    with pytest.raises(UsageError, match="names no revision"):
        await decider.restore("0000000000")
    assert cloned.read("home.md") == PAGES["home"]
