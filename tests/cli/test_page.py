"""``wikisync page`` on the embedded service."""

import io
from pathlib import Path

import pytest

from tests.support.commands import Ran, Run
from tests.support.service import EmbeddedService
from wikisync.core.model import Format, Page, Slug, WikiOwner

HANDBOOK = WikiOwner("project", "docs/handbook")
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
    assert other.code == 2
    assert "select one wiki" in other.err


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


async def test_create_from_a_file(page: Run, tmp_path: Path) -> None:
    file = tmp_path / "text"
    file.write_text("* ümlaut\n", encoding="utf-8")
    made = await page("create", "dir/new page", "--file", file, "--format", "org")
    file.write_bytes(b"\xff\xfe")
    refused = await page("create", "new", "--file", file)

    assert made.out == "created page dir/new-page of project docs/handbook\n"
    assert (await page("get", "dir/new-page")).out == "* ümlaut\n"
    assert refused.code == 1
    assert "is not UTF-8 text" in refused.err


async def test_create_from_standard_input(
    page: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    piped = io.TextIOWrapper(io.BytesIO(b"piped\n"))
    monkeypatch.setattr("sys.stdin", piped)

    await page("create", "new", "--file", "-")

    assert (await page("get", "new")).out == "piped\n"


TWICE = ("create", "new", "--content", "a", "--file", "-")
REFUSED: list[tuple[tuple[str, ...], str]] = [
    (("create", "new"), "page new has no text"),
    (TWICE, "--content and --file cannot be given together"),
    (("create", "new", "--file", "gone.txt"), "there is no file gone.txt"),
    (("attach", "gone.txt"), "there is no file gone.txt"),
    (("edit", "home"), "no change is given for page home"),
    (("delete", "home"), "deleting page home needs confirmation"),
]


async def test_wrong_arguments_are_told(page: Run) -> None:
    for words, message in REFUSED:
        ran = await page(*words)

        assert ran.code == 2
        assert message in ran.err


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

    assert ran.code == 2
    assert f"the text of page {words[1]} has front matter with tags" in ran.err
    assert (await handbook.files(HANDBOOK))["tagged.md"] == text.encode()


async def test_commit_has_the_message_that_is_given(
    page: Run, handbook: EmbeddedService
) -> None:
    wiki = await handbook.wiki(HANDBOOK)
    await page("create", "new", "--content", "a", "--message", "why new")
    created = wiki.repository.branches()[0][1].message
    await page("edit", "new", "--content", "b", "--message", "why edited")
    edited = wiki.repository.branches()[0][1].message

    assert (created, edited) == ("why new", "why edited")


async def test_edit_of_a_page_that_changed_meanwhile_is_refused(
    page: Run, handbook: EmbeddedService
) -> None:
    wiki = await handbook.wiki(HANDBOOK)
    known = wiki.repository.last_commit_of("home.md")
    words = ("edit", "home", "--last-commit-sha", str(known), "--content")
    taken, refused = await page(*words, "a"), await page(*words, "b")

    assert (taken.code, refused.code) == (0, 1)
    assert "cannot edit page home of project docs/handbook: it conf" in refused.err
    assert "The page was changed after the commit in last_commit_sha." in refused.err
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

        assert ran.code == 2
        assert "hint: " in ran.err
