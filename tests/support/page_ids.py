"""All ids of a wiki's pages, of which the service gives one by one."""

from collections.abc import Iterable

from wikisync.core.model import OwnerKind
from wikisync.service.tables import Tables


def page_ids(
    tables: Tables, kind: OwnerKind, owner_id: int, slugs: Iterable[str]
) -> dict[str, int]:
    """The ids of a wiki's pages by slug; those named are given one."""
    tables.db.executemany(
        "INSERT OR IGNORE INTO page_id (kind, owner_id, slug) VALUES (?, ?, ?)",
        ((kind, owner_id, slug) for slug in slugs),
    )
    rows = tables.db.execute(
        "SELECT slug, id FROM page_id WHERE kind = ? AND owner_id = ?", (kind, owner_id)
    )
    return {str(row["slug"]): int(row["id"]) for row in rows}
