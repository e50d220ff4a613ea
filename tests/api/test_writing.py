"""What stands around every write: the read before it, and the look at its answer."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from typing import Any

import msgspec
import pytest

from tests.api.conftest import OWNER
from tests.api.faketime import FakeTime
from tests.support.quirks import Quirk
from tests.support.service import EmbeddedService
from wikisync.api.client import Client
from wikisync.api.exchange import Request
from wikisync.api.replica import WikiReplica
from wikisync.api.wikis import Wiki
from wikisync.core.model import AttachmentPath, Format, Page, Slug, digest_of
from wikisync.errors import PreconditionFailed, Rejected

PAGES = {"home": "hello", "dir/a": "A", "dir/a/below": "B"}
HOME, DIR_A = Slug("home"), Slug("dir/a")


@pytest.fixture
def written() -> list[Request]:
    """Requests that changed something."""
    return []


@pytest.fixture
async def replica(
    service: EmbeddedService, written: list[Request]
) -> AsyncIterator[WikiReplica]:
    async with Client(
        service.url, service.token, before_write=written.append
    ) as client:
        yield WikiReplica(Wiki(client, OWNER))


def page(slug: str, text: str, markup: Format = Format.MARKDOWN) -> Page:
    return Page(Slug(slug), markup, text)


async def chunks(content: bytes) -> AsyncIterator[bytes]:
    yield content


async def together(*work: Coroutine[None, None, object]) -> None:
    async with asyncio.TaskGroup() as group:
        for one in work:
            group.create_task(one)


async def slugs(replica: WikiReplica) -> set[Slug]:
    return set((await replica.snapshot()).pages)


def sent(request: Request) -> dict[str, str]:
    return msgspec.json.decode(request.json or b"", type=dict[str, str])


# -- texts -------------------------------------------------------------------------


async def test_edit_names_full_path_format_and_text(
    replica: WikiReplica, written: list[Request]
) -> None:
    await replica.write(page("dir/a", "new"), expected=digest_of("A"))
    (request,) = written
    expected = {"title": "dir/a", "format": "markdown", "content": "new"}
    assert sent(request) == expected


@pytest.mark.parametrize("quirk", [Quirk.CONTENT_ONLY_MOVES, Quirk.LEAF_TITLE_MOVES])
@pytest.mark.parametrize("slug", ["home", "dir/a"])
async def test_edit_stays_in_its_folder_on_every_service(
    service: EmbeddedService, replica: WikiReplica, quirk: Quirk, slug: str
) -> None:
    service.quirks = {quirk}
    held = await replica.read(Slug(slug))
    answer = await replica.write(page(slug, "new"), expected=held.digest)
    assert answer.slug == slug
    assert await slugs(replica) == {"home", "dir/a", "dir/a/below"}


async def test_page_that_is_so_already_is_not_written(
    replica: WikiReplica, written: list[Request]
) -> None:
    """It would be an empty commit, and mail to everybody who watches the wiki."""
    answer = await replica.write(page("home", "hello"), expected=digest_of("hello"))
    assert answer.content == "hello"
    assert not written


async def test_other_format_with_the_same_text_is_written(replica: WikiReplica) -> None:
    answer = await replica.write(
        page("home", "hello", Format.ORG), expected=digest_of("hello")
    )
    assert answer.format is Format.ORG


async def test_answer_tells_what_the_service_holds_not_what_was_sent(
    service: EmbeddedService, replica: WikiReplica
) -> None:
    service.quirks = {Quirk.NORMALISES_LINE_ENDS}
    answer = await replica.write(page("home", "a\r\nb"), expected=digest_of("hello"))
    assert answer.content == "a\nb"
    answer = await replica.write(page("new", "c\r\n"), expected=None)
    assert answer.content == "c\n"


async def test_page_of_exactly_a_mebibyte_may_be_written(replica: WikiReplica) -> None:
    """Read back it would count as cut, but here we know what it is."""
    text = "x" * 1024 * 1024
    answer = await replica.write(page("home", text), expected=digest_of("hello"))
    assert answer.content == text


async def test_page_in_a_format_that_the_service_only_shows_is_left_alone(
    service: EmbeddedService, replica: WikiReplica, written: list[Request]
) -> None:
    """Or the service would make it markdown, under another file name."""
    await service.put_file(OWNER, "old.textile", b"h1. old")
    expected = digest_of("h1. old")
    with pytest.raises(Rejected, match=r"page old .* format textile"):
        await replica.write(page("old", "new"), expected=expected)
    with pytest.raises(Rejected, match="textile"):
        await replica.move(Slug("old"), Slug("new"), expected=expected)
    with pytest.raises(Rejected, match="does not accept textile pages"):
        await replica.write(page("t", "new", Format.TEXTILE), expected=None)
    assert not written


async def test_window_is_the_time_from_the_read_to_the_answer(
    service: EmbeddedService, time: FakeTime
) -> None:
    def send_slowly(_request: Request) -> None:
        time.now += 2.5

    async with Client(
        service.url, service.token, clock=time.clock, before_write=send_slowly
    ) as client:
        replica = WikiReplica(Wiki(client, OWNER))
        await replica.write(page("home", "new"), expected=digest_of("hello"))
        assert replica.last_window_s == 2.5
        with pytest.raises(PreconditionFailed):
            await replica.write(page("home", "newer"), expected=digest_of("x"))
        assert replica.last_window_s == 0.0
        await replica.move(HOME, Slug("start"), expected=digest_of("new"))
        assert replica.last_window_s == 2.5
        await replica.write(page("home", "new"), expected=None)
        assert replica.last_window_s == 2.5
        await replica.delete(HOME, expected=digest_of("new"))
        assert replica.last_window_s == 2.5


# -- many at once ------------------------------------------------------------------


async def test_nobody_else_writes_between_a_read_and_its_answer(
    replica: WikiReplica, monkeypatch: pytest.MonkeyPatch
) -> None:
    wiki, turn = replica._wiki, replica.turn
    send, get_page = wiki.client.send, wiki.get_page
    alone: list[tuple[str, bool]] = []

    async def sent(request: Request) -> Any:
        alone.append((request.method, turn.locked()))
        return await send(request)

    async def got(slug: str) -> Any:
        found = await get_page(slug)
        alone.append(("read", turn.locked()))
        return found

    monkeypatch.setattr(wiki.client, "send", sent)
    monkeypatch.setattr(wiki, "get_page", got)
    await replica.write(page("first", "1"), expected=None)
    await replica.move(DIR_A, Slug("dir/c"), expected=digest_of("A"))
    await replica.write_attachment(AttachmentPath("uploads/a.txt"), chunks(b"a"))
    await replica.delete(Slug("first"), expected=digest_of("1"))
    assert alone == [
        ("POST", True),
        *(("read", True), ("PUT", True)),
        ("POST", True),
        # one page may be read ahead
        *(("read", False), ("DELETE", True)),
    ]
    assert not turn.locked()


@pytest.fixture
def steps(replica: WikiReplica, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is asked and answered; answers to writes come when all reads have come."""
    wiki, found = replica._wiki, []
    get_page, edit_page = wiki.get_page, wiki.edit_page
    next_read = {"home": asyncio.Event(), "dir/a": asyncio.Event()}
    reads = {"dir/a": next_read["home"], "dir/a/below": next_read["dir/a"]}

    async def got(slug: str) -> Any:
        found.append(f"read {slug}")
        record = await get_page(slug)
        if slug in reads:
            reads[slug].set()
        return record

    async def edited(slug: str, **changes: Any) -> Any:
        found.append(f"write {slug}")
        if slug in next_read:
            await next_read[slug].wait()
        for _ in range(5):  # another read would begin meanwhile
            await wiki.client.version()
        record = await edit_page(slug, **changes)
        found.append(f"answer {slug}")
        return record

    monkeypatch.setattr(wiki, "get_page", got)
    monkeypatch.setattr(wiki, "edit_page", edited)
    return found


def read_of(wiki: Wiki, page: str) -> asyncio.Event:
    """Set once a page was read."""
    get_page, was_read = wiki.get_page, asyncio.Event()

    async def got(slug: str, **asked: Any) -> Any:
        record = await get_page(slug, **asked)
        if slug == page:
            was_read.set()
        return record

    wiki.get_page = got  # type: ignore[method-assign]
    return was_read


async def test_next_page_and_no_other_is_read_while_one_is_written(
    replica: WikiReplica, steps: list[str]
) -> None:
    await together(
        replica.write(page("home", "1"), expected=digest_of("hello")),
        replica.write(page("dir/a", "2"), expected=digest_of("A")),
        replica.write(page("dir/a/below", "3"), expected=digest_of("B")),
    )

    assert steps == [
        *("read home", "write home", "read dir/a", "answer home"),
        *("write dir/a", "read dir/a/below", "answer dir/a"),
        *("write dir/a/below", "answer dir/a/below"),
    ]


async def test_edit_of_somebody_else_after_the_read_ahead_is_seen_where_it_waited(
    service: EmbeddedService, time: FakeTime
) -> None:
    """The write before took long, as one that waits for a limit does."""
    writes: list[str] = []

    async with Client(service.url, service.token, clock=time.clock) as client:
        wiki = Wiki(client, OWNER)
        replica = WikiReplica(wiki)
        edit_page, read_ahead = wiki.edit_page, read_of(wiki, "dir/a")

        async def edited(slug: str, **changes: Any) -> Any:
            writes.append(slug)
            await read_ahead.wait()
            await service.put_files(OWNER, {"dir/a.md": b"theirs"})
            time.now += 2.5
            return await edit_page(slug, **changes)

        wiki.edit_page = edited  # type: ignore[method-assign]
        with pytest.raises(PreconditionFailed):
            await alone(
                replica.write(page("home", "1"), expected=digest_of("hello")),
                replica.write(page("dir/a", "2"), expected=digest_of("A")),
            )

    assert writes == ["home"]


async def test_window_of_a_page_that_was_read_ahead_begins_at_its_read(
    service: EmbeddedService, time: FakeTime
) -> None:
    windows: list[float] = []

    async with Client(service.url, service.token, clock=time.clock) as client:
        wiki = Wiki(client, OWNER)
        replica = WikiReplica(wiki)
        edit_page, read_ahead = wiki.edit_page, read_of(wiki, "dir/a")

        async def edited(slug: str, **changes: Any) -> Any:
            await read_ahead.wait()
            time.now += 1.5
            return await edit_page(slug, **changes)

        async def write(slug: str, before: str) -> None:
            await replica.write(page(slug, "1"), expected=digest_of(before))
            windows.append(replica.last_window_s)

        wiki.edit_page = edited  # type: ignore[method-assign]
        await together(write("home", "hello"), write("dir/a", "A"))

    assert windows == [1.5, 3.0]


async def alone(*work: Coroutine[None, None, object]) -> None:
    """Raise the one error that comes of it."""
    try:
        await together(*work)
    except BaseExceptionGroup as group:
        (error,) = group.exceptions
        raise error from None


async def test_name_that_the_last_scan_saw_free_is_not_asked_for(
    replica: WikiReplica, written: list[Request], monkeypatch: pytest.MonkeyPatch
) -> None:
    wiki = replica._wiki
    get_page = wiki.get_page
    asked: list[str] = []

    async def got(slug: str) -> Any:
        asked.append(slug)
        return await get_page(slug)

    monkeypatch.setattr(wiki, "get_page", got)
    await replica.write(page("before", "1"), expected=None)
    await replica.snapshot()
    await replica.write(page("after", "2"), expected=None)
    await replica.snapshot()
    for taken in ("home", "HOME", "after"):
        with pytest.raises((PreconditionFailed, Rejected)):
            await replica.write(page(taken, "3"), expected=None)
    assert asked == ["before", "home", "HOME", "after"]
    assert [sent(request)["title"] for request in written] == ["before", "after"]


@pytest.mark.parametrize(
    ("name", "kind"), [("late", PreconditionFailed), ("LATE", Rejected)]
)
async def test_page_that_came_after_the_last_scan_is_not_written_over(
    service: EmbeddedService, replica: WikiReplica, name: str, kind: type[Exception]
) -> None:
    await replica.snapshot()
    await service.put_files(OWNER, {"late.md": b"theirs"})
    with pytest.raises(kind, match="late"):
        await replica.write(page(name, "ours"), expected=None)
    assert (await replica.read(Slug("late"))).content == "theirs"
    assert set((await replica.snapshot()).pages) == {
        *("home", "dir/a", "dir/a/below", "late")
    }


async def test_next_page_is_scanned_for_while_one_is_written(
    replica: WikiReplica, monkeypatch: pytest.MonkeyPatch
) -> None:
    wiki = replica._wiki
    get_page, create_page = wiki.get_page, wiki.create_page
    is_scanned_for = asyncio.Event()

    async def get(slug: str) -> Any:
        try:
            return await get_page(slug)
        finally:
            if slug == "second":
                is_scanned_for.set()

    async def create(slug: str, *rest: Any) -> Any:
        async with asyncio.timeout(60):
            await is_scanned_for.wait()
        return await create_page(slug, *rest)

    monkeypatch.setattr(wiki, "get_page", get)
    monkeypatch.setattr(wiki, "create_page", create)
    await together(
        replica.write(page("first", "1"), expected=None),
        replica.write(page("second", "2"), expected=None),
    )
    assert {"first", "second"} <= await slugs(replica)


async def test_names_that_are_the_same_to_the_service_meet_on_the_way(
    replica: WikiReplica,
) -> None:
    with pytest.raises(ExceptionGroup) as caught:
        await together(
            replica.write(page("notes", "1"), expected=None),
            replica.write(page("Notes", "2"), expected=None),
        )
    (error,) = caught.value.exceptions
    assert isinstance(error, Rejected)
    assert "next to its page notes" in error.message
    assert (await replica.read(Slug("notes"))).content == "1"


# -- names -------------------------------------------------------------------------


async def test_rename_into_the_root_says_that_it_means_the_root(
    replica: WikiReplica, written: list[Request]
) -> None:
    """A title without a slash keeps the folder."""
    moved = await replica.move(DIR_A, Slug("a"), expected=digest_of("A"))
    assert sent(written[0])["title"] == "/a"
    assert moved.slug == "a"
    assert await slugs(replica) == {"home", "a", "a/below"}


async def test_page_moves_alone_where_a_rename_takes_none_along(
    service: EmbeddedService, replica: WikiReplica
) -> None:
    service.quirks = {Quirk.KEEPS_BELOW}
    await replica.move(DIR_A, Slug("x/a"), expected=digest_of("A"))
    assert await slugs(replica) == {"home", "x/a", "dir/a/below"}


async def test_name_may_change_in_case_alone(
    replica: WikiReplica, written: list[Request]
) -> None:
    """The service takes the page for its own namesake and refuses at once."""
    moved = await replica.move(HOME, Slug("Home"), expected=digest_of("hello"))
    assert moved == Page(Slug("Home"), Format.MARKDOWN, "hello", "Home")
    assert await slugs(replica) == {"Home", "dir/a", "dir/a/below"}
    assert len(written) == 2


async def test_name_changes_in_case_at_once_where_case_counts(
    service: EmbeddedService, replica: WikiReplica, written: list[Request]
) -> None:
    service.quirks = {Quirk.EXACT_CASE}
    moved = await replica.move(HOME, Slug("Home"), expected=digest_of("hello"))
    assert moved.slug == "Home"
    assert len(written) == 1


@pytest.mark.parametrize("quirks", [set(), {Quirk.NULL_RENAME}])
async def test_name_of_another_page_is_taken(
    service: EmbeddedService, replica: WikiReplica, quirks: set[Quirk]
) -> None:
    service.quirks = quirks
    with pytest.raises(PreconditionFailed, match="page home of"):
        await replica.move(DIR_A, HOME, expected=digest_of("A"))
    assert (await replica.read(HOME)).content == "hello"


@pytest.mark.parametrize("name", ["HOME", "Dir/A"])
async def test_name_that_is_the_same_to_the_service_is_refused_for_good(
    replica: WikiReplica, name: str
) -> None:
    """No look will ever show that page, so deciding anew is no use."""
    with pytest.raises(Rejected, match=f"cannot store page {name} "):
        await replica.write(page(name, "x"), expected=None)


async def test_page_cannot_get_a_name_that_is_the_same_to_the_service(
    replica: WikiReplica, written: list[Request]
) -> None:
    """Or it would be renamed twice, there and back, in each cycle."""
    await replica.write(page("my-page", "x"), expected=None)
    digest = digest_of("x")
    moved = await replica.move(Slug("my-page"), Slug("my page"), expected=digest)
    assert moved.slug == "my-page"
    assert len(written) == 1


async def test_name_with_a_space_may_change_in_case_alone(replica: WikiReplica) -> None:
    await replica.write(page("my-page", "x"), expected=None)
    digest = digest_of("x")
    moved = await replica.move(Slug("my-page"), Slug("My page"), expected=digest)
    assert moved.slug == "My-page"
    assert await slugs(replica) == {"home", "dir/a", "dir/a/below", "My-page"}


async def test_page_of_another_case_is_created_where_case_counts(
    service: EmbeddedService, replica: WikiReplica
) -> None:
    service.quirks = {Quirk.EXACT_CASE}
    assert (await replica.write(page("HOME", "x"), expected=None)).slug == "HOME"


async def test_service_that_names_a_new_page_otherwise_is_believed(
    replica: WikiReplica,
) -> None:
    created = await replica.write(page("My  Page", "x"), expected=None)
    assert created.slug == "My-Page"


async def test_name_that_the_service_does_not_take_is_refused_with_its_words(
    service: EmbeddedService, replica: WikiReplica
) -> None:
    service.quirks = {Quirk.RESERVED_TITLES}
    with pytest.raises(Rejected, match="reserved name"):
        await replica.write(page("templates", "x"), expected=None)
    with pytest.raises(Rejected, match="reserved name"):
        await replica.move(HOME, Slug("new"), expected=digest_of("hello"))
