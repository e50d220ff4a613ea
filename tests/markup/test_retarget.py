"""Other targets for a page's links, in its source and nowhere else."""

import pytest

from wikisync.core.model import Format, LinkTarget, Page, Slug
from wikisync.markup.links import LinkIndex
from wikisync.markup.retarget import link_places, link_targets, moved_links, retarget

NEW = "uploads/0a1b/red.png"
RED = LinkTarget("red.png")


def page(text: str, page_format: Format = Format.MARKDOWN) -> Page:
    return Page(Slug("home"), page_format, text)


def changed(source: Page, target: LinkTarget, new: str) -> str | None:
    """The source with every link to a target leading elsewhere."""
    places = link_places(source, {target})
    return retarget(
        source, [(place, LinkTarget(new, target.is_wikilink), new) for place in places]
    )


def moved(text: str, page_format: Format = Format.MARKDOWN) -> str | None:
    return changed(page(text, page_format), RED, NEW)


@pytest.mark.parametrize(
    ("page_format", "text"),
    [
        (Format.MARKDOWN, "![red](red.png)\n"),
        (Format.MARKDOWN, "[red](red.png 'a title')\n"),
        (Format.MARKDOWN, "![red][1]\n\n[1]: red.png\n"),
        (Format.MARKDOWN, "| a |\n|---|\n| ![red](red.png) |\n"),
        (Format.MARKDOWN, '<img src="red.png" alt="red">\n'),
        (Format.RDOC, "{red}[red.png]\n"),
        (Format.ASCIIDOC, "image::red.png[red]\n"),
        (Format.ASCIIDOC, "see link:red.png[red]\n"),
        (Format.ORG, "[[file:red.png][red]]\n"),
        (Format.ORG, "[[./red.png]]\n"),
    ],
)
def test_a_real_link_gets_its_new_target(page_format: Format, text: str) -> None:
    (target,) = link_targets(page(text, page_format))
    assert changed(page(text, page_format), target, NEW) == text.replace(
        target.path, NEW
    )


@pytest.mark.parametrize(
    ("page_format", "text"),
    [
        (Format.MARKDOWN, "`![red](red.png)`\n"),
        (Format.MARKDOWN, "```\n![red](red.png)\n```\n"),
        (Format.MARKDOWN, "    ![red](red.png)\n"),
        (Format.MARKDOWN, "the file red.png lies beside\n"),
        (Format.MARKDOWN, "<!-- ![red](red.png) -->\n"),
        (Format.MARKDOWN, "\\![red]\\(red.png)\n"),
        (Format.RDOC, "Text\n\n  {red}[red.png]\n"),
        (Format.ASCIIDOC, "----\nimage::red.png[]\n----\n"),
        (Format.ASCIIDOC, "// image::red.png[]\n"),
        (Format.ORG, "=[[file:red.png]]=\n"),
        (Format.ORG, "#+begin_src\n[[file:red.png]]\n#+end_src\n"),
    ],
)
def test_code_comments_and_plain_words_stay(page_format: Format, text: str) -> None:
    assert moved(text, page_format) == text


def test_a_longer_name_is_another_file() -> None:
    text = "![a](dark-red.png) ![b](red.png.bak) ![c](sub/red.png)\n"
    assert moved(text) == text


def test_a_link_and_the_same_words_in_code_are_told_apart() -> None:
    assert moved("![red](red.png) `red.png`\n") == f"![red]({NEW}) `red.png`\n"


def test_out_and_back_is_the_page_again() -> None:
    text = "![red](red.png)\n\n`red.png`\n\n[also](red.png#part) [and](red.png?x=1)\n"
    there = moved(text)
    assert there is not None
    assert there == text.replace("](red.png", f"]({NEW}")
    assert changed(page(there), LinkTarget(NEW), "red.png") == text


@pytest.mark.parametrize(
    ("page_format", "text", "written", "path"),
    [
        (Format.MARKDOWN, "![a](<red one.png>)", "red one.png", "red one.png"),
        (Format.MARKDOWN, "![a](red%20one.png)", "red%20one.png", "red one.png"),
        (Format.MARKDOWN, "![a](é%20x.PNG)", "é%20x.PNG", "é x.PNG"),
        (Format.MARKDOWN, "![a](caf%c3%a9.png)", "caf%c3%a9.png", "café.png"),
        (Format.MARKDOWN, r"![a](a\_b.png)", r"a\_b.png", "a_b.png"),
        (Format.MARKDOWN, "![a](x&amp;y.png)", "x&amp;y.png", "x&y.png"),
        (Format.MARKDOWN, "![a](a%23b.png)", "a%23b.png", "a#b.png"),
        (Format.MARKDOWN, "![a](what%3F.png?x)", "what%3F.png", "what?.png"),
        (Format.ASCIIDOC, "link:++red one.png++[a]", "red one.png", "red one.png"),
        (Format.ORG, "[[file:red one.png]]", "red one.png", "red one.png"),
    ],
)
def test_a_name_is_found_as_the_source_writes_it(
    page_format: Format, text: str, written: str, path: str
) -> None:
    source = page(f"{text}\n", page_format)
    (place,) = link_places(source, {LinkTarget(path)})
    assert (place.written, place.target.path) == (written, path)
    assert changed(source, LinkTarget(path), NEW) == f"{text}\n".replace(written, NEW)


def test_one_address_written_in_two_ways_is_found_in_both() -> None:
    both = page("![café](café.png)\n\n![café](caf%C3%A9.png)\n")
    assert set(link_targets(both)) == {LinkTarget("café.png")}
    places = link_places(both, {LinkTarget("café.png")})
    assert [place.written for place in places] == ["café.png", "caf%C3%A9.png"]


@pytest.mark.parametrize(
    ("page_format", "address"),
    [
        (Format.MARKDOWN, "[x](https://example.com/?f=red.png)"),
        (Format.MARKDOWN, "[x](https://example.com/a,red.png)"),
        (Format.MARKDOWN, "[x](mailto:red.png)"),
        (Format.MARKDOWN, "[x](#red.png)"),
        (Format.MARKDOWN, "[x](home#red.png)"),
        (Format.MARKDOWN, "![x](../red.png)"),
        (Format.ASCIIDOC, "<<red.png>>"),
        (Format.ASCIIDOC, "[#red.png]\n== red.png"),
        (Format.ASCIIDOC, ":imagesdir: pics\n\nimage::red.png[]"),
        (Format.ORG, "[[#red.png]]"),
        (Format.ORG, "[[*red.png]]"),
    ],
)
def test_other_addresses_that_hold_the_name_stay(
    page_format: Format, address: str
) -> None:
    assert not link_places(page(f"{address}\n", page_format), {RED})


def test_a_title_of_the_same_words_stays_in_the_contents() -> None:
    text = ":toc:\n\n== Makefile\n\nSee link:Makefile[the file].\n"
    source = page(text, Format.ASCIIDOC)
    assert changed(source, LinkTarget("Makefile"), NEW) == text.replace(
        "link:Makefile", f"link:{NEW}"
    )


def test_a_wikilink_and_a_link_of_the_same_words_are_told_apart() -> None:
    text = "![[red.png]] [a](red.png)\n"
    assert moved(text) == text.replace("(red.png)", f"({NEW})")


def test_a_definition_named_as_what_it_defines_is_found() -> None:
    text = "![a](red.png) ![red.png]\n\n[red.png]: red.png 'title'\n"
    assert moved(text) == f"![a]({NEW}) ![red.png]\n\n[red.png]: {NEW} 'title'\n"


@pytest.mark.parametrize(
    ("page_format", "text"),
    [
        (Format.ASCIIDOC, "image:red.png[] and image:red.png[]\n"),
        (Format.RDOC, "{a}[red.png] and {b}[red.png]\n"),
    ],
)
def test_a_name_that_means_something_to_the_format_is_encoded(
    page_format: Format, text: str
) -> None:
    new = "uploads/0a1b/Foto__1_.png"
    there = changed(page(text, page_format), RED, new)
    assert there is not None
    assert link_targets(page(there, page_format)) == (LinkTarget(new),) * 2
    assert changed(page(there, page_format), LinkTarget(new), "red.png") == text


def test_a_target_that_cannot_be_written_changes_nothing() -> None:
    assert changed(page("| a |\n|---|\n| ![x](red.png) |\n"), RED, "") is None


def test_very_many_places_are_all_found() -> None:
    text = "[r](red.png) " * 2_500
    assert moved(f"{text}\n") == f"{text}\n".replace("red.png", NEW)


def test_nothing_to_change_is_the_source() -> None:
    assert retarget(page("text\n"), []) == "text\n"


def test_a_link_to_nothing_stands_nowhere() -> None:
    """Every place of a source could be where nothing is written."""
    assert link_places(page("[nothing]() and text\n"), {LinkTarget("")}) == ()


# -- pages that get another name ---------------------------------------------------

PAGES = ("home", "guide", "team/one", "team/two", "a b", "team/new guide")
NAMES = {Slug("guide"): Slug("manual/first"), Slug("team/one"): Slug("first")}


def renamed(
    text: str, page_format: Format = Format.MARKDOWN, at: str = "home"
) -> tuple[str, tuple[str, ...]]:
    """A page's text after the pages of ``NAMES`` got their new names."""
    pages = [Slug(name) for name in PAGES]
    before = LinkIndex(pages)
    after = LinkIndex(NAMES.get(slug, slug) for slug in pages)
    source = Page(Slug(at), page_format, text)
    done = moved_links(
        source, before, after, NAMES, {"team/red.png": "team/red.png"}.get
    )
    return done.source, done.left


@pytest.mark.parametrize(
    ("page_format", "text", "new"),
    [
        (Format.MARKDOWN, "[a](guide)", "[a](manual/first)"),
        (Format.MARKDOWN, "[a](guide#part 'Guide')", "[a](manual/first#part 'Guide')"),
        (Format.MARKDOWN, "[a](/guide)", "[a](/manual/first)"),
        (Format.MARKDOWN, "[a](./guide)", "[a](./manual/first)"),
        (Format.MARKDOWN, "[a](guide.md)", "[a](manual/first.md)"),
        (Format.MARKDOWN, "[a](Guide)", "[a](manual/first)"),
        (Format.MARKDOWN, "[[Guide|guide]]", "[[Guide|manual/first]]"),
        (Format.MARKDOWN, "[[guide]]", "[[manual/first]]"),
        (Format.MARKDOWN, "[a][1]\n\n[1]: guide", "[a][1]\n\n[1]: manual/first"),
        (Format.MARKDOWN, '<a href="guide">a</a>', '<a href="manual/first">a</a>'),
        (Format.MARKDOWN, "`[a](guide)` guide", "`[a](guide)` guide"),
        (Format.MARKDOWN, "[a](team/two) [b](http://guide)", None),
        (Format.ASCIIDOC, "link:guide[a]", "link:manual/first[a]"),
        (Format.ASCIIDOC, "xref:guide.adoc[a]", "xref:manual/first.adoc[a]"),
        (Format.ASCIIDOC, "<<guide.adoc#part,a>>", "<<manual/first.adoc#part,a>>"),
        (Format.ORG, "[[guide][a]]", "[[manual/first][a]]"),
        (Format.ORG, "[[file:guide.org::*P][a]]", "[[file:manual/first.org::*P][a]]"),
        (Format.RDOC, "{a}[guide]", "{a}[manual/first]"),
        (Format.RDOC, "{a}[link:guide#part]", "{a}[link:manual/first#part]"),
    ],
)  # fmt: skip
def test_links_to_a_renamed_page_are_written_as_they_were(
    page_format: Format, text: str, new: str | None
) -> None:
    assert renamed(text, page_format) == (new or text, ())


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("[a](./two)", "[a](./team/two)"),
        ("[a](two.md)", "[a](team/two.md)"),
        ("[a](../home)", "[a](../home)"),
        ("[a](../guide.md)", "[a](./manual/first.md)"),
        ("[a](team/two)", "[a](team/two)"),
        ("![a](red.png)", "![a](team/red.png)"),
        ("[a](./one)", "[a](./first)"),
        ("[a](no-page.md) ![b](none.png)", "[a](no-page.md) ![b](none.png)"),
    ],
)
def test_links_of_a_page_that_leaves_its_folder_lead_where_they_led(
    text: str, new: str
) -> None:
    assert renamed(text, at="team/one") == (new, ())


def test_a_link_whose_place_is_not_known_is_named() -> None:
    text = ":to: gui\n\nlink:{to}de[a]\n"
    assert renamed(text, Format.ASCIIDOC) == (text, ("guide",))
