"""The wiki operations over HTTP: statuses, texts, order, names, commits."""

import asyncio

import pygit2
import pytest

from tests.service.conftest import PROJECT, WIKIS, Api
from tests.support.service import EmbeddedService
from wikisync.contract.project_schema import AccessLevel
from wikisync.core.model import WikiOwner


async def last_commit(service: EmbeddedService, owner: WikiOwner) -> pygit2.Commit:
    wiki = await service.wiki(owner)
    repository = pygit2.Repository(str(wiki.repository.path))
    return repository.revparse_single("main").peel(pygit2.Commit)


async def test_level_is_inherited_from_the_group_above(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/team/handbook", {"home": "x"})
    token = await service.add_user("dana")
    await service.add_member("docs", "dana", AccessLevel.MAINTAINER)

    answer = await api.as_user(token).delete(
        "/api/v4/projects/docs%2Fteam%2Fhandbook/wikis/home"
    )

    assert answer.status == 204


async def test_parameters_are_checked_before_anything_is_looked_up(api: Api) -> None:
    answer = await api.as_user(None).post("/api/v4/projects/nothing/wikis", json={})

    expected = {"error": "title is missing, content is missing"}
    assert (answer.status, answer.json) == (400, expected)


# list and get


async def test_page_that_is_not_utf8_is_transcoded(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/handbook")
    await service.put_file(PROJECT, "odd.md", b"caf\xe9")
    await service.put_file(PROJECT, "raw.md", b"a\x00\xff")

    odd = await api.get(f"{WIKIS}/odd")
    raw = await api.get(f"{WIKIS}/raw")

    assert (odd.json["content"], odd.json["encoding"]) == ("café", "UTF-8")
    assert (raw.json["content"], raw.json["encoding"]) == ("a\0\ufffd", "ASCII-8BIT")


async def test_long_page_is_cut_where_it_is_shown(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/handbook", {"long": "aé" * 10})
    service.set_limits(shown_bytes_max=5)

    answer = await api.get(f"{WIKIS}/long")

    assert answer.json["content"] == "aéa"


async def test_latency_delays_an_answer(service: EmbeddedService, api: Api) -> None:
    service.service.latency_s = 0.05

    answer = await api.get("/api/v4/version")

    assert float(answer.headers["X-Runtime"]) >= 0.05


# create


async def test_create_answers_with_the_page(service: EmbeddedService, api: Api) -> None:
    await service.add_project("docs/handbook")

    answer = await api.post(
        WIKIS, json={"title": "Dir/C++ & co", "content": "= x", "format": "asciidoc"}
    )

    assert answer.status == 201
    assert answer.json == {
        "format": "asciidoc",
        "slug": "Dir/C++-&-co",
        "title": "C++ & co",
        "content": "= x",
        "encoding": "UTF-8",
        "front_matter": {},
    }
    assert await service.files(PROJECT) == {"Dir/C++-&-co.asciidoc": b"= x"}


DUPLICATE = "Duplicate page: A page with that title already exists in the file home.md"
REFUSALS = [
    ({"content": "x"}, {"error": "title is missing"}),
    ({"title": "x"}, {"error": "content is missing"}),
    (
        {"title": "x", "content": "", "format": "textile"},
        {"error": "format does not have a valid value"},
    ),
    ({"title": "", "content": ""}, {"message": {"title": ["can't be blank"]}}),
    (
        {"title": "x" * 246, "content": ""},
        {"message": {"title": ["exceeds the limit of 245 bytes"]}},
    ),
    ({"title": "HOME", "content": ""}, {"message": {"base": [DUPLICATE]}}),
]


async def test_create_is_refused_in_the_services_words(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/handbook", {"home": "x"})

    for body, error in REFUSALS:
        answer = await api.post(WIKIS, json=body)

        assert (answer.status, answer.json) == (400, error), body


async def test_path_that_git_refuses_is_a_plain_refusal(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/handbook", {"home": "x"})

    for title in (".git/config", "a/.git/b", ".GIT/x"):
        answer = await api.post(WIKIS, json={"title": title, "content": "x"})

        assert answer.status == 400, title
        assert list(answer.json["message"]) == ["base"]
    assert await service.files(PROJECT) == {"home.md": b"x"}


async def test_commit_bears_the_callers_name_and_the_services_message(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/handbook")
    person = api.as_user(await service.add_user("dana", is_admin=True))

    await person.post(WIKIS, json={"title": "My Page", "content": "1"})
    created = await last_commit(service, PROJECT)
    await person.put(f"{WIKIS}/my-page", json={"content": "2"})
    updated = await last_commit(service, PROJECT)
    await person.delete(f"{WIKIS}/my-page")
    deleted = await last_commit(service, PROJECT)

    assert created.message == "dana created page: My Page"
    assert updated.message == "dana updated page: My Page"
    assert deleted.message == "dana deleted page: My Page"
    assert (created.author.name, created.author.email) == ("dana", "dana@example.com")
    assert deleted.parent_ids == [updated.id]


async def test_page_is_deleted_and_what_is_below_it_stays(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/handbook", {"a": "1", "a/b": "2"})

    answer = await api.delete(f"{WIKIS}/A")

    assert (answer.status, answer.body) == (204, b"")
    assert await service.files(PROJECT) == {"a/b.md": b"2"}


@pytest.mark.parametrize(
    ("title", "block"),
    [("Ä: b", "---\ntitle: 'Ä: b'\n---\n"), ("yes", "---\ntitle: 'yes'\n---\n")],
)
async def test_front_matter_is_put_before_the_text(
    service: EmbeddedService, api: Api, title: str, block: str
) -> None:
    await service.add_project("docs/handbook")
    body = {"title": "a", "content": "1\r\n", "front_matter": {"title": title}}

    made = await api.post(WIKIS, json=body)
    as_form = await api.put(
        f"{WIKIS}/a", data={"content": "2", "front_matter[title]": title}
    )

    assert made.json["content"] == block + "1\r\n"
    assert as_form.json["content"] == block + "2"
    assert made.json["front_matter"] == as_form.json["front_matter"] == {"title": title}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
async def test_front_matter_takes_the_place_of_what_is_there(
    service: EmbeddedService, api: Api, end: str
) -> None:
    text = "---\ntitle: old\n---\nA\n\nB\n".replace("\n", end)
    await service.add_project("docs/handbook", {"a": text, "dir/b": text})
    title = {"front_matter": {"title": "new"}}

    kept = await api.put(f"{WIKIS}/a", json={"format": "markdown", **title})
    moved = await api.put(f"{WIKIS}/dir%2Fb", json={"title": "c", **title})
    sent = await api.put(f"{WIKIS}/a", json={"content": text, **title})

    block = "---\ntitle: new\n---\n"
    rest = "A\n\nB\n".replace("\n", end)
    assert kept.json["content"] == moved.json["content"] == block + rest
    assert moved.json["slug"] == "dir/c"
    assert sent.json["content"] == block + text


async def test_front_matter_of_another_kind_is_refused(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/handbook", {"a": "x"})
    problems: list[tuple[object, object]] = [
        ("x", {"error": "front_matter is invalid"}),
        ({"title": ["x"]}, {"error": "front_matter[title] is invalid"}),
        ({"title": "x" * 25_001}, {"message": {"front_matter": ["is too long"]}}),
    ]

    for front_matter, problem in problems:
        body = {"title": "b", "content": "1", "front_matter": front_matter}
        made = await api.post(WIKIS, json=body)
        edited = await api.put(f"{WIKIS}/a", json=body)

        assert (made.status, made.json) == (400, problem)
        assert (edited.status, edited.json) == (400, problem)


async def test_front_matter_without_a_title_is_none(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/handbook", {"a": "x"})

    edited = [
        await api.put(f"{WIKIS}/a", json={"content": "y", "front_matter": empty})
        for empty in ({}, None, {"title": None}, {"other": "x"})
    ]

    assert [one.json["content"] for one in edited] == ["y"] * 4


async def test_edit_of_a_page_that_changed_meanwhile_is_refused(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/handbook", {"home": "x", "other": "x"})
    known = (await last_commit(service, PROJECT)).id
    await api.put(f"{WIKIS}/other", json={"content": "elsewhere"})
    body = {"content": "mine", "last_commit_sha": str(known)}

    taken = await api.put(f"{WIKIS}/home", json=body)
    refused = await api.put(f"{WIKIS}/home", json=body | {"content": "mine too"})

    assert (taken.status, taken.json["content"]) == (200, "mine")
    assert (refused.status, refused.json) == (
        409,
        {"message": "The page was changed after the commit in last_commit_sha."},
    )
    assert (await service.files(PROJECT))["home.md"] == b"mine"


# edit and delete


async def test_edit_that_changes_nothing_makes_no_commit(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/handbook", {"home": "x"})
    before = await last_commit(service, PROJECT)

    answer = await api.put(f"{WIKIS}/home", json={"title": "home", "content": "x"})

    assert answer.status == 200
    assert (await last_commit(service, PROJECT)).id == before.id


async def test_write_moves_the_projects_last_activity(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/handbook", {"home": "x"})
    before = (await api.get("/api/v4/projects/1")).json["last_activity_at"]

    await api.put(f"{WIKIS}/home", json={"content": "y"})

    after = (await api.get("/api/v4/projects/1")).json["last_activity_at"]
    assert after > before


async def test_fifty_creates_at_once_lose_nothing(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/handbook")

    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(
                api.post(WIKIS, json={"title": f"d{n % 5}/p{n}", "content": str(n)})
            )
            for n in range(50)
        ]

    assert {task.result().status for task in tasks} == {201}
    files = await service.files(PROJECT)
    assert files == {f"d{n % 5}/p{n}.md": str(n).encode() for n in range(50)}


async def test_one_of_many_equal_creates_wins(
    service: EmbeddedService, api: Api
) -> None:
    await service.add_project("docs/handbook")

    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(api.post(WIKIS, json={"title": "a", "content": str(n)}))
            for n in range(10)
        ]

    statuses = sorted(task.result().status for task in tasks)
    assert statuses == [201] + [400] * 9
