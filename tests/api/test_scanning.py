"""Scans in sequence, and lists that the service does not give."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from tests.api.conftest import OWNER
from tests.api.faketime import FakeTime
from tests.api.wire import Wire, cut, http, json_answer
from tests.support.quirks import Quirk
from tests.support.service import EmbeddedService
from wikisync.api.client import Client
from wikisync.api.exchange import Answer, Request
from wikisync.api.known import Mark
from wikisync.api.replica import WikiReplica
from wikisync.api.settings import ClientSettings
from wikisync.api.wikis import Wiki
from wikisync.core.model import Format, Page, Slug, digest_of
from wikisync.errors import RemoteError

PAGES = {f"p{number:03}": f"text {number}" for number in range(64)}
FIRST, LAST = Slug("p000"), Slug("p063")


def digests(pages: dict[str, str]) -> dict[str, str]:
    return {slug: digest_of(text) for slug, text in pages.items()}


async def seen(replica: WikiReplica) -> dict[str, str]:
    snapshot = await replica.snapshot()
    assert snapshot.is_complete
    return {slug: state.digest for slug, state in snapshot.pages.items()}


# -- scans that follow each other --------------------------------------------------


async def test_second_scan_an_unchanged_wiki_brings_no_texts(real_wiki: Wiki) -> None:
    replica = WikiReplica(real_wiki)
    first = await replica.snapshot()
    second = await replica.snapshot()
    assert second.pages == first.pages
    assert not second.texts
    assert second.tag == first.tag


async def test_second_scan_sees_our_own_write(real_wiki: Wiki) -> None:
    replica = WikiReplica(real_wiki)
    await replica.snapshot()
    page = Page(FIRST, Format.MARKDOWN, "new")
    await replica.write(page, expected=digest_of("text 0"))
    assert await seen(replica) == digests(PAGES | {"p000": "new"})


async def test_service_without_marks_is_scanned_whole_each_time(
    service: EmbeddedService, real_wiki: Wiki
) -> None:
    service.quirks = {Quirk.NO_ETAG}
    replica = WikiReplica(real_wiki)
    assert not (await replica.snapshot()).tag
    assert len((await replica.snapshot()).texts) == len(PAGES)


async def test_page_keeps_its_identity_through_a_rename(
    service: EmbeddedService, real_wiki: Wiki
) -> None:
    service.quirks = {Quirk.META_ID}
    replica = WikiReplica(real_wiki)
    before = (await replica.snapshot()).pages
    await replica.move(FIRST, Slug("dir/other"), expected=digest_of("text 0"))
    after = (await replica.snapshot()).pages
    assert before[FIRST].identity
    assert after[Slug("dir/other")].identity == before[FIRST].identity
    assert len({state.identity for state in after.values()}) == len(PAGES)


async def test_service_without_identities_gives_none(real_wiki: Wiki) -> None:
    assert not (await WikiReplica(real_wiki).snapshot()).pages[FIRST].identity


# -- lists that cannot be trusted --------------------------------------------------


@pytest.fixture
def odd(wired_wiki: Wiki) -> WikiReplica:
    return WikiReplica(wired_wiki)


def record(slug: str, **more: object) -> dict[str, object]:
    return {"slug": slug, "format": "markdown", "content": "text", **more}


async def test_id_that_two_pages_have_vouches_for_neither(
    odd: WikiReplica, wire: Wire
) -> None:
    ids = {"a": 7, "b": 7, "c": 8}
    wire.will(json_answer([record(s, wiki_page_meta_id=ids[s]) for s in ids]))
    pages = (await odd.snapshot()).pages
    assert [pages[Slug(slug)].identity for slug in ids] == ["", "", "8"]


WEB_PAGE = http(200, b"<!doctype html><title>Sign in</title>", "text/html")
CUT = cut(json_answer([record("a"), record("b")]))


@pytest.mark.parametrize("answer", [WEB_PAGE, CUT, json_answer({}), json_answer(None)])
async def test_answer_that_is_no_list_is_an_error_and_no_empty_wiki(
    odd: WikiReplica, wire: Wire, answer: bytes
) -> None:
    wire.will(answer)
    wire.repeats = True
    with pytest.raises(RemoteError):
        await odd.snapshot()


# -- lists that the service does not give with texts ---------------------------------


async def test_page_that_cannot_be_read_by_itself_is_no_absence(
    wired_wiki: Wiki, wire: Wire
) -> None:
    mark = str(Mark(is_too_large=True))
    large = WikiReplica(wired_wiki, tag=mark, pages={})
    listed = [record("a", content=None), record("b", content=None)]
    failing = [http(500)] * ClientSettings().attempts_max
    wire.will(json_answer(listed), *failing, json_answer(record("b")))
    snapshot = await large.snapshot()
    assert snapshot.unreadable == {"a"}
    assert set(snapshot.pages) == {"b"}
    assert [problem.code for problem in snapshot.problems] == ["page-unreadable"]


async def test_wiki_whose_list_is_too_much_for_the_service_is_read_page_by_page(
    odd: WikiReplica, wire: Wire
) -> None:
    failing = [http(504)] * ClientSettings().attempts_max
    listed = json_answer([record("a", content=None)], ETag='"1"')
    wire.will(*failing, listed, json_answer(record("a")))
    # the mark of a list without content says nothing about texts
    assert not (await odd.snapshot()).tag
    wire.will(*failing, listed, json_answer(record("a", content="new")))
    again = await odd.snapshot()
    assert again.texts[Slug("a")].content == "new"


# -- lists larger than any answer may be -------------------------------------------


@dataclass
class Asked:
    """What a client asks, and what a person hears."""

    targets: list[str]
    notices: list[str]

    @property
    def lists_with_texts(self) -> int:
        return sum("with_content=true" in target for target in self.targets)


@pytest.fixture
def asked() -> Asked:
    return Asked([], [])


@pytest.fixture
async def limited(
    service: EmbeddedService,
    time: FakeTime,
    asked: Asked,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Wiki]:
    """The wiki, to a client that takes answers of less than its texts."""
    for slug in (FIRST, LAST):
        await service.put_file(OWNER, f"{slug}.md", 8_000 * b"x")
    settings = ClientSettings(answer_bytes_max=20_000)
    async with Client(
        service.url,
        service.token,
        settings=settings,
        clock=time.clock,
        sleep=time.sleep,
        notify=asked.notices.append,
    ) as client:
        exchange = client._pool.exchange

        async def noted(request: Request) -> Answer:
            asked.targets.append(f"{request.path}?{request.query}")
            return await exchange(request)

        monkeypatch.setattr(client._pool, "exchange", noted)
        yield Wiki(client, OWNER)


async def test_list_that_is_too_large_is_asked_for_once_by_all_processes(
    service: EmbeddedService, limited: Wiki, asked: Asked
) -> None:
    first = await WikiReplica(limited).snapshot()
    await service.put_file(OWNER, f"{LAST}.md", b"edited")
    next_process = WikiReplica(limited, tag=first.tag, pages=first.pages)

    assert (await seen(next_process))[LAST] == digest_of("edited")

    assert len(first.pages) == len(PAGES)
    assert asked.lists_with_texts == 1


async def test_list_that_is_too_large_for_a_time_is_asked_for_again(
    service: EmbeddedService, limited: Wiki, asked: Asked
) -> None:
    """As soon as its pages, which are read one by one, are few bytes together."""
    first = await WikiReplica(limited).snapshot()
    for slug in (FIRST, LAST):
        await service.put_file(OWNER, f"{slug}.md", b"short")
    small = await WikiReplica(limited, tag=first.tag, pages=first.pages).snapshot()
    asked.targets.clear()

    await WikiReplica(limited, tag=small.tag, pages=small.pages).snapshot()

    assert asked.lists_with_texts == 1
    assert len(asked.targets) == 1


async def test_person_hears_once_why_each_page_of_a_large_wiki_is_read(
    limited: Wiki, asked: Asked
) -> None:
    replica = WikiReplica(limited)
    await replica.snapshot()
    await replica.snapshot()

    (notice,) = asked.notices
    assert OWNER.full_path in notice
    assert f"{len(PAGES)} pages" in notice
    assert "read_repository" in notice
