"""Pulls as a whole: real state, replicas in memory, and faults at every step."""

import asyncio
import errno
import inspect
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.support.memory import MemoryReplica
from wikisync import errors
from wikisync.core.model import AttachmentPath, Problem, Slug, WikiOwner
from wikisync.folder.replica import FolderReplica
from wikisync.sync.base import agreements
from wikisync.sync.base.state import State
from wikisync.sync.decide.narrowing import Direction
from wikisync.sync.decide.safety import Batch
from wikisync.sync.replica import LocalReplica
from wikisync.sync.run.cycle import run_cycle
from wikisync.sync.run.parts import CycleOptions, CycleResult, Patience

OWNER = WikiOwner("project", "docs/handbook")
HOME = Slug("home")
FOLDER = "uploads/" + "0123456789abcdef" * 2
PICTURE = AttachmentPath(f"{FOLDER}/p.png")


PULL = CycleOptions(direction=Direction.PULL, patience=Patience(remote_span_s=0.0))


@dataclass
class Pair:
    """A wiki, its folder in memory, and the base between them."""

    state: State
    remote: MemoryReplica = field(default_factory=MemoryReplica)
    local: MemoryReplica = field(default_factory=MemoryReplica)

    async def pull(
        self,
        options: CycleOptions = PULL,
        *,
        remote_id: str = "",
        allow_emptying: bool = False,
    ) -> CycleResult:
        return await run_cycle(
            self.remote,
            self.local,
            self.state,
            owner=OWNER,
            remote_id=remote_id,
            options=replace(options, allows_emptying=allow_emptying),
        )

    async def pull_until_sure(self, *, allow_emptying: bool = False) -> CycleResult:
        """As many looks as make an absence certain."""
        for _ in range(PULL.patience.remote_scans):
            result = await self.pull(allow_emptying=allow_emptying)
            if result.next_scan_s is None:
                break
        return result

    @property
    def is_equal(self) -> bool:
        return self.local.texts() == self.remote.texts()

    def base(self) -> dict[str, str | None]:
        wiki = self.state.wiki(OWNER)
        return {slug: wiki.text(slug) for slug in wiki.base()}


@pytest.fixture
def pair(state: State) -> Pair:
    return Pair(state, MemoryReplica({"home": "H", "dir/a": "A", "b": "B"}))


def wiki_of(count: int) -> MemoryReplica:
    return MemoryReplica({f"page-{number}": "text" for number in range(count)})


def stopped(result: CycleResult) -> Batch:
    """What the safety stop holds."""
    (batch,) = result.batches
    return batch


def codes(result: CycleResult) -> list[tuple[str, str]]:
    return [(problem.code, problem.subject) for problem in result.problems]


# -- what a pull does --------------------------------------------------------------


async def test_first_pull_fills_the_folder_and_the_base(pair: Pair) -> None:
    result = await pair.pull()
    assert pair.is_equal
    assert pair.base() == pair.remote.texts()
    assert (result.pulled, result.pages) == (3, 3)


async def test_texts_that_came_with_the_list_are_not_read_again(pair: Pair) -> None:
    pair.remote.gives_texts = True
    await pair.pull()
    assert pair.is_equal
    assert not [entry for entry in pair.remote.log if entry.startswith("read ")]


async def test_problems_of_both_replicas_are_told(pair: Pair) -> None:
    pair.remote.problems = (Problem("there", "x", "odd"),)
    pair.local.problems = (Problem("here", "y", "odd"),)
    assert codes(await pair.pull()) == [("here", "y"), ("there", "x")]


# -- pages that cannot be had ------------------------------------------------------


async def test_page_that_cannot_be_read_is_a_problem_of_its_own(pair: Pair) -> None:
    pair.remote.fail("read b", errors.ProtocolViolation("page b is cut"))
    result = await pair.pull()
    assert set(pair.local.pages) == {"home", "dir/a"}
    assert codes(result) == [("page-unreadable", "b")]


async def test_service_that_is_gone_ends_the_cycle(state: State) -> None:
    pair = Pair(state, wiki_of(200))

    pair.remote.fail("read", errors.Unavailable("no answer"))
    with pytest.raises(errors.Unavailable):
        await pair.pull()


async def test_refused_token_ends_the_cycle_at_once(pair: Pair) -> None:
    pair.remote.fail("read", errors.AuthenticationFailed("the token was revoked"))
    with pytest.raises(errors.AuthenticationFailed):
        await pair.pull()


# -- absence is not deletion ---------------------------------------------------------


async def test_wiki_really_emptied_is_followed_after_a_yes(state: State) -> None:
    pair = Pair(state, wiki_of(20))
    await pair.pull_until_sure()
    pair.remote.pages.clear()
    await pair.pull_until_sure(allow_emptying=True)
    assert not pair.local.pages


# -- the wiki's mark -----------------------------------------------------------------


async def test_mark_is_kept_when_the_base_is_what_it_stands_for(pair: Pair) -> None:
    pair.remote.tag = "mark"
    await pair.pull()
    assert pair.state.wiki(OWNER).memory.remote_tag == "mark"
    assert not pair.state.wiki(OWNER).memory.remote_again


async def test_mark_is_kept_without_what_waits(pair: Pair) -> None:
    await pair.pull()
    pair.local.put("home", "mine")
    pair.remote.put("home", "theirs")
    pair.remote.tag = "mark"
    await pair.pull()
    assert pair.state.wiki(OWNER).memory.remote_tag == "mark"
    assert pair.state.wiki(OWNER).memory.remote_again == {"home"}


async def test_mark_is_not_kept_where_it_would_stand_for_little(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    await pair.pull()
    monkeypatch.setattr(agreements, "PAGES_AGAIN_MAX", 0)
    pair.local.put("home", "mine")
    pair.remote.put("home", "theirs")
    pair.remote.tag = "mark"
    await pair.pull()
    assert not pair.state.wiki(OWNER).memory.remote_tag


async def test_mark_is_kept_without_what_changed_since_the_list(pair: Pair) -> None:
    """The text read is newer than the list, and the mark stands for the list."""
    pair.remote.tag = "mark"

    async def edit(entry: str) -> None:
        if entry == "read home":
            pair.remote.put("home", "newer")

    pair.remote.before = edit
    await pair.pull()
    assert pair.local.texts()["home"] == "newer"
    assert pair.state.wiki(OWNER).memory.remote_again == {"home"}


# -- attachments ---------------------------------------------------------------------


@pytest.fixture
def pictured(pair: Pair) -> Pair:
    pair.remote.put("home", f"![p]({PICTURE}) and again {PICTURE}")
    pair.remote.files[PICTURE] = b"\x89PNG" * 5000
    return pair


async def test_mentioned_attachment_is_fetched_once(pictured: Pair) -> None:
    first = await pictured.pull()
    again = await pictured.pull()
    assert pictured.local.files == pictured.remote.files
    assert (first.attachments, again.attachments) == (1, 0)
    assert pictured.remote.log.count(f"read_attachment {PICTURE}") == 1


async def test_attachment_lost_here_is_fetched_again(pictured: Pair) -> None:
    await pictured.pull()
    pictured.local.files.clear()
    assert (await pictured.pull()).attachments == 1
    assert pictured.local.files == pictured.remote.files


async def test_attachment_that_is_there_already_is_adopted(pictured: Pair) -> None:
    pictured.local.files[PICTURE] = b"from an interrupted run"
    assert (await pictured.pull()).attachments == 0
    assert set(pictured.state.wiki(OWNER).attachments()) == {PICTURE}


async def test_missing_attachment_is_told_and_the_rest_goes_on(pictured: Pair) -> None:
    pictured.remote.put("b", f"{FOLDER}/gone.png")
    result = await pictured.pull()
    assert [one.subject for one in result.absent] == [f"{FOLDER}/gone.png"]
    assert result.problems == ()
    assert pictured.local.files == pictured.remote.files
    assert pictured.is_equal


async def test_missing_attachment_is_scanned_for_every_time(pictured: Pair) -> None:
    content = pictured.remote.files.pop(PICTURE)
    await pictured.pull()
    pictured.remote.files[PICTURE] = content
    assert (await pictured.pull()).attachments == 1


async def test_attachments_are_not_asked_for_one_by_one_when_the_service_is_gone(
    pair: Pair,
) -> None:
    names = [f"{FOLDER}/{number}.png" for number in range(100)]
    pair.remote.put("home", "\n".join(names))

    async def fail(entry: str) -> None:
        if entry.startswith("read_attachment "):
            pair.remote.log.append("asked")
            raise errors.Unavailable("no answer")

    pair.remote.before = fail
    result = await pair.pull()
    assert len(result.problems) == 100
    assert pair.remote.log.count("asked") < 20


async def test_attachment_that_cannot_be_stored_is_a_problem(pictured: Pair) -> None:
    pictured.local.fail(
        "write_attachment",
        errors.FolderError("cannot write it: a folder exists at this path"),
    )
    assert codes(await pictured.pull()) == [("attachment-unwritable", PICTURE)]


async def test_disk_that_is_full_ends_the_fetching(pictured: Pair) -> None:
    async def full(entry: str) -> None:
        if entry.startswith("write_attachment "):
            cause = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            raise errors.FolderError("cannot write it: the disk is full") from cause

    pictured.local.before = full
    with pytest.raises(errors.FolderError, match="disk is full"):
        await pictured.pull()


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
            run_cycle(remote, local, state, owner=OWNER, options=PULL)
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
    remote.before = MemoryReplica().before
    await run_cycle(remote, local, state, owner=OWNER, options=PULL)
    seen = await local.snapshot()
    assert {s: (await local.read(s)).content for s in seen.pages} == remote.texts()
    assert (place / "wiki" / PICTURE).read_bytes() == remote.files[PICTURE]
    again = await run_cycle(remote, local, state, owner=OWNER, options=PULL)
    assert str(again.plan) == "nothing to do"
    return was_complete


def assert_only_whole_files(folder: Path, remote: MemoryReplica) -> None:
    whole = {text.encode() for text in remote.texts().values()}
    whole |= set(remote.files.values())
    names = [path for path in folder.rglob("*") if path.is_file()]
    own = [path for path in names if ".wikisync" not in str(path)]
    assert all(path.read_bytes() in whole for path in own)
