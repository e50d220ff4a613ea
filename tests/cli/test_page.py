"""``wikisync page`` on the embedded service."""

import io
from pathlib import Path

import pytest

from tests.support.commands import Ran, Run
from tests.support.service import EmbeddedService
from tests.support.workspaces import HANDBOOK, Cloned
from wikisync.core.model import Format, Page, Slug

PAGES = (
    Page(Slug("home"), Format.MARKDOWN, "welcome\n"),
    Page(Slug("dir/page-one"), Format.ASCIIDOC, "= one\n"),
)


@pytest.fixture
async def handbook(service: EmbeddedService) -> EmbeddedService:
    await service.add_group("docs", PAGES)
    await service.add_project("docs/handbook", PAGES)
    return service


@pytest.fixture
def page(handbook: EmbeddedService, run: Run) -> Run:
    """Run ``wikisync page <verb> URL ... --project docs/handbook``."""

    async def call(verb: str, *words: str | Path) -> Ran:
        wiki = ("--project", "docs/handbook")
        return await run("page", verb, handbook.url, *words, *wiki)

    return call


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("docs/handbook/-/wikis/home", "welcome\n"),
        ("docs/handbook/-/wikis/dir/page%2Done?view=x#a", "= one\n"),
        ("groups/docs/-/wikis/dir/page-one", "= one\n"),
    ],
)
async def test_address_of_a_page_names_service_wiki_and_page(
    handbook: EmbeddedService, run: Run, address: str, text: str
) -> None:
    ran = await run("page", "get", f"{handbook.url}/{address}")

    assert (ran.code, ran.out, ran.err) == (0, text, "")


async def test_address_of_a_page_names_what_is_edited(
    handbook: EmbeddedService, run: Run
) -> None:
    at = f"{handbook.url}/docs/handbook/-/wikis/home"
    ran = await run("page", "edit", at, "--content", "anew")
    gone = await run("page", "get", at, "no/such")

    assert ran.out == "edited page home of project docs/handbook\n"
    assert (await handbook.files(HANDBOOK))["home.md"] == b"anew"
    assert gone.code == 1
    told = "cannot read page no/such of project docs/handbook: there is no"
    assert told in gone.err


async def test_address_of_a_wiki_names_the_wiki(
    handbook: EmbeddedService, run: Run
) -> None:
    wiki = f"{handbook.url}/docs/handbook"
    ran = await run("page", "list", wiki)
    other = await run("page", "get", f"{wiki}/-/wikis", "home", "--group", "docs")

    assert ran.out == (
        "slug\tformat\ttitle\ndir/page-one\tasciidoc\tpage one\nhome\tmarkdown\thome\n"
    )
    other.ended(2, "select one wiki")


async def test_list_of_a_group_as_json(handbook: EmbeddedService, run: Run) -> None:
    words = ("--group", "/docs/", "--json", "--with-content")
    ran = await run("page", "list", handbook.url, *words)

    texts = {found["slug"]: found["content"] for found in ran.json}
    assert texts == {"home": "welcome\n", "dir/page-one": "= one\n"}


async def test_get_prints_text_json_or_html(page: Run) -> None:
    text = await page("get", "dir/page-one")
    found = (await page("get", "dir/page-one", "--json")).json
    html = await page("get", "home", "--html")

    assert text.out == "= one\n"
    assert (found["slug"], found["format"]) == ("dir/page-one", "asciidoc")
    assert "<p" in html.out


async def test_create_from_a_file_or_standard_input(
    page: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "text"
    file.write_text("* ümlaut\n", encoding="utf-8")
    made = await page("create", "dir/new page", "--file", file, "--format", "org")
    file.write_bytes(b"\xff\xfe")
    refused = await page("create", "new", "--file", file)
    piped = io.TextIOWrapper(io.BytesIO(b"piped\n"))
    monkeypatch.setattr("sys.stdin", piped)
    await page("create", "new", "--file", "-")

    assert made.out == "created page dir/new-page of project docs/handbook\n"
    assert (await page("get", "dir/new-page")).out == "* ümlaut\n"
    refused.ended(1, "is not UTF-8")
    assert (await page("get", "new")).out == "piped\n"


async def test_text_without_end_is_refused(
    page: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wikisync.workspace.page_files.FILE_BYTES_MAX", 4096)

    made = await page("create", "new", "--file", "/dev/zero")
    edited = await page("edit", "home", "--file", "/dev/zero")

    made.ended(1, "/dev/zero has more than 4096 bytes")
    edited.ended(1, "/dev/zero has more than 4096 bytes")


TWICE = ("create", "new", "--content", "a", "--file", "-")
REFUSED: list[tuple[tuple[str, ...], str]] = [
    (("create", "new"), "page new has no text"),
    (TWICE, "--content and --file cannot be given together"),
    (("create", "new", "--file", "gone.txt"), "there is no file gone.txt"),
    (("create", "new", "--file", "."), "error: . is no file\nhint: name a file\n"),
    (("attach", "gone.txt"), "there is no file gone.txt"),
    (("edit", "home"), "no change is given for page home"),
    (("delete", "home"), "deleting page home needs confirmation"),
]


async def test_wrong_arguments_are_told(page: Run) -> None:
    for words, message in REFUSED:
        ran = await page(*words)

        ran.ended(2, message)


async def test_edit_keeps_what_it_does_not_change(page: Run) -> None:
    edited = await page("edit", "dir/page-one", "--content", "= two\n", "--json")
    moved = await page("edit", "dir/page-one", "--title", "dir/page two")

    assert (edited.json["slug"], edited.json["format"]) == ("dir/page-one", "asciidoc")
    assert moved.out == "edited page dir/page-two of project docs/handbook\n"
    assert (await page("get", "dir/page-two")).out == "= two\n"


async def test_title_of_the_front_matter_is_set(page: Run) -> None:
    made = await page("create", "new", "--content", "a", "--front-matter-title", "A")
    first = await page("get", "new")
    await page("edit", "new", "--front-matter-title", "B")
    second = await page("get", "new")
    await page("edit", "new", "--content", "b", "--front-matter-title", "C")

    assert made.out == "created page new of project docs/handbook\n"
    assert first.out == "---\ntitle: A\n---\na\n"
    assert second.out == "---\ntitle: B\n---\na\n"
    assert (await page("get", "new")).out == "---\ntitle: C\n---\nb\n"


@pytest.mark.parametrize(
    "words", [("create", "new"), ("edit", "home"), ("edit", "tagged")]
)
async def test_other_front_matter_is_not_lost_to_a_title(
    page: Run, handbook: EmbeddedService, words: tuple[str, ...]
) -> None:
    text = "---\ntags: [a]\ntitle: b\n---\nc"
    await handbook.put_file(HANDBOOK, "tagged.md", text.encode())
    given = () if words[1] == "tagged" else ("--content", text)
    ran = await page(*words, *given, "--front-matter-title", "B")

    ran.ended(2, f"the text of page {words[1]} has front matter with tags")
    assert (await handbook.files(HANDBOOK))["tagged.md"] == text.encode()


async def test_commit_has_the_message_and_what_changed_since_is_refused(
    page: Run, handbook: EmbeddedService
) -> None:
    wiki = (await handbook.wiki(HANDBOOK)).repository
    await page("create", "new", "--content", "a", "--message", "why new")
    created = wiki.branches()[0][1].message
    await page("edit", "new", "--content", "b", "--message", "why edited")
    assert (created, wiki.branches()[0][1].message) == ("why new", "why edited")

    known = str(wiki.last_commit_of("home.md"))
    words = ("edit", "home", "--last-commit-sha", known, "--content")
    taken, refused = await page(*words, "a"), await page(*words, "b")
    assert taken.code == 0
    refused.ended(
        *(1, "cannot edit page home of project docs/handbook: it conf"),
        "The page was changed after the commit in last_commit_sha.",
    )
    assert (await handbook.files(HANDBOOK))["home.md"] == b"a"


async def test_delete(page: Run, handbook: EmbeddedService) -> None:
    ran = await page("delete", "home", "--yes")

    assert ran.out == "deleted page home of project docs/handbook\n"
    assert set(await handbook.files(HANDBOOK)) == {"dir/page-one.asciidoc"}


async def test_attach_prints_the_mention(
    page: Run, handbook: EmbeddedService, tmp_path: Path
) -> None:
    (tmp_path / "dk.png").write_bytes(b"\x89PNG")

    ran = await page("attach", tmp_path / "dk.png", "--name", "other.png", "--json")

    assert ran.json["file_name"] == "other.png"
    assert ran.json["file_path"] in await handbook.files(HANDBOOK)
    assert (await page("attach", tmp_path / "dk.png")).out.startswith("![dk](uploads/")


DRY = [
    (("create", "new", "--content", "x"), "POST /api/v4/projects/docs%2Fhandbook"),
    (("edit", "home", "--content", "x"), "PUT /api/v4/projects/docs%2Fhandbook"),
    (("delete", "home"), "DELETE /api/v4/projects/docs%2Fhandbook/wikis/home\n"),
    (("attach", __file__), "POST /api/v4/projects/docs%2Fhandbook/wikis/attach"),
]


async def test_every_write_has_a_dry_run(page: Run, handbook: EmbeddedService) -> None:
    before = await handbook.files(HANDBOOK)

    for words, shown in DRY:
        ran = await page(*words, "--dry-run")

        assert ran.code == 0
        assert ran.out.startswith(shown)
    assert await handbook.files(HANDBOOK) == before


async def test_one_wiki_is_needed(handbook: EmbeddedService, run: Run) -> None:
    for words in ((), ("--project", "a/b", "--group", "a"), ("--project", "/")):
        ran = await run("page", "list", handbook.url, *words)

        ran.ended(2, "hint: ")


# -- in a workspace, which knows service and wiki ----------------------------------


async def test_page_knows_service_and_wiki(
    cloned: Cloned, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(cloned.root)
    assert (await run("page", "get", "guide")).out == "a guide\n"
    listed = await run("page", "list")
    assert listed.code == 0, listed.err
    edited = await run("page", "edit", "guide", "--content", "anew")
    assert edited.code == 0, edited.err
    assert (await cloned.service.files(HANDBOOK))["guide.md"] == b"anew"


async def test_wiki_is_that_of_the_folder(
    cloned: Cloned, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = await cloned.add_wiki("other", {"home": "the other"})
    (other / "deep").mkdir(parents=True)
    monkeypatch.chdir(other / "deep")
    assert (await run("page", "get", "home")).out == "the other\n"
    monkeypatch.chdir(cloned.root)
    (await run("page", "get", "home")).ended(2, "run it in a wiki's folder")
    named = await run("page", "get", "home", "--project", "docs/other")
    assert named.out == "the other\n"


async def test_project_is_that_of_the_wiki_where_it_is_only_read(
    cloned: Cloned, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(cloned.folder)
    shown = await run("project", "show", "--json")
    assert shown.json["path_with_namespace"] == "docs/handbook"
    assert (await run("project", "show", "docs/handbook", "--json")).code == 0
    assert (await run("project", "delete", "--yes")).code == 2


async def test_token_of_the_workspace_goes_to_its_service_alone(
    cloned: Cloned, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.touch(0o600)
    token.write_text(cloned.service.token)
    cloned.configure("[service]\n", f'[service]\ntoken_file = "{token}"\n')
    monkeypatch.chdir(cloned.root)
    monkeypatch.delenv("WIKISYNC_TOKEN")
    assert (await run("page", "get", "guide")).out == "a guide\n"
    at = f"{cloned.service.url}/docs/handbook/-/wikis/guide"
    ran = await run("page", "edit", at, "--content", "anew")
    assert ran.code == 0, ran.err
    assert (await cloned.service.files(HANDBOOK))["guide.md"] == b"anew"
    # named on the command line, it is a service like any other: asked as anybody
    other = await run(
        "page", "get", cloned.service.url, "guide", "--project", "docs/handbook"
    )
    assert other.code == 1
