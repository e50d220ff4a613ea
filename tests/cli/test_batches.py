"""``approve`` and ``refuse``: a person's word on what a safety stop holds."""

import shutil
from pathlib import Path

import pytest

from tests.support.git import clone, needs_git, run_git
from tests.support.workspaces import HANDBOOK, PAGES, Cloned
from wikisync.folder.workspace import locked


@pytest.fixture
async def stopped(cloned: Cloned) -> Cloned:
    """Every page was deleted on the wiki, for certain; a safety stop holds that."""
    for slug in PAGES:
        await cloned.remove(slug)
    await cloned.run("sync")
    assert (await cloned.sync_later()).code == 4
    return cloned


@pytest.mark.parametrize("name", ["handbook:1", "1"])
async def test_approved_deletion_goes_to_trash(stopped: Cloned, name: str) -> None:
    # "nothing to do" would be said of a folder that is not in sync
    ran = await stopped.run("sync")
    waiting = "handbook: 0 pages, 4 waiting for your approval\n"
    assert (ran.code, ran.out) == (4, waiting)
    ran = await stopped.run("approve", name)
    ran.ended(0, "handbook:1 is approved: 4 of 4 pages would be removed here")
    assert ran.out == "handbook: 0 pages, 4 removed\n"
    assert stopped.files() == {}
    assert not stopped.attention
    assert len(list((stopped.root / ".wikisync/trash").rglob("*.md"))) == 4


async def test_refused_deletion_brings_the_pages_back(stopped: Cloned) -> None:
    before = stopped.files()
    assert (await stopped.run("refuse", "handbook:1")).code == 0
    assert await stopped.wiki() == before
    assert stopped.files() == before


async def test_page_that_a_refusal_brings_back_is_named(cloned: Cloned) -> None:
    """And not scanned for: "run it again in 10 s" was said of nothing at all."""
    shutil.rmtree(cloned.folder / "team")
    (cloned.folder / "home.md").unlink()
    (cloned.folder / "guide.md").unlink()
    cloned.write("new.md", "new\n")
    await cloned.run("sync")
    said = "handbook/guide: its deletion was rejected: it is restored"
    ran = await cloned.run("refuse", "handbook:1")
    assert ran.out == "handbook: 5 pages, 4 pulled\n"
    assert "run it again in" not in ran.err
    assert said in ran.err
    (cloned.folder / "guide.md").unlink()
    ran = await cloned.run("sync")
    assert cloned.read("guide.md")
    assert said in ran.err
    assert "handbook/home" not in ran.err


async def test_batch_is_decided_once(stopped: Cloned) -> None:
    ran = await stopped.run("approve", "handbook:7")
    ran.ended(2, "no batch handbook:7 is waiting for approval")
    assert "held batches: handbook:1 (4 of 4 pages would be removed here" in ran.err
    with locked(stopped.root / ".wikisync", "it"):
        await stopped.run("refuse", "handbook:1")
        ran = await stopped.run("approve", "handbook:1")
    ran.ended(2, "handbook:1 is refused already", "no batch is held")


async def test_running_watch_is_left_to_carry_it_out(stopped: Cloned) -> None:
    with locked(stopped.root / ".wikisync", "it"):
        ran = await stopped.run("approve", "handbook:1")
    ran.ended(0, "the running wikisync applies it (process")
    assert set(stopped.files()) == {f"{slug}.md" for slug in PAGES}
    await stopped.run("sync")
    assert stopped.files() == {}


# -- changes -----------------------------------------------------------------------


@pytest.fixture
async def shrunk(cloned: Cloned) -> Cloned:
    """Nearly all of a page's text is gone here; a safety stop holds that."""
    cloned.write("guide.md", "word " * 100)
    assert (await cloned.run("sync")).code == 0
    cloned.write("guide.md", "word\n")
    assert (await cloned.run("sync")).code == 4
    return cloned


@pytest.mark.parametrize("is_refused", [False, True])
async def test_page_that_a_stop_holds_is_told(shrunk: Cloned, is_refused: bool) -> None:
    """Nobody is told that both sides are in sync while they are not."""
    if is_refused:
        await shrunk.run("refuse", "1")
    status = await shrunk.run("status")
    assert "in sync" not in status.out.replace("not in sync", "")
    assert "  guide: " in status.out
    diff = await shrunk.run("diff")
    assert "+++ handbook/guide here" in diff.out


async def test_nobody_is_told_to_decide_what_no_sync_has_asked(cloned: Cloned) -> None:
    """A look remembers nothing, so that its number would mean nothing."""

    async def looks() -> list[str]:
        status, dry = await cloned.run("status"), await cloned.run("sync", "--dry-run")
        return [status.out, dry.err]

    cloned.write("guide.md", "word " * 100)
    await cloned.run("sync")
    cloned.write("guide.md", "word\n")
    before = await looks()
    approve = "wikisync approve handbook:1"
    assert approve in (await cloned.run("sync")).err
    asks = "the next sync will ask for your approval"
    assert [(asks in told, "approve" in told) for told in before] == [(True, False)] * 2
    assert [approve in told for told in await looks()] == [True, True]
    assert (await cloned.run("approve", "handbook:1")).code == 0


async def test_refused_change_is_told_and_is_no_error(shrunk: Cloned) -> None:
    ran = await shrunk.run("refuse", "1")
    assert (ran.code, ran.out) == (0, "handbook: 4 pages, 1 waiting\n")
    assert "handbook/guide: this change was rejected; waiting" in ran.err
    assert (await shrunk.run("sync")).code == (await shrunk.run("status")).code == 0


# -- a wiki that goes back in time -----------------------------------------------------


@pytest.fixture
async def forced(cloned: Cloned, tmp_path: Path) -> Cloned:
    """Somebody pushed over the last edit of one page by force."""
    await cloned.run("sync")
    cloned.write("guide.md", "work of an hour\n")
    assert (await cloned.run("sync")).code == 0
    await push_back(cloned, tmp_path)
    return cloned


async def push_back(cloned: Cloned, tmp_path: Path) -> None:
    """Take the wiki's last commit back by force."""
    folder = await clone(cloned.service.git_url(HANDBOOK), tmp_path / "by-git")
    await run_git("reset", "-q", "--hard", "HEAD~1", folder=folder)
    assert (await run_git("push", "-q", "--force", folder=folder)).code == 0


@needs_git
async def test_one_page_that_was_pushed_over_by_force_waits(forced: Cloned) -> None:
    for words in (("sync", "--dry-run"), ("status",)):
        ran = await forced.run(*words)
        assert "the wiki returned to an older state" in ran.told
    for _ in range(2):
        ran = await forced.run("sync")
        ran.ended(4, "the wiki returned to an older state")
        assert "texts of the wiki, run: wikisync approve handbook:1" in ran.err
        assert "run: wikisync refuse handbook:1" in ran.err
        assert forced.read("guide.md") == "work of an hour\n"


@needs_git
@pytest.mark.parametrize(
    ("word", "text"), [("refuse", "work of an hour\n"), ("approve", "a guide\n")]
)
async def test_one_command_says_which_text_both_sides_get(
    forced: Cloned, word: str, text: str
) -> None:
    await forced.run("sync")
    assert (await forced.run(word, "handbook:1")).code == 0
    assert forced.read("guide.md") == text
    assert (await forced.wiki())["guide.md"] == text
    await forced.edit({"home": "edited since\n"})
    ran = await forced.run("sync")
    assert (ran.code, ran.out) == (0, "handbook: 4 pages, 1 pulled\n")
