"""``wikisync export`` keeps what a fault hides: no wiki leaves a site unasked."""

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cli.exports import digest_of_tree
from tests.support.bending import SIGN_IN_PAGE, BendingProxy, Rule
from tests.support.commands import Ran, Run
from tests.support.service import EmbeddedService
from wikisync.core.model import WikiOwner
from wikisync.service.projects import tables as project_tables

PATHS = ("docs/p1", "docs/p2", "docs/p3")
ALL = ("--group", "docs", "--all")
THREE = tuple(word for path in PATHS for word in ("--project", path))
BROKEN = "docs/p2"
LISTED = r"/groups/\d+/projects"
GONE: dict[str, Any] = {"status": 404, "body": b'{"message":"404 Not Found"}'}
FAULTS: dict[str, dict[str, Any]] = {
    "401": {"status": 401, "body": b'{"message":"401 Unauthorized"}'},
    "403": {"status": 403, "body": b'{"message":"403 Forbidden"}'},
    "403 of a firewall": {"status": 403, "html": b"<title>Request Rejected</title>"},
    "404": {"status": 404, "body": b'{"message":"404 Project Not Found"}'},
    "500": {"status": 500, "body": b'{"message":"500 Internal Server Error"}'},
    "sign-in page": {"status": 200, "html": SIGN_IN_PAGE},
}


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask again at once: the pauses are chosen at random, from zero on."""
    monkeypatch.setattr("wikisync.api.client.spread", lambda: 0.0)


def wiki_path(path: str) -> str:
    return f"{path}/-/wikis/"


def of_pages(files: dict[str, bytes], path: str = BROKEN) -> dict[str, bytes]:
    """Those files of a site that are a wiki's, by their paths in it."""
    start = wiki_path(path)
    return {
        name.removeprefix(start): content
        for name, content in files.items()
        if name.startswith(start)
    }


@dataclass
class Export:
    """Three wikis of five pages each in a group, exported again and again.

    It asks every wiki, for most of them have no activity that a fault would follow.
    """

    run: Run
    service: EmbeddedService
    proxy: BendingProxy
    site: Path
    cache: Path
    ids: dict[str, int]

    async def __call__(self, *words: str, chosen: tuple[str, ...] = ALL) -> Ran:
        where = ("-o", self.site, "--cache", self.cache, "--verify")
        return await self.run("export", self.proxy.url, *chosen, *where, *words)

    def hide(self, fault: str) -> Rule:
        """Answer with a fault what is asked about one wiki's pages, by path or id."""
        number = self.ids[BROKEN]
        pages = f"/projects/(docs%2Fp2|{number})/wikis"
        return self.proxy.bend(pages, **FAULTS[fault])

    def list_as(self, old: bytes, new: bytes) -> Rule:
        """List the projects of the group otherwise."""
        return self.proxy.bend(LISTED, body=lambda body: re.sub(old, new, body))

    async def edit(self, path: str, text: str) -> None:
        await self.service.add_pages(WikiOwner("project", path), {"page1": text})

    @property
    def files(self) -> dict[str, bytes]:
        return digest_of_tree(self.site)

    def pages(self, path: str = BROKEN) -> dict[str, bytes]:
        """The files of a wiki in the site; there have to be some."""
        found = digest_of_tree(self.site / wiki_path(path))
        assert found
        return found

    def has(self, path: str) -> bool:
        return (self.site / wiki_path(path)).exists()


@pytest.fixture
async def export(
    service: EmbeddedService, run: Run, proxy: BendingProxy, site: Path, tmp_path: Path
) -> Export:
    await service.add_group("docs", wiki=False)
    pages = {f"page{number}": f"text {number}\n" for number in range(4)}
    ids = {
        path: await service.add_project(
            path, {"home": f"# The wiki {path}\n\nzebra\n", **pages}
        )
        for path in PATHS
    }
    return Export(run, service, proxy, site, tmp_path / "exported", ids)


# -- the service hides a wiki ------------------------------------------------------


@pytest.mark.parametrize(
    ("chosen", "faults"),
    [(ALL, ["401", "403 of a firewall", "404", "sign-in page"]), (THREE, ["500"])],
)
async def test_wiki_that_cannot_be_read_stays_as_it_was_read_last(
    export: Export, chosen: tuple[str, ...], faults: list[str]
) -> None:
    assert (await export(chosen=chosen)).code == 0
    before = export.files
    for fault in faults:
        await export.edit("docs/p3", f"met {fault}\n")
        with export.hide(fault):
            ran = await export(chosen=chosen)
        assert ran.code == 3
        assert before.keys() <= export.files.keys()
        assert export.pages() == of_pages(before)
        assert f"met {fault}".encode() in export.pages("docs/p3")["page1.html"]
        assert re.search(
            r"warning: project docs/p2: .*; the site keeps its copy from \S.* "
            r"\(fix the cause and export again, or remove it with --allow-emptying\)",
            ran.err,
        )
        assert "3 wikis, 1 of them kept from the last export" in ran.out
    export.hide("500")
    assert (await export("--strict", chosen=chosen)).code == 1


async def test_faults_of_the_whole_service_leave_the_old_site(export: Export) -> None:
    await export()
    before = export.files
    with export.proxy.bend("/wikis", **FAULTS["403"]):
        assert (await export()).code == 1
    assert export.files == before
    away: dict[str, Any] = {"status": 502, "html": b"<title>Bad Gateway</title>"}
    with export.proxy.bend("", skip=2, **away):
        assert (await export()).code == 1
    assert export.files == before
    # a list without any project: each is asked by its id
    export.proxy.bend(LISTED, body=b"[]")
    ran = await export()
    assert ran.code == 3
    assert export.files == before
    told = "the service does not list it but returns it by its id"
    sentences = {f"project {path}: {told} {one}" for path, one in export.ids.items()}
    assert [one for one in sentences if one not in ran.err] == []


async def test_wiki_hidden_from_list_and_token_stays(export: Export) -> None:
    """As where the token's membership ended."""
    await export()
    before = export.files
    hidden = export.ids[BROKEN]
    export.proxy.bend(
        LISTED,
        body=lambda body: re.sub(rb'"id":%d,' % hidden, b'"id":9000,', body).replace(
            b'"docs/p2"', b'"docs/p9"'
        ),
    )
    export.proxy.bend(f"/projects/{hidden}", **GONE)
    export.proxy.bend("/projects/(9000|docs%2Fp9)", **FAULTS["403"])
    ran = await export()
    assert ran.code == 3
    assert export.pages()
    assert export.files == before
    assert "project docs/p2: " in ran.err


# -- the service says that it is no more -------------------------------------------


async def test_wiki_that_is_switched_off_leaves_the_site(export: Export) -> None:
    await export()
    await export.service.add_project(BROKEN, wiki_access_level="disabled")
    ran = await export()
    assert (ran.code, export.has(BROKEN)) == (0, False)
    assert "project docs/p2: removed from the site: its wiki is disabled" in ran.err


async def test_project_marked_for_deletion_and_gone_leaves(export: Export) -> None:
    """The mark alone removes nothing, and a 404 alone neither."""
    await export()
    mark = rb'"path_with_namespace":"docs/p2","marked_for_deletion_on":"2026-11-20"'
    with export.proxy.bend(
        LISTED,
        body=lambda body: re.sub(
            rb'"marked_for_deletion_(at|on)":null,?', b"", body
        ).replace(b'"path_with_namespace":"docs/p2"', mark),
    ):
        marked = await export()
    assert (marked.code, export.has(BROKEN)) == (0, True)
    here, other = export.ids[BROKEN], export.ids["docs/p1"]
    export.proxy.bend(
        LISTED,
        body=lambda body: body.replace(b'"docs/p2"', b'"docs/p1"').replace(
            b'"id":%d,' % here, b'"id":%d,' % other
        ),
    )
    export.proxy.bend(f"/projects/{here}", **GONE)
    ran = await export()
    assert (ran.code, export.has(BROKEN)) == (0, False)
    assert "marked for deletion on 2026-11-20" in ran.err


# -- another project under the path ------------------------------------------------


async def test_another_project_under_the_path_is_left_out(export: Export) -> None:
    """The id says that it is another one, whatever its pages are called."""
    await export()
    before, here = export.pages(), export.ids[BROKEN]
    other = await export.service.add_project("team/payroll", {"home": "salaries\n"})
    export.list_as(b'"id":%d,' % here, b'"id":%d,' % other)
    export.proxy.bend(f"/projects/{here}($|/)", **GONE)
    ran = await export()
    assert ran.code == 3
    assert export.pages() == before
    assert f"another project has its path now (id {other}" in ran.err


async def test_path_that_another_project_took_shows_no_stranger(export: Export) -> None:
    """The site's wiki lives elsewhere: that is published, again and again."""
    chosen, here = THREE[:4], export.ids[BROKEN]
    await export(chosen=chosen)
    moved = {"path": "moved"}
    await export.service.ask(project_tables.change_project, here, moved, {})
    other = await export.service.add_project(BROKEN, {"home": "salaries\n"})
    for _ in range(2):
        ran = await export(chosen=chosen)
        assert ran.code == 3
        assert (
            f"project docs/p2: is another project now (id {other}); yours"
            f" (id {here}) is docs/moved, which is published" in ran.err
        )
        assert "write --project docs/moved instead of --project docs/p2" in ran.err
        assert b"salaries" not in b"".join(export.files.values())
        assert b"zebra" in b"".join(export.pages("docs/moved").values())
        assert export.pages("docs/p1")
    replaced = await export("--replace", chosen=chosen)
    assert (replaced.code, export.has("docs/moved")) == (0, False)
    assert b"salaries" in b"".join(export.pages().values())


# -- strict, quiet, tokens ---------------------------------------------------------


async def test_strict_fails_on_a_wiki_that_was_left_out(export: Export) -> None:
    export.hide("403")
    for words, code in (((), 0), (("--strict",), 1)):
        ran = await export(*words)
        assert (ran.code, "docs/p2: left out" in ran.err) == (code, True)
    quiet = ("--quiet", "export", export.proxy.url, *ALL, "-o", export.site)
    assert "docs/p2: left out" in (await export.run(*quiet)).err


async def test_export_without_the_token_of_the_last_one_is_refused(
    export: Export, monkeypatch: pytest.MonkeyPatch
) -> None:
    await export.service.add_group("docs", wiki=False, visibility="public")
    for path in PATHS[1:]:
        await export.service.add_project(path, visibility="public")
    await export()
    before = export.files
    monkeypatch.delenv("WIKISYNC_TOKEN")
    (await export()).ended(2, "no token is given, and the site was exported with one")
    assert export.files == before
    (await export("--anonymous")).ended(3, "project docs/p1: ")
    assert export.pages("docs/p1")


# -- another selection -------------------------------------------------------------

ONE = ("--project", "docs/p1")


@pytest.mark.parametrize(
    ("chosen", "removed"),
    [
        (ONE, "docs/p2"),
        ((*ALL, "--exclude", "docs/p2"), "docs/p2"),
        ((*ONE, "--project", "docs/p2"), "docs/p3"),
    ],
)
async def test_another_selection_says_what_it_would_remove(
    export: Export, chosen: tuple[str, ...], removed: str
) -> None:
    """A larger one needs no leave."""
    assert (await export(chosen=THREE[:4])).code == 0
    assert (await export()).code == 0
    assert export.pages("docs/p3")
    before = export.files
    ran = await export(chosen=chosen)
    ran.ended(2, "this would remove ", f"the wiki of project {removed} (5 pages)")
    assert "--replace" in ran.err
    assert export.files == before
    assert (await export("--replace", chosen=chosen)).code == 0
    assert not export.has(removed)
    assert b"The wiki docs/p1" in b"".join(export.files.values())


async def test_hidden_wiki_leaves_with_allow_emptying_alone(export: Export) -> None:
    """A schedule may name ``--replace`` for good."""
    await export()
    export.hide("404")
    assert (await export("--replace")).code == 3
    assert export.pages()
    assert (await export("--allow-emptying")).code == 0
    assert (export.has(BROKEN), export.has("docs/p1")) == (False, True)


@pytest.mark.parametrize("leave", ["--replace", "--allow-emptying"])
async def test_site_of_another_service_stays_unless_asked(
    export: Export, leave: str
) -> None:
    where = (*ALL, "-o", export.site)
    await export.run("export", export.service.url, *where)
    ran = await export.run("export", export.proxy.url, *where)
    ran.ended(2, f"the site holds wikis of {export.service.url}")
    assert (await export.run("export", export.proxy.url, *where, leave)).code == 0


# -- one broken wiki ---------------------------------------------------------------


async def test_broken_wiki_holds_no_other_back_at_first(export: Export) -> None:
    broken = export.hide("500")
    (await export()).ended(3, "project docs/p2: left out: ")
    assert export.pages("docs/p3")
    met = broken.met
    assert (await export("--exclude", "docs/p2")).code == 0
    assert broken.met == met
    broken.end()
    assert (await export()).code == 0
    assert export.pages()


# -- the cache is lost as well -----------------------------------------------------


def searched(site: Path) -> set[str]:
    """Addresses of all pages that the search index of a site holds."""
    found: set[str] = set()
    for path in (site / "-/search").glob("p-*.js"):
        value = json.loads(path.read_text().partition(",")[2].rstrip().rstrip(")"))
        places, _sizes, *parts = value
        found |= {entry[1] for entry in parts[: len(places)]}
    return found


async def test_published_pages_outlive_the_cache(
    export: Export, tmp_path: Path
) -> None:
    await export()
    before, searched_before = export.files, searched(export.site)
    shutil.rmtree(export.cache)
    await export.edit("docs/p3", "text zebra\n")
    for fault in ("404", "500"):
        with export.hide(fault):
            ran = await export("--json")
        assert ran.code == 3
        [kept] = ran.json["kept"]
        assert (kept["path"], kept["from"]) == (BROKEN, "site")
        after = export.files
        changed = {name for name in after if before.get(name) != after[name]}
        assert after.keys() == {*before, "-/history/docs/p3/-/wikis/page1.html"}
        assert not {name for name in changed if name.startswith("docs/p2")}
        assert "docs/p3/-/wikis/page1.html" in changed
        assert searched(export.site) == searched_before
        assert b"docs/p2" in after["index.html"]
        assert b"docs/p2" in after["-/all.html"]
        assert "; the site keeps its published pages from " in ran.err
    assert (await export()).code == 0
    assert (await export("-o", str(tmp_path / "clean"))).code == 0
    assert export.files == digest_of_tree(tmp_path / "clean")


@pytest.mark.parametrize("listed", [0, 1])
async def test_wiki_that_lost_most_pages_is_kept(export: Export, listed: int) -> None:
    """Without a cache no safety stop compares the pages; the site's own count does."""
    await export()
    before, here = export.files, export.ids[BROKEN]
    shutil.rmtree(export.cache)
    export.proxy.bend(
        rf"/projects/(docs%2Fp2|{here})/wikis($|\?)",
        body=lambda body: json.dumps(json.loads(body)[:listed]).encode(),
    )
    for _ in range(2):
        ran = await export()
        assert ran.code == 3
        assert not listed or "the service lists 1 of its 5 pages" in ran.err
        assert export.files.keys() == before.keys()
        assert export.pages() == of_pages(before)
