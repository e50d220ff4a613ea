"""``wikisync export`` as a person runs it: the site, odd pages, pictures."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from tests.api.wire import Wire, http, json_answer, listening_wire
from tests.cli.exports import HANDBOOK, NAMED, PICTURE, digest_of_tree, put_handbook
from tests.support.bending import bending_proxy
from tests.support.commands import Run
from tests.support.quirks import Quirk
from tests.support.service import EmbeddedService
from tests.support.site_links import doubled_ids
from wikisync.errors import FolderError, UsageError
from wikisync.workspace.folders import default_cache, held_cache
from wikisync.workspace.page_files import parse_settings


@pytest.fixture
async def handbook(service: EmbeddedService) -> EmbeddedService:
    return await put_handbook(service)


# -- the way it goes ---------------------------------------------------------------


async def test_export_makes_a_site_and_prints_counts_and_where_it_is(
    handbook: EmbeddedService, run: Run, site: Path
) -> None:
    ran = await run("export", handbook.url, *NAMED, "-o", site)
    assert (ran.code, ran.err) == (0, "")
    counts, index = ran.out.splitlines()
    assert counts.startswith("2 pages of 1 wiki: ")
    assert counts.endswith("; 0 broken links, 0 problems")
    assert index == str(site / "index.html")
    assert "Welcome" in (site / "index.html").read_text()
    assert "some words" in (site / "dir/page.html").read_text()
    assert (site / PICTURE).read_bytes() == b"\x89PNG picture"


async def test_site_tells_what_changed_and_who_did_it(
    handbook: EmbeddedService, run: Run, site: Path
) -> None:
    await run("export", handbook.url, *NAMED, "-o", site)
    await handbook.add_pages(HANDBOOK, {"dir/page": "other words"})
    await run("export", handbook.url, *NAMED, "-o", site)
    page = (site / "dir/page.html").read_text()
    assert "by Tester" in page
    assert "tester@" not in page
    versions = (site / "-/history/dir/page.html").read_text()
    assert "<del>some</del><ins>other</ins> words" in versions
    assert "<title>page</title>" in (site / "-/changes.atom").read_text()
    await run("export", handbook.url, *NAMED, "-o", site, "--history", "0")
    assert not (site / "-/history/dir/page.html").exists()


@pytest.mark.parametrize(
    "page", ["docs/handbook", "docs/handbook/-/wikis/dir/page?x=1#part"]
)
async def test_address_of_a_page_names_service_and_wiki(
    handbook: EmbeddedService, run: Run, site: Path, page: str
) -> None:
    ran = await run("export", f"{handbook.url}/{page}", "-o", site)
    assert ran.code == 0, ran.err
    assert "Welcome" in (site / "index.html").read_text()
    before = digest_of_tree(site)
    again = await run("export", f"{handbook.url}/{page}", *NAMED, "-o", site)
    assert again.code == 0, again.err
    assert digest_of_tree(site) == before


async def test_second_export_writes_nothing(
    handbook: EmbeddedService, run: Run, site: Path
) -> None:
    await run("export", handbook.url, *NAMED, "-o", site)
    before = digest_of_tree(site)
    ran = await run("export", handbook.url, *NAMED, "-o", site, "--json")
    assert ran.json["files"]["written"] == ran.json["files"]["removed"] == 0
    assert ran.json["files"]["unchanged"] == len(before)
    assert digest_of_tree(site) == before


async def test_second_export_follows_what_changed(
    handbook: EmbeddedService, run: Run, site: Path
) -> None:
    await handbook.add_pages(HANDBOOK, {f"p{n}": f"page {n}" for n in range(9)})
    await run("export", handbook.url, *NAMED, "-o", site)
    await handbook.add_pages(HANDBOOK, {"dir/page": "other words"})
    await handbook.remove_file(HANDBOOK, "p4.md")
    ran = await run("export", handbook.url, *NAMED, "-o", site)
    assert ran.code == 0
    assert "other words" in (site / "dir/page.html").read_text()
    assert not (site / "p4.html").exists()


async def test_lost_cache_costs_only_time(
    handbook: EmbeddedService, run: Run, site: Path, tmp_path: Path
) -> None:
    first, second = tmp_path / "one", tmp_path / "two"
    await run("export", handbook.url, *NAMED, "-o", site, "--cache", first)
    before = digest_of_tree(site)
    ran = await run("export", handbook.url, *NAMED, "-o", site, "--cache", second)
    assert ran.code == 0
    assert digest_of_tree(site) == before


async def test_pages_of_a_lost_mirror_do_not_outlive_their_wiki(
    handbook: EmbeddedService, run: Run, site: Path, tmp_path: Path
) -> None:
    words = ("export", handbook.url, *NAMED, "-o", site, "--cache", tmp_path / "c")
    await run(*words)
    (tmp_path / "c/mirror.db").unlink()
    await handbook.remove_file(HANDBOOK, "dir/page.md")
    ran = await run(*words)
    assert ran.code == 0
    assert not (site / "dir/page.html").exists()


async def test_templates_for_new_pages_are_published_where_a_person_asks(
    handbook: EmbeddedService, run: Run, site: Path
) -> None:
    pages = {"home": "[m](templates/meeting)", "templates/meeting": "who was there\n"}
    await handbook.add_pages(HANDBOOK, pages)
    ran = await run("export", handbook.url, *NAMED, "-o", site, "--json")
    assert not (site / "templates/meeting.html").exists()
    assert "template for new pages" in ran.json["broken_links"][0]["reason"]
    await run("export", handbook.url, *NAMED, "-o", site, "--page-templates")
    assert "who was there" in (site / "templates/meeting.html").read_text()


async def test_export_of_a_group_with_everything_below_it(
    handbook: EmbeddedService, run: Run, site: Path
) -> None:
    await handbook.add_group("docs", {"home": "the group's own"})
    await handbook.add_project("docs/empty")
    await handbook.add_project("docs/off", {"a": "b"}, wiki_access_level="disabled")
    ran = await run(
        "export", handbook.url, "--group", "docs", "--all", "-o", site, "--json"
    )
    assert ran.code == 0
    assert [wiki["path"] for wiki in ran.json["wikis"]] == ["docs", "docs/handbook"]
    assert sorted(note["subject"] for note in ran.json["skipped"]) == [
        "project docs/empty",
        "project docs/off",
    ]


async def test_title_and_theme_option_reach_the_pages(
    handbook: EmbeddedService, run: Run, site: Path
) -> None:
    ran = await run("export", handbook.url, *NAMED, "-o", site, "--title", "My Books")
    assert ran.code == 0
    assert "My Books" in (site / "index.html").read_text()


async def test_landing_page_of_a_group_bears_its_name(
    service: EmbeddedService, run: Run, site: Path
) -> None:
    """Also where the group has no wiki of its own."""
    await service.add_project("company/v10", {"home": "ten"})
    await service.add_project("company/v9", {"home": "nine"})
    words = ["--group", "company", "--all", "-o", site, "--no-report"]
    ran = await run("export", service.url, *words)
    assert ran.code == 0
    page = (site / "index.html").read_text()
    assert "<h1>company</h1>" in page
    assert page.index("v9/-/wikis") < page.index("v10/-/wikis")
    assert not (site / "-/report.html").exists()


COMMENTS = (
    {"body": "# Mobs\n\nSee [[dir/page]] <script>x</script> **bold <b>"},
    {"body": "Second [own](#mobs)"},
    {"body": "for members", "internal": True},
)


async def put_comments(service: EmbeddedService, page: str) -> int:
    """Comments on a page of the handbook, which the service lists with its id."""
    service.quirks |= {Quirk.META_ID}
    wikis = f"{service.url}/api/v4/projects/docs%2Fhandbook"
    async with aiohttp.ClientSession(headers=service.headers) as session:
        answer = await session.get(f"{wikis}/wikis/{page}")
        page_id = (await answer.json())["wiki_page_meta_id"]
        for comment in COMMENTS:
            notes = f"{wikis}/wiki_pages/{page_id}/notes"
            assert (await session.post(notes, json=comment)).status == 201
    return int(page_id)


async def test_comments_stand_below_their_page_where_a_person_asks(
    handbook: EmbeddedService, run: Run, site: Path
) -> None:
    await put_comments(handbook, "home")
    words = ("export", handbook.url, *NAMED, "-o", site)
    without = await run(*words)
    assert (without.code, "Second" in (site / "index.html").read_text()) == (0, False)

    ran = await run(*words, "--comments")
    page = (site / "index.html").read_text()
    below = page.partition('<h2 id="siteComments">')[2]
    assert ran.code == 0, ran.err
    assert below.index('id="siteComment1-mobs"') < below.index("Second")
    assert 'href="dir/page.html"' in below
    assert '<time datetime="20' in below
    assert "for members" not in page
    assert "<script>x" not in page
    assert doubled_ids(site) == []
    assert "Second" not in (site / "dir/page.html").read_text()

    before = digest_of_tree(site)
    again = await run(*words, "--comments", "--json")
    assert again.json["files"]["written"] == 0
    assert digest_of_tree(site) == before


@pytest.mark.parametrize(
    ("gone", "status", "code"),
    [("dir/page", 404, 0), ("", 404, 3), ("dir/page", 403, 3)],
)
async def test_page_that_is_removed_while_comments_are_read_costs_no_other_page_its_own(
    handbook: EmbeddedService, run: Run, site: Path, gone: str, status: int, code: int
) -> None:
    await put_comments(handbook, "home")
    removed = await put_comments(handbook, gone) if gone else "[0-9]+"
    async with bending_proxy(handbook.url) as proxy:
        proxy.bend(f"wiki_pages/{removed}/notes", status=status, body=b'{"message":""}')
        ran = await run("export", proxy.url, *NAMED, "-o", site, "--comments")
    assert ran.code == code, ran.err
    assert ("Second" in (site / "index.html").read_text()) is (code == 0)


async def test_comments_that_cannot_be_read_are_a_problem_of_the_export(
    handbook: EmbeddedService, run: Run, site: Path
) -> None:
    """As of a service before 18, which has none."""
    ran = await run("export", handbook.url, *NAMED, "-o", site, "--comments")
    assert ran.code == 3
    assert "its comments could not be read" in ran.err
    assert "Welcome" in (site / "index.html").read_text()


async def test_markup_settings_reach_the_pages(
    handbook: EmbeddedService, run: Run, site: Path
) -> None:
    await handbook.add_project(
        "docs/placed", {"home": "%{project_path} %{gitlab_server} :tada:"}
    )
    settings = ("--markup", "placeholders=true", "--markup", "emoji=false")
    named = ("--project", "docs/placed")
    ran = await run("export", handbook.url, *named, "-o", site, *settings)
    assert ran.code == 0
    assert "<p>docs/placed 127.0.0.1 :tada:</p>" in (site / "index.html").read_text()


async def test_strict_export_fails_on_a_broken_link(
    handbook: EmbeddedService, run: Run, site: Path
) -> None:
    await handbook.add_pages(HANDBOOK, {"more": "[gone](no/such/page)"})
    relaxed = await run("export", handbook.url, *NAMED, "-o", site)
    strict = await run("export", handbook.url, *NAMED, "-o", site, "--strict")
    assert (relaxed.code, strict.code) == (0, 1)
    assert "broken link: docs/handbook: more:1: no/such/page" in strict.err
    quiet = await run("-q", "export", handbook.url, *NAMED, "-o", site, "--strict")
    assert quiet.code == 1
    assert "broken link: docs/handbook: more:1: no/such/page" in quiet.err
    silent = await run("-q", "export", handbook.url, *NAMED, "-o", site)
    assert (silent.code, silent.err) == (0, "")


async def test_token_is_neither_in_site_nor_cache_nor_output(
    handbook: EmbeddedService, run: Run, site: Path, tmp_path: Path
) -> None:
    ran = await run("export", handbook.url, *NAMED, "-o", site, "--json")
    found = {**digest_of_tree(site), **digest_of_tree(tmp_path / "cache")}
    secret = handbook.token.encode()
    assert not [name for name, content in found.items() if secret in content]
    assert handbook.token not in ran.out + ran.err


async def test_own_templates_stand_in_front_of_the_theme(
    handbook: EmbeddedService, run: Run, site: Path, tmp_path: Path
) -> None:
    page = tmp_path / "theme/templates/page.html"
    page.parent.mkdir(parents=True)
    page.write_text(
        '{% extends "!theme/page.html" %}{% block announce %}A COPY{% endblock %}'
    )
    words = ("export", handbook.url, *NAMED, "-o", site)
    assert (await run(*words, "--templates", tmp_path / "theme")).code == 0
    assert "A COPY" in (site / "index.html").read_text()


# -- odd pages ---------------------------------------------------------------------


async def test_unknown_format_is_shown_as_text_and_told(
    run_alone: Run, site: Path
) -> None:
    async with odd_service() as wire:
        page = {"slug": "home", "format": "typst", "content": "= A title"}
        wire.will(json_answer([page]))
        ran = await run_alone("export", wire.url, *NAMED, "-o", site)
    assert ran.code == 3
    assert "home: has the unknown format typst" in ran.err
    assert "= A title" in (site / "index.html").read_text()


# -- attachments -------------------------------------------------------------------


async def test_picture_behind_a_sign_in_is_a_placeholder_and_told(
    handbook: EmbeddedService, run: Run, site: Path
) -> None:
    handbook.quirks = {Quirk.FILES_NEED_SESSION, Quirk.NO_GIT}
    ran = await run("export", handbook.url, *NAMED, "-o", site, "--json")
    assert ran.code == 3
    assert "attachment-missing" in ran.problem_codes
    assert not (site / PICTURE).exists()


async def test_attachment_that_no_page_mentions_any_more_leaves_the_site(
    handbook: EmbeddedService, run: Run, site: Path
) -> None:
    """Else the site would differ from one made anew."""
    await run("export", handbook.url, *NAMED, "-o", site)
    assert (site / PICTURE).exists()
    await handbook.add_pages(HANDBOOK, {"home": "no picture", "dir/page": "none"})
    ran = await run("export", handbook.url, *NAMED, "-o", site)
    assert ran.code == 0
    assert not (site / PICTURE).exists()
    await run("export", handbook.url, *NAMED, "-o", site.with_name("clean"))
    assert digest_of_tree(site) == digest_of_tree(site.with_name("clean"))


@asynccontextmanager
async def odd_service() -> AsyncIterator[Wire]:
    """A service that knows one project and has no git; the rest is the test's."""
    async with listening_wire() as wire:
        record = {"id": 7, "path_with_namespace": "docs/handbook", "name": "Handbook"}
        wire.will(json_answer(record))
        wire.will(http(404))
        yield wire


# -- small parts -------------------------------------------------------------------


def test_cache_belongs_to_one_service_and_one_output(tmp_path: Path) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    caches = {
        default_cache(url, output, environment)
        for url in ("https://one.example.com", "https://two.example.com")
        for output in (Path("/a"), Path("/b"))
    }
    assert len(caches) == 4
    assert all(cache.is_relative_to(tmp_path) for cache in caches)


@pytest.mark.parametrize("value", ["", "relative/path"])
def test_cache_lies_in_the_home_folder_otherwise(value: str) -> None:
    cache = default_cache("u", Path("/a"), {"XDG_CACHE_HOME": value})
    assert cache.is_relative_to(Path.home() / ".cache/wikisync")


def test_theme_options_are_toml_where_they_can_be() -> None:
    given = ("a=true", "b=7", 'c=["x"]', "d=teal", "e=#ff0000", 'f="9"', "g=x=y")
    assert parse_settings(given, "--theme-option") == {
        "a": True,
        "b": 7,
        "c": ["x"],
        "d": "teal",
        "e": "#ff0000",
        "f": "9",
        "g": "x=y",
    }


@pytest.mark.parametrize("text", ["name", "=value", ""])
def test_theme_option_without_a_name_or_value_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="NAME=VALUE"):
        parse_settings((text,), "--theme-option")


def test_cache_that_cannot_be_made_is_told_with_its_option(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("in the way")

    with pytest.raises(FolderError) as wrong, held_cache(tmp_path / "cache" / "export"):
        pass
    assert "--cache" in (wrong.value.hint or "")
