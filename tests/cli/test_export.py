"""``wikisync export`` as a person runs it, and everything that may go wrong."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import ClientSession, web
from msgspec.structs import replace
from yarl import URL

from tests.api.wire import Wire, http, json_answer, listening_wire
from tests.cli.conftest import Run
from tests.support.git import needs_git
from tests.support.service import EmbeddedService
from wikisync.cli.export import default_cache, parse_theme_options
from wikisync.errors import UsageError
from wikisync.model import WikiOwner
from wikisync.service.quirks import Quirk

HANDBOOK = WikiOwner("project", "docs/handbook")
UPLOADS = "uploads/" + "0123456789abcdef" * 2
PICTURE = f"{UPLOADS}/p.png"
NAMED = ("--project", "docs/handbook")


@pytest.fixture
async def handbook(service: EmbeddedService) -> EmbeddedService:
    pages = {"home": f"# Welcome\n\n![p]({PICTURE})", "dir/page": "some words"}
    await service.add_project("docs/handbook", pages)
    await service.put_file(HANDBOOK, PICTURE, b"\x89PNG picture")
    return service


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return tmp_path / "site"


def digest_of_tree(folder: Path) -> dict[str, bytes]:
    found = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


# -- the way it goes ---------------------------------------------------------------


async def test_export_makes_a_site(
    handbook: EmbeddedService, run: Run, site: Path
) -> None:
    ran = await run("export", handbook.url, *NAMED, "-o", site)
    assert ran.code == 0
    assert "Welcome" in (site / "index.html").read_text()
    assert "some words" in (site / "dir/page.html").read_text()
    assert (site / PICTURE).read_bytes() == b"\x89PNG picture"


async def test_export_prints_counts_and_where_the_site_is(
    handbook: EmbeddedService, run: Run, site: Path
) -> None:
    ran = await run("export", handbook.url, *NAMED, "-o", site)
    counts, index = ran.out.splitlines()
    assert counts.startswith("2 pages of 1 wiki: ")
    assert counts.endswith("; 0 broken links, 0 problems")
    assert index == str(site / "index.html")
    assert not ran.err


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


async def test_pages_of_a_lost_state_do_not_outlive_their_wiki(
    handbook: EmbeddedService, run: Run, site: Path, tmp_path: Path
) -> None:
    words = ("export", handbook.url, *NAMED, "-o", site, "--cache", tmp_path / "c")
    await run(*words)
    (tmp_path / "c/state.db").unlink()
    await handbook.remove_file(HANDBOOK, "dir/page.md")
    ran = await run(*words)
    assert ran.code == 0
    assert not (site / "dir/page.html").exists()


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


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--theme-option", "nonsense=1"), "nonsense"),
        (("--theme-option", "nonsense"), "nonsense"),
        (("--theme", "no-such-theme"), "no-such-theme"),
    ],
)
async def test_wrong_theme_or_option_is_named(
    handbook: EmbeddedService, run: Run, site: Path, words: tuple[str, str], named: str
) -> None:
    ran = await run("export", handbook.url, *NAMED, "-o", site, *words)
    assert ran.code in {1, 2}
    assert named in ran.err


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


async def test_token_is_neither_in_site_nor_cache_nor_output(
    handbook: EmbeddedService, run: Run, site: Path, tmp_path: Path
) -> None:
    ran = await run("export", handbook.url, *NAMED, "-o", site, "--json")
    found = {**digest_of_tree(site), **digest_of_tree(tmp_path / "cache")}
    secret = handbook.token.encode()
    assert not [name for name, content in found.items() if secret in content]
    assert handbook.token not in ran.out + ran.err


# -- the service -------------------------------------------------------------------


async def test_wrong_url_is_told_as_one(run: Run, site: Path) -> None:
    async with listening_wire() as wire:
        wire.repeats = True
        wire.will(http(200, b"<html>Welcome to nginx</html>", "text/html"))
        ran = await run("export", wire.url, *NAMED, "-o", site)
    assert ran.code == 1
    assert "this is not a GitLab-compatible API" in ran.err
    assert wire.url in ran.err
    assert not site.exists()


@pytest.mark.parametrize("url", ["nonsense", "ftp://example.com", "http://"])
async def test_url_that_cannot_be_one_is_a_usage_error(
    run: Run, site: Path, url: str
) -> None:
    ran = await run("export", url, *NAMED, "-o", site)
    assert ran.code == 2
    assert "hint:" in ran.err


async def test_unreachable_host_is_named(run: Run, site: Path) -> None:
    ran = await run("export", "http://127.0.0.1:1", *NAMED, "-o", site)
    assert ran.code == 1
    assert "127.0.0.1:1" in ran.err
    assert "hint:" in ran.err


async def test_wrong_token_is_told_and_never_repeated(
    handbook: EmbeddedService, run: Run, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WIKISYNC_TOKEN", "glpat-WRONG")
    ran = await run("export", handbook.url, *NAMED, "-o", site)
    assert ran.code == 1
    assert "does not know this token" in ran.err
    assert "glpat-WRONG" not in ran.err


async def test_expired_token_is_told_as_expired(
    handbook: EmbeddedService, run: Run, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = await handbook.add_user("late", expires_on="2001-01-01", is_admin=True)
    monkeypatch.setenv("WIKISYNC_TOKEN", token)
    ran = await run("export", handbook.url, *NAMED, "-o", site)
    assert ran.code == 1
    assert "expired" in ran.err
    assert "make a new token" in ran.err


async def test_missing_project_is_named_with_what_to_do(
    handbook: EmbeddedService, run: Run, site: Path
) -> None:
    ran = await run("export", handbook.url, "--project", "docs/nothing", "-o", site)
    assert ran.code == 1
    assert "project docs/nothing does not exist or is hidden" in ran.err
    assert "the token may also not be allowed to see it" in ran.err


async def test_wiki_switched_off_is_named_with_what_to_do(
    handbook: EmbeddedService, run: Run, site: Path
) -> None:
    await handbook.add_project("docs/off", {"a": "b"}, wiki_access_level="disabled")
    ran = await run("export", handbook.url, "--project", "docs/off", "-o", site)
    assert ran.code == 1
    assert "project docs/off: its wiki is disabled" in ran.err
    assert "switch the wiki on" in ran.err


async def test_group_wiki_that_this_edition_lacks_is_told(
    handbook: EmbeddedService, run: Run, site: Path
) -> None:
    await handbook.add_group("docs", {"home": "x"})
    leave_enterprise(handbook)
    ran = await run("export", handbook.url, "--group", "docs", "-o", site)
    assert ran.code == 1
    assert "group" in ran.err
    assert "paid tier" in ran.err


async def test_found_group_wiki_that_this_edition_lacks_is_left_out(
    handbook: EmbeddedService, run: Run, site: Path
) -> None:
    await handbook.add_group("docs", {"home": "x"})
    leave_enterprise(handbook)
    ran = await run(
        "export", handbook.url, "--group", "docs", "--all", "-o", site, "--json"
    )
    assert ran.code == 0
    assert [note["subject"] for note in ran.json["skipped"]] == ["group docs"]
    assert [wiki["path"] for wiki in ran.json["wikis"]] == ["docs/handbook"]


def leave_enterprise(service: EmbeddedService) -> None:
    settings = service.running.settings
    profile = replace(settings.profile, is_enterprise=False)
    service.running.settings = replace(settings, profile=profile)


async def test_empty_wiki_is_a_site_with_nothing_in_it(
    service: EmbeddedService, run: Run, site: Path
) -> None:
    await service.add_project("docs/empty")
    ran = await run("export", service.url, "--project", "docs/empty", "-o", site)
    assert ran.code == 0
    assert ran.out.startswith("0 pages of 1 wiki: ")
    assert (site / "index.html").exists()


async def test_nothing_to_export_is_told(
    service: EmbeddedService, run: Run, site: Path
) -> None:
    await service.add_project("docs/empty")
    ran = await run("export", service.url, "--all", "-o", site)
    assert ran.code == 2
    assert "there is no wiki with pages to export" in ran.err
    assert not site.exists()


async def test_wiki_that_is_suddenly_empty_leaves_the_site_as_it_was(
    handbook: EmbeddedService, run: Run, site: Path
) -> None:
    await run("export", handbook.url, *NAMED, "-o", site)
    await handbook.remove_file(HANDBOOK, "home.md")
    await handbook.remove_file(HANDBOOK, "dir/page.md")
    before = digest_of_tree(site)
    ran = await run("export", handbook.url, *NAMED, "-o", site)
    assert ran.code == 4
    assert "--allow-emptying" in ran.err
    assert digest_of_tree(site) == before


# -- odd pages ---------------------------------------------------------------------


async def test_page_of_six_megabytes_is_exported(
    handbook: EmbeddedService, run: Run, site: Path
) -> None:
    text = "many words in a line\n" * 300_000
    await handbook.put_file(HANDBOOK, "huge.md", text.encode())
    await run("export", handbook.url, *NAMED, "-o", site)
    assert "many words in a line" in (site / "huge.html").read_text()


async def test_page_that_is_no_text_is_a_problem_and_the_rest_is_there(
    handbook: EmbeddedService, run: Run, site: Path
) -> None:
    await handbook.put_file(HANDBOOK, "odd.md", b"\0\xff\xfe binary")
    ran = await run("export", handbook.url, *NAMED, "-o", site, "--json")
    assert ran.code == 3
    assert "page-not-utf-8" in ran.problem_codes
    assert (site / "index.html").exists()


async def test_page_in_an_old_encoding_is_exported_as_the_service_reads_it(
    handbook: EmbeddedService, run: Run, site: Path
) -> None:
    await handbook.put_file(HANDBOOK, "old.md", "naïve café".encode("latin-1"))
    await run("export", handbook.url, *NAMED, "-o", site)
    assert "naïve café" in (site / "old.html").read_text()


async def test_two_slugs_that_differ_in_case_are_both_exported(
    handbook: EmbeddedService, run: Run, site: Path
) -> None:
    await handbook.add_pages(HANDBOOK, {"Dir/Page": "the other text"})
    await run("export", handbook.url, *NAMED, "-o", site)
    texts = [path.read_text() for path in site.rglob("*.html")]
    assert any("some words" in text for text in texts)
    assert any("the other text" in text for text in texts)


async def test_unknown_format_is_shown_as_text_and_told(run: Run, site: Path) -> None:
    async with odd_service() as wire:
        page = {"slug": "home", "format": "typst", "content": "= A title"}
        wire.will(json_answer([page]))
        ran = await run("export", wire.url, *NAMED, "-o", site)
    assert ran.code == 3
    assert "home: has the format typst, which is not known" in ran.err
    assert "= A title" in (site / "index.html").read_text()


# -- attachments -------------------------------------------------------------------


async def test_sign_in_page_is_not_taken_for_a_picture(run: Run, site: Path) -> None:
    async with odd_service() as wire:
        page = {"slug": "home", "format": "markdown", "content": f"![p]({PICTURE})"}
        wire.will(json_answer([page]))
        wire.will(http(200, b"<html>Sign in</html>", "text/html"))
        wire.will(http(404))  # and git has no repository there
        ran = await run("export", wire.url, *NAMED, "-o", site, "--json")
    assert ran.code == 3
    assert "attachment-missing" in ran.problem_codes
    assert not (site / PICTURE).exists()


async def test_picture_behind_a_sign_in_is_a_placeholder_and_told(
    handbook: EmbeddedService, run: Run, site: Path
) -> None:
    handbook.quirks = {Quirk.FILES_NEED_SESSION, Quirk.NO_GIT}
    ran = await run("export", handbook.url, *NAMED, "-o", site, "--json")
    assert ran.code == 3
    assert "attachment-missing" in ran.problem_codes
    assert not (site / PICTURE).exists()


@needs_git
async def test_picture_behind_a_sign_in_comes_by_git(
    handbook: EmbeddedService, run: Run, site: Path
) -> None:
    handbook.quirks = {Quirk.FILES_NEED_SESSION}
    ran = await run("export", handbook.url, *NAMED, "-o", site)
    assert ran.code == 0
    assert (site / PICTURE).exists()


async def test_picture_that_can_be_had_later_is_fetched_then(
    handbook: EmbeddedService, run: Run, site: Path
) -> None:
    handbook.quirks = {Quirk.FILES_NEED_SESSION, Quirk.NO_GIT}
    await run("export", handbook.url, *NAMED, "-o", site)
    handbook.quirks = ()
    ran = await run("export", handbook.url, *NAMED, "-o", site)
    assert ran.code == 0
    assert (site / PICTURE).exists()


@asynccontextmanager
async def odd_service() -> AsyncIterator[Wire]:
    """A service that knows one project; what else it says is the test's."""
    async with listening_wire() as wire:
        record = {"id": 7, "path_with_namespace": "docs/handbook", "name": "Handbook"}
        wire.will(json_answer(record))
        yield wire


# -- output and cache --------------------------------------------------------------


async def test_folder_with_files_of_others_is_refused_and_not_touched(
    handbook: EmbeddedService, run: Run, site: Path
) -> None:
    site.mkdir()
    (site / "thesis.txt").write_text("years of work")
    ran = await run("export", handbook.url, *NAMED, "-o", site)
    assert ran.code == 1
    assert f"output {site} is not empty" in ran.err
    assert digest_of_tree(site) == {"thesis.txt": b"years of work"}


@pytest.mark.parametrize("output", ["/proc/site", "/dev/null/site", "/dev/null"])
async def test_output_that_cannot_be_written_is_named(
    handbook: EmbeddedService, run: Run, output: str
) -> None:
    ran = await run("export", handbook.url, *NAMED, "-o", output)
    assert ran.code == 1
    assert output in ran.err


async def test_output_is_checked_before_anything_is_read(
    run: Run, tmp_path: Path
) -> None:
    """Ten minutes of reading must not end in a folder that cannot be used."""
    (tmp_path / "file").write_text("")
    ran = await run("export", "http://127.0.0.1:1", *NAMED, "-o", tmp_path / "file")
    assert "is not a folder" in ran.err


async def test_cache_with_files_of_others_is_refused_and_not_touched(
    handbook: EmbeddedService, run: Run, site: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "notes"
    cache.mkdir()
    (cache / "diary.txt").write_text("mine")
    ran = await run("export", handbook.url, *NAMED, "-o", site, "--cache", cache)
    assert ran.code == 1
    assert f"the cache {cache} holds files" in ran.err
    assert digest_of_tree(cache) == {"diary.txt": b"mine"}


async def test_cache_that_cannot_be_written_is_named(
    handbook: EmbeddedService, run: Run, site: Path
) -> None:
    ran = await run("export", handbook.url, *NAMED, "-o", site, "--cache", "/proc/c")
    assert ran.code == 1
    assert "/proc/c" in ran.err


async def test_full_disk_is_told_and_the_next_export_finishes(
    handbook: EmbeddedService, run: Run, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await handbook.add_pages(HANDBOOK, {f"p{n}": f"page {n}" for n in range(20)})
    with monkeypatch.context() as full:
        full.setattr("wikisync.folder.swap.os.write", disk_with_room_for(7))
        ran = await run("export", handbook.url, *NAMED, "-o", site)
    assert ran.code == 1
    assert "the disk is full" in ran.err
    assert "free some space" in ran.err
    again = await run("export", handbook.url, *NAMED, "-o", site)
    assert again.code == 0
    assert again.out.startswith("22 pages")


def disk_with_room_for(writes: int) -> Callable[[int, bytes], int]:
    """``os.write`` on a disk that is full after so many writes."""
    really, left = os.write, writes

    def write(descriptor: int, content: bytes) -> int:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return really(descriptor, content)

    return write


# -- interrupts --------------------------------------------------------------------


async def test_interrupted_export_is_finished_by_the_next_one(
    handbook: EmbeddedService, run: Run, site: Path
) -> None:
    """Ctrl-C while the picture is on its way: pages are there, the site is not."""
    async with interrupting_service(handbook, "uploads") as front:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "wikisync", "export", front.url, *NAMED),
            *("-o", str(site)),
            stderr=asyncio.subprocess.PIPE,
        )
        front.process = process
        _, told = await process.communicate()
        assert process.returncode == 130
        assert b"Traceback" not in told
        assert b"run the same command again" in told
        assert not (site / "index.html").exists()
        front.process = None
        ran = await run("export", front.url, *NAMED, "-o", site)
    assert ran.code == 0
    assert (site / PICTURE).read_bytes() == b"\x89PNG picture"


class Front:
    """Stands in front of the service; interrupts a process on one request."""

    def __init__(self, service: EmbeddedService, marker: str) -> None:
        self._service = service
        self._marker = marker
        self.url = ""
        self.process: asyncio.subprocess.Process | None = None

    async def answer(self, request: web.Request) -> web.Response:
        if self._marker in request.path and self.process is not None:
            self.process.send_signal(signal.SIGINT)
            await self.process.wait()
        url = f"{self._service.url}{request.raw_path}"
        async with (
            ClientSession() as session,
            session.get(URL(url, encoded=True), headers=self._service.headers) as got,
        ):
            body = await got.read()
            return web.Response(
                status=got.status, body=body, content_type=got.content_type
            )


@asynccontextmanager
async def interrupting_service(
    service: EmbeddedService, marker: str
) -> AsyncIterator[Front]:
    front = Front(service, marker)
    app = web.Application()
    app.router.add_route("GET", "/{path:.*}", front.answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    front.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield front
    finally:
        await runner.cleanup()


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
    given = ["a=true", "b=7", 'c=["x"]', "d=teal", "e=#ff0000", 'f="9"', "g=x=y"]
    assert parse_theme_options(given) == {
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
        parse_theme_options([text])


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


async def test_broken_link_that_a_page_repeats_is_told_once(
    handbook: EmbeddedService, run: Run, site: Path
) -> None:
    await handbook.add_pages(HANDBOOK, {"gone": "[a](nowhere) [b](nowhere)"})
    ran = await run("export", handbook.url, *NAMED, "-o", site)
    assert ran.err.count("nowhere") == 1
    assert "(there is no such page), 2 times" in ran.err
    assert "2 broken links" in ran.out


@pytest.mark.parametrize(("output", "cache"), [("s", "s/c"), ("c/s", "c"), ("x", "x")])
async def test_output_and_cache_that_overlap_are_refused(
    handbook: EmbeddedService, run: Run, tmp_path: Path, output: str, cache: str
) -> None:
    output_folder, cache_folder = tmp_path / output, tmp_path / cache
    ran = await run(
        "export", handbook.url, *NAMED, "-o", output_folder, "--cache", cache_folder
    )
    assert ran.code == 2
    assert f"the output {output_folder} and the cache {cache_folder} overlap" in ran.err
    assert not output_folder.exists()


async def test_output_with_a_name_that_is_too_long_is_an_error(
    handbook: EmbeddedService, run: Run, tmp_path: Path
) -> None:
    ran = await run("export", handbook.url, *NAMED, "-o", tmp_path / ("x" * 300))
    assert ran.code == 1
    assert "File name too long" in ran.err


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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--templates", "nowhere"), "there is no folder nowhere with templates"),
        (("--theme", "nowhere"), "no theme 'nowhere'"),
        (("--theme-option", "acent=red"), "theme default has no option 'acent'"),
    ],
)
async def test_theme_is_checked_before_anything_is_read(
    run: Run, site: Path, words: tuple[str, ...], message: str
) -> None:
    ran = await run("export", "http://127.0.0.1:1", *NAMED, "-o", site, *words)
    assert message in ran.err
    assert "127.0.0.1" not in ran.err
    assert not site.exists()
