"""Pulls as a whole: real state, replicas in memory, and faults at every step."""

import asyncio
import errno
import inspect
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.copies import OWNER, Copies, ShakyWiki, rested
from tests.support.memory import MemoryReplica, nothing_before
from wikisync import errors
from wikisync.core.model import AttachmentPath, Problem
from wikisync.folder.replica import FolderReplica
from wikisync.sync.base.state import State
from wikisync.sync.decide.narrowing import Direction
from wikisync.sync.replica import LocalReplica
from wikisync.sync.run.cycle import run_cycle
from wikisync.sync.run.parts import Cycle, CycleOptions, CycleResult, Patience

FOLDER = "uploads/" + "0123456789abcdef" * 2
PICTURE = AttachmentPath(f"{FOLDER}/p.png")


PULL = CycleOptions(direction=Direction.PULL, patience=Patience(remote_span_s=0.0))


def wiki_of(state: State, pages: dict[str, str]) -> Copies:
    """A wiki with these pages, and an empty folder."""
    copies = Copies(state)
    copies.there = ShakyWiki(pages)
    copies.there.gives_texts = False
    return copies


@pytest.fixture
def copies(state: State) -> Copies:
    return wiki_of(state, {"home": "H", "dir/a": "A", "b": "B"})


def codes(result: CycleResult) -> list[tuple[str, str]]:
    return [(problem.code, problem.subject) for problem in result.problems]


# -- what a pull does --------------------------------------------------------------


async def test_texts_that_came_with_the_list_are_not_read_again(copies: Copies) -> None:
    copies.there.gives_texts = True
    await copies.cycle(PULL)
    assert copies.texts().keys() == {"home", "dir/a", "b"}
    assert not [entry for entry in copies.there.log if entry.startswith("read ")]


async def test_problems_of_both_replicas_are_told(copies: Copies) -> None:
    copies.there.problems = (Problem("there", "x", "odd"),)
    copies.here.problems = (Problem("here", "y", "odd"),)
    assert codes(await copies.cycle(PULL)) == [("here", "y"), ("there", "x")]


# -- pages that cannot be had ------------------------------------------------------


async def test_page_that_cannot_be_read_is_a_problem_of_its_own(copies: Copies) -> None:
    copies.there.fail("read b", errors.ProtocolViolation("page b is cut"))
    result = await copies.cycle(PULL)
    assert set(copies.here.pages) == {"home", "dir/a"}
    assert codes(result) == [("page-unreadable", "b")]


async def test_service_that_is_gone_ends_the_cycle(state: State) -> None:
    copies = wiki_of(state, {f"page-{number}": "text" for number in range(200)})
    copies.there.fail("read", errors.Unavailable("no answer"))
    with pytest.raises(errors.Unavailable):
        await copies.cycle(PULL)


async def test_refused_token_ends_the_cycle_at_once(copies: Copies) -> None:
    copies.there.fail("read", errors.AuthenticationFailed("the token was revoked"))
    with pytest.raises(errors.AuthenticationFailed):
        await copies.cycle(PULL)


async def test_wiki_really_emptied_is_followed_after_a_yes(state: State) -> None:
    copies = await rested(state, {f"page-{number}": "text" for number in range(20)})
    copies.there.pages.clear()
    await copies.rest(CycleOptions(direction=Direction.PULL, allows_emptying=True))
    assert not copies.here.pages


# -- the wiki's mark -----------------------------------------------------------------


async def test_mark_is_kept_without_what_waits(copies: Copies) -> None:
    await copies.cycle(PULL)
    copies.here.put("home", "mine")
    copies.there.put("home", "theirs")
    copies.there.tag = "mark"
    await copies.cycle(PULL)
    assert copies.known.memory.remote_tag == "mark"
    assert copies.known.memory.remote_again == {"home"}


async def test_mark_is_kept_without_what_changed_since_the_list(copies: Copies) -> None:
    """The text read is newer than the list, and the mark stands for the list."""
    copies.there.tag = "mark"
    copies.there.before_once("read home", lambda: copies.there.put("home", "newer"))
    await copies.cycle(PULL)
    assert copies.here.texts()["home"] == "newer"
    assert copies.known.memory.remote_again == {"home"}


# -- attachments ---------------------------------------------------------------------


@pytest.fixture
def pictured(copies: Copies) -> Copies:
    copies.there.put("home", f"![p]({PICTURE}) and again {PICTURE}")
    copies.there.files[PICTURE] = b"\x89PNG" * 5000
    return copies


async def test_attachments_are_not_asked_for_one_by_one_when_the_service_is_gone(
    copies: Copies,
) -> None:
    names = [f"{FOLDER}/{number}.png" for number in range(100)]
    copies.there.put("home", "\n".join(names))

    async def fail(entry: str) -> None:
        if entry.startswith("read_attachment "):
            copies.there.log.append("asked")
            raise errors.Unavailable("no answer")

    copies.there.before = fail
    result = await copies.cycle(PULL)
    assert len(result.problems) == 100
    assert copies.there.log.count("asked") < 20


async def test_attachment_that_cannot_be_stored_is_a_problem(pictured: Copies) -> None:
    pictured.here.fail(
        "write_attachment",
        errors.FolderError("cannot write it: a folder exists at this path"),
    )
    assert codes(await pictured.cycle(PULL)) == [("attachment-unwritable", PICTURE)]


async def test_disk_that_is_full_ends_the_fetching(pictured: Copies) -> None:
    full = errors.FolderError("cannot write it: the disk is full")
    full.__cause__ = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    pictured.here.fail("write_attachment", full)
    with pytest.raises(errors.FolderError, match="disk is full"):
        await pictured.cycle(PULL)


# -- interrupts at every step ----------------------------------------------------------


class Interrupt:
    """Cancels the whole pull when the n-th operation begins."""

    def __init__(self, at: int) -> None:
        self.left = at
        self.task: asyncio.Task[CycleResult] | None = None

    async def __call__(self, entry: str) -> None:  # noqa: ARG002
        self.left -= 1
        if self.left == 0 and self.task is not None:
            self.task.cancel()
            await asyncio.sleep(0)


class Watched:
    """A replica whose every operation tells somebody first."""

    def __init__(self, inner: LocalReplica, before: Interrupt) -> None:
        self._inner = inner
        self._before = before

    def __getattr__(self, name: str) -> object:
        method = getattr(self._inner, name)

        async def told(*args: object, **named: object) -> object:
            await self._before(name)
            return await method(*args, **named)

        async def told_stream(path: AttachmentPath) -> AsyncIterator[bytes]:
            await self._before(name)
            async for chunk in method(path):
                yield chunk

        if not inspect.iscoroutinefunction(method):
            return told_stream if name == "read_attachment" else method
        return told


async def interrupted_pull(
    remote: MemoryReplica, folder: Path, state: State, at: int
) -> bool:
    """Pull and cancel at the n-th operation; whether the pull came to its end."""
    interrupt = Interrupt(at)
    local: LocalReplica = Watched(FolderReplica(folder, settle_s=0), interrupt)  # type: ignore[assignment]
    remote.before = interrupt
    async with asyncio.TaskGroup() as group:
        task = group.create_task(
            run_cycle(Cycle(remote, local, state.wiki(OWNER), PULL))
        )
        interrupt.task = task
    return not task.cancelled()


async def test_pull_interrupted_anywhere_is_finished_by_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Real folder, real state; batches of one, so that there are many steps."""
    monkeypatch.setattr("wikisync.sync.run.pull.BATCH_PAGES", 1)
    for at in range(1, 200):
        place = tmp_path / str(at)
        (place / "wiki").mkdir(parents=True)
        with State.open(place / "state.db") as state:
            if await finishes_after_interrupt(place, state, at):
                return
    pytest.fail("the pull has more steps than were tried")


async def finishes_after_interrupt(place: Path, state: State, at: int) -> bool:
    remote = MemoryReplica({"home": f"![p]({PICTURE})", "dir/a": "A", "b": "B"})
    remote.files[PICTURE] = b"picture" * 3000
    was_complete = await interrupted_pull(remote, place / "wiki", state, at)
    assert_only_whole_files(place / "wiki", remote)
    local = FolderReplica(place / "wiki", settle_s=0)
    remote.before = nothing_before
    await run_cycle(Cycle(remote, local, state.wiki(OWNER), PULL))
    seen = await local.snapshot()
    assert {s: (await local.read(s)).content for s in seen.pages} == remote.texts()
    assert (place / "wiki" / PICTURE).read_bytes() == remote.files[PICTURE]
    again = await run_cycle(Cycle(remote, local, state.wiki(OWNER), PULL))
    assert str(again.plan) == "nothing to do"
    return was_complete


def assert_only_whole_files(folder: Path, remote: MemoryReplica) -> None:
    whole = {text.encode() for text in remote.texts().values()}
    whole |= set(remote.files.values())
    names = [path for path in folder.rglob("*") if path.is_file()]
    own = [path for path in names if ".wikisync" not in str(path)]
    assert all(path.read_bytes() in whole for path in own)
