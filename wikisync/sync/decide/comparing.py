"""The base and both snapshots compared, and texts that are alike.  Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from wikisync.core.model import (
    BYTE_ORDER_MARK,
    Format,
    Slug,
    Snapshot,
    fold_text,
    path_of_title,
)
from wikisync.merging.front_matter import front_matter_of
from wikisync.sync.decide.plan import BasePage

WINDOW_CHARS = 8
"""Length of the pieces by which two texts are compared."""
COMPARED_CHARS = 100_000
"""As much of each text is compared."""
TELLING_CHARS_MIN = 12
"""A text with fewer letters and digits does not tell whether it is a copy."""


def met_anew(
    base: Mapping[Slug, BasePage],
    here: Snapshot,
    there: Snapshot,
    *,
    is_other_folder: bool,
) -> frozenset[Slug]:
    """Pages to be met as new ones where both sides are taken as they are.

    What one of them lacks was not deleted; and in another folder what differs from
    what was agreed on is no edit of it.
    """
    seen_here = here.pages.keys() | here.unreadable
    seen_there = there.pages.keys() | there.unreadable
    missing = base.keys() - (seen_here & seen_there)
    if not is_other_folder:
        return frozenset(missing)
    pages = here.pages
    changed = {
        s for s, one in base.items() if s in pages and pages[s].digest != one.local
    }
    return frozenset(missing | changed)


def is_saved_enough(
    base: Mapping[Slug, BasePage], here: Snapshot, there: Snapshot
) -> bool:
    """Whether a scan of nothing but saved files is enough for a decision.

    It is where both sides have the same pages, and all of the base, and the wiki no
    other texts than were agreed on, or nobody scanned it.  Then what was not scanned is
    no absence that would count once more, no new name and no rename: the only news are
    texts here of pages that there are.
    """
    if not (here.is_complete and there.is_complete):
        return False
    names = there.pages.keys()
    if there.unreadable or not base.keys() <= names:
        return False
    if not there.is_remembered and _has_news(base, there):
        return False
    return names == here.pages.keys() | (here.unreadable - here.ignored)


def has_texts_to_send(base: Mapping[Slug, BasePage], here: Snapshot) -> bool:
    """Whether the folder has a text that was not agreed on."""
    return any(
        (known := base.get(slug)) is None or page.digest != known.local
        for slug, page in here.pages.items()
    )


def _has_news(base: Mapping[Slug, BasePage], there: Snapshot) -> bool:
    """Whether the wiki has a page otherwise than was agreed, or an identity of one."""
    theirs = there.pages
    return any(
        (remote := theirs[slug]).digest != page.remote
        or remote.format is not page.format
        or (remote.identity and remote.identity != page.remote_identity)
        for slug, page in base.items()
    )


def changed_pages(
    base: Mapping[Slug, BasePage], here: Snapshot, there: Snapshot
) -> dict[Slug, BasePage]:
    """Pages that either side does not hold, under their names, as was agreed.

    Of a page that is not among them no row of the table says that anything is to do,
    and nothing new is known.  One loop over thousands of pages, so it calls nothing.
    """
    mine, theirs = here.pages, there.pages
    unreadable = here.unreadable | there.unreadable
    found: dict[Slug, BasePage] = {}
    for slug, page in base.items():
        local, remote = mine.get(slug), theirs.get(slug)
        if (
            local is None
            or remote is None
            or local.digest != page.local
            or remote.digest != page.remote
            or not local.format is remote.format is page.format
            or (local.identity and local.identity != page.local_identity)
            or (remote.identity and remote.identity != page.remote_identity)
            or slug in unreadable
        ):
            found[slug] = page
    return found


def given_names(
    base: Mapping[Slug, BasePage], here: Snapshot, there: Snapshot
) -> Mapping[Slug, Slug]:
    """New files of which the service has a page by the name that it makes of theirs.

    Not where that page has a file, or two files would be it.
    """
    taken = base.keys() | here.pages.keys() | here.unreadable
    given: dict[Slug, list[Slug]] = {}
    for slug in here.pages.keys() - there.pages.keys() - base.keys():
        name = Slug(path_of_title(slug))
        if name in there.pages and name not in taken:
            given.setdefault(name, []).append(slug)
    return {files[0]: name for name, files in given.items() if len(files) == 1}


def is_at_rest(
    base: Mapping[Slug, BasePage],
    here: Snapshot,
    there: Snapshot,
    changed: Mapping[Slug, BasePage],
) -> bool:
    """Whether both sides hold the very pages, texts and names of the base."""
    if changed or here.unreadable or there.unreadable:
        return False
    return base.keys() == here.pages.keys() == there.pages.keys()


def are_alike(text: str, other: str) -> bool:
    """Whether one text may be a copy of the other that was changed since.

    They are where half of the shorter one is in the other, or one is too short to tell.
    """
    letters = [
        re.sub(r"\W+", " ", one[:COMPARED_CHARS]).strip() for one in (text, other)
    ]
    if not all(letters):
        return False
    if min(map(len, letters)) < TELLING_CHARS_MIN:
        return True
    pieces, others = (
        {one[at : at + WINDOW_CHARS] for at in range(len(one) - WINDOW_CHARS + 1)}
        for one in letters
    )
    return 2 * len(pieces & others) >= min(len(pieces), len(others))


class Capabilities(Struct, frozen=True):
    """One service, as far as it is known."""

    takes_empty: bool = True
    """A page may be empty (Q10)."""
    strips_front_matter_of: frozenset[Format] = frozenset()
    """Formats of which it returns texts without their front matter (Q8), as its
    answers to our own writes have shown; the page keeps it."""

    def with_stripped(self, page_format: Format) -> Capabilities:
        """The service, now that it stripped the front matter of a page of this format.

        Only an answer to our own write shows that: on any other service a page
        without front matter is one whose front matter somebody removed.
        """
        found = self.strips_front_matter_of | {page_format}
        return replace(self, strips_front_matter_of=found)

    def without_shown(self, there: Snapshot) -> Capabilities:
        """The service without the formats of which a page shows its front matter."""
        shown = {
            page.format
            for page in there.texts.values()
            if page.format in self.strips_front_matter_of
            and front_matter_of(page.content)
        }
        left = self.strips_front_matter_of - shown
        return replace(self, strips_front_matter_of=left) if shown else self


class Normalisation(StrEnum):
    """The class of a difference; the value says what the service does."""

    SAME = "keeps the text"
    FOLDED = "changes line ends, the final newline or the byte order mark"
    UNICODE = "changes the Unicode form of letters"
    FRONT_MATTER = "returns texts without their front matter"
    OTHER = "changes the text"


def normalisation_of(sent: str, answered: str) -> Normalisation:
    """What a service did to a text that it took."""
    if sent == answered:
        return Normalisation.SAME
    mine, theirs = fold_text(sent), fold_text(answered)
    if mine == theirs:
        return Normalisation.FOLDED
    if unicodedata.normalize("NFC", mine) == unicodedata.normalize("NFC", theirs):
        return Normalisation.UNICODE
    block = front_matter_of(sent)
    if block and _body(sent, block) == theirs.lstrip("\n"):
        return Normalisation.FRONT_MATTER
    return Normalisation.OTHER


def with_line_ends_of(text: str, like: str) -> str:
    """The text with the line ends of most lines of another text, and its mark."""
    if like.startswith(BYTE_ORDER_MARK) and not text.startswith(BYTE_ORDER_MARK):
        text = BYTE_ORDER_MARK + text
    if like.count("\r\n") * 2 <= like.count("\n") or "\r" in text:
        return text
    return text.replace("\n", "\r\n")


def _body(text: str, block: str) -> str:
    return fold_text(text[len(block) :]).lstrip("\n")
