"""The old addresses of renamed pages: what follows them, and what leads on."""

import itertools
import re

import pytest
from msgspec.structs import replace

from tests.site.sites import Studio
from wikisync.core.model import Slug
from wikisync.markup.links import STEPS_MAX, settle_redirects

WIKI = """\
-- home.md --
[old](guide/setup), [[Set up|Guide/Set-Up]], [heading](guide/setup#first), [gone](lost)
-- manual/install.md --
# Install

## First

[home](home)
-- index-of.md --
x
-- .gitlab/redirects.yml --
---
guide/setup: guide/set-up
guide/set-up: manual/install
index-of: manual/install
lost: nowhere
ring: gnir
gnir: ring
https://evil.example: home
../out: home
away: https://evil.example/
run: javascript:alert(1)
"""


def test_links_to_old_names_are_links_to_the_new_page(studio: Studio) -> None:
    studio.add(WIKI)
    report = studio.build()
    article = studio.article("index.html")
    assert article.count('href="manual/install.html"') == 2
    assert 'href="manual/install.html#first"' in article
    assert [link.href for link in report.broken_links] == ["lost"]
    assert "manual/install" not in str(studio.report()["orphans"])


def test_old_address_leads_to_the_page_in_one_step(studio: Studio) -> None:
    studio.add(WIKI)
    studio.set(url="https://docs.example.com/base")
    studio.build()
    for old in ("guide/setup.html", "guide/set-up.html"):
        stub = studio.read(old)
        assert 'content="0; url=../manual/install.html"' in stub
        assert '<a href="../manual/install.html">' in stub
        assert 'href="https://docs.example.com/base/manual/install.html"' in stub
        # nor does a browser ask for an icon that is not there
        assert '<link rel="icon" href="data:,">' in stub


def test_no_redirect_hides_a_page_or_leads_in_a_circle(studio: Studio) -> None:
    studio.start(WIKI)
    assert 'http-equiv="refresh' not in studio.read("index-of.html")
    assert not (studio.site / "ring.html").exists()
    assert not (studio.site / "lost.html").exists()


def test_hostile_redirects_are_left_out_and_reported(studio: Studio) -> None:
    studio.add(WIKI)
    problems = studio.build().problems
    left_out = [one.subject for one in problems if one.code == "redirect-left-out"]
    names = {subject.partition(": ")[2] for subject in left_out}
    assert names == {*("../out", "away", "https://evil.example", "run", "ring", "gnir")}
    site = b"".join(
        content for path, content in studio.files().items() if "report" not in path
    )
    assert b"evil.example" not in site


@pytest.mark.parametrize(("base", "written"), [("base", "base"), ("é d", "%C3%A9%20d")])
def test_web_servers_get_the_redirects_as_rules(
    studio: Studio, base: str, written: str
) -> None:
    """A rule has an address as it is sent, a key of nginx the one that it decoded."""
    studio.add('-- a "b" $1.md --\nx\n-- .gitlab/redirects.yml --\nold c: a "b" $1\n')
    studio.set(url=f"https://docs.example.com/{base}")
    studio.build()
    new = f"/{written}/a%20-b-%20%241.html"
    assert studio.read("_redirects") == (
        f"/{written}/old%20c.html {new} 301\n/{written}/old%20c {new} 301\n"
    )
    assert studio.read("-/redirects.map") == (
        f'"/{base}/old c.html" "{new}";\n"/{base}/old c" "{new}";\n'
    )


def test_stubs_are_in_no_sitemap_and_no_search(studio: Studio) -> None:
    studio.add(WIKI, visibility="public")
    studio.set(url="https://docs.example.com")
    studio.build()
    assert "manual/install.html" in studio.read("sitemap.xml")
    assert "setup" not in studio.read("sitemap.xml")
    listed = [one for one in studio.files() if re.match(r"-/search/p-\d+\.js", one)]
    assert listed
    assert "setup" not in "".join(map(studio.read, listed))


def test_redirect_that_comes_or_goes_changes_the_links_to_it(studio: Studio) -> None:
    folder = studio.start(WIKI)
    redirects = folder / ".gitlab/redirects.yml"
    text = redirects.read_text()
    redirects.write_text("guide/setup: manual/install\n")
    assert len(studio.build().broken_links) == 2
    assert studio.files() == studio.clean_build()
    redirects.write_text(text)
    studio.build()
    assert studio.files() == studio.clean_build()


def test_renames_that_a_sync_saw_are_redirects(studio: Studio) -> None:
    studio.add("-- home.md --\n[x](before)\n-- after.md --\nx\n")
    studio.sources = [replace(studio.sources[0], renames={"before": "after"})]
    assert studio.build().broken_links == ()
    assert 'href="after.html"' in studio.read("before.html")
    # a page that has the name later and goes on changes where links lead
    studio.add("-- other.md --\nx\n")
    for renames in ({"before": "other"}, {}):
        studio.sources = [replace(studio.sources[0], renames=renames)]
        studio.build()
        assert studio.files() == studio.clean_build()


def test_chain_ends_after_a_limit() -> None:
    names = [f"n{number}" for number in range(STEPS_MAX + 2)]
    given = dict(itertools.pairwise(names))
    found = settle_redirects(given, {names[-1]: Slug(names[-1])}.get)
    assert names[1] in found.pages
    assert names[0] not in found.pages
    assert len(found.problems) == 1
