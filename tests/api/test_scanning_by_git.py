"""Scans that ask git what changed, against the embedded service."""

import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from tests.api.faketime import FakeTime
from tests.support.git import clone, commit_and_push, needs_git, run_git
from tests.support.quirks import Quirk
from tests.support.service import EmbeddedService, embedded_service
from wikisync.api import git, scanning, trees
from wikisync.api.client import Client
from wikisync.api.exchange import Answer, Request
from wikisync.api.known import Mark, TreeCache
from wikisync.api.replica import WikiReplica
from wikisync.api.scanning import LISTED_S
from wikisync.api.trees import PageChanges, objects_in
from wikisync.api.wikis import Wiki
from wikisync.core.model import Format, Page, PageState, Slug, WikiOwner, digest_of
from wikisync.errors import AuthenticationFailed, Unavailable

pytestmark = needs_git

OWNER = WikiOwner("project", "docs/handbook")
TEXTS = {f"d{number % 7}/page-{number:02}": f"text {number}\n" for number in range(40)}
PAGES = TEXTS | {"home": "home\n" + 60_000 * "x"}
ONE = Slug("d0/page-00")


class Asked:
    """What a client asks, by method and the end of the path, and what comes."""

    def __init__(self, client: Client, patched: pytest.MonkeyPatch) -> None:
        self.requests: list[str] = []
        self.bytes = 0
        self.exchange = client._pool.exchange
        patched.setattr(client._pool, "exchange", self._exchange)

    async def _exchange(self, request: Request) -> Answer:
        name = request.path.partition("/wikis/")[2] or request.path.rpartition("/")[2]
        self.requests.append(f"{request.method} {name}")
        answer = await self.exchange(request)
        self.bytes += len(answer.body)
        return answer

    def take(self) -> list[str]:
        asked, self.requests, self.bytes = self.requests, [], 0
        return asked


LIST = ["GET refs", "GET wikis"]
BY_GIT = ["GET refs", "POST git-upload-pack"]
WHOLE = [*LIST, "POST git-upload-pack", "GET refs"]
"""A list, and what the next scan by git begins with."""


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[EmbeddedService]:
    async with embedded_service(tmp_path / "service") as running:
        await running.add_project(OWNER.full_path, PAGES)
        await running.put_file(OWNER, "uploads/a/p.bin", bytes(range(256)) * 4096)
        yield running


@pytest.fixture
async def wiki(service: EmbeddedService, time: FakeTime) -> AsyncIterator[Wiki]:
    async with Client(
        service.url, service.token, clock=time.clock, sleep=time.sleep
    ) as client:
        yield Wiki(client, OWNER)


@pytest.fixture
def asked(wiki: Wiki, monkeypatch: pytest.MonkeyPatch) -> Asked:
    return Asked(wiki.client, monkeypatch)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "wiki.trees"


@pytest.fixture
async def replica(wiki: Wiki, asked: Asked, file: Path) -> WikiReplica:
    """A replica that has scanned the wiki once."""
    scanned = WikiReplica(wiki, trees=TreeCache(file))
    await scanned.snapshot()
    assert asked.take() == WHOLE
    return scanned


@pytest.fixture
async def cloned(service: EmbeddedService, tmp_path: Path) -> Path:
    return await clone(service.git_url(OWNER), tmp_path / "cloned")


def digests(pages: Mapping[str, str]) -> dict[str, str]:
    return {slug: digest_of(text) for slug, text in pages.items()}


async def seen(replica: WikiReplica) -> dict[str, str]:
    snapshot = await replica.snapshot()
    assert snapshot.is_complete
    assert not snapshot.problems
    return {slug: state.digest for slug, state in snapshot.pages.items()}


def again(replica: WikiReplica, wiki: Wiki, file: Path, tag: str) -> WikiReplica:
    """The replica of the next process."""
    pages = replica._known.scanned.pages
    return WikiReplica(wiki, tag=tag, pages=pages, trees=TreeCache(file))


# -- what changed ------------------------------------------------------------------


async def test_web_edit_costs_its_page_and_little_more(
    service: EmbeddedService, replica: WikiReplica, asked: Asked
) -> None:
    await service.put_file(OWNER, f"{ONE}.md", b"edited\n")
    snapshot = await replica.snapshot()
    assert asked.bytes < 2000
    assert asked.take() == [*BY_GIT, "GET d0%2Fpage-00"]
    assert snapshot.pages[ONE].digest == digest_of("edited\n")
    assert set(snapshot.texts) == {ONE}
    assert len(snapshot.pages) == len(PAGES)


async def test_one_commit_after_the_other_needs_no_request_to_be_followed(
    service: EmbeddedService, replica: WikiReplica, asked: Asked
) -> None:
    """Whether a wiki went back in time is asked after most web edits."""
    heads = [await replica.head()]
    for number in range(3):
        await service.put_file(OWNER, f"{ONE}.md", f"{number}\n".encode())
        await replica.snapshot()
        heads.append(await replica.head())
    asked.take()
    assert await replica.follows(heads[-1], heads[0]) is True
    assert not asked.take()


async def test_nothing_new_costs_one_request(
    replica: WikiReplica, asked: Asked
) -> None:
    assert await seen(replica) == digests(PAGES)
    assert asked.take() == ["GET refs"]


async def test_new_renamed_and_removed_pages_are_seen(
    replica: WikiReplica, asked: Asked, cloned: Path
) -> None:
    (cloned / "new" / "deep").mkdir(parents=True)
    (cloned / "new/deep/page.org").write_text("* new\n")
    (cloned / "d1").rename(cloned / "moved")
    (cloned / "d0/page-00.md").unlink()
    (cloned / "home.md").rename(cloned / "home.rst")
    (cloned / "picture.png").write_bytes(b"png")
    assert (await commit_and_push(cloned)).code == 0
    scanning_cost = 9
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(replica, "_request_cost_bytes", 1)
        snapshot = await replica.snapshot()
    assert len(asked.take()) == len(BY_GIT) + scanning_cost - 1
    moved = {f"moved{slug[2:]}": t for slug, t in PAGES.items() if slug[:2] == "d1"}
    expected = {s: t for s, t in PAGES.items() if s[:2] != "d1" and s != ONE}
    expected |= moved | {"new/deep/page": "* new\n"}
    assert {s: p.digest for s, p in snapshot.pages.items()} == digests(expected)
    assert snapshot.pages[Slug("home")].format is Format.REST
    assert snapshot.pages[Slug("new/deep/page")].format is Format.ORG


async def test_our_own_writes_alone_cost_no_page(
    replica: WikiReplica, asked: Asked
) -> None:
    expected = digest_of(PAGES[ONE])
    await replica.write(Page(ONE, Format.MARKDOWN, "ours\n"), expected=expected)
    await replica.write(Page(Slug("new"), Format.MARKDOWN, "new\n"), expected=None)
    await replica.delete(Slug("home"), expected=digest_of(PAGES["home"]))
    asked.take()
    pages = PAGES | {ONE: "ours\n", "new": "new\n"}
    del pages["home"]
    assert await seen(replica) == digests(pages)
    assert asked.take() == BY_GIT


async def test_edit_on_top_of_our_own_write_is_read(
    service: EmbeddedService, replica: WikiReplica
) -> None:
    expected = digest_of(PAGES[ONE])
    await replica.write(Page(ONE, Format.MARKDOWN, "ours\n"), expected=expected)
    await service.put_file(OWNER, f"{ONE}.md", b"theirs\n")
    assert await seen(replica) == digests(PAGES | {ONE: "theirs\n"})


async def test_our_own_write_that_git_does_not_know_of_is_read(
    replica: WikiReplica, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HEAD may be behind: then what was there before is no edit of anybody."""
    head = await replica.head()
    expected = digest_of(PAGES[ONE])
    await replica.write(Page(ONE, Format.MARKDOWN, "ours\n"), expected=expected)
    asked.take()

    async def behind() -> str:
        return head

    monkeypatch.setattr(replica.history, "head", behind)
    assert await seen(replica) == digests(PAGES | {ONE: "ours\n"})
    assert asked.take() == ["GET d0%2Fpage-00"]


async def test_page_that_a_webhook_named_is_read_though_head_is_the_same(
    replica: WikiReplica, asked: Asked
) -> None:
    replica.awaited = [ONE]
    assert await seen(replica) == digests(PAGES)
    assert asked.take() == ["GET refs", "GET d0%2Fpage-00"]


async def test_page_that_the_service_gives_as_before_is_read_again(
    service: EmbeddedService,
    wiki: Wiki,
    replica: WikiReplica,
    asked: Asked,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What answers may be behind git for a moment."""
    before = await wiki.get_page(ONE)
    await service.put_file(OWNER, f"{ONE}.md", b"edited\n")
    with monkeypatch.context() as patched:

        async def late(slug: str) -> object:
            return before if slug == ONE else None

        patched.setattr(wiki, "get_page", late)
        assert await seen(replica) == digests(PAGES)
    assert await seen(replica) == digests(PAGES | {ONE: "edited\n"})
    assert await seen(replica) == digests(PAGES | {ONE: "edited\n"})
    asked.take()
    await replica.snapshot()
    assert asked.take() == ["GET refs"]


async def test_service_that_gives_a_page_otherwise_than_git_is_taken_at_its_word(
    service: EmbeddedService, replica: WikiReplica, asked: Asked
) -> None:
    """An edit of front matter is none where the service strips it (Q8)."""
    service.quirks = {Quirk.STRIPS_FRONT_MATTER}
    await service.put_file(OWNER, f"{ONE}.md", b"---\na: 1\n---\ntext 0\n")
    for _ in range(scanning.LATE_READS_MAX + 1):
        assert await seen(replica) == digests(PAGES)
    asked.take()
    assert await seen(replica) == digests(PAGES)
    assert asked.take() == ["GET refs"]


async def test_page_that_was_read_newer_than_head_is_read_again(
    service: EmbeddedService,
    wiki: Wiki,
    replica: WikiReplica,
    cloned: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The wiki may return to HEAD by force, and then git says that nothing changed."""
    await service.put_file(OWNER, f"{ONE}.md", b"one\n")
    await run_git("pull", "-q", folder=cloned)
    get_page = wiki.get_page

    async def edited_before(slug: str) -> object:
        await service.put_file(OWNER, f"{slug}.md", b"two\n")
        return await get_page(slug)

    with monkeypatch.context() as patched:
        patched.setattr(wiki, "get_page", edited_before)
        assert await seen(replica) == digests(PAGES | {ONE: "two\n"})
    await run_git("push", "-q", "--force", folder=cloned)
    assert await seen(replica) == digests(PAGES | {ONE: "one\n"})


async def test_page_that_was_listed_newer_than_head_is_read_again(
    service: EmbeddedService, wiki: Wiki, cloned: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    poll_pages = wiki.poll_pages

    async def edited_before(*args: object, **options: object) -> object:
        await service.put_file(OWNER, f"{ONE}.md", b"two\n")
        listed = await poll_pages(*args, **options)  # type: ignore[arg-type]
        await service.remove_file(OWNER, "d1/page-01.md")
        return listed

    replica = WikiReplica(wiki, trees=TreeCache())
    with monkeypatch.context() as patched:
        patched.setattr(wiki, "poll_pages", edited_before)
        assert await seen(replica) == digests(PAGES | {ONE: "two\n"})
    pages = PAGES | {ONE: "two\n"}
    del pages["d1/page-01"]
    assert await seen(replica) == digests(pages)
    await run_git("push", "-q", "--force", folder=cloned)
    assert await seen(replica) == digests(PAGES)


async def test_page_that_is_read_otherwise_than_it_was_scanned_is_read_again(
    service: EmbeddedService, replica: WikiReplica, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However that came about."""
    head = await replica.head()
    await service.put_file(OWNER, f"{ONE}.md", b"edited\n")

    async def behind() -> str:
        return head

    monkeypatch.setattr(replica.history, "head", behind)
    assert await seen(replica) == digests(PAGES)
    await replica.read(ONE)
    assert await seen(replica) == digests(PAGES | {ONE: "edited\n"})


async def test_changed_page_that_cannot_be_read_is_unreadable_and_read_again(
    service: EmbeddedService,
    wiki: Wiki,
    replica: WikiReplica,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nor is it as it was before: that would take back what changed."""
    await service.put_file(OWNER, f"{ONE}.md", b"edited\n")
    with monkeypatch.context() as patched:

        async def failing(slug: str) -> object:
            raise Unavailable(f"{slug}: 500")

        patched.setattr(wiki, "get_page", failing)
        snapshot = await replica.snapshot()
    assert snapshot.unreadable == {ONE}
    assert ONE not in snapshot.pages
    assert [problem.code for problem in snapshot.problems] == ["page-unreadable"]
    assert not snapshot.tag
    assert await seen(replica) == digests(PAGES | {ONE: "edited\n"})


# -- what only the list explains ---------------------------------------------------


async def test_many_changed_pages_are_listed(
    service: EmbeddedService, replica: WikiReplica, asked: Asked
) -> None:
    names = list(TEXTS)[:5]
    await service.put_files(OWNER, {f"{slug}.md": b"new\n" for slug in names})
    assert await seen(replica) == digests(PAGES | dict.fromkeys(names, "new\n"))
    assert asked.take() == [*BY_GIT, "GET wikis", "GET refs"]


@pytest.mark.parametrize("path", ["home.org", "Home.md", "d0/PAGE-00.md"])
async def test_second_page_of_one_name_is_left_to_the_list(
    service: EmbeddedService, replica: WikiReplica, asked: Asked, path: str
) -> None:
    await service.put_file(OWNER, path, b"twin\n")
    await replica.snapshot()
    assert asked.take() == [*BY_GIT, "GET wikis", "GET refs"]


async def test_page_that_git_has_and_the_service_has_not_is_left_to_the_list(
    service: EmbeddedService, replica: WikiReplica, asked: Asked
) -> None:
    """And what follows is listed once more, for one of the two was behind."""
    await service.put_file(OWNER, f"{ONE}.md", b"edited\n")
    service.quirks = {Quirk.EXACT_CASE, Quirk.FAILS_READS}
    service.quirks = ()
    pages = PAGES | {ONE: "edited\n"}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(scanning, "page_changes", _names_a_page_too_many)
        assert await seen(replica) == digests(pages)
    assert asked.take()[-1] == "GET wikis"
    assert await seen(replica) == digests(pages)
    assert asked.take()[:2] == LIST
    assert await seen(replica) == digests(pages)
    assert asked.take() == ["GET refs"]


def _names_a_page_too_many(*_: object) -> PageChanges:
    return PageChanges({Slug("no-such-page"): b"id"})


async def test_pages_are_listed_after_six_hours_whatever_git_says(
    replica: WikiReplica, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = replica._known
    listed_at = known.mark.listed_at
    monkeypatch.setattr(time, "time", lambda: listed_at + LISTED_S - 10)
    await replica.snapshot()
    assert asked.take() == ["GET refs"]
    monkeypatch.setattr(time, "time", lambda: listed_at + LISTED_S + 10)
    assert await seen(replica) == digests(PAGES)
    assert asked.take()[:2] == LIST
    await replica.snapshot()
    assert asked.take() == ["GET refs"]


# -- from one process to the next --------------------------------------------------


async def test_next_process_goes_on_where_this_one_was(
    service: EmbeddedService, wiki: Wiki, replica: WikiReplica, asked: Asked, file: Path
) -> None:
    tag = (await replica.snapshot()).tag
    await service.put_file(OWNER, f"{ONE}.md", b"edited\n")
    asked.take()
    second = again(replica, wiki, file, tag)
    assert await seen(second) == digests(PAGES | {ONE: "edited\n"})
    assert asked.take() == [*BY_GIT, "GET d0%2Fpage-00"]
    tag = (await second.snapshot()).tag
    asked.take()
    third = again(second, wiki, file, tag)
    assert await seen(third) == digests(PAGES | {ONE: "edited\n"})
    assert asked.take() == ["GET refs"]


async def test_page_that_the_base_has_otherwise_is_read_again(
    wiki: Wiki, replica: WikiReplica, asked: Asked, file: Path
) -> None:
    snapshot = await replica.snapshot()
    mine = PageState(ONE, Format.MARKDOWN, digest_of("mine\n"))
    gone = PageState(Slug("gone"), Format.MARKDOWN, digest_of("gone\n"))
    pages = {**snapshot.pages, ONE: mine, gone.slug: gone}
    asked.take()
    second = WikiReplica(
        wiki,
        tag=snapshot.tag,
        pages=pages,
        again=[ONE, gone.slug],
        trees=TreeCache(file),
        request_cost_bytes=1,
    )
    assert await seen(second) == digests(PAGES)
    assert sorted(asked.take()) == ["GET d0%2Fpage-00", "GET gone", "GET refs"]


@pytest.mark.parametrize("content", [None, b"", b"\0\0\0\5damaged", b"\0\0\1\0short"])
async def test_trees_that_are_lost_cost_a_list(
    service: EmbeddedService,
    wiki: Wiki,
    replica: WikiReplica,
    asked: Asked,
    file: Path,
    content: bytes | None,
) -> None:
    tag = (await replica.snapshot()).tag
    await service.put_file(OWNER, f"{ONE}.md", b"edited\n")
    file.unlink()
    if content is not None:
        file.write_bytes(content)
    asked.take()
    second = again(replica, wiki, file, tag)
    assert await seen(second) == digests(PAGES | {ONE: "edited\n"})
    assert asked.take() == WHOLE
    assert TreeCache(file).load(await second.head())


async def test_small_wiki_is_listed_and_git_is_not_asked(
    service: EmbeddedService, wiki: Wiki, asked: Asked
) -> None:
    await service.put_file(OWNER, "home.md", b"small\n")
    small = WikiReplica(wiki, trees=TreeCache())
    first = await small.snapshot()
    assert asked.take() == LIST
    assert Mark.parse(first.tag).head == ""
    assert await seen(small) == digests(PAGES | {"home": "small\n"})
    assert asked.take() == ["GET wikis"]


# -- lists that the service does not give with texts ----------------------------------


async def test_any_number_of_pages_is_read_where_the_list_is_too_large(
    service: EmbeddedService, wiki: Wiki, asked: Asked
) -> None:
    mark = str(Mark(is_too_large=True))
    large = WikiReplica(wiki, tag=mark, pages={}, trees=TreeCache())
    await large.snapshot()
    asked.take()
    names = list(TEXTS)[:5]
    await service.put_files(OWNER, {f"{slug}.md": b"new\n" for slug in names})
    assert await seen(large) == digests(PAGES | dict.fromkeys(names, "new\n"))
    assert len(asked.take()) == len(BY_GIT) + len(names)


# -- git that goes back, refuses, or cannot ----------------------------------------


async def test_wiki_that_went_back_is_seen_as_it_is(
    service: EmbeddedService, replica: WikiReplica, asked: Asked, cloned: Path
) -> None:
    await service.put_file(OWNER, f"{ONE}.md", b"edited\n")
    await replica.snapshot()
    await run_git("push", "-q", "--force", folder=cloned)
    asked.take()
    assert await seen(replica) == digests(PAGES)
    assert asked.take()[:2] == BY_GIT


async def test_restored_wiki_without_the_commit_is_seen_as_it_is(
    service: EmbeddedService, replica: WikiReplica, cloned: Path
) -> None:
    """The service does not know what the last scan saw any more."""
    await service.put_file(OWNER, f"{ONE}.md", b"edited\n")
    await replica.snapshot()
    await run_git("push", "-q", "--force", folder=cloned)
    repository = (await service.wiki(OWNER)).repository.path
    await run_git("reflog", "expire", "--expire=now", "--all", folder=repository)
    pruned = await run_git("gc", "-q", "--prune=now", folder=repository)
    assert pruned.code == 0, pruned.err
    assert await seen(replica) == digests(PAGES)


async def test_without_git_the_pages_are_listed(
    service: EmbeddedService, replica: WikiReplica, asked: Asked
) -> None:
    service.quirks = {Quirk.NO_GIT}
    await service.put_file(OWNER, f"{ONE}.md", b"edited\n")
    assert await seen(replica) == digests(PAGES | {ONE: "edited\n"})
    assert asked.take() == LIST
    assert await seen(replica) == digests(PAGES | {ONE: "edited\n"})
    assert asked.take() == ["GET wikis"], "git is not asked again at once"


async def test_fetch_that_is_refused_half_way_is_followed_by_the_list(
    service: EmbeddedService, replica: WikiReplica, asked: Asked
) -> None:
    await service.put_file(OWNER, f"{ONE}.md", b"edited\n")
    send = asked.exchange

    async def refusing(request: Request) -> Answer:
        if request.packets is not None:
            raise AuthenticationFailed("no right")
        return await send(request)

    asked.exchange = refusing
    assert await seen(replica) == digests(PAGES | {ONE: "edited\n"})
    asked.exchange = send
    await service.put_file(OWNER, f"{ONE}.md", b"once more\n")
    assert await seen(replica) == digests(PAGES | {ONE: "once more\n"})


@pytest.mark.parametrize("size", [0, 40, 200, -1])
async def test_answer_that_is_cut_is_followed_by_the_list(
    service: EmbeddedService, replica: WikiReplica, asked: Asked, size: int
) -> None:
    await service.put_file(OWNER, f"{ONE}.md", b"edited\n")
    send = asked.exchange

    async def cutting(request: Request) -> Answer:
        answer = await send(request)
        if request.packets is None:
            return answer
        return Answer(answer.status, answer.headers, answer.body[:size], answer.url)

    asked.exchange = cutting
    assert await seen(replica) == digests(PAGES | {ONE: "edited\n"})
    asked.exchange = send
    assert await seen(replica) == digests(PAGES | {ONE: "edited\n"})


async def test_answer_that_is_too_large_is_followed_by_the_list(
    service: EmbeddedService, replica: WikiReplica, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git, "HISTORY_BYTES_MAX", 100)
    await service.put_file(OWNER, f"{ONE}.md", b"edited\n")
    assert await seen(replica) == digests(PAGES | {ONE: "edited\n"})


async def test_server_that_leaves_nothing_out_is_understood(
    service: EmbeddedService, wiki: Wiki, asked: Asked
) -> None:
    replica = WikiReplica(wiki, trees=TreeCache())
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(git, "_HEAD", git._HEAD.replace(b"(?P<can>", b"(?P<can>$^|"))
        await replica.snapshot()
        await service.put_file(OWNER, f"{ONE}.md", b"edited\n")
        asked.take()
        assert await seen(replica) == digests(PAGES | {ONE: "edited\n"})
    assert asked.take() == [*BY_GIT, "GET d0%2Fpage-00"]


async def test_more_files_than_a_wiki_has_are_not_known(
    replica: WikiReplica, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await replica.other_files(has_uploads=True)
    monkeypatch.setattr(trees, "ENTRIES_MAX", 1)
    assert await replica.other_files() is None


async def test_changes_that_build_on_trees_which_are_not_here_are_asked_for_whole(
    service: EmbeddedService, replica: WikiReplica, asked: Asked
) -> None:
    known = replica._trees
    await service.put_file(OWNER, f"{ONE}.md", b"edited\n")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(git, "objects_in", _without_held)
        assert await seen(replica) == digests(PAGES | {ONE: "edited\n"})
    assert asked.take() == [*BY_GIT, "POST git-upload-pack", "GET d0%2Fpage-00"]
    assert known.head == await replica.head()


def _without_held(answer: bytes, **options: object) -> object:
    options["held"] = None
    return objects_in(answer, **options)  # type: ignore[arg-type]
