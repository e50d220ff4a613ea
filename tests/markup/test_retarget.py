"""Other targets for a page's links, in its source and nowhere else."""

from __future__ import annotations

import pytest

from wikisync.markup.retarget import link_targets, retarget
from wikisync.model import Format, Page, Slug

NEW = "uploads/0a1b/red.png"


def page(text: str, page_format: Format = Format.MARKDOWN) -> Page:
    return Page(Slug("home"), page_format, text)


def moved(text: str, page_format: Format = Format.MARKDOWN) -> str:
    return retarget(page(text, page_format), {"red.png": NEW})


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
    target = "./red.png" if "./red.png" in text else "red.png"
    changed = retarget(page(text, page_format), {target: NEW})
    assert changed == text.replace(target, NEW)


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
    text = "![red](red.png)\n\n`red.png`\n\n[also](red.png#part)\n"
    assert retarget(page(moved(text)), {NEW: "red.png"}) == text


def test_a_name_with_spaces_is_found_as_the_source_writes_it() -> None:
    text = "![red](<red one.png>)\n"
    assert link_targets(page(text)) == ("red one.png",)
    assert retarget(page(text), {"red one.png": NEW}) == f"![red](<{NEW}>)\n"
    assert link_targets(page("![red](red%20one.png)\n")) == ("red%20one.png",)


def test_one_address_written_in_two_ways_is_found_in_both() -> None:
    """The parser gives both the same, and one of them would stay behind."""
    both = page("![café](café.png)\n\n![café](caf%C3%A9.png)\n")
    targets = link_targets(both)
    assert sorted(targets) == ["caf%C3%A9.png", "café.png"]
    assert retarget(both, dict.fromkeys(targets, NEW)).count(NEW) == 2


def test_a_page_with_very_many_places_is_left_as_it_is() -> None:
    text = "red.png " * 2_001
    assert moved(text) == text


def test_nothing_to_change_costs_no_parse() -> None:
    assert retarget(page("text\n"), {}) == "text\n"
