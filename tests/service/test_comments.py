"""Comments on pages: who reads and writes them, and what becomes of them."""

import pytest

from tests.service.conftest import PROJECT, WIKIS, Api
from tests.support.commands import Run, run
from tests.support.quirks import Quirk
from tests.support.service import EmbeddedService
from wikisync.api.client import Client
from wikisync.api.wikis import Wiki
from wikisync.contract.project_schema import AccessLevel
from wikisync.core.model import WikiOwner
from wikisync.errors import AuthenticationFailed, NotFound

__all__ = ["run"]

GONE = {"message": "404 WikiPage::Meta Not Found"}


@pytest.fixture
async def notes(service: EmbeddedService, api: Api) -> str:
    """Where the comments on the page ``dir`` are; it has pages below it."""
    service.quirks = {Quirk.META_ID}
    await service.add_project("docs/handbook", {"dir": "x", "dir/low": "y"})
    return await notes_of(api, f"{WIKIS}/dir")


async def notes_of(api: Api, page: str) -> str:
    page_id = (await api.get(page)).json["wiki_page_meta_id"]
    return page.partition("/wikis")[0] + f"/wiki_pages/{page_id}/notes"


async def said(api: Api, notes: str, query: str = "") -> list[str]:
    return [note["body"] for note in (await api.get(notes + query)).json]


async def test_comment_is_written_listed_and_read(api: Api, notes: str) -> None:
    written = await api.post(notes, json={"body": "Why *x*?"})
    single = await api.get(f"{notes}/{written.json['id']}")

    assert (written.status, single.status) == (201, 200)
    assert single.json == written.json == (await api.get(notes)).json[0]
    assert (written.json["body"], written.json["system"]) == ("Why *x*?", False)
    assert written.json["noteable_type"] == "WikiPage::Meta"
    assert str(written.json["noteable_id"]) == notes.split("/")[-2]
    assert written.json["author"]["username"] == "root"


async def test_list_is_ordered_and_paged(api: Api, notes: str) -> None:
    for number in range(3):
        await api.post(notes, json={"body": str(number)})
    part = await api.get(f"{notes}?per_page=2&page=2")

    assert await said(api, notes) == ["2", "1", "0"]
    assert await said(api, notes, "?sort=asc&order_by=updated_at") == ["0", "1", "2"]
    assert ([note["body"] for note in part.json], part.headers["X-Total"]) == (
        ["0"],
        "3",
    )
    assert (await api.get(f"{notes}?sort=up")).status == 400


async def test_client_reads_every_comment_from_the_oldest_on(
    service: EmbeddedService, api: Api, notes: str
) -> None:
    for number in range(101):
        await api.post(notes, json={"body": str(number)})
    page_id = int(notes.split("/")[-2])

    async with Client(service.url, service.token) as client:
        found = await Wiki(client, PROJECT).list_comments(page_id)
        with pytest.raises(NotFound, match=r"page 99 .*no such page"):
            await Wiki(client, PROJECT).list_comments(99)
    async with Client(service.url, None) as nobody:
        with pytest.raises(AuthenticationFailed):
            await Wiki(nobody, PROJECT).list_comments(page_id)

    assert [one.body for one in found] == [str(number) for number in range(101)]
    assert found[0].author is not None
    assert (found[0].author.username, found[0].internal) == ("root", False)


async def test_command_lists_comments(
    service: EmbeddedService, api: Api, notes: str, run: Run
) -> None:
    await api.post(notes, json={"body": "one\ntwo"})
    page = f"{service.url}/docs/handbook/-/wikis/dir"
    listed = await run("page", "comments", page)
    as_json = await run("page", "comments", page, "--json")
    service.quirks = set()
    without = await run("page", "comments", page)

    assert listed.out.splitlines()[0].split("\t") == ["id", "author", "created", "text"]
    assert "one two" in listed.out
    assert [one["body"] for one in as_json.json] == ["one\ntwo"]
    assert (without.code, without.out) == (1, "")
    assert "cannot list the comments on page dir of project docs/hand" in without.err


async def test_comments_stay_with_a_renamed_page_and_go_with_it(
    api: Api, notes: str
) -> None:
    low = await notes_of(api, f"{WIKIS}/dir%2Flow")
    await api.post(notes, json={"body": "dir"})
    await api.post(low, json={"body": "low"})

    await api.put(f"{WIKIS}/dir", json={"title": "new", "content": "x"})
    after_rename = await said(api, notes), await said(api, low)
    await api.delete(f"{WIKIS}/new")
    gone = await api.get(notes)

    assert after_rename == (["dir"], ["low"])
    assert (gone.status, gone.json) == (404, GONE)
    assert await said(api, low) == ["low"]


async def test_comments_on_pages_of_a_group(service: EmbeddedService, api: Api) -> None:
    service.quirks = {Quirk.META_ID}
    await service.add_group("docs", {"home": "x"})
    notes = await notes_of(api, "/api/v4/groups/docs/wikis/home")
    await api.post(notes, json={"body": "text"})
    owner = WikiOwner("group", "docs")

    async with Client(service.url, service.token) as client:
        found = await Wiki(client, owner).list_comments(int(notes.split("/")[-2]))

    assert [one.body for one in found] == ["text"]


async def test_who_reads_a_page_comments_on_it(
    service: EmbeddedService, api: Api, notes: str
) -> None:
    person = api.as_user(await service.add_user("dana"))

    async def statuses() -> list[int]:
        answers = await person.get(notes), await person.post(notes, json={"body": "x"})
        return [answer.status for answer in answers]

    assert await statuses() == [404, 404]
    for level in (AccessLevel.GUEST, AccessLevel.REPORTER):
        await service.add_member("docs/handbook", "dana", level)
        assert await statuses() == [200, 201]


async def test_nobody_reads_comments_without_a_token(
    service: EmbeddedService, api: Api, notes: str
) -> None:
    await service.add_project("docs/handbook", visibility="public")
    nobody = api.as_user(None)

    assert (await nobody.get(notes)).status == 401
    assert (await nobody.get(f"{notes}/1")).status == 401
    assert (await nobody.post(notes, json={})).status == 401


async def test_internal_comment_is_for_reporters(
    service: EmbeddedService, api: Api, notes: str
) -> None:
    guest = api.as_user(await service.add_user("dana"))
    planner = api.as_user(await service.add_user("pat"))
    await service.add_member("docs/handbook", "dana", AccessLevel.GUEST)
    await service.add_member("docs/handbook", "pat", AccessLevel.PLANNER)
    body = {"body": "secret", "internal": True}
    written = await planner.post(notes, json=body)

    assert written.json["internal"] is written.json["confidential"] is True
    assert (await guest.post(notes, json=body)).status == 403
    assert (await guest.get(f"{notes}/{written.json['id']}")).status == 404
    assert (await said(guest, notes), await said(planner, notes)) == ([], ["secret"])


async def test_archived_project_takes_no_comment(
    service: EmbeddedService, api: Api, notes: str
) -> None:
    await service.add_project("docs/handbook", is_archived=True)

    assert (await api.get(notes)).status == 200
    assert (await api.post(notes, json={"body": "x"})).status == 403


async def test_comments_are_hidden_where_the_wiki_is_off(
    service: EmbeddedService, api: Api, notes: str
) -> None:
    await service.add_project("docs/handbook", wiki_access_level="disabled")
    answer = await api.get(notes)

    assert (answer.status, answer.json) == (404, GONE)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({}, {"error": "body is missing"}),
        (
            {"body": " "},
            {"message": '400 Bad request - Note {:note=>["can\'t be blank"]}'},
        ),
    ],
)
async def test_comment_without_a_text_is_refused(
    api: Api, notes: str, body: dict[str, str], problem: dict[str, str]
) -> None:
    answer = await api.post(notes, json=body)

    assert (answer.status, answer.json) == (400, problem)


@pytest.mark.parametrize("tail", ["/99", "/x"])
async def test_comment_that_is_not_there(api: Api, notes: str, tail: str) -> None:
    other = notes.replace("handbook", "other")

    assert (await api.get(notes + tail)).status == (404 if tail == "/99" else 400)
    assert (await api.get(other)).json == {"message": "404 Project Not Found"}
