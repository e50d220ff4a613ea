"""What a decision is made of: plan, merges, conflicts; what differs.  Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from wikisync.core import model
from wikisync.merging.conflict import MergedText
from wikisync.merging.diff import changes
from wikisync.merging.metadata import front_matter_of
from wikisync.sync.decide.ledger import Replaced
from wikisync.sync.decide.plan import Action, Base, BasePage, Plan, SkipReason
from wikisync.sync.decide.rewinding import NO_REWINDING, NotAgreed, Rewinding
from wikisync.sync.decide.safety import Batch


class MergedPage(Struct, frozen=True):
    """The texts of one merge and what came of it."""

    slug: model.Slug
    """The page's name when it is its turn, as in the plan."""
    local: model.Page
    remote: model.Page
    """The wiki's text in the form that the folder would have it."""
    result: MergedText
    stale: Replaced | None = None
    """The text that the save here really was an edit of, if not the base's."""


UNCERTAIN = frozenset({SkipReason.GONE_HERE, SkipReason.GONE_THERE})


class Absences(Struct, frozen=True):
    """What a cycle makes of the pages that its plan would remove."""

    waiting: Mapping[model.Slug, SkipReason]
    doubted: model.Slug | None = None
    """A page that the list lacks and the service still has, or the like: then the
    scan of the wiki was not complete."""
    due_s: float | None = None
    """Seconds until one more scan can make an absence certain."""


class Decided(Struct):
    """What is to be done, as far as the filters are through, and all it is based on."""

    base: Base
    here: model.Snapshot
    there: model.Snapshot
    plan: Plan
    """What is carried out: in the end the part that was asked for."""
    absences: Absences
    ignored: frozenset[model.Slug]
    """Pages whose absence in the folder means nothing."""
    shown: Mapping[model.Slug, model.Digest] = {}
    seen: NotAgreed = NotAgreed()
    """What the wiki has otherwise than was agreed on."""
    is_set_back: bool | None = None
    """Whether the wiki's history lacks the last sync; None where it is not known."""
    head: str = ""
    """The wiki's newest commit, where the plan made it worth asking."""
    is_unanswered: bool = False
    """Nobody could say whether the wiki went back in time."""
    rewinding: Rewinding = NO_REWINDING
    unmerged: frozenset[Action] = frozenset()
    merges: Mapping[model.Slug, MergedPage] = {}
    superseded: frozenset[model.Slug] = frozenset()
    """Pages whose text changed while this was decided; they are in no plan."""
    batches: tuple[Batch, ...] = ()
    whole: Plan = Plan()
    """What there is to do and what waits, whoever asks."""

    @property
    def next_scan_s(self) -> float | None:
        """When one more scan can make an absence certain that the plan waits for."""
        waits = any(skip.reason in UNCERTAIN for skip in self.plan.skipped)
        return self.absences.due_s if waits else None

    @property
    def left_out(self) -> frozenset[model.Slug]:
        """Pages that a first sync leaves here because nobody asked for them."""
        skipped = self.whole.skipped
        return frozenset(s.slug for s in skipped if s.reason is SkipReason.NOT_ASKED)


_WORD = re.compile(r"\w+|\W")
WORDS_MAX = 20_000
"""Words on one side of a change beyond which all of it counts as changed."""


STALE_TEXTS_MAX = 8
"""Replacements of a page that a save is compared with, the newest first."""
WINDOW_S = 3600.0
"""A save is taken for one of an older text only so long after a text was replaced:
whoever takes back what the wiki brought earlier means it."""


def stale_ancestor(
    text: str, replaced: Sequence[Replaced], now: float
) -> Replaced | None:
    """The replacement that a save knows nothing of, or None."""
    # a text that this guard has merged once and that is saved once more is meant
    if not replaced or now - replaced[0].at > WINDOW_S:
        return None
    if any(one.is_stale and one.replaced == text for one in replaced):
        return None
    written = replaced[0].written
    nearest = min(replaced, key=lambda one: _distance(text, one.replaced))
    is_stale = _distance(text, nearest.replaced) < _distance(text, written)
    return nearest if is_stale else None


def _distance(one: str, other: str) -> int:
    """How many characters of either text the other lacks, by lines, then words."""
    # lines alone would take a word mended in a line that came from the wiki for that
    # line added once more: one line away from the old text, two from the new one
    mine, theirs = one.splitlines(), other.splitlines()
    return sum(
        _word_distance(
            "\n".join(mine[change.old_start : change.old_end]),
            "\n".join(theirs[change.new_start : change.new_end]),
        )
        for change in changes(mine, theirs)
    )


def _word_distance(one: str, other: str) -> int:
    mine, theirs = _WORD.findall(one), _WORD.findall(other)
    if not mine or not theirs or max(len(mine), len(theirs)) > WORDS_MAX:
        return len(one) + len(other)
    return sum(
        sum(map(len, mine[change.old_start : change.old_end]))
        + sum(map(len, theirs[change.new_start : change.new_end]))
        for change in changes(mine, theirs)
    )


WINDOW_CHARS = 8
COMPARED_CHARS = 100_000
TELLING_CHARS_MIN = 12
"""A text with fewer letters and digits does not tell whether it is a copy."""


def met_anew(
    base: Base, here: model.Snapshot, there: model.Snapshot, *, is_other_folder: bool
) -> frozenset[model.Slug]:
    """Pages to be met as new ones where both sides are taken as they are."""
    # what one of them lacks was not deleted; and in another folder what differs from
    # what was agreed on is no edit of it
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


def is_saved_enough(base: Base, here: model.Snapshot, there: model.Snapshot) -> bool:
    """Whether a scan of nothing but saved files is enough for a decision.

    Both sides have the pages of the base, and the wiki no other texts than were agreed
    on, or nobody scanned it: then the only news are texts here of known pages.
    """
    if not (here.is_complete and there.is_complete):
        return False
    names = there.pages.keys()
    if there.unreadable or not base.keys() <= names:
        return False
    if not there.is_remembered and _has_news(base, there):
        return False
    return names == here.pages.keys() | (here.unreadable - here.ignored)


def has_texts_to_send(base: Base, here: model.Snapshot) -> bool:
    """Whether the folder has a text that was not agreed on."""
    return any(
        (known := base.get(slug)) is None or page.digest != known.local
        for slug, page in here.pages.items()
    )


def _has_news(base: Base, there: model.Snapshot) -> bool:
    """Whether the wiki has a page otherwise than was agreed, or an identity of one."""
    theirs = there.pages
    return any(
        (remote := theirs[slug]).digest != page.remote
        or remote.format is not page.format
        or (remote.identity and remote.identity != page.remote_identity)
        for slug, page in base.items()
    )


def changed_pages(
    base: Base, here: model.Snapshot, there: model.Snapshot
) -> dict[model.Slug, BasePage]:
    """Pages that either side does not hold, under their names, as was agreed."""
    # Of a page that is not among them no row of the table says that anything is to do,
    # and nothing new is known.  One loop over thousands of pages, so it calls nothing.
    mine, theirs = here.pages, there.pages
    unreadable = here.unreadable | there.unreadable
    found: dict[model.Slug, BasePage] = {}
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
    base: Base, here: model.Snapshot, there: model.Snapshot
) -> Mapping[model.Slug, model.Slug]:
    """New files of which the service has a page by the name that it makes of theirs."""
    # not where that page has a file, or two files would be it
    taken = base.keys() | here.pages.keys() | here.unreadable
    given: dict[model.Slug, list[model.Slug]] = {}
    for slug in here.pages.keys() - there.pages.keys() - base.keys():
        name = model.Slug(model.path_of_title(slug))
        if name in there.pages and name not in taken:
            given.setdefault(name, []).append(slug)
    return {files[0]: name for name, files in given.items() if len(files) == 1}


def is_at_rest(
    base: Base, here: model.Snapshot, there: model.Snapshot, changed: Base
) -> bool:
    """Whether both sides hold the very pages, texts and names of the base."""
    if changed or here.unreadable or there.unreadable:
        return False
    return base.keys() == here.pages.keys() == there.pages.keys()


def are_alike(text: str, other: str) -> bool:
    """Whether one text may be a copy of the other that was changed since."""
    # they are where half of the shorter one is in the other, or one is too short to
    # tell
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
    strips_front_matter_of: frozenset[model.Format] = frozenset()
    """Formats of which it returns texts without their front matter (Q8), as its
    answers to our own writes have shown; the page keeps it."""

    def without_shown(self, there: model.Snapshot) -> Capabilities:
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
    mine, theirs = model.fold_text(sent), model.fold_text(answered)
    if mine == theirs:
        return Normalisation.FOLDED
    if unicodedata.normalize("NFC", mine) == unicodedata.normalize("NFC", theirs):
        return Normalisation.UNICODE
    block = front_matter_of(sent)
    body = model.fold_text(sent[len(block) :])
    if block and body.lstrip("\n") == theirs.lstrip("\n"):
        return Normalisation.FRONT_MATTER
    return Normalisation.OTHER


def with_line_ends_of(text: str, like: str) -> str:
    """The text with the line ends of most lines of another text, and its mark."""
    if like.startswith(model.BYTE_ORDER_MARK) and not text.startswith(
        model.BYTE_ORDER_MARK
    ):
        text = model.BYTE_ORDER_MARK + text
    if like.count("\r\n") * 2 <= like.count("\n") or "\r" in text:
        return text
    return text.replace("\n", "\r\n")
