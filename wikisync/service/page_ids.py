"""Ids of wiki pages that stay the same through renames: ``wiki_page_meta_id``.

They are kept by slug, and never used twice.  After git pushes, which say nothing of
renames, files of equal content are matched where the match is unique.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from wikisync.core.model import OwnerKind
from wikisync.service.tables import Tables
from wikisync.service.tree import WikiTree, page_in

_ONE = "SELECT id FROM page_id WHERE kind = ? AND owner_id = ? AND slug = ?"


def update_page_ids(
    tables: Tables,
    kind: OwnerKind,
    owner_id: int,
    moved: Mapping[str, str],
    gone: Iterable[str],
) -> None:
    """Let ids follow their pages, by old slug to new slug; two may swap."""
    owner = (kind, owner_id)
    with tables.transaction():
        known: dict[str, int] = {}
        for slug in {*moved, *gone}:
            row = tables.db.execute(_ONE, (*owner, slug)).fetchone()
            if row is not None:
                known[slug] = int(row["id"])
        # comments hang on the row, so it changes and is not made anew; pages may swap
        aside = "UPDATE page_id SET slug = char(0) || id WHERE id = ?"
        tables.db.executemany(aside, ((number,) for number in known.values()))
        tables.db.executemany(
            "UPDATE OR REPLACE page_id SET slug = ? WHERE id = ?",
            ((new, known[old]) for old, new in moved.items() if old in known),
        )
        tables.db.executemany(
            "DELETE FROM page_id WHERE id = ?",
            ((known[slug],) for slug in gone if slug in known),
        )


def moves_of_rename(before: WikiTree, after: WikiTree, old: str, new: str) -> _Moves:
    """Where the pages went that one rename moved: itself and those below."""
    slugs = {page.slug for page in after.pages}
    depth = old.count("/") + 1
    moved = {old: new}
    # the names of its folder may be of other lengths: the service ignores their case
    for page in filter(None, map(page_in, before.below(old))):
        target = "/".join((new, *page.slug.split("/")[depth:]))
        if target in slugs:
            moved[page.slug] = target
    return moved


def moves_between(before: WikiTree, after: WikiTree) -> tuple[_Moves, frozenset[str]]:
    """What happened between two commits: moved pages, and pages that are gone."""
    old = {page.slug: page.blob for page in before.pages}
    new = {page.slug: page.blob for page in after.pages}
    gone = {slug: old[slug] for slug in old.keys() - new.keys()}
    come = {slug: new[slug] for slug in new.keys() - old.keys()}
    counts = Counter(gone.values()), Counter(come.values())
    by_blob = {blob: slug for slug, blob in come.items()}
    moved = {
        slug: by_blob[blob]
        for slug, blob in gone.items()
        if counts[0][blob] == 1 and counts[1][blob] == 1
    }
    return moved, frozenset(gone.keys() - moved.keys())


_Moves = Mapping[str, str]
