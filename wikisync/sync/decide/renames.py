"""Which page that vanished is which page that arrived, on one side.

Pure.  A wrong match would write one page's text over another's, a missed one only
costs a deletion and a creation, so a match must be the only one possible: by what
the side knows the page by, then by name where the service takes both for one, then by
text, then by place below a renamed parent.
A page whose old name still exists was not renamed, whatever its text is now.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping

from wikisync.model import PageState, Slug, Snapshot, digest_of, folders_above, name_key
from wikisync.sync.decide.plan import BasePage

NO_TEXT = digest_of("")


def renames(
    base: Mapping[Slug, BasePage],
    side: Snapshot,
    agreed: Callable[[BasePage], PageState],
    *,
    trusts_identity: bool = False,
) -> dict[Slug, Slug]:
    """Old name to new name of every page that was renamed on this side.

    Args:
        base: What both sides agreed on.
        side: The side now; an incomplete scan shows no rename.
        agreed: What this side had then.
        trusts_identity: Two identities that differ are two pages, whatever their
            texts (true of the service's ids, not of a file's).
    """
    if not side.is_complete:
        return {}
    gone = base.keys() - side.pages.keys() - side.unreadable
    come = side.pages.keys() - base.keys()
    if not gone or not come:
        return {}
    before = {slug: agreed(base[slug]) for slug in gone}
    return _Matching(before, side.pages, come, trusts_identity).run()


class _Matching:
    def __init__(
        self,
        old: Mapping[Slug, PageState],
        new: Mapping[Slug, PageState],
        come: Iterable[Slug],
        trusts_identity: bool,
    ) -> None:
        self._old = old
        self._new = new
        self._gone = set(old)
        self._come = set(come)
        self._trusts_identity = trusts_identity
        self._found: dict[Slug, Slug] = {}

    def run(self) -> dict[Slug, Slug]:
        self._match_unique(lambda state: state.identity)
        # the service keeps one page of names that it takes for one
        self._match_unique(lambda state: name_key(state.slug))
        self._match_unique(_text_of)
        self._match_below()
        return self._found

    def _match_unique(self, key: Callable[[PageState], Hashable]) -> None:
        """Match what is the only one with its key among both."""
        old = _by_key((self._old[slug] for slug in self._gone), key)
        new = _by_key((self._new[slug] for slug in self._come), key)
        for one in old.keys() & new.keys():
            if len(old[one]) == len(new[one]) == 1:
                self._match(old[one][0], new[one][0])

    def _match_below(self) -> None:
        """Match pages that kept their place below a parent that was renamed.

        With the same text a folder that other pages were moved between is parent
        enough: it distinguishes pages of one text.
        """
        parents, folders = self._moves()
        for slug in sorted(self._gone):
            for folder in folders_above(slug):
                rest = slug[len(folder) :]
                if target := parents.get(folder):
                    self._match(slug, Slug(target + rest))
                elif len(targets := folders.get(folder, set())) == 1:
                    target = Slug(next(iter(targets)) + rest)
                    if self._has_same_text(slug, target):
                        self._match(slug, target)

    def _moves(self) -> tuple[dict[str, str], dict[str, set[str]]]:
        """Renamed pages, and folders between which pages kept their leaf."""
        folders: dict[str, set[str]] = {}
        for pair in self._found.items():
            for old, new in _folders_moved(*pair):
                folders.setdefault(old, set()).add(new)
        return {str(old): str(new) for old, new in self._found.items()}, folders

    def _has_same_text(self, old: Slug, new: Slug) -> bool:
        return new in self._come and _text_of(self._old[old]) == _text_of(
            self._new[new]
        )

    def _match(self, old: Slug, new: Slug) -> None:
        if old not in self._gone or new not in self._come:
            return
        if new.startswith(f"{old}/"):
            return  # below itself: no service can move a folder into itself
        before, after = self._old[old].identity, self._new[new].identity
        if self._trusts_identity and before and after and before != after:
            return
        self._gone.remove(old)
        self._come.remove(new)
        self._found[old] = new


def _text_of(state: PageState) -> Hashable:
    # an empty page is like every other empty page
    return None if state.digest == NO_TEXT else (state.format, state.digest)


def _by_key(
    states: Iterable[PageState], key: Callable[[PageState], Hashable]
) -> dict[Hashable, list[Slug]]:
    found: dict[Hashable, list[Slug]] = {}
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
