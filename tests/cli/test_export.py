"""``wikisync export`` as a person runs it: the site, odd pages, pictures."""

from pathlib import Path

import aiohttp
import pytest

from tests.api.wire import http, json_answer, listening_wire
from tests.cli.exports import HANDBOOK, NAMED, PICTURE, Export, digest_of_tree
from tests.support.bending import bending_proxy
from tests.support.commands import Run
from tests.support.quirks import Quirk
from tests.support.service import EmbeddedService
from tests.support.site_links import doubled_ids
from wikisync.errors import FolderError, UsageError
from wikisync.workspace.folders import default_cache, held_cache
from wikisync.workspace.page_files import parse_settings

# -- the way it goes ---------------------------------------------------------------


async def test_export_makes_a_site(export: Export, tmp_path: Path) -> None:
    ran = await export()
    assert (ran.code, ran.err) == (0, "")
    counts, index = ran.out.splitlines()
    assert counts.startswith("2 pages of 1 wiki: ")
    assert counts.endswith("; 0 broken links, 0 problems")
    assert index == str(export.site / "index.html")
    assert "Welcome" in export.page()
    assert "some words" in export.page("dir/page.html")
    assert (export.site / PICTURE).read_bytes() == b"\x89PNG picture"
    kept = {**export.files, **digest_of_tree(tmp_path / "cache")}.values()
    assert not any(export.service.token.encode() in content for content in kept)
    assert export.service.token not in ran.told


async def test_site_tells_what_changed_and_who_did_it(export: Export) -> None:
    await export()
    await export.service.add_pages(HANDBOOK, {"dir/page": "other words"})
    await export()
    page = export.page("dir/page.html")
    assert "by Tester" in page
    assert "tester@" not in page
    versions = export.page("-/history/dir/page.html")
    assert "<del>some</del><ins>other</ins> words" in versions
    assert "<title>page</title>" in export.page("-/changes.atom")
    assert 'rel="self"' not in export.page("-/changes.atom")
    refused = await export("--site-url", "wiki.example.com")
    assert refused.code == 2
    assert "--site-url must be an address like https://" in refused.err
    await export("--site-url", "https://wiki.example.com/a/")
    own = 'rel="self" type="application/atom+xml" href="https://wiki.example.com/a/-/'
    assert own in export.page("-/changes.atom")
    await export("--history", "0")
    assert not (export.site / "-/history/dir/page.html").exists()


async def test_address_of_a_page_names_service_and_wiki(export: Export) -> None:
    page = f"{export.service.url}/docs/handbook/-/wikis/dir/page?x=1#part"
    ran = await export(url=page, of=())
    assert ran.code == 0, ran.err
    before = export.files
    assert "Welcome" in export.page()
    again = await export(url=page)
    assert again.code == 0, again.err
    assert export.files == before


async def test_second_export_writes_nothing_also_where_the_cache_is_lost(
    export: Export, tmp_path: Path
) -> None:
    await export()
    before = export.files
    files = (await export("--json")).json["files"]
    assert files["written"] == files["removed"] == 0
    assert files["unchanged"] == len(before)
    assert export.files == before
    assert (await export("--cache", tmp_path / "other")).code == 0
    assert export.files == before


async def test_second_export_follows_what_changed(export: Export) -> None:
    service = export.service
    await service.add_pages(HANDBOOK, {f"p{n}": f"page {n}" for n in range(9)})
    await export()
    await service.add_pages(HANDBOOK, {"dir/page": "other words"})
    await service.remove_file(HANDBOOK, "p4.md")
    assert (await export()).code == 0
    assert "other words" in export.page("dir/page.html")
    assert not (export.site / "p4.html").exists()


async def test_pages_of_a_lost_mirror_are_removed(
    export: Export, tmp_path: Path
) -> None:
    words = ("--cache", tmp_path / "c")
    await export(*words)
    (tmp_path / "c/mirror.db").unlink()
    await export.service.remove_file(HANDBOOK, "dir/page.md")
    assert (await export(*words)).code == 0
    assert not (export.site / "dir/page.html").exists()


async def test_templates_are_published_where_a_person_asks(export: Export) -> None:
    pages = {"home": "[m](templates/meeting)", "templates/meeting": "who was there\n"}
    await export.service.add_pages(HANDBOOK, pages)
    ran = await export("--json")
    assert not (export.site / "templates/meeting.html").exists()
    assert "template for new pages" in ran.json["broken_links"][0]["reason"]
    await export("--page-templates")
    assert "who was there" in export.page("templates/meeting.html")


async def test_export_of_a_group_with_everything_below_it(export: Export) -> None:
    service = export.service
    await service.add_group("docs", {"home": "the group's own"})
    await service.add_project("docs/empty")
    await service.add_project("docs/off", {"a": "b"}, wiki_access_level="disabled")
    ran = await export("--json", of=("--group", "docs", "--all"))
    assert ran.code == 0
    assert [wiki["path"] for wiki in ran.json["wikis"]] == ["docs", "docs/handbook"]
    skipped = sorted(note["subject"] for note in ran.json["skipped"])
    assert skipped == ["project docs/empty", "project docs/off"]


async def test_landing_page_of_a_group_bears_its_name(export: Export) -> None:
    """Also where the group has no wiki of its own."""
    await export.service.add_project("company/v10", {"home": "ten"})
    await export.service.add_project("company/v9", {"home": "nine"})
    assert (await export("--no-report", of=("--group", "company", "--all"))).code == 0
    page = export.page()
    assert "<h1>company</h1>" in page
    assert page.index("v9/-/wikis") < page.index("v10/-/wikis")
    assert not (export.site / "-/report.html").exists()


async def test_title_and_settings_reach_pages(export: Export, tmp_path: Path) -> None:
    page = {"home": "%{project_path} %{gitlab_server} :tada:"}
    await export.service.add_pages(HANDBOOK, page)
    template = tmp_path / "theme/templates/page.html"
    template.parent.mkdir(parents=True)
    template.write_text(
        '{% extends "!theme/page.html" %}{% block announce %}A COPY{% endblock %}'
    )
    ran = await export(
        *("--title", "My Books", "--templates", tmp_path / "theme"),
        *("--markup", "placeholders=true", "--markup", "emoji=false"),
    )
    assert ran.code == 0
    assert "My Books" in export.page()
    assert "A COPY" in export.page()
    assert "<p>docs/handbook 127.0.0.1 :tada:</p>" in export.page()


async def test_strict_export_fails_on_a_broken_link(export: Export) -> None:
    await export.service.add_pages(HANDBOOK, {"more": "[gone](no/such/page)"})
    quietly = ("-q", "export", export.service.url, *NAMED, "-o", export.site)
    relaxed, silent = await export(), await export.run(*quietly)
    strict, quiet = await export("--strict"), await export.run(*quietly, "--strict")
    codes = [ran.code for ran in (relaxed, silent, strict, quiet)]
    assert (codes, silent.err) == ([0, 0, 1, 1], "")
    told = "broken link: docs/handbook: more:1: no/such/page"
    assert told in strict.err
    assert told in quiet.err


# -- comments ----------------------------------------------------------------------

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


async def test_comments_are_there_where_a_person_asks(export: Export) -> None:
    # as of a service before 18, which has none
    (await export("--comments")).ended(3, "its comments could not be read")
    assert "Welcome" in export.page()
    await put_comments(export.service, "home")
    without = await export()
    assert (without.code, "Second" in export.page()) == (0, False)

    ran = await export("--comments")
    page = export.page()
    below = page.partition('<h2 id="siteComments">')[2]
    assert ran.code == 0, ran.err
    assert below.index('id="siteComment1-mobs"') < below.index("Second")
    assert 'href="dir/page.html"' in below
    assert '<time datetime="20' in below
    assert "for members" not in page
    assert "<script>x" not in page
    assert doubled_ids(export.site) == []
    assert "Second" not in export.page("dir/page.html")

    before = export.files
    again = await export("--comments", "--json")
    assert again.json["files"]["written"] == 0
    assert export.files == before


@pytest.mark.parametrize(
    ("gone", "status", "code"),
    [("dir/page", 404, 0), ("", 404, 3), ("dir/page", 403, 3)],
)
async def test_page_that_is_removed_while_comments_are_read_costs_no_other_page_its_own(
    export: Export, gone: str, status: int, code: int
) -> None:
    await put_comments(export.service, "home")
    removed = await put_comments(export.service, gone) if gone else "[0-9]+"
    async with bending_proxy(export.service.url) as proxy:
        proxy.bend(f"wiki_pages/{removed}/notes", status=status, body=b'{"message":""}')
        ran = await export("--comments", url=proxy.url)
    assert ran.code == code, ran.err
    assert ("Second" in export.page()) is (code == 0)


# -- odd pages and attachments -------------------------------------------------------


async def test_unknown_format_is_shown_as_text(run_alone: Run, site: Path) -> None:
    record = {"id": 7, "path_with_namespace": "docs/handbook", "name": "Handbook"}
    page = {"slug": "home", "format": "typst", "content": "= A title"}
    async with listening_wire() as wire:
        wire.will(json_answer(record))
        wire.will(http(404))  # it has no git
        wire.will(json_answer([page]))
        ran = await run_alone("export", wire.url, *NAMED, "-o", site)
    ran.ended(3, "home: has the unknown format typst")
    assert "= A title" in (site / "index.html").read_text()


async def test_picture_behind_a_sign_in_is_a_placeholder(export: Export) -> None:
    export.service.quirks = {Quirk.FILES_NEED_SESSION, Quirk.NO_GIT}
    ran = await export("--json")
    assert ran.code == 3
    assert "attachment-missing" in ran.problem_codes
    assert not (export.site / PICTURE).exists()


async def test_unused_attachment_leaves_the_site(
    export: Export, tmp_path: Path
) -> None:
    """Else the site would differ from one made anew."""
    await export()
    assert (export.site / PICTURE).exists()
    pages = {"home": "no picture", "dir/page": "none"}
    await export.service.add_pages(HANDBOOK, pages)
    assert (await export()).code == 0
    assert not (export.site / PICTURE).exists()
    await export(to=tmp_path / "clean")
    assert export.files == digest_of_tree(tmp_path / "clean")


# -- small parts -------------------------------------------------------------------


def test_cache_belongs_to_one_service_and_one_output(tmp_path: Path) -> None:
    caches = {
        default_cache(url, output, {"XDG_CACHE_HOME": str(tmp_path)})
        for url in ("https://one.example.com", "https://two.example.com")
        for output in (Path("/a"), Path("/b"))
    }
    assert len(caches) == 4
    assert all(cache.is_relative_to(tmp_path) for cache in caches)


@pytest.mark.parametrize("value", ["", "relative/path"])
def test_cache_lies_in_the_home_folder_otherwise(value: str) -> None:
    cache = default_cache("u", Path("/a"), {"XDG_CACHE_HOME": value})
    assert cache.is_relative_to(Path.home() / ".cache/wikisync")


def test_cache_that_cannot_be_made_is_told_with_its_option(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("in the way")
    with pytest.raises(FolderError) as wrong, held_cache(tmp_path / "cache" / "export"):
        pass
    assert "--cache" in (wrong.value.hint or "")


def test_theme_options_are_toml_where_they_can_be() -> None:
    given = ("a=true", "b=7", 'c=["x"]', "d=teal", "e=#ff0000", 'f="9"', "g=x=y")
    values = parse_settings(given, "--theme-option")
    assert tuple(values) == tuple("abcdefg")
    assert [*values.values()] == [True, 7, ["x"], "teal", "#ff0000", "9", "x=y"]


@pytest.mark.parametrize("text", ["name", "=value", ""])
def test_theme_option_without_a_name_or_value_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="NAME=VALUE"):
        parse_settings((text,), "--theme-option")
