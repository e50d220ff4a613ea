"""Texts that two persons edit at once: what a merge may make of them, and what not.

``ONE_PLACE``: both edits are in one sentence, cell, value or line of code, so that any
text with both in it is one that neither person wrote.  ``long_paragraphs``: edits of
different sentences, with the text that both persons would expect.
``beside_deletions``: lines added beside what the other side removed or rewrote.
"""

import random
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from wikisync.core.model import Format

GUIDE = Path(__file__).parents[2] / "sample-site" / "handbook"
SENTENCES = (4, 12)
"""In a long paragraph, at least and at most."""
WORDS_MIN = 5
REWRITTEN = "Everything here was replaced."
WIDTH = 88
MARKDOWN = Format.MARKDOWN
_FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TwoEdits:
    """One text and two edits of it."""

    texts: tuple[str, ...]
    """Base, text here, text on the wiki."""
    page_format: Format = MARKDOWN
    expected: str = ""
    """Where both edits go together."""


def in_one_place() -> Iterator[TwoEdits]:
    """Edits of one sentence, alone and in a paragraph, on one line and wrapped."""
    for sides in map(_sides, _SENTENCES):
        yield TwoEdits(tuple(f"{text}\n" for text in sides))
        yield TwoEdits(tuple(f"See it. {text} That is all.\n" for text in sides))
        yield TwoEdits(tuple(text.replace(" ", "\n", 1) + "\n" for text in sides))
    for page_format, before, after in _BLOCKS:
        texts = tuple(f"{before}{line}\n{after}" for line in _LINES)
        yield TwoEdits(texts, page_format)
    for page_format, base, local, remote in _PLACES:
        yield TwoEdits((base, local, remote), page_format)


_SENTENCES = (
    "Take <5|50> <mg|ml> twice a day.",
    "Call +49 (<30|40>) 1234-<567|999> now",
    "It costs 1,23<4|5>.50 EUR and <9|8> cents.",
    "IBAN DE<12|99> 5001 0517 5407 9<0|1>",
    "Open https://example.com/a(<b|z>)/c,d;e!<f|g> first.",
    "Run `rm -r<f|> a <b|c>` there.",
    "Read <the|a> manual <page|site>.",
    "Read <the manual|[the manual](man)> <page|[page](man2)>.",
    "The <old|young> dog <sleeps|runs>.",
    "Ask Dr. <Smith|Jones> of St. <Mary|Anne>.",
    "We met on 1. <Mai|Juni> at <2|3> Uhr.",
    "Use <e.g.|i.e.> Vim or <Emacs|Nano>.",
    "Version 1.2.<3|4> of Debian <12|13>.",
    "No. <5|6> is on p. <12|13> of it.",
    "It (see <A|X>. Then <B|Y>.) is so.",
    "Give $<5|7> to A and $<6|8> to B.",
    "The code is `<a|x>. B` or `c. <D|Y>`.",
    "From <J|K>. R. Smith to <Ann|Eve>.",
    "At <10|11>:30 in room <5|6>.",
    "It <never fails|fails>, we <think|know>.",
    "Mail <ann|eve>@example.com, not <Bob|Tom>.",
    "Das sind ca. <Fünf|Sechs> bzw. <Neun|Zehn>.",
    "他<今|明>天去<北京|上海>。",
)
"""With the edit here first and the edit on the wiki second, as ``<before|after>``."""
_EDIT = re.compile(r"<([^|>]*)\|([^>]*)>")


def _sides(marked: str) -> list[str]:
    """Base, text here, text on the wiki."""
    return [_taken(marked, iter(sides)) for sides in ((1, 1), (2, 1), (1, 2))]


def _taken(marked: str, sides: Iterator[int]) -> str:
    return _EDIT.sub(lambda edit: edit[next(sides)], marked)


_BLOCKS = (
    (MARKDOWN, "```sh\n", "```\n"),
    (MARKDOWN, "- item\n\n  ```\n  ", "  ```\n"),
    (MARKDOWN, "1. ~~~\n   ", "   ~~~\n"),
    (MARKDOWN, "> ```\n> ", "> ```\n"),
    (MARKDOWN, "text\n\n    ", "\n"),
    (MARKDOWN, "- text\n\n      ", "\n"),
    (MARKDOWN, "<pre>\n", "</pre>\n"),
    (MARKDOWN, "$$\n", "$$\n"),
    (MARKDOWN, "---\ntitle: ", "---\n"),
    (MARKDOWN, "# ", ""),
    (MARKDOWN, "- ", ""),
    (MARKDOWN, "- [ ] ", ""),
    (MARKDOWN, "> ", ""),
    (MARKDOWN, "[^1]: ", ""),
    (MARKDOWN, "h | i\n--|--\n", ""),
    (Format.ASCIIDOC, "----\n", "----\n"),
    (Format.ASCIIDOC, "[source,sh]\n", "\n"),
    (Format.ASCIIDOC, "....\n", "....\n"),
    (Format.ASCIIDOC, "|===\n", "|===\n"),
    (Format.ASCIIDOC, ":name: ", "\n"),
    (Format.ASCIIDOC, "term:: ", "\n"),
    (Format.ORG, "#+BEGIN_SRC sh\n", "#+END_SRC\n"),
    (Format.ORG, "#+begin_example\n", "#+end_example\n"),
    (Format.ORG, ": ", "\n"),
    (Format.ORG, "#+TITLE: ", "\n"),
    (Format.ORG, "* ", "\n"),
    (Format.RDOC, "text\n\n  ", "\n"),
    (Format.RDOC, "* ", "\n"),
    (Format.RDOC, "= ", "\n"),
)
"""What stands before and behind a line that both edit."""
_LINES = ("a b c", "x b c", "a b y")
_PLACES = (
    (MARKDOWN, "| a | b |\n", "| A | b |\n", "| a | B |\n"),
    (MARKDOWN, "text\n", "---\ntitle: A\n---\ntext\n", "---\ntitle: B\n---\ntext\n"),
    (MARKDOWN, "```\na\nb\n```\n", "```\nA\nb\n```\n", "```\na\nB\n```\n"),
    (MARKDOWN, "> a b\n> c d\n", "> x b\n> c d\n", "> a b\n> c y\n"),
    (Format.ORG, "| a | b |\n", "| A | b |\n", "| a | B |\n"),
)


def long_paragraphs(count: int, seed: int = 0) -> Iterator[TwoEdits]:
    """Two edits of different sentences of a long paragraph, as persons make them."""
    rng = random.Random(seed)
    known = sentences_of_the_guide()
    for number in range(count):
        base = rng.sample(known, rng.randint(*SENTENCES))
        here, there = rng.sample(range(len(base)), 2)
        local, remote, both = list(base), list(base), list(base)
        local[here] = both[here] = edited(base[here], rng)
        remote[there] = both[there] = edited(base[there], rng)
        *texts, expected = _laid_out(number % 3, base, local, remote, both)
        yield TwoEdits(tuple(texts), expected=expected)


def beside_deletions(count: int, seed: int = 0) -> Iterator[TwoEdits]:
    """A line added at an end, or one off it, of what the other side removed."""
    rng = random.Random(seed)
    known = sentences_of_the_guide()
    for number in range(count):
        *old, new = rng.sample(known, rng.randint(4, 10))
        gap = ("", "\n")[number % 2]
        mark = rng.choice(("", "- ", "1. ", "> "))
        base = [f"{mark}{line}\n{gap}" for line in old]
        start = rng.randrange(len(base))
        stop = rng.randint(start + 1, min(start + len(base) // 2 + 1, len(base)))
        added, cut = list(base), list(base)
        at = rng.choice((start, stop)) + rng.choice((-1, 0, 0, 0, 1))
        at = max(0, min(at, len(base)))
        added[at:at] = [f"{mark}{new}\n{gap}"]
        cut[start:stop] = rng.choice(([], [], [f"{mark}{REWRITTEN}\n{gap}"]))
        sides = [added, cut] if number % 4 < 2 else [cut, added]
        yield TwoEdits(tuple("".join(side) for side in (base, *sides)))


def _laid_out(style: int, *sides: list[str]) -> Iterator[str]:
    """Paragraphs on one line, a line a sentence, or wrapped anew by one side."""
    for at, side in enumerate(sides):
        text = ("\n" if style == 1 else " ").join(filter(None, side))
        if style == 2 and at == 1:
            text = textwrap.fill(
                text, WIDTH, break_on_hyphens=False, break_long_words=False
            )
        yield f"{text}\n"


def edited(sentence: str, rng: random.Random) -> str:
    """A word exchanged, added or removed, a number changed, the sentence removed."""
    words = sentence.split(" ")
    at = rng.randrange(1, len(words) - 1)
    match rng.randrange(6):
        case 0:
            words[at] = "instead"
        case 1:
            words.insert(at, "now")
        case 2:
            del words[at]
        case 3:
            words[-1:] = [words[-1].rstrip("."), "at", f"{rng.randrange(100, 999)}."]
        case 4:
            words += ["Somebody", "added", "this."]
        case _:
            return ""
    return " ".join(words)


def sentences_of_the_guide() -> list[str]:
    """Sentences that stand in the user guide, in order."""
    found = []
    for page in sorted(GUIDE.rglob("*.md")):
        text = _FENCED.sub("", page.read_text(encoding="utf-8"))
        for paragraph in text.split("\n\n"):
            line = " ".join(paragraph.split())
            ends = [0, *(one.end() for one in re.finditer(r"\.(?: |$)", line))]
            parts = [line[start:end].strip() for start, end in pairwise(ends)]
            found += [part for part in parts if _is_sentence(part)]
    return found


def _is_sentence(part: str) -> bool:
    is_whole = part.count("`") % 2 == 0 and part.count(" ") >= WORDS_MIN
    return is_whole and re.fullmatch(r"[A-Z][^|#\[\]()]{30,200}\.", part) is not None
