"""Which page that vanished is which page that arrived, on one side.

Pure.  A wrong match would write one page's text over another's, a missed one only costs
a deletion and a creation, so a match must be the only one possible: by what the side
knows the page by, then by name where the service takes both for one, then by text, then
by place below a renamed parent.  A page whose old name still exists was not renamed,
unless another page has that name by now (``Taken``).
"""

import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from functools import cached_property

from msgspec import Struct

from wikisync.core import model
from wikisync.sync.decide.plan import Base, BasePage

NO_TEXT = model.digest_of("")
LITTLE = 0.1
HALF = 0.5
"""Shares of the agreed text that a page has kept, see ``names_taken``."""
LIKE_PAGES_MAX = 50
"""Among more new pages, or pages that changed, texts that are alike are not sought."""


class Taken(Struct, frozen=True):
    """Names of the base that another page has by now, on one side."""

    renamed: Mapping[model.Slug, model.Slug] = {}
    doubtful: frozenset[model.Slug] = frozenset()
    """Of these pages nobody can say for certain where they are, or they changed places:
    no edit of one is merged with what has its name now."""


NOTHING_TAKEN = Taken()
NO_RENAMES: Mapping[model.Slug, model.Slug] = {}


def renames(
    base: Base,
    side: model.Snapshot,
    taken: Mapping[model.Slug, model.Slug] = NO_RENAMES,
    *,
    is_wiki: bool,
) -> dict[model.Slug, model.Slug]:
    """Old name to new name of every page that was renamed on this side.

    ``is_wiki``: it is the wiki's, not the folder's: two identities that differ are two
    pages, whatever their texts (true of the service's ids, not of a file's).
    """
    if not side.is_complete:
        return {}
    gone = base.keys() - side.pages.keys() - side.unreadable - taken.keys()
    come = side.pages.keys() - base.keys() - set(taken.values())
    if not gone or not come:
        return dict(taken)
    before = {slug: _agreed(base[slug], is_wiki=is_wiki) for slug in gone}
    return {**taken, **_Matching(before, side.pages, come, is_wiki=is_wiki).run()}


def _agreed(page: BasePage, *, is_wiki: bool) -> model.PageState:
    """The page as this side had it when both agreed."""
    return page.remote_state if is_wiki else page.local_state


class Names(Struct, frozen=True):
    """Pages of one side whose names others may have got."""

    old: frozenset[model.Slug]
    """Pages of the base that have another text now."""
    gone: frozenset[model.Slug]
    """Pages of the base of which nothing but the text can tell the new name."""
    certain: Mapping[model.Slug, model.Slug]
    """New names that the wiki's ids tell."""
    others: frozenset[model.Slug]
    """Names under which the wiki's ids tell another page."""
    likely: Mapping[model.Slug, model.Slug]
    """New names that the file's identity or the agreed text tells."""
    new: Collection[model.Slug]


def names_in_doubt(
    base: Base, side: model.Snapshot, changed: Iterable[model.Slug], *, is_wiki: bool
) -> Names | None:
    """What the texts are asked about; None where no page can have got another's name.

    ``changed`` are pages of the base that a side has otherwise, or lacks; the rest as
    in ``renames``.
    """
    before = {slug: _agreed(base[slug], is_wiki=is_wiki) for slug in sorted(changed)}
    old = {
        slug: state
        for slug, state in before.items()
        if slug in side.pages
        and state.digest != side.pages[slug].digest
        and not (is_wiki and state.identity == side.pages[slug].identity != "")
    }
    gone = before.keys() - side.pages.keys() - side.unreadable
    if not (side.is_complete and (old or gone)):
        return None
    come = side.pages.keys() - base.keys() - side.copies.keys()
    if gone:
        # what this finds is certain, and a file that is seen was not made anew
        found = renames(base, side, is_wiki=is_wiki)
        come -= set(found.values())
        seen = {page.identity for page in side.pages.values()} - {""}
        gone = {s for s in gone - found.keys() if before[s].identity not in seen}
    now = {slug: side.pages[slug] for slug in (*old, *come)}
    by_identity = _pairs(old, now, lambda state: state.identity)
    likely = _pairs(old, now, _text_of)
    others: frozenset[model.Slug] = frozenset()
    if is_wiki:
        others = frozenset(
            s for s, one in old.items() if one.identity and now[s].identity
        )
    else:
        likely |= by_identity
        by_identity = {}
    new = sorted(come) if len(old) + len(gone) <= LIKE_PAGES_MAX >= len(come) else []
    if not (by_identity or others or likely or new):
        return None
    return Names(frozenset(old), frozenset(gone), by_identity, others, likely, new)


def _pairs(
    old: Mapping[model.Slug, model.PageState],
    new: Mapping[model.Slug, model.PageState],
    key: Callable[[model.PageState], Hashable],
) -> dict[model.Slug, model.Slug]:
    before, after = _by_key(old.values(), key), _by_key(new.values(), key)
    return {
        slugs[0]: after[one][0]
        for one, slugs in before.items()
        if len(slugs) == len(after.get(one, ())) == 1 and slugs != after[one]
    }


def without_circles(
    found: Mapping[model.Slug, model.Slug], base: Collection[model.Slug]
) -> tuple[Mapping[model.Slug, model.Slug], frozenset[model.Slug]]:
    """Renames whose new names get free in the end, and pages that changed places."""
    targets = list(found.values())
    left = {old: new for old, new in found.items() if targets.count(new) == 1}
    while stuck := [o for o, new in left.items() if new in base and new not in left]:
        for old in stuck:
            del left[old]
    circle = dict(left)
    while ends := [old for old, new in circle.items() if new not in circle]:
        for old in ends:
            del circle[old]
    return {o: n for o, n in left.items() if o not in circle}, frozenset(circle)


class _Matching:
    def __init__(
        self,
        old: Mapping[model.Slug, model.PageState],
        new: Mapping[model.Slug, model.PageState],
        come: Iterable[model.Slug],
        *,
        is_wiki: bool,
    ) -> None:
        self._old = old
        self._new = new
        self._gone = set(old)
        self._come = set(come)
        self._identities = {state.identity for state in new.values()}
        self._is_wiki = is_wiki
        self._found: dict[model.Slug, model.Slug] = {}

    def run(self) -> dict[model.Slug, model.Slug]:
        self._match_unique(lambda state: state.identity)
        # the service keeps one page of names that it takes for one
        self._match_unique(lambda state: model.name_key(state.slug))
        self._match_unique(_text_of)
        # Pages that kept their place below a parent that was renamed.  For a page with
        # the same text, a folder that other pages were moved between is parent enough.
        parents = {str(old): str(new) for old, new in self._found.items()}
        folders: dict[str, set[str]] = {}
        for pair in self._found.items():
            for before, after in _folders_moved(*pair):
                folders.setdefault(before, set()).add(after)
        for slug in sorted(self._gone):
            for folder in model.folders_above(slug):
                rest = slug[len(folder) :]
                if target := parents.get(folder):
                    self._match(slug, model.Slug(target + rest))
                elif len(targets := folders.get(folder, set())) == 1:
                    target = model.Slug(next(iter(targets)) + rest)
                    there = self._new.get(target) if target in self._come else None
                    if there and _text_of(self._old[slug]) == _text_of(there):
                        self._match(slug, target)
        return self._found

    def _match_unique(self, key: Callable[[model.PageState], Hashable]) -> None:
        old = _by_key((self._old[slug] for slug in self._gone), key)
        new = _by_key((self._new[slug] for slug in self._come), key)
        for one in old.keys() & new.keys():
            if len(old[one]) == len(new[one]) == 1:
                self._match(old[one][0], new[one][0])

    def _match(self, old: model.Slug, new: model.Slug) -> None:
        if old not in self._gone or new not in self._come:
            return
        below = f"{old}/"
        if new.startswith(below) and any(
            slug.startswith(below) and slug != new for slug in (*self._old, *self._new)
        ):
            return  # no service can move a folder into itself
        before, after = self._old[old].identity, self._new[new].identity
        is_other = bool(before and after and before != after)
        if is_other and (self._is_wiki or before in self._identities):
            return  # another page, or this one's file has the name of another page
        self._gone.remove(old)
        self._come.remove(new)
        self._found[old] = new


def _text_of(state: model.PageState) -> Hashable:
    # an empty page is like every other empty page
    return None if state.digest == NO_TEXT else (state.format, state.digest)


def _by_key(
    states: Iterable[model.PageState], key: Callable[[model.PageState], Hashable]
) -> dict[Hashable, list[model.Slug]]:
    found: dict[Hashable, list[model.Slug]] = {}
    for state in states:
        if one := key(state):
            found.setdefault(one, []).append(state.slug)
    return found


def _folders_moved(old: str, new: str) -> Iterable[tuple[str, str]]:
    """Pairs of folders, as far up as the names below them stayed the same."""
    while "/" in old and "/" in new:
        old, _, old_leaf = old.rpartition("/")
        new, _, new_leaf = new.rpartition("/")
        if old_leaf != new_leaf or old == new:
            return
        yield old, new


class RemoteNames:
    """The names of one wiki, with the renames planned so far.

    The service finds ``home`` where ``Home`` was asked for (Q5), and a rename moves
    every page below along (Q4).
    """

    def __init__(self, remote: model.Snapshot) -> None:
        self._remote = remote
        # ``_was`` has each page once, by the name it has after the renames so far; for
        # the pages that were renamed ``_now`` is its inverse.  ``_taken`` counts those
        # names, those of new pages and the unreadable ones, by what the service takes
        # for one name.
        self._now: dict[model.Slug, model.Slug] = {}

    @cached_property
    def _was(self) -> dict[model.Slug, model.Slug]:
        return {slug: slug for slug in self._remote.pages}

    @cached_property
    def _taken(self) -> Counter[str]:
        remote = self._remote
        return Counter(map(_key, {*remote.pages, *remote.unreadable}))

    @cached_property
    def _cases(self) -> Counter[str]:
        return Counter(map(str.casefold, self._remote.pages))

    @cached_property
    def _below(self) -> Counter[str]:
        below: Counter[str] = Counter()
        for slug in self._remote.pages:
            below.update(model.folders_above(slug))
        return below

    def now(self, slug: model.Slug) -> model.Slug:
        """The name a page has after the renames planned so far."""
        return self._now.get(slug, slug)

    def is_twin(self, slug: model.Slug) -> bool:
        """Whether asking the wiki for this page may give another one (Q5)."""
        return self._cases[slug.casefold()] > 1

    def take(self, slug: model.Slug) -> bool:
        """Take a name for a new page; False where it is not free."""
        key = _key(slug)
        if self._taken[key]:
            return False
        self._taken[key] += 1
        return True

    def was(self, name: model.Slug) -> model.Slug:
        """The name that the page of this name has before any rename."""
        return self._was[name]

    def moves_of(
        self, slug: model.Slug, target: model.Slug
    ) -> Mapping[model.Slug, model.Slug] | None:
        """What a rename does to a page and those below it; None if a name is taken."""
        carried: list[model.Slug] = []
        if self._below[slug]:
            carried = [one for one in self._was if one.startswith(f"{slug}/")]
        if carried and target.startswith(f"{slug}/"):
            return None
        moves = {slug: target}
        moves |= {one: model.Slug(target + one[len(slug) :]) for one in carried}
        leaving = Counter(map(_key, moves))
        arriving = Counter(map(_key, moves.values()))
        # names that move away make room, also for each other: ``a`` may become ``A``
        for key, count in arriving.items():
            if count + self._taken[key] - leaving[key] > 1:
                return None
        return moves

    def rename(self, moves: Mapping[model.Slug, model.Slug]) -> None:
        """Note what ``moves_of`` found."""
        self._taken.subtract(Counter(map(_key, moves)))
        self._taken.update(map(_key, moves.values()))
        was = {old: self._was.pop(old) for old in moves}
        for old, new in moves.items():
            self._was[new] = was[old]
            self._now[was[old]] = new
            self._below.subtract(Counter(model.folders_above(old)))
            self._below.update(model.folders_above(new))


def _key(slug: str) -> str:
    return unicodedata.normalize("NFC", model.path_of_title(slug).casefold())
