"""``wikisync export`` keeps what a fault hides: no wiki leaves a site unasked."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.exports import digest_of_tree
from tests.support.bending import SIGN_IN_PAGE, BendingProxy
from tests.support.commands import Ran, Run
from tests.support.service import EmbeddedService
from wikisync.core.model import WikiOwner
from wikisync.service.projects import tables as project_tables

PATHS = ("docs/p1", "docs/p2", "docs/p3")
ALL = ("--group", "docs", "--all")
THREE = tuple(word for path in PATHS for word in ("--project", path))
BROKEN = "docs/p2"


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask again at once: the pauses are chosen at random, from zero on."""
    monkeypatch.setattr("wikisync.api.client.spread", lambda: 0.0)


@pytest.fixture
async def ids(service: EmbeddedService) -> dict[str, int]:
    """Three wikis of five pages each in a group; the projects' ids."""
    await service.add_group("docs", wiki=False)
    pages = {f"page{number}": f"text {number}\n" for number in range(4)}
    return {
        path: await service.add_project(
            path, {"home": f"# The wiki {path}\n\nzebra\n", **pages}
        )
        for path in PATHS
    }


@pytest.fixture
def export(run: Run, proxy: BendingProxy, site: Path, tmp_path: Path) -> Any:
    """The same export again and again, with more words where a test wants them.

    It asks every wiki, for most of them have no activity that a fault would follow.
    """

    async def call(
        *words: str, chosen: tuple[str, ...] = ALL, verify: bool = True
    ) -> Ran:
        cache = tmp_path / "exported"
        where = ("-o", site, "--cache", cache, *(["--verify"] if verify else []))
        return await run("export", proxy.url, *chosen, *where, *words)

    return call


def wiki_path(path: str) -> str:
    return f"{path}/-/wikis/"


def pages_of(site: Path, path: str) -> dict[str, bytes]:
    found = digest_of_tree(site / wiki_path(path))
    assert found
    return found


def of_pages(files: dict[str, bytes], path: str) -> dict[str, bytes]:
    """Those files of a site that are a wiki's, by their paths in it."""
    start = wiki_path(path)
    return {
        name.removeprefix(start): content
        for name, content in files.items()
        if name.startswith(start)
    }


def of_wiki(ids: dict[str, int], path: str = BROKEN) -> str:
    """The requests about one wiki's pages, by path or id."""
    return f"/projects/({path.replace('/', '%2F')}|{ids[path]})/wikis"


# -- the service hides a wiki ------------------------------------------------------


FAULTS: dict[str, dict[str, Any]] = {
    "401": {"status": 401, "body": b'{"message":"401 Unauthorized"}'},
    "403": {"status": 403, "body": b'{"message":"403 Forbidden"}'},
    "403 of a firewall": {"status": 403, "html": b"<title>Request Rejected</title>"},
    "404": {"status": 404, "body": b'{"message":"404 Project Not Found"}'},
    "500": {"status": 500, "body": b'{"message":"500 Internal Server Error"}'},
    "sign-in page": {"status": 200, "html": SIGN_IN_PAGE},
}


async def test_wiki_that_cannot_be_read_stays_as_it_was_read_last(
    export: Any,
    proxy: BendingProxy,
    service: EmbeddedService,
    ids: dict[str, int],
    site: Path,
) -> None:
    for chosen, faults in {
        ALL: ("401", "403 of a firewall", "404", "sign-in page"),
        THREE: ("500",),
    }.items():
        assert (await export(chosen=chosen)).code == 0
        before = digest_of_tree(site)
        for fault in faults:
            said = f"met {fault}"
            page = {"page1": f"{said}\n"}
            await service.add_pages(WikiOwner("project", "docs/p3"), page)
            with proxy.bend(of_wiki(ids), **FAULTS[fault]):
                ran = await export(chosen=chosen)
            assert ran.code == 3
            assert before.keys() <= digest_of_tree(site).keys()
            assert pages_of(site, BROKEN) == of_pages(before, BROKEN)
            assert said.encode() in pages_of(site, "docs/p3")["page1.html"]
            assert re.search(
                r"warning: project docs/p2: .*; the site keeps its copy from \S.* "
                r"\(fix the cause and export again, or remove it with"
                r" --allow-emptying\)",
                ran.err,
            )
            assert "3 wikis, 1 of them kept from the last export" in ran.out
    with proxy.bend(of_wiki(ids), **FAULTS["500"]):
        assert (await export("--strict", chosen=THREE)).code == 1


async def test_all_wikis_that_cannot_be_read_leave_the_old_site(
    export: Any, proxy: BendingProxy, ids: dict[str, int], site: Path
) -> None:
    await export()
    before = digest_of_tree(site)
    proxy.bend("/wikis", status=403, body=b'{"message":"403 Forbidden"}')
    assert (await export()).code == 1
    assert digest_of_tree(site) == before
    assert ids


async def test_list_without_any_project_is_asked_by_id(
    export: Any, proxy: BendingProxy, ids: dict[str, int], site: Path
) -> None:
    await export()
    before = digest_of_tree(site)
    proxy.bend(r"/groups/\d+/projects", body=b"[]")
    ran = await export()
    assert ran.code == 3
    assert digest_of_tree(site) == before
    for path, number in ids.items():
        told = f"project {path}: the service does not list it but returns it by its id"
        assert f"{told} {number}" in ran.err


async def test_wiki_hidden_from_list_and_token_stays(
    export: Any, proxy: BendingProxy, ids: dict[str, int], site: Path
) -> None:
    """As where the token's membership ended."""
    await export()
    before = digest_of_tree(site)
    hidden = ids[BROKEN]
    proxy.bend(
        r"/groups/\d+/projects",
        body=lambda body: re.sub(rb'"id":%d,' % hidden, b'"id":9000,', body).replace(
            b'"docs/p2"', b'"docs/p9"'
        ),
    )
    proxy.bend(f"/projects/{hidden}", status=404, body=b'{"message":"404 Not Found"}')
    proxy.bend("/projects/(9000|docs%2Fp9)", status=403, body=b'{"message":"403"}')
    ran = await export()
    assert ran.code == 3
    assert pages_of(site, BROKEN)
    assert digest_of_tree(site) == before
    assert "project docs/p2: " in ran.err


async def test_wiki_that_is_back_is_read_again(
    export: Any,
    proxy: BendingProxy,
    ids: dict[str, int],
    service: EmbeddedService,
    site: Path,
) -> None:
    await export()
    with proxy.bend(of_wiki(ids), **FAULTS["500"]):
        await export()
    await service.add_pages(WikiOwner("project", BROKEN), {"page1": "new words\n"})
    assert (await export()).code == 0
    assert b"new words" in pages_of(site, BROKEN)["page1.html"]


# -- the service says that it is no more -------------------------------------------


async def test_wiki_that_is_switched_off_leaves_the_site(
    export: Any, service: EmbeddedService, ids: dict[str, int], site: Path
) -> None:
    await export()
    await service.add_project(BROKEN, wiki_access_level="disabled")
    ran = await export()
    assert ran.code == 0
    assert not (site / wiki_path(BROKEN)).exists()
    assert "project docs/p2: removed from the site: its wiki is disabled" in ran.err
    assert ids


async def test_project_that_was_marked_for_deletion_and_is_gone_leaves_the_site(
    export: Any, proxy: BendingProxy, ids: dict[str, int], site: Path
) -> None:
    """The mark alone removes nothing, and a 404 alone neither."""
    await export()
    listed = r"/groups/\d+/projects"
    mark = rb'"path_with_namespace":"docs/p2","marked_for_deletion_on":"2026-11-20"'
    with proxy.bend(
        listed,
        body=lambda body: re.sub(
            rb'"marked_for_deletion_(at|on)":null,?', b"", body
        ).replace(b'"path_with_namespace":"docs/p2"', mark),
    ):
        marked = await export()
    assert (marked.code, pages_of(site, BROKEN) != {}) == (0, True)
    proxy.bend(
        listed,
        body=lambda body: body.replace(b'"docs/p2"', b'"docs/p1"').replace(
            b'"id":%d,' % ids[BROKEN], b'"id":%d,' % ids["docs/p1"]
        ),
    )
    proxy.bend(
        f"/projects/{ids[BROKEN]}", status=404, body=b'{"message":"404 Not Found"}'
    )
    ran = await export()
    assert ran.code == 0
    assert not (site / wiki_path(BROKEN)).exists()
    assert "marked for deletion on 2026-11-20" in ran.err


# -- another project under the path ------------------------------------------------


async def test_another_project_under_the_path_is_not_published_in_its_place(
    export: Any,
    proxy: BendingProxy,
    ids: dict[str, int],
    service: EmbeddedService,
    site: Path,
) -> None:
    """The id says that it is another one, whatever its pages are called."""
    await export()
    before = pages_of(site, BROKEN)
    other = await service.add_project("team/payroll", {"home": "salaries\n"})
    proxy.bend(
        r"/groups/\d+/projects",
        body=lambda body: body.replace(b'"id":%d,' % ids[BROKEN], b'"id":%d,' % other),
    )
    proxy.bend(
        f"/projects/{ids[BROKEN]}($|/)", status=404, body=b'{"message":"404 Not Found"}'
    )
    ran = await export()
    assert ran.code == 3
    assert pages_of(site, BROKEN) == before
    assert f"another project has its path now (id {other}" in ran.err


async def test_named_path_that_another_project_took_publishes_no_stranger(
    export: Any, service: EmbeddedService, ids: dict[str, int], site: Path
) -> None:
    """The site's wiki lives elsewhere: that is published, again and again."""
    chosen = THREE[:4]
    await export(chosen=chosen)
    columns = {"path": "moved"}
    await service.ask(project_tables.change_project, ids[BROKEN], columns, {})
    other = await service.add_project(BROKEN, {"home": "salaries\n"})
    for _ in range(2):
        ran = await export(chosen=chosen)
        assert ran.code == 3
        assert (
            f"project docs/p2: is another project now (id {other}); yours"
            f" (id {ids[BROKEN]}) is docs/moved, which is published" in ran.err
        )
        assert "write --project docs/moved instead of --project docs/p2" in ran.err
        assert not any(b"salaries" in text for text in digest_of_tree(site).values())
        assert any(b"zebra" in text for text in pages_of(site, "docs/moved").values())
        assert pages_of(site, "docs/p1")
    replaced = await export("--replace", chosen=chosen)
    assert replaced.code == 0
    assert any(b"salaries" in text for text in pages_of(site, BROKEN).values())
    assert not (site / wiki_path("docs/moved")).exists()


# -- strict, quiet, tokens ---------------------------------------------------------


async def test_strict_fails_on_a_wiki_that_was_left_out_and_quiet_prints_it(
    export: Any, run: Run, proxy: BendingProxy, ids: dict[str, int], site: Path
) -> None:
    proxy.bend(of_wiki(ids), **FAULTS["403"])
    relaxed = await export()
    assert (relaxed.code, "docs/p2: left out" in relaxed.err) == (0, True)
    strict = await export("--strict")
    assert (strict.code, "docs/p2: left out" in strict.err) == (1, True)
    quiet = await run("--quiet", "export", proxy.url, *ALL, "-o", site)
    assert "docs/p2: left out" in quiet.err


async def test_export_without_the_token_of_the_last_one_is_refused(
    export: Any,
    service: EmbeddedService,
    ids: dict[str, int],
    site: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await service.add_group("docs", wiki=False, visibility="public")
    for path in PATHS[1:]:
        await service.add_project(path, visibility="public")
    await export()
    before = digest_of_tree(site)
    monkeypatch.delenv("WIKISYNC_TOKEN")
    ran = await export()
    assert ran.code == 2
    assert "no token is given, and the site was exported with one" in ran.err
    assert digest_of_tree(site) == before
    ran = await export("--anonymous")
    assert ran.code == 3
    assert "project docs/p1: " in ran.err
    assert pages_of(site, "docs/p1")
    assert ids


# -- another selection -------------------------------------------------------------


async def test_another_selection_says_what_it_would_remove(
    export: Any, ids: dict[str, int], site: Path
) -> None:
    """A larger one needs no leave."""
    assert (await export(chosen=THREE[:4])).code == 0
    assert (await export()).code == 0
    assert pages_of(site, "docs/p3")
    before = digest_of_tree(site)
    one = ("--project", "docs/p1")
    for chosen, removed in {
        one: "docs/p2",
        (*ALL, "--exclude", "docs/p2"): "docs/p2",
        (*one, "--project", "docs/p2"): "docs/p3",
    }.items():
        ran = await export(chosen=chosen)
        assert ran.code == 2
        assert "this would remove " in ran.err
        assert f"the wiki of project {removed} (5 pages)" in ran.err
        assert "--replace" in ran.err
        assert digest_of_tree(site) == before
    assert (await export("--replace", chosen=chosen)).code == 0
    assert not (site / wiki_path(removed)).exists()
    assert pages_of(site, BROKEN)
    assert ids


async def test_wiki_that_a_fault_hides_leaves_with_allow_emptying_alone(
    export: Any, proxy: BendingProxy, ids: dict[str, int], site: Path
) -> None:
    """A schedule may name ``--replace`` for good."""
    await export()
    proxy.bend(of_wiki(ids), **FAULTS["404"])
    assert (await export("--replace")).code == 3
    assert pages_of(site, BROKEN)
    assert (await export("--allow-emptying")).code == 0
    assert not (site / wiki_path(BROKEN)).exists()
    assert pages_of(site, "docs/p1")


async def test_site_of_another_service_is_replaced_only_when_asked(
    run: Run,
    proxy: BendingProxy,
    service: EmbeddedService,
    ids: dict[str, int],
    site: Path,
) -> None:
    await run("export", service.url, *ALL, "-o", site)
    ran = await run("export", proxy.url, *ALL, "-o", site)
    assert ran.code == 2
    assert f"the site holds wikis of {service.url}" in ran.err
    assert (await run("export", proxy.url, *ALL, "-o", site, "--replace")).code == 0
    assert ids


# -- one broken wiki ---------------------------------------------------------------


async def test_broken_wiki_keeps_no_other_one_back_at_the_first_export(
    export: Any, proxy: BendingProxy, ids: dict[str, int], site: Path
) -> None:
    proxy.bend(of_wiki(ids), **FAULTS["500"])
    ran = await export()
    assert ran.code == 3
    assert "project docs/p2: left out: " in ran.err
    assert pages_of(site, "docs/p3")
    proxy.straighten()
    assert (await export()).code == 0
    assert pages_of(site, BROKEN)


async def test_broken_wiki_can_be_excluded(
    export: Any, proxy: BendingProxy, ids: dict[str, int], site: Path
) -> None:
    broken = proxy.bend(of_wiki(ids), **FAULTS["500"])
    ran = await export("--exclude", "docs/p2")
    assert (ran.code, broken.met) == (0, 0)
    assert pages_of(site, "docs/p3")


async def test_service_that_is_away_ends_the_export_at_once(
    export: Any, proxy: BendingProxy, ids: dict[str, int], site: Path
) -> None:
    await export()
    before = digest_of_tree(site)
    proxy.bend("", skip=2, status=502, html=b"<title>Bad Gateway</title>")
    assert (await export()).code == 1
    assert digest_of_tree(site) == before
    assert ids


# -- the cache is lost as well -----------------------------------------------------


def searched(site: Path) -> set[str]:
    """Addresses of all pages that the search index of a site holds."""
    found: set[str] = set()
    for path in (site / "-/search").glob("p-*.js"):
        value = json.loads(path.read_text().partition(",")[2].rstrip().rstrip(")"))
        places, _sizes, *parts = value
        found |= {entry[1] for entry in parts[: len(places)]}
    return found


async def test_published_pages_stay_where_the_cache_is_lost(
    export: Any,
    proxy: BendingProxy,
    service: EmbeddedService,
    ids: dict[str, int],
    site: Path,
    tmp_path: Path,
) -> None:
    await export()
    before, searched_before = digest_of_tree(site), searched(site)
    shutil.rmtree(tmp_path / "exported")
    await service.add_pages(WikiOwner("project", "docs/p3"), {"page1": "text zebra\n"})
    for fault in ("404", "500"):
        with proxy.bend(of_wiki(ids), **FAULTS[fault]):
            ran = await export("--json")
            assert ran.code == 3
            [kept] = ran.json["kept"]
            assert (kept["path"], kept["from"]) == (BROKEN, "site")
            after = digest_of_tree(site)
            changed = {name for name in after if before.get(name) != after[name]}
            versions = "-/history/docs/p3/-/wikis/page1.html"
            assert after.keys() == {*before, versions}
            assert not {name for name in changed if name.startswith("docs/p2")}
            assert "docs/p3/-/wikis/page1.html" in changed
            assert searched(site) == searched_before
            for listing in ("index.html", "-/all.html"):
                assert "docs/p2" in (site / listing).read_text()
        assert "; the site keeps its published pages from " in ran.err
    assert (await export()).code == 0
    clean = await export("-o", str(tmp_path / "clean"))
    assert clean.code == 0
    assert digest_of_tree(site) == digest_of_tree(tmp_path / "clean")


@pytest.mark.parametrize("listed", [0, 1])
async def test_wiki_with_most_of_its_pages_missing_is_kept_with_a_lost_cache(
    export: Any,
    proxy: BendingProxy,
    ids: dict[str, int],
    site: Path,
    tmp_path: Path,
    listed: int,
) -> None:
    """Without a cache no safety stop compares the pages; the site's own count does."""
    await export()
    before = digest_of_tree(site)
    shutil.rmtree(tmp_path / "exported")
    proxy.bend(
        of_wiki(ids) + r"($|\?)",
        body=lambda body: json.dumps(json.loads(body)[:listed]).encode(),
    )
    for _ in range(2):
        ran = await export()
        assert ran.code == 3
        assert not listed or "the service lists 1 of its 5 pages" in ran.err
        assert digest_of_tree(site).keys() == before.keys()
        assert pages_of(site, BROKEN) == of_pages(before, BROKEN)
