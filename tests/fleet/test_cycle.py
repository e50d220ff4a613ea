"""Cycles that a test runs one by one; ``test_processes`` has real workers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import suppress
from pathlib import Path
from typing import Any

import obstore
import pytest
from msgspec.structs import replace

from tests.support.bucket_server import got
from tests.support.fleet import PATH, PICTURE, Died, Fleet, dies_at, passes
from wikisync.api.projects import Projects
from wikisync.core.model import WikiOwner
from wikisync.fleet.rows import LANDING, LostClaim
from wikisync.fleet.states import States
from wikisync.site.addresses import SEARCH_FOLDER
from wikisync.site.bucket import RECORD, Bucket, open_bucket
from wikisync.site.search import SearchDocument, read_documents, value_of
from wikisync.workspace.discovery import Selection, find_wikis

STEPS = ["look", "restore", "pull", "build", "check", "upload", "put", "state", "row"]
STEPS += ["tidy"]


async def objects(fleet: Fleet) -> set[str]:
    """What readers find in the public place of the wiki."""
    return {*await open_bucket(f"s3://site/{fleet.site()}").etags()} - {RECORD}


async def expect_death(work: Awaitable[None]) -> None:
    with suppress(Died):
        await work


async def test_wiki_is_published_and_kept_up_to_date(fleet: Fleet) -> None:
    await fleet.work()
    assert "Words of ONE" in (fleet.page() or "")
    picture = got(fleet.server, f"{fleet.site()}/{PICTURE}")
    assert picture
    assert picture[0] == b"a picture"
    await fleet.write("Words of TWO.")
    await fleet.work()
    assert "Words of TWO" in (fleet.page() or "")
    await fleet.audit()


async def test_cycle_with_nothing_to_do_writes_nothing(fleet: Fleet) -> None:
    worker = fleet.worker(folder="one")
    await fleet.work(worker)
    before = await fleet.rows.shown(), await open_bucket(fleet.settings.state).etags()
    await fleet.hint()
    await fleet.work(worker)
    after = await fleet.rows.shown(), await open_bucket(fleet.settings.state).etags()
    assert after == before
    assert await fleet.due() == []


async def test_only_what_had_activity_is_due(fleet: Fleet) -> None:
    await fleet.service.add_project("docs/other", {"home": "Words."})
    await fleet.follow()
    await fleet.discover()
    assert await fleet.due() == []
    await fleet.service.add_pages(WikiOwner("project", PATH), {"guide": "TWO"})
    await fleet.discover()
    assert len(await fleet.due()) == 1


async def test_activity_that_is_no_time_keeps_no_other_wiki_waiting(
    fleet: Fleet,
) -> None:
    await fleet.work()
    (known,) = (await find_wikis(fleet.client, Selection(projects=(PATH,)))).wikis
    await fleet.rows.put([replace(known, activity="never")])
    await fleet.work()
    await fleet.service.add_project("docs/new", {"home": "New."}, visibility="public")
    await fleet.follow()
    assert "New." in (fleet.page("index", "docs/new") or "")


@pytest.mark.parametrize("step", STEPS)
async def test_worker_that_dies_at_a_step_is_replaced(fleet: Fleet, step: str) -> None:
    await fleet.work(fleet.worker(folder="dead"))
    await fleet.write("Words of TWO.")
    after = 3 if step == "put" else 0
    with suppress(Died):
        await fleet.work(fleet.worker(dies_at(step, after), folder="dead"))
        pytest.fail(f"the worker never came to {step}")
    # what it had not done, another does, which knows nothing, or the same one
    await fleet.write("Words of THREE.")
    await fleet.work(fleet.worker(folder="dead" if step == "row" else ""))
    assert "Words of THREE" in (fleet.page() or "")
    await fleet.audit()
    assert await fleet.due() == []


@pytest.mark.parametrize("step", ["pull", "check", "upload", "put 1", "put 4", "row"])
async def test_worker_that_froze_at_a_step_puts_no_old_byte_over_a_newer_one(
    fleet: Fleet, step: str
) -> None:
    await fleet.work()
    name, _, after = step.partition(" ")
    left, frozen, thaw = [int(after or 0)], asyncio.Event(), asyncio.Event()

    async def freezes(now: str) -> None:
        if now == name:
            left[0] -= 1
            if left[0] < 0:
                frozen.set()
                await thaw.wait()

    await fleet.write("Words of TWO.")
    async with asyncio.TaskGroup() as group:
        old = group.create_task(fleet.work(fleet.worker(freezes)))
        async with asyncio.timeout(60):
            await frozen.wait()
        await fleet.write("Words of THREE.")
        await fleet.work()
        assert "Words of THREE" in (fleet.page() or "")
        thaw.set()
        await old
    assert "Words of THREE" in (fleet.page() or "")
    await fleet.audit()
    assert await fleet.due() == []
    assert await fleet.problem() == ""


async def test_worker_that_was_silent_ends_before_it_writes(fleet: Fleet) -> None:
    await fleet.work()
    await fleet.write("Words of TWO.")

    async def silent() -> None:
        raise LostClaim

    await fleet.work(replace(fleet.worker(), check=silent))
    assert "Words of ONE" in (fleet.page() or "")
    assert (await fleet.rows.counts()).due


async def test_title_and_problem_with_a_nul_keep_no_other_wiki_waiting(
    fleet: Fleet,
) -> None:
    found = (await find_wikis(fleet.client, Selection(projects=(PATH,)))).wikis
    await fleet.rows.put([replace(found[0], title="a\0\0b \\u0000")])

    async def fails(step: str) -> None:
        if step == "build":
            raise RuntimeError("a\0b")

    await fleet.work(fleet.worker(fails))
    assert await fleet.problem() == "RuntimeError: ab"
    (title,) = await fleet.rows._do(
        "SELECT wiki->>'title' AS title FROM fleet_wiki WHERE path = %s", (PATH,)
    )
    assert title == {"title": "ab \\u0000"}


async def test_bucket_that_refuses_is_a_failure_that_is_tried_again(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as context:
        context.setenv("AWS_SECRET_ACCESS_KEY", "another")
        await fleet.work()
    assert "cannot read" in await fleet.problem()
    assert "check AWS_ENDPOINT_URL" in await fleet.problem()
    assert await fleet.due() == []
    await fleet.rows.retry([PATH])
    await fleet.work()
    assert "Words of ONE" in (fleet.page() or "")
    assert await fleet.problem() == ""


async def test_place_that_another_program_writes_to_is_named(fleet: Fleet) -> None:
    await fleet.work()
    await fleet.write("Words of TWO.")
    bucket, refused = open_bucket(f"s3://site/{fleet.site()}"), []

    async def disturbed(step: str) -> None:
        if step == "refused":
            refused.append(step)
        if step == "upload":
            content, etag = await bucket.read(RECORD) or (b"", "")
            await bucket.put(RECORD, content + b" ", etag)

    await fleet.work(fleet.worker(disturbed))
    assert len(refused) == 3
    said = f"{bucket.url}/{RECORD} was changed by another program"
    assert said in await fleet.problem()
    await fleet.hint()
    await fleet.work()
    assert "Words of TWO" in (fleet.page() or "")
    assert await fleet.problem() == ""


async def test_emptied_wiki_halts_until_a_person_approves(fleet: Fleet) -> None:
    owner = WikiOwner("project", PATH)
    names = [f"page{number}" for number in range(30)]
    await fleet.service.add_pages(owner, dict.fromkeys(names, "Words."))
    await fleet.work()
    for name in names:
        await fleet.service.remove_file(owner, f"{name}.md")
    await fleet.hint()
    await fleet.work()
    assert "are missing from the wiki" in await fleet.problem()
    assert fleet.page("page1")
    await fleet.discover()
    assert "project-1" not in await fleet.due()
    await fleet.rows.approve([PATH])
    await fleet.work()
    assert fleet.page("page1") is None
    assert fleet.page()
    await fleet.audit()


@pytest.mark.parametrize("is_killed", [False, True])
async def test_write_on_its_way_as_a_wiki_is_made_private_does_not_stay(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch, *, is_killed: bool
) -> None:
    """A worker freezes as the request for a new page is on its way."""
    await fleet.work()
    frozen, thaw, put = asyncio.Event(), asyncio.Event(), Bucket.put

    async def late(self: Bucket, path: str, *args: Any, **cache: Any) -> str:
        if path == "late.html":
            frozen.set()
            await thaw.wait()
        return await put(self, path, *args, **cache)

    async def check() -> None:
        if thaw.is_set():
            raise Died if is_killed else LostClaim

    monkeypatch.setattr(Bucket, "put", late)
    await fleet.write("Words.", "late")
    late_work = fleet.work(replace(fleet.worker(), check=check))
    async with asyncio.TaskGroup() as group:
        worker = group.create_task(expect_death(late_work))
        async with asyncio.timeout(60):
            await frozen.wait()
        await fleet.service.add_project(PATH, visibility="private")
        await fleet.discover()
        await fleet.hint()
        await fleet.work()
        assert await objects(fleet) == set()
        thaw.set()
        await worker
    assert await objects(fleet) == ({"late.html"} if is_killed else set())
    await fleet.hint()
    await fleet.work()
    assert await objects(fleet) == set()


async def test_page_of_the_worker_that_came_after_stays(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal bytes have equal tags: a frozen worker may take another's for its own."""
    await fleet.work()
    frozen, thaw, put = asyncio.Event(), asyncio.Event(), Bucket.put

    async def late(self: Bucket, path: str, *args: Any, **cache: Any) -> str:
        tag = await put(self, path, *args, **cache)
        if path == "late.html" and not frozen.is_set():
            frozen.set()
            await thaw.wait()
        return tag

    async def check() -> None:
        if thaw.is_set():
            raise LostClaim

    monkeypatch.setattr(Bucket, "put", late)
    await fleet.write("Words.", "late")
    frozen_work = fleet.work(replace(fleet.worker(), check=check))
    async with asyncio.TaskGroup() as group:
        worker = group.create_task(frozen_work)
        async with asyncio.timeout(60):
            await frozen.wait()
        await fleet.hint()
        await fleet.work()
        assert fleet.page("late")
        thaw.set()
        await worker
    assert fleet.page("late")


async def test_wiki_that_is_excluded_takes_its_site_along(fleet: Fleet) -> None:
    fleet.lists_all = True
    await fleet.work()
    selection = Selection(is_all=True, excluded=(PATH,))
    fleet.settings = replace(fleet.settings, selection=selection)
    await fleet.follow()
    assert fleet.page() is None


async def test_named_project_that_is_gone_keeps_no_other_waiting(fleet: Fleet) -> None:
    await fleet.service.add_project("docs/other", {"home": "Words."})
    selection = Selection(projects=(PATH, "docs/other"))
    fleet.settings = replace(fleet.settings, selection=selection)
    await fleet.follow()
    await Projects(fleet.client).delete_project_permanently("docs/other")
    await fleet.service.add_pages(WikiOwner("project", PATH), {"guide": "TWO"})
    await fleet.follow()
    assert "TWO" in (fleet.page() or "")
    assert "docs/other" not in [one.path for one in await fleet.rows.shown()]


async def test_project_that_is_gone_takes_its_site_along(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet.lists_all = True
    for number in range(8):
        await fleet.service.add_project(f"docs/{number}", visibility="public")
    await fleet.follow()
    await Projects(fleet.client).delete_project_permanently(PATH)
    await fleet.follow()
    assert PATH not in [one.path for one in await fleet.rows.shown()]
    assert fleet.page() is None
    with monkeypatch.context() as context:
        context.setenv("AWS_SECRET_ACCESS_KEY", "another")
        await fleet.rows.retry([PATH])
        await fleet.work()
    assert "cannot list" in await fleet.problem()
    await fleet.rows.retry([PATH])
    # what was on its way from a worker that was killed
    late = open_bucket(f"{fleet.settings.site}/{PATH}/-/wikis")
    await late.put("guide.html", b"Words of ONE.", "")
    for _ in range(2):
        await fleet.follow()
    assert fleet.page() is None
    assert await fleet.rows._do("SELECT FROM fleet_wiki WHERE is_gone") == []


async def test_what_a_late_write_left_in_the_bucket_is_put_right(fleet: Fleet) -> None:
    await fleet.work()
    obstore.put(fleet.server.store("site", fleet.site()), "guide.html", b"old")
    await fleet.hint()
    await fleet.work()
    assert "Words of ONE" in (fleet.page() or "")
    await fleet.audit()


async def test_rows_of_yesterday_follow_the_newest_state(fleet: Fleet) -> None:
    await fleet.work()
    yesterday = await fleet.rows._one("SELECT generation, state, claim FROM fleet_wiki")
    assert yesterday
    for words in ("TWO", "THREE", "FOUR"):
        await fleet.write(words)
        await fleet.work()
    await fleet.rows._do(
        "UPDATE fleet_wiki SET generation = %s, state = %s, claim = %s",
        tuple(yesterday.values()),
    )
    await fleet.write("FIVE")
    await fleet.work()
    assert "FIVE" in (fleet.page() or "")
    assert await fleet.problem() == ""
    wiki = "SELECT generation FROM fleet_wiki WHERE path = %s"
    assert await fleet.rows._one(wiki, (PATH,)) == {"generation": 5}


@pytest.mark.parametrize("lost", ["project-1/", "project-1/1.", "project-1/files"])
@pytest.mark.parametrize("is_there", [False, True])
async def test_lost_or_damaged_state_is_read_anew(
    fleet: Fleet, lost: str, *, is_there: bool
) -> None:
    await fleet.work()
    bucket, site = (
        open_bucket(url) for url in (fleet.settings.state, f"s3://site/{fleet.site()}")
    )
    paths = [path for path in await bucket.etags("project-1/") if lost in path]
    assert paths
    for path in paths:
        content, etag = await bucket.read(path) or (b"", "")
        await bucket.remove(path, etag)
        if is_there:
            await bucket.put(path, content[::-1], "")
    await site.remove(PICTURE, (await site.etags())[PICTURE])
    await fleet.hint()
    await fleet.work()
    assert await fleet.problem() == ""
    assert (await site.read(PICTURE) or (b"",))[0] == b"a picture"
    await fleet.write("TWO")
    await fleet.work()
    assert "TWO" in (fleet.page() or "")
    await fleet.audit()


async def test_another_machine_builds_what_did_not_change(fleet: Fleet) -> None:
    """The texts of earlier versions were left on the first."""
    await fleet.write("Words of TWO.")
    await fleet.write("Words of THREE.")
    await fleet.work()
    before = (await fleet.rows.shown())[-1]
    await fleet.hint()
    await fleet.work()
    assert await fleet.problem() == ""
    assert (await fleet.rows.shown())[-1] == before


async def test_two_states_of_a_wiki_stay(fleet: Fleet) -> None:
    for words in ("TWO", "THREE", "FOUR"):
        await fleet.write(words)
        await fleet.work()
    bucket = open_bucket(fleet.settings.state)
    paths = sorted(await bucket.etags("project-1"))
    paths = [path for path in paths if "/files/" not in path]
    assert [path.partition("/")[2].partition(".")[0] for path in paths] == ["2", "3"]


async def test_landing_page_lists_public_wikis_and_finds_their_pages(
    fleet: Fleet,
) -> None:
    fleet.settings = replace(fleet.settings, title="All our wikis")
    await fleet.rows.make(fleet.settings)
    await fleet.service.add_project("docs/secret", {"home": "Hidden."})
    await fleet.follow()
    worker = fleet.worker(folder="lands")
    await fleet.work(worker)
    index = got(fleet.server, f"{fleet.name}/index.html")
    assert index
    assert f'href="{PATH}/-/wikis/index.html"' in index[0].decode()
    assert "docs/secret" not in index[0].decode()
    assert [one.title async for one in searched(fleet)] == ["guide", "Home"]
    assert await fleet.due() == []
    await fleet.write("# Title of TWO")
    await fleet.work(worker)
    # it rests after it was made
    await fleet.rows._do("UPDATE fleet_wiki SET due_at = '-infinity'")
    await fleet.work(worker)
    assert [one.title async for one in searched(fleet)] == ["Home", "Title of TWO"]
    await fleet.service.add_project(PATH, visibility="private")
    await fleet.follow(worker)
    await fleet.rows._do("UPDATE fleet_wiki SET due_at = '-infinity'")
    await fleet.work(worker)
    assert got(fleet.server, f"{fleet.name}/index.html") is None
    assert await fleet.due() == []


async def test_landing_page_that_somebody_damaged_is_put_right(fleet: Fleet) -> None:
    """Its assets come back, too; objects that are not of the page stay as they are."""
    fleet.settings = replace(fleet.settings, title="All our wikis")
    await fleet.rows.make(fleet.settings)
    worker = fleet.worker(folder="lands")
    await fleet.work(worker)
    bucket = open_bucket(fleet.settings.site)
    before = await bucket.etags()
    await bucket.put("other.txt", b"", "")
    await bucket.put("-/other.txt", b"", "")
    for path in {"index.html", *await bucket.etags("-/assets/")}:
        await bucket.remove(path, before[path])
    await fleet.rows.retry([LANDING])
    await fleet.work(worker)
    after = await bucket.etags()
    assert after.keys() - before.keys() == {"other.txt", "-/other.txt"}
    assert before.keys() <= after.keys()


async def test_landing_page_that_another_worker_has_by_now_is_not_uploaded(
    fleet: Fleet,
) -> None:
    """Nobody wrote since, so that the bucket would take it."""
    fleet.settings = replace(fleet.settings, title="All our wikis")
    await fleet.rows.make(fleet.settings)
    await fleet.run("project-1")

    async def loses(step: str) -> None:
        if step == "build":
            await fleet.rows.retry([LANDING])
            assert await fleet.claim(LANDING)

    await fleet.run(LANDING, fleet.worker(loses))
    assert got(fleet.server, f"{fleet.name}/index.html") is None


async def test_landing_page_finds_the_pages_of_the_wiki_that_has_a_path_now(
    fleet: Fleet,
) -> None:
    fleet.lists_all = True
    fleet.settings = replace(fleet.settings, title="All our wikis")
    await fleet.rows.make(fleet.settings)
    worker = fleet.worker(folder="lands")
    await fleet.work(worker)
    assert [one.title async for one in searched(fleet)] == ["guide", "Home"]
    await Projects(fleet.client).edit_project(PATH, path="moved")
    await fleet.service.add_project(PATH, {"other": "NEW"}, visibility="public")
    await fleet.follow(worker)
    await fleet.rows._do("UPDATE fleet_wiki SET due_at = '-infinity'")
    await fleet.work(worker)
    assert [one.title async for one in searched(fleet)] == ["guide", "Home", "other"]


async def test_deleted_wiki_leaves_the_landing_page_though_a_worker_dies(
    fleet: Fleet,
) -> None:
    """It was deleted while the page was made, and its own cycle told nobody."""
    fleet.lists_all = True
    fleet.settings = replace(fleet.settings, title="All our wikis")
    is_deleted = False

    async def landing_page() -> str:
        for _ in range(3):
            await fleet.rows._do("UPDATE fleet_wiki SET due_at = '-infinity'")
            await fleet.work(fleet.worker(folder="one"))
        index = got(fleet.server, f"{fleet.name}/index.html")
        return index[0].decode() if index else ""

    async def delete(step: str) -> None:
        nonlocal is_deleted
        if step == "put" and not is_deleted:
            is_deleted = True
            await Projects(fleet.client).delete_project_permanently(PATH)
            await fleet.discover()

    await fleet.rows.make(fleet.settings)
    await fleet.sweep()
    assert PATH in await landing_page()
    await fleet.write("# Another title")
    found = await fleet.rows._do("SELECT key FROM fleet_wiki WHERE path = %s", (PATH,))
    key = found[0]["key"]
    for one, at in [(key, passes), (LANDING, delete), (key, dies_at("row"))]:
        await fleet.rows._do("UPDATE fleet_wiki SET due_at = '-infinity'")
        row = await fleet.claim(one)
        assert row
        await expect_death(fleet.worker(at, "one").run(row))
    assert is_deleted
    assert PATH not in await landing_page()


async def test_cycles_that_end_at_once_do_not_wait_for_each_other(fleet: Fleet) -> None:
    """Each lets all others have one; they lock rows in one order."""
    paths = [f"docs/{number}" for number in range(8)]
    for path in paths:
        await fleet.service.add_project(path, visibility="public")
    await fleet.discover()
    sites = [f"{fleet.settings.site}/{path}/-/wikis" for path in paths]
    await fleet.rows._do("UPDATE fleet_wiki SET links = %s", (sites,))
    keys = await fleet.due()
    for number in range(1, 41):
        claimed = [await fleet.claim(key) for key in keys]
        async with asyncio.TaskGroup() as group:
            for row in claimed:
                assert row
                place = f"{fleet.settings.site}/{row.wiki.owner.full_path}/-/wikis"
                end = fleet.rows.move(
                    row,
                    generation=number,
                    state="",
                    pages=1,
                    problem="",
                    place=place,
                    links=sites,
                    names=[f"{number}"],
                )
                group.create_task(end)
        await fleet.hint()


async def test_landing_page_is_due_as_all_is_listed(fleet: Fleet) -> None:
    """A worker may die before it says that the page is due."""
    await fleet.rows.make(replace(fleet.settings, title="All our wikis"))
    await fleet.rows._do("UPDATE fleet_wiki SET answered_at = clock_timestamp()")
    assert await fleet.due() == []
    await fleet.rows.put([], [])
    assert LANDING in await fleet.due()


async def searched(fleet: Fleet) -> AsyncIterator[SearchDocument]:
    """The pages that the search of the landing page knows, by their titles."""
    bucket = open_bucket(fleet.settings.site)
    found = [await bucket.read(path) for path in await bucket.etags(SEARCH_FOLDER)]
    shards = [value_of(one[0]) for one in found if one]
    for one in sorted(read_documents(shards), key=lambda one: one.title.casefold()):
        assert got(fleet.server, f"{fleet.name}/{one.url}")
        yield one


def test_states_are_ordered_by_number() -> None:
    states = States(Path(), open_bucket("s3://state"), "project-1")
    names = [f"project-1/{name}" for name in ("10.2", "9.30", "10.1", "files/00")]
    assert states._states(names) == ["9.30", "10.1", "10.2"]
