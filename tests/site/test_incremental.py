"""The promise of the cache: whatever was edited, the next build equals a clean one."""

import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.site.sites import Studio
from wikisync.core.model import Slug
from wikisync.site.addresses import MANIFEST
from wikisync.site.model import PageComment

WIKIS = ("docs/one", "docs/one/sub", "docs/two")
FILES = (
    "home.md",
    "_sidebar.md",
    "_Footer.md",
    "a/_Sidebar.md",
    "README.md",
    "a/index.md",
    "templates/t.md",
    "a.md",
    "A.md",
    "a/b.md",
    "a/c.org",
    "a/d.org",
    "a/b/d.rdoc",
    "x y.md",
    "uploads/0123456789abcdef0123456789abcdef/f.txt",
    "uploads/0123456789abcdef0123456789abcdef/g.png",
    "a/g.png",
    "b",
)
PHRASES = (
    "# Title one",
    "[folder](a/) [own](#part) [template](templates/t)",
    "## Part",
    "plain words",
    "[a](a)",
    "[part](a#part)",
    "[[a/b]]",
    "[up](../home)",
    "[other](https://gitlab.example.com/docs/two/-/wikis/a)",
    "[sub](https://gitlab.example.com/docs/one/sub/-/wikis/A#part)",
    "[part there](https://gitlab.example.com/docs/one/-/wikis/a/b#part)",
    "![f](uploads/0123456789abcdef0123456789abcdef/g.png)",
    "[f](uploads/0123456789abcdef0123456789abcdef/f.txt)",
    "![own](/uploads/0123456789abcdef0123456789abcdef/g.png)",
    "[start](https://gitlab.example.com/docs/one/-/wikis)",
    "![beside](g.png)",
    "![below](/a/g.png)",
    "[[a/g.png]]",
    "[b](b)",
    "[b](../b)",
    "::include{file=a.md}",
    "`code`",
    "* Part three\n:PROPERTIES:\n:ID: one\n:END:",
    "[by id](id:one) [[id:one]]",
)
TEXTS = st.tuples(
    st.sampled_from(["", "---\ntitle: New\n---\n", "---\ntags: [t]\na: 1\n---\n"]),
    st.lists(st.sampled_from(PHRASES), max_size=5),
).map(lambda pair: pair[0] + "\n\n".join(pair[1]) + "\n")
EDITS = st.lists(
    st.tuples(st.sampled_from(WIKIS), st.sampled_from(FILES), st.none() | TEXTS),
    min_size=1,
    max_size=8,
)
"""Wiki, file, and its new text; None removes the file."""


def add_wikis(studio: Studio) -> None:
    """Empty ones; templates print all that they are given."""
    for path in WIKIS:
        visibility = "private" if path == WIKIS[0] else "public"
        studio.add("", path, visibility=visibility)
    studio.show_all()
    studio.set(url="https://docs.example.com")


def apply_edits(studio: Studio, edits: list[tuple[str, str, str | None]]) -> None:
    for wiki, name, text in edits:
        path = studio.root / "wikis" / wiki / name
        path.unlink(missing_ok=True)
        if text is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


LOSSES = st.lists(st.integers(min_value=0), max_size=2)
"""Files of the site, by numbers, that somebody removes; without the manifest it is no
site to build to."""


def lose_files(studio: Studio, numbers: list[int]) -> None:
    files = [path for path in sorted(studio.files()) if path != MANIFEST]
    for number in numbers:
        (studio.site / files[number % len(files)]).unlink(missing_ok=True)


@given(first=EDITS, later=st.lists(st.tuples(EDITS, LOSSES), min_size=1, max_size=3))
@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
def test_build_after_any_edits_equals_a_clean_build(
    first: list[tuple[str, str, str | None]],
    later: list[tuple[list[tuple[str, str, str | None]], list[int]]],
) -> None:
    """Byte for byte."""
    root = Path(tempfile.mkdtemp())
    studio = Studio(root)
    add_wikis(studio)
    apply_edits(studio, first)
    studio.build()
    for edits, losses in later:
        apply_edits(studio, edits)
        lose_files(studio, losses)
        studio.build()
    built, clean = studio.files(), studio.clean_build()
    shutil.rmtree(root)
    assert built == clean


def test_comments_follow_the_pages_that_they_link_to(studio: Studio) -> None:
    comment = PageComment("Ann", "2026-11-21T14:30", "See [later](later).")
    folder = studio.start("-- home.md --\nx\n", comments={Slug("home"): (comment,)})
    assert "broken-link" in studio.read("index.html")
    (folder / "later.md").write_text("x")
    studio.build()
    assert '<a href="later.html">later</a>' in studio.read("index.html")
    assert studio.files() == studio.clean_build()
    studio.sources[0] = replace(studio.sources[0], comments={})
    studio.build()
    assert "Ann" not in studio.read("index.html")
    assert studio.files() == studio.clean_build()


def test_comments_follow_the_pages_of_other_wikis(studio: Studio) -> None:
    address = "https://gitlab.example.com/docs/two/-/wikis/later"
    comment = PageComment("Ann", "2026-11-21T14:30", f"See [later]({address}).")
    studio.add("-- home.md --\nx\n", "docs/one", comments={Slug("home"): (comment,)})
    folder = studio.add("-- home.md --\nx\n", "docs/two")
    studio.build()
    (folder / "later.md").write_text("x\n")
    studio.build()
    assert 'two/-/wikis/later.html">later</a>' in studio.read(
        "docs/one/-/wikis/index.html"
    )
    assert studio.files() == studio.clean_build()


def test_comments_lead_to_no_file_that_the_site_lacks(studio: Studio) -> None:
    """Loose files are in the site where a page links to them."""
    comment = PageComment("Ann", "2026-11-21T14:30", "See [plan](plan.png).")
    folder = studio.add("-- home.md --\nx\n", comments={Slug("home"): (comment,)})
    (folder / "plan.png").write_bytes(b"x")
    studio.build()
    assert 'plan.png"' not in studio.read("index.html")
