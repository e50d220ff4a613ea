"""Org against what the service's own reader gives for documents of others."""

import difflib
import html
import re

from tests.support.corpus import corpus_path
from wikisync.core.model import Slug
from wikisync.markup.context import ParseContext
from wikisync.markup.org.document import to_html

SIGNS = str.maketrans("‘’“”–—…\u00a0", "''\"\"--. ")
GOOD = 0.98


def words_of(text: str) -> list[str]:
    """The words of a page, with the printer's signs folded to plain ones."""
    blocks = r"</?(?:p|[uod]l|li|d[td]|pre|h\d|br|blockquote|t[rdh]|div|hr)\b[^>]*>"
    plain = re.sub(r"<[^>]*>", "", re.sub(blocks, " ", text))
    return html.unescape(plain).translate(SIGNS).replace("--", "-").split()


def likeness(name: str, folder: str) -> float:
    """From 0 to 1, how much of the reference's words a page has in order."""
    path = corpus_path("org") / folder
    source = (path / "in" / f"{name}.org").read_text("utf-8")
    reference = (path / "ref" / f"{name}.html").read_text("utf-8")
    ours = to_html(source, ParseContext(Slug("home")))
    # The service drops captions, this shows them as Org does.
    ours = re.sub(r"(?s)<(fig)?caption>.*?</(fig)?caption>", "", ours)
    matcher = difflib.SequenceMatcher(None, words_of(reference), words_of(ours), False)
    return matcher.ratio()


def names_in(folder: str, bytes_max: int) -> list[str]:
    path = corpus_path("org") / folder / "in"
    return sorted(
        file.stem for file in path.glob("*.org") if file.stat().st_size < bytes_max
    )


def test_every_small_case_of_the_reference_has_its_words() -> None:
    names = names_in("spec", 8_000)
    unlike = [name for name in names if likeness(name, "spec") < GOOD]
    assert len(names) > 30
    assert unlike == []


def test_nearly_all_real_documents_have_the_words_of_the_reference() -> None:
    names = names_in(".", 12_000)
    likenesses = [likeness(name, ".") for name in names]
    assert sum(value >= GOOD for value in likenesses) >= 0.85 * len(names)
    assert min(likenesses) > 0.9
