"""What a window is sent of a text that no file holds."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.site.sites import Studio
from wikisync.site.cache import open_cache
from wikisync.site.preview import pages, world
from wikisync.site.preview.pages import Draft, Rendered, blocks_of
from wikisync.site.preview.site import LiveSite
from wikisync.site.preview.windows import Reading
from wikisync.site.preview.world import PreviewInputs

TEXT = """\
# Guide

Plain **words**.

More.

First **words**, a [link](home) and a note[^1].

- one

- two

```
code

more code
```

Same words.

Same words.

[^1]: The note.
"""


class Window:
    """What a window shows: the page of the first draft, with the blocks of others."""

    def __init__(self, site: LiveSite, text: str) -> None:
        self.site, self.text = site, text
        self.draft = self.ask(text)
        body = self.draft.html.partition("<!--blocks-->")[2].partition("<!--end-->")[0]
        self.blocks = blocks_of(body)

    def ask(self, text: str, known: str = "", **wish: object) -> Draft:
        answer = self.site.draft("guide.html", text, known, **wish)  # type: ignore[arg-type]
        assert answer is not None
        return answer[0]

    def type(self, old: str, new: str, *, is_whole: bool = False) -> Draft:
        """Write in the place of some words."""
        at = self.text.index(old)
        before, after = self.text[:at], self.text[at + len(old) :]
        self.text = before + new + after
        start, end = (
            len(one.encode("utf-16-le")) // 2 for one in (before, before + old)
        )
        key = self.draft.key
        self.draft = self.ask(new, key, stay=(start, end), is_whole=is_whole)
        assert not self.draft.html
        assert self.draft.count == len(self.blocks)
        for first, last, html in reversed(self.draft.changes):
            self.blocks[first:last] = blocks_of(html)
        return self.draft


@contextmanager
def living(studio: Studio) -> Iterator[LiveSite]:
    inputs = PreviewInputs(tuple(studio.sources), studio.options)
    with open_cache(studio.root / "cache") as cache:
        site = LiveSite(lambda: inputs, Reading())
        site.use(cache)
        site.refresh(None)
        yield site


@pytest.fixture
def site(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> Iterator[LiveSite]:
    """One whose pages are all long."""
    monkeypatch.setattr(pages, "QUICK_CHARS", 0)
    folder = studio.add(f"-- home.md --\n# Home\n-- guide.md --\n{TEXT}")
    assert folder
    with living(studio) as site:
        yield site


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("First", "Very first 🙂"),
        ("[link](home)", "[broken](nowhere)"),
        ("Plain", "Plain 🙂"),
        ("# Guide", "# Guide\n\nNew."),
        ("First **words**, a [link](home) and a note[^1].\n\n", ""),
        ("- two", "- two\n- three"),
        ("more code", "other code"),
        ("Same words.", "Other words."),
        ("The note", "The other note"),
        ("```\n\nSame", "\n\nSame"),
    ],
)
def test_blocks_make_the_page_that_all_of_it_makes(
    site: LiveSite, old: str, new: str
) -> None:
    window = Window(site, TEXT)
    window.type(old, new)
    window.type("", "", is_whole=True)
    assert window.blocks == Window(site, window.text).blocks


def test_blocks_are_known_where_a_link_is_broken_in_another_language(
    studio: Studio,
) -> None:
    """The page says why in the language of the site, and its blocks are the same."""
    text = "# Guide\n\nMore.\n\n[a](nowhere)\n"
    studio.add(f"-- guide.md --\n{text}")
    studio.set(lang="de")
    with living(studio) as site:
        window = Window(site, text)
        assert "nowhere: diese Seite gibt es nicht" in window.draft.html
        assert window.type("More.", "Less.").count == len(window.blocks) == 3


def test_first_draft_of_a_page_that_nobody_looked_at_is_shown(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world, "READ_AT_ONCE_MAX", 0)
    studio.add(f"-- home.md --\n# Home\n-- guide.md --\n{TEXT}")
    with living(studio) as site:
        assert "Plain" in Window(site, TEXT).draft.html


def test_draft_mends_a_page_for_which_the_theme_fails(studio: Studio) -> None:
    templates = studio.root / "theme" / "templates"
    templates.mkdir(parents=True)
    (templates / "page.html").write_text(
        '{% extends "!theme/page.html" %}{% block content %}'
        "{{ 1 // page.meta.get('parts', 1) }}{{ super() }}{% endblock %}"
    )
    studio.set(templates=studio.root / "theme")
    studio.add("-- guide.md --\n---\nparts: 0\n---\n\nOne.\n")
    with living(studio) as site:
        draft = site.draft("guide.html", "---\nparts: 1\n---\n\nOne.\n", "")
    assert draft is not None
    assert "One." in draft[0].html


def test_only_blocks_that_changed_are_made_and_sent(site: LiveSite) -> None:
    window = Window(site, TEXT)
    assert not window.type("Plain", "🙂 Quite plain").is_whole
    draft = window.type("words**", "sentences**")
    assert not draft.is_whole
    ((_, _, html),) = draft.changes
    assert "sentences" in html
    assert "code" not in html


SECTIONS = """\
= Guide

Preamble.

== One

First words.

* a list

=== Below

More words.

== Two

First words.
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [("More words", "Other words"), ("== Two", "== Second\n\nNew.\n\n== Two")],
)
def test_of_a_page_in_sections_those_around_the_change_are_made(
    studio: Studio, site: LiveSite, old: str, new: str
) -> None:
    (studio.sources[0].folder / "guide.md").unlink()
    (studio.sources[0].folder / "guide.adoc").write_text(SECTIONS)
    site.refresh(None)
    window = Window(site, SECTIONS)
    assert not window.type(old, new).is_whole
    window.type("", "", is_whole=True)
    assert window.blocks == Window(site, window.text).blocks


def test_same_blocks_are_told_apart_by_those_around(site: LiveSite) -> None:
    window = Window(site, TEXT)
    assert not window.type("Same words.", "Other words.").is_whole


def test_of_a_page_that_is_shown_only_what_is_typed_is_sent(site: LiveSite) -> None:
    page = site.answer("guide.html")
    assert isinstance(page, Rendered)
    site.draft("index.html", "other")
    answer = site.draft("guide.html", TEXT, page.key)
    assert answer is not None
    assert (answer[0].html, answer[0].changes) == ("", [])
    text = TEXT.replace("Plain", "Quite plain").replace("More.", "And more.")
    answer = site.draft("guide.html", text, page.key)
    assert answer is not None
    assert [(start, end) for start, end, _ in answer[0].changes] == [(1, 2), (2, 3)]
    answer = site.draft("guide.html", text, "0123")
    assert answer is not None
    assert "<main" in answer[0].html


def test_a_draft_that_is_not_known_is_asked_for_as_a_whole(site: LiveSite) -> None:
    assert site.draft("guide.html", "words", "another", (0, 0)) is None


@pytest.mark.parametrize("html", ["text", "<p>a</p> b", "<p>a", "<p>a</p></p>"])
def test_what_is_no_row_of_elements_has_no_blocks(html: str) -> None:
    assert blocks_of(html) == []


def test_blocks_are_the_outermost_elements() -> None:
    html = '<div><p>a<br>b</p></div>\n<hr>\n<svg><path d="M"/></svg>'
    parts = ["<div><p>a<br>b</p></div>", "<hr>", '<svg><path d="M"/></svg>']
    assert blocks_of(html) == parts
