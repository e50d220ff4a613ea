"""Loading folders: the manifest, pages by name, attachments, again and again."""

from pathlib import Path

import pygit2
import pytest

from tests.service.conftest import GROUP, PROJECT, WIKIS, Api
from tests.support.service import EmbeddedService
from wikisync.contract.project_schema import AccessLevel
from wikisync.core.model import WikiOwner
from wikisync.errors import ServiceError
from wikisync.service.loading import parse_manifest
from wikisync.service.tables import Tables

UPLOAD = "uploads/0123456789abcdef0123456789abcdef/pic.png"
MANIFEST = """
[[user]]
username = "dana"

[[group]]
path = "docs"
wiki = "group"
members = { dana = "maintainer" }

[[project]]
path = "docs/handbook"
name = "The handbook"
wiki = "book"

[[project]]
path = "docs/empty"
"""


def write(folder: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(
        tmp_path / "wikis",
        {
            "service.toml": MANIFEST,
            "group/home.md": "group",
            "book/home.md": "book",
            "book/dir/page.adoc": "= page",
            f"book/{UPLOAD}": "PNG",
        },
    )


async def test_folder_with_a_manifest_becomes_groups_and_projects(
    service: EmbeddedService, api: Api, folder: Path
) -> None:
    loaded = await service.load_folder(folder)

    assert loaded.owners == (GROUP, PROJECT)
    assert (loaded.ignored, loaded.kept) == ((), ())
    assert await service.files(GROUP) == {"home.md": b"group"}
    assert await service.files(PROJECT) == {
        "home.md": b"book",
        "dir/page.adoc": b"= page",
        UPLOAD: b"PNG",
    }
    project = await api.get("/api/v4/projects/docs%2Fhandbook")
    assert project.json["name"] == "The handbook"
    assert (await api.get("/api/v4/projects/docs%2Fempty/wikis")).json == []


async def test_members_of_the_manifest_have_their_levels(
    service: EmbeddedService, api: Api, folder: Path
) -> None:
    await service.load_folder(folder)
    person = api.as_user(await service.add_user("dana"))

    answer = await person.get("/api/v4/projects/docs%2Fhandbook")

    level = answer.json["permissions"]["group_access"]["access_level"]
    assert level == AccessLevel.MAINTAINER


async def test_folder_without_a_manifest_is_one_local_project(
    service: EmbeddedService, tmp_path: Path
) -> None:
    folder = write(tmp_path / "My notes!", {"home.md": "x", "readme.bin": ""})

    loaded = await service.load_folder(folder)

    owner = WikiOwner("project", "local/My-notes")
    assert loaded.owners == (owner,)
    assert await service.files(owner) == {"home.md": b"x"}
    assert [Path(path).name for path in loaded.ignored] == ["readme.bin"]


async def test_coded_names_are_decoded(
    service: EmbeddedService, tmp_path: Path
) -> None:
    folder = write(tmp_path / "notes", {"a%3Ab.md": "x", "with space/é.org": "y"})

    await service.load_folder(folder)

    files = await service.files(WikiOwner("project", "local/notes"))
    assert files == {"a:b.md": b"x", "with space/é.org": b"y"}


async def commits(service: EmbeddedService) -> int:
    wiki = await service.wiki(PROJECT)
    repository = pygit2.Repository(str(wiki.repository.path))
    return len(list(repository.walk(repository.revparse_single("main").id)))


async def test_loading_is_one_commit_and_again_is_none(
    service: EmbeddedService, folder: Path
) -> None:
    await service.load_folder(folder)
    await service.load_folder(folder)

    assert await commits(service) == 1


async def test_loading_again_is_activity_where_a_wiki_changed(
    service: EmbeddedService, folder: Path
) -> None:
    await service.load_folder(folder)
    loaded = await activity(service)
    await service.load_folder(folder)
    assert await activity(service) == loaded
    write(folder, {"book/home.md": "changed"})
    await service.load_folder(folder)
    assert await activity(service) > loaded


async def activity(service: EmbeddedService) -> str:
    project = await service.ask(Tables.project, PROJECT.full_path, None)
    assert project is not None
    return project.last_activity_at


async def test_loading_again_carries_over_what_changed_in_the_folder(
    service: EmbeddedService, folder: Path
) -> None:
    await service.load_folder(folder)
    write(folder, {"book/home.md": "changed", "book/new.md": "new"})
    (folder / "book/dir/page.adoc").unlink()

    await service.load_folder(folder)

    files = await service.files(PROJECT)
    assert files == {"home.md": b"changed", "new.md": b"new", UPLOAD: b"PNG"}
    assert await commits(service) == 2


async def test_loading_again_never_undoes_edits_made_through_the_service(
    service: EmbeddedService, api: Api, folder: Path
) -> None:
    await service.load_folder(folder)
    await api.put(f"{WIKIS}/home", json={"content": "edited"})
    await api.post(WIKIS, json={"title": "mine", "content": "mine"})
    await api.delete(f"{WIKIS}/dir%2Fpage")

    loaded = await service.load_folder(folder)

    files = await service.files(PROJECT)
    assert files == {"home.md": b"edited", "mine.md": b"mine", UPLOAD: b"PNG"}
    assert loaded.kept == ()


async def test_file_changed_on_both_sides_stays_and_is_reported(
    service: EmbeddedService, api: Api, folder: Path
) -> None:
    await service.load_folder(folder)
    await api.put(f"{WIKIS}/home", json={"content": "edited"})
    write(folder, {"book/home.md": "changed"})

    loaded = await service.load_folder(folder)

    assert (await service.files(PROJECT))["home.md"] == b"edited"
    assert loaded.kept == ("docs/handbook: home.md",)


async def test_file_that_a_page_links_to_is_loaded_wherever_it_is(
    service: EmbeddedService, folder: Path
) -> None:
    linked = {"book/img/p.png": "p", "book/.attachments/q 1.png": "q"}
    other = {"book/img/other.png": "o", "book/.attachments/other.png": "o"}
    kept = {"book/.git/config": "x", "book/.tool/main.js": "x"}
    page = "![p](../img/p.png) ![q](/.attachments/q%201.png) [c](/.git/config)\n"
    page += "[m](/.tool/main.js) ![l](link.png)\n"
    write(folder, {**linked, **other, **kept, "book/dir/new.md": page})
    (folder / "book/dir/link.png").symlink_to("/etc/passwd")

    loaded = await service.load_folder(folder)

    files = set(await service.files(PROJECT))
    assert files == {
        *("home.md", "dir/page.adoc", "dir/new.md", UPLOAD),
        *("img/p.png", ".attachments/q 1.png"),
    }
    assert [Path(path).name for path in loaded.ignored] == ["other.png"]


async def test_links_and_hidden_files_are_not_followed(
    service: EmbeddedService, folder: Path
) -> None:
    (folder / "book/secret.md").symlink_to("/etc/passwd")
    (folder / "book/etc").symlink_to("/etc")
    write(folder, {"book/.git/config.md": "x", "book/.hidden.md": "x"})

    await service.load_folder(folder)

    files = await service.files(PROJECT)
    assert set(files) == {"home.md", "dir/page.adoc", UPLOAD}


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "nothing to load"),
        ({"x.bin": ""}, "nothing to load"),
        ({"service.toml": "[[project]]\npath='a/b'\nwiki='gone'"}, "no folder gone"),
        ({"service.toml": "[[project]]\npath='a/b'\nwiki='..'"}, "outside the folder"),
        ({"service.toml": "[[project]]\npath='api/b'"}, "is reserved"),
        ({"service.toml": "[[project]]\npath='alone'"}, "no group or user"),
    ],
)
async def test_folder_that_cannot_be_loaded_is_a_plain_error(
    service: EmbeddedService, tmp_path: Path, files: dict[str, str], message: str
) -> None:
    (tmp_path / "wikis").mkdir()
    folder = write(tmp_path / "wikis", files)

    with pytest.raises(ServiceError, match=message):
        await service.load_folder(folder)


async def test_missing_folder_is_named(
    service: EmbeddedService, tmp_path: Path
) -> None:
    with pytest.raises(ServiceError, match=r"no folder .*/nowhere to load"):
        await service.load_folder(tmp_path / "nowhere")


async def test_manifest_that_is_no_text_is_named_with_what_to_do(
    service: EmbeddedService, tmp_path: Path
) -> None:
    (tmp_path / "service.toml").write_bytes(b"\xff")
    with pytest.raises(ServiceError, match=r"cannot read .*/service.toml: ") as caught:
        await service.load_folder(tmp_path)
    assert caught.value.hint == "make it a text in UTF-8 that this user can read"


GOOD = """
[[user]]
username = "dana"
admin = true

[[group]]
path = "docs"
wiki = "docs"
members = { dana = "planner" }

[[project]]
path = "docs/handbook"
description = "A book"
visibility = "internal"
wiki = "handbook"
archived = true
"""


def test_manifest_is_read() -> None:
    manifest = parse_manifest(GOOD, "service.toml")

    assert manifest.user[0].admin
    assert manifest.group[0].members == {"dana": "planner"}
    assert manifest.project[0].visibility == "internal"
    assert (manifest.group[0].visibility, manifest.project[0].wiki) == (
        "private",
        "handbook",
    )


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("[[projcet]]\npath = 'a/b'", "unknown field `projcet`", None),
        (
            "[[project]]\npath = 'a/b'\nvisibility = 'secret'",
            "Invalid enum value 'secret' - at `$.project[0].visibility`",
            None,
        ),
        ("[[group]]\nname = 'x'", "missing required field `path`", None),
        (
            "[[group]]\npath = '../x'",
            "group[0].path: '../x' is not a path",
            "use letters",
        ),
        (
            "[[group]]\npath = 'a'\n[[project]]\npath = 'A'",
            "project[0].path: A comes twice",
            None,
        ),
        (
            "[[group]]\npath = 'a'\nmembers = { eve = 'guest' }",
            "group[0].members.eve: no such user",
            "add [[user]]",
        ),
        ("[[group", "service.toml is not TOML", None),
    ],
)
def test_wrong_manifest_names_the_place(
    text: str, message: str, hint: str | None
) -> None:
    with pytest.raises(ServiceError) as error:
        parse_manifest(text, "service.toml")

    assert error.value.message.startswith("service.toml")
    assert message in error.value.message
    assert (error.value.hint or "").startswith(hint or "")
