"""Comments on pages: who reads and writes them, and what becomes of them."""

from urllib.parse import quote

import pytest

from tests.service.conftest import PROJECT, WIKIS, Api
from tests.support.commands import Run, run
from tests.support.quirks import Quirk
from tests.support.service import EmbeddedService
from wikisync.api.client import Client
from wikisync.api.wikis import Wiki
from wikisync.core.model import WikiOwner
from wikisync.errors import AuthenticationFailed, NotFound

__all__ = ["run"]


@pytest.fixture
async def notes(service: EmbeddedService, api: Api) -> str:
    """Where the comments on the page ``dir`` are; it has pages below it."""
    service.quirks = {Quirk.META_ID}
    await service.add_project("docs/handbook", {"dir": "x", "dir/low": "y"})
    return await notes_of(api, f"{WIKIS}/dir")


async def notes_of(api: Api, page: str) -> str:
    page_id = (await api.get(page)).json["wiki_page_meta_id"]
    return page.partition("/wikis")[0] + f"/wiki_pages/{page_id}/notes"


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


async def test_comments_on_pages_of_a_group(service: EmbeddedService, api: Api) -> None:
    service.quirks = {Quirk.META_ID}
    await service.add_group("docs", {"home": "x"})
    notes = await notes_of(api, "/api/v4/groups/docs/wikis/home")
    await api.post(notes, json={"body": "text"})
    owner = WikiOwner("group", "docs")

    async with Client(service.url, service.token) as client:
        found = await Wiki(client, owner).list_comments(int(notes.split("/")[-2]))

    assert [(one.body, one.project_id) for one in found] == [("text", None)]


async def test_comments_stay_with_all_that_a_rename_moves(
    service: EmbeddedService, api: Api
) -> None:
    """The service moves the files of a folder whatever the case of its name."""
    service.quirks = {Quirk.META_ID}
    pages = ("a/straße", "a/straße/low", "A/STRASSE/other", "a/straßen/far")
    await service.add_project("docs/handbook", dict.fromkeys(pages, "x"))
    kept = [await notes_of(api, f"{WIKIS}/{quote(page, safe='')}") for page in pages]
    page = quote(pages[0], safe="")
    await api.put(f"{WIKIS}/{page}", json={"title": "/new", "content": "x"})

    moved = ("new", "new/low", "new/other", "a/straßen/far")
    assert kept == [
        await notes_of(api, f"{WIKIS}/{quote(page, safe='')}") for page in moved
    ]
