"""Each quirk does what its name says, and only that."""

import re
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.service.conftest import GROUP, PROJECT, WIKIS, Answer, Api
from tests.support.quirks import EVERY, Quirk
from tests.support.quirky_app import BEND_PAGES, CUT_TEXT_BYTES
from tests.support.quirky_service import OTHER_PROJECT_ID
from tests.support.service import EmbeddedService, embedded_service

PROJECT_PATH = "/api/v4/projects/docs%2Fhandbook"
READ_BACK = {"format": "markdown", "slug": "home", "title": "home", "content": "x"}


async def slugs(api: Api) -> list[str]:
    return [page["slug"] for page in (await api.get(WIKIS)).json]


async def statuses(api: Api, count: int) -> list[int]:
    return [(await api.get(f"{WIKIS}/home")).status for _ in range(count)]


@pytest.fixture
async def handbook(service: EmbeddedService) -> EmbeddedService:
    await service.add_project("docs/handbook", {"home": "x", "dir/page": "y"})
    return service


# reading


async def test_extra_format_is_listed_and_read_but_not_written(
    handbook: EmbeddedService, api: Api
) -> None:
    handbook.quirks = {Quirk.EXTRA_FORMATS}

    listed = (await api.get(f"{WIKIS}?with_content=true")).json
    page = (await api.get(f"{WIKIS}/legacy%2Fforeign")).json
    edit = await api.put(f"{WIKIS}/legacy%2Fforeign", json={"content": "z"})

    assert listed[-1]["format"] == page["format"] == "wikitext"
    assert listed[-1]["content"] == page["content"]
    assert edit.status == 404
    assert "content" not in (await api.get(WIKIS)).json[-1]


async def test_list_cuts_long_texts_and_single_reads_do_not(
    handbook: EmbeddedService, api: Api
) -> None:
    text = "é" * CUT_TEXT_BYTES
    await handbook.add_pages(PROJECT, {"long": text})
    handbook.quirks = {Quirk.TRUNCATES_LIST_CONTENT}

    listed = (await api.get(f"{WIKIS}?with_content=true")).json
    page = (await api.get(f"{WIKIS}/long")).json

    assert [len(entry["content"].encode()) for entry in listed] == [
        1,
        1,
        CUT_TEXT_BYTES,
    ]
    assert page["content"] == text


@pytest.mark.parametrize("quirk", sorted(BEND_PAGES | {Quirk.HALF_LIST}))
async def test_list_has_another_entity_tag_under_a_quirk(
    handbook: EmbeddedService, api: Api, quirk: Quirk
) -> None:
    etag = (await api.get(WIKIS)).headers["ETag"]
    handbook.quirks = {quirk}

    answer = await api.get(WIKIS, headers={"If-None-Match": etag})

    assert answer.status == 200
    etag = answer.headers["ETag"]
    assert (await api.get(WIKIS, headers={"If-None-Match": etag})).status == 304


# writing


async def test_format_defaults_to_markdown_under_the_quirk(
    handbook: EmbeddedService, api: Api
) -> None:
    await api.post(WIKIS, json={"title": "a", "content": "= x", "format": "asciidoc"})
    kept = await api.put(f"{WIKIS}/a", json={"content": "= y"})
    handbook.quirks = {Quirk.FORMAT_DEFAULT}

    answer = await api.put(f"{WIKIS}/a", json={"content": "= z"})

    assert (kept.json["format"], answer.json["format"]) == ("asciidoc", "markdown")
    assert "a.md" in await handbook.files(PROJECT)


async def test_edit_moves_the_page_to_the_root(
    handbook: EmbeddedService, api: Api
) -> None:
    for number, (quirk, title, moves) in enumerate(
        [
            (Quirk.CONTENT_ONLY_MOVES, None, True),
            (Quirk.CONTENT_ONLY_MOVES, "dir/{}", False),
            (Quirk.LEAF_TITLE_MOVES, "{}", True),
            (Quirk.LEAF_TITLE_MOVES, "dir/{}", False),
            (Quirk.LEAF_TITLE_MOVES, None, False),
            (Quirk.NO_ETAG, "{}", False),
            (Quirk.NO_ETAG, None, False),
        ]
    ):
        leaf = f"page{number}"
        await handbook.add_pages(PROJECT, {f"dir/{leaf}": "x"})
        handbook.quirks = {quirk}
        body = {"content": "z"} | ({"title": title.format(leaf)} if title else {})

        answer = await api.put(f"{WIKIS}/dir%2F{leaf}", json=body)

        slug = leaf if moves else f"dir/{leaf}"
        assert (answer.status, answer.json["slug"]) == (200, slug), (quirk, title)


async def test_rename_onto_a_page_answers_null(
    handbook: EmbeddedService, api: Api
) -> None:
    plain = await api.put(f"{WIKIS}/home", json={"title": "dir/page"})
    handbook.quirks = {Quirk.NULL_RENAME}

    answer = await api.put(f"{WIKIS}/home", json={"title": "dir/page"})

    assert plain.status == 400
    assert (answer.status, answer.body) == (200, b"null")


async def test_edit_of_a_page_that_changed_meanwhile_answers_null(
    handbook: EmbeddedService, api: Api
) -> None:
    handbook.quirks = {Quirk.LAST_COMMIT_SHA}
    repository = (await handbook.wiki(PROJECT)).repository
    known = repository.last_commit_of("home.md")
    await api.put(f"{WIKIS}/dir%2Fpage", json={"content": "elsewhere"})

    taken = await edit_home(api, "mine", known)
    refused = await edit_home(api, "mine too", known)
    unasked = await api.put(f"{WIKIS}/home", json={"content": "whatever"})

    assert (taken.status, taken.json["content"]) == (200, "mine")
    assert (refused.status, refused.body) == (200, b"null")
    assert unasked.json["content"] == "whatever"
    assert repository.last_commit_of("nowhere.md") is None


async def edit_home(api: Api, content: str, last_commit_sha: str | None) -> Answer:
    body = {"content": content, "last_commit_sha": last_commit_sha}
    return await api.put(f"{WIKIS}/home", json=body)


@pytest.mark.parametrize(
    ("quirk", "sent", "stored"),
    [
        (Quirk.NORMALISES_LINE_ENDS, "a\r\nb\r\n", "a\nb\n"),
        (Quirk.ADDS_FINAL_NEWLINE, "a", "a\n"),
        (Quirk.ADDS_FINAL_NEWLINE, "a\n", "a\n"),
        (Quirk.NORMALISES_UNICODE, "e\u0301", "\u00e9"),
        (Quirk.NO_ETAG, "e\u0301\r\na", "e\u0301\r\na"),
    ],
)
async def test_text_is_stored_otherwise_than_sent(
    handbook: EmbeddedService, api: Api, quirk: Quirk, sent: str, stored: str
) -> None:
    handbook.quirks = {quirk}

    create = await api.post(WIKIS, json={"title": "a", "content": sent})
    edit = await api.put(f"{WIKIS}/home", json={"content": sent})

    assert create.json["content"] == edit.json["content"] == stored
    assert (await handbook.files(PROJECT))["home.md"] == stored.encode()


# faults


async def test_every_third_request_is_one_too_many(
    handbook: EmbeddedService, api: Api
) -> None:
    handbook.quirks = {Quirk.RATE_LIMITED}

    first = await api.get(WIKIS)
    rest = await statuses(api, 2 * EVERY)

    assert (first.status, first.body) == (429, b"Retry later\n")
    assert first.headers["Content-Type"].startswith("text/plain")
    assert "Retry-After" not in first.headers
    assert rest == [200, 200, 429, 200, 200, 429]


async def test_request_too_many_can_be_told_when_to_come_again(
    handbook: EmbeddedService, api: Api
) -> None:
    handbook.quirks = {Quirk.RATE_LIMITED_TELLING}

    first = await api.get(WIKIS)

    assert (first.status, first.headers["Retry-After"]) == (429, "1")
    assert first.headers["RateLimit-Remaining"] == "0"
    assert first.headers["RateLimit-ResetTime"].endswith(" GMT")
    assert await statuses(api, 3) == [200, 200, 429]


async def test_turns_start_anew_when_quirks_change(
    handbook: EmbeddedService, api: Api
) -> None:
    handbook.quirks = {Quirk.FAILS_READS}
    before = await statuses(api, 2)
    handbook.quirks = ()
    handbook.quirks = {Quirk.FAILS_READS}

    assert before == [502, 200]
    assert await statuses(api, 1) == [502]


async def test_write_that_fails_after_is_done(
    handbook: EmbeddedService, api: Api
) -> None:
    handbook.quirks = {Quirk.FAILS_AFTER_WRITE}

    refused = await api.put(f"{WIKIS}/nowhere", json={"content": "z"})
    write = await api.put(f"{WIKIS}/home", json={"content": "z"})

    assert (refused.status, write.status) == (404, 502)
    assert write.headers["Content-Type"].startswith("text/html")
    assert (await api.get(f"{WIKIS}/home")).json["content"] == "z"


async def test_body_is_cut_in_the_middle(handbook: EmbeddedService, api: Api) -> None:
    handbook.quirks = {Quirk.CUT_BODIES}

    with pytest.raises(aiohttp.ClientPayloadError):
        await api.get(f"{WIKIS}?with_content=true")

    assert await statuses(api, 2) == [200, 200]


async def test_another_project_has_another_id_and_another_wiki(
    handbook: EmbeddedService, api: Api
) -> None:
    old = (await api.get(PROJECT_PATH)).json["id"]
    handbook.quirks = {Quirk.ANOTHER_PROJECT}

    new = (await api.get(PROJECT_PATH)).json["id"]
    empty = (await api.get(WIKIS)).json
    await handbook.add_pages(PROJECT, {"theirs": "t"})

    assert (new, empty) == (old + OTHER_PROJECT_ID, [])
    assert await slugs(api) == ["theirs"]
    handbook.quirks = ()
    assert await slugs(api) == ["dir/page", "home"]


async def test_quirks_hold_from_the_start_and_for_groups(tmp_path: Any) -> None:
    quirks = {Quirk.HALF_LIST, Quirk.EXTRA_FORMATS}
    async with (
        embedded_service(tmp_path, quirks=quirks) as service,
        aiohttp.ClientSession() as session,
    ):
        await service.add_group("docs", {"a": "", "b": ""})
        api = Api(session, service.url, service.token)
        answer = await api.get("/api/v4/groups/docs/wikis")

        assert service.quirks == quirks
        assert [page["slug"] for page in answer.json] == ["a", "legacy/foreign"]
        assert set(await service.files(GROUP)) == {"a.md", "b.md"}


async def test_service_is_sound_without_quirks(
    handbook: EmbeddedService, api: Api
) -> None:
    page = (await api.get(f"{WIKIS}/home")).json

    assert handbook.quirks == frozenset()
    assert page == {**READ_BACK, "encoding": "UTF-8", "front_matter": {}}


def test_quirks_and_the_document_name_the_same_ones() -> None:
    text = (Path(__file__).parents[2] / "docs/service.md").read_text(encoding="utf-8")
    section, _, differences = text.partition("## Quirks")[2].partition("## Differences")
    named = re.findall(r"[Qq]uirks? ((?:`[a-z-]+`(?:, | and )?)+)", differences)
    quirks = {str(quirk) for quirk in Quirk}

    assert set(re.findall(r"`([a-z]+(?:-[a-z]+)*)`", section)) == quirks
    assert {
        name for group in named for name in re.findall(r"`([a-z-]+)`", group)
    } < quirks
