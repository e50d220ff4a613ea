"""The wikis that a site holds, as its manifest names them, and which would leave it.

Pure.  A wiki leaves a site only where somebody said so: a list that came short, a
token that lost a right and a folder that is empty look like a wiki that is gone.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

from wikisync.core.model import OwnerKind, WikiOwner
from wikisync.errors import UsageError
from wikisync.site.model import WikiInfo, WikiOrigin

T = TypeVar("T")

WIKIS_SHOWN_MAX = 10
"""Wikis that a message names one by one."""


class PublishedWiki(WikiInfo, frozen=True, omit_defaults=True, kw_only=True):
    """One wiki of a site."""

    prefix: str
    """Folder of its files in the site, with a slash behind; empty for the top."""
    pages: int
    changed: str = ""
    """When a page of it changed last, where no page of it is there to tell."""
    apart: str = ""
    """Version of the site of its own that lies below the prefix, where it is one; this
    site has none of its files."""

    def __str__(self) -> str:
        pages = "1 page" if self.pages == 1 else f"{self.pages} pages"
        return f"the wiki of {self.owner} ({pages})"


class WikiIndex(Generic[T]):
    """Wikis of a service by what they are known by: the id, and else the path."""

    def __init__(self, wikis: Iterable[tuple[WikiOwner, WikiOrigin, T]]) -> None:
        self._by_id: dict[tuple[str, OwnerKind, int], T] = {}
        self._by_path: dict[tuple[OwnerKind, str], list[tuple[WikiOrigin, T]]] = {}
        for owner, origin, value in wikis:
            if origin.id:
                self._by_id[origin.service, owner.kind, origin.id] = value
            at = self._by_path.setdefault((owner.kind, owner.full_path.casefold()), [])
            at.append((origin, value))

    def find(self, owner: WikiOwner, origin: WikiOrigin) -> T | None:
        """What is known of a wiki; another project under its path is another wiki."""
        found = self._by_id.get((origin.service, owner.kind, origin.id))
        if origin.id and found is not None:
            return found
        for other, value in self._by_path.get(
            (owner.kind, owner.full_path.casefold()), ()
        ):
            is_one_service = other.service == origin.service or not (
                other.service and origin.service
            )
            if is_one_service and not (other.id and origin.id):
                return value
        return None


MayLeave = Callable[[PublishedWiki], bool]
"""Whether a wiki may be removed from the site."""


def nothing_may_leave(_wiki: PublishedWiki) -> bool:
    """What holds as long as nobody says otherwise."""
    return False


def leave(*, replaces: bool) -> MayLeave:
    """What ``--replace`` says: every wiki may leave, or none."""
    return (lambda _wiki: True) if replaces else nothing_may_leave


def refuse_leaving(wikis: Sequence[PublishedWiki]) -> None:
    """Raise ``UsageError`` if there are wikis that would be removed from a site."""
    if not wikis:
        return
    named = [str(wiki) for wiki in wikis[:WIKIS_SHOWN_MAX]]
    if len(wikis) > WIKIS_SHOWN_MAX:
        named.append(f"{len(wikis) - WIKIS_SHOWN_MAX} more")
    raise UsageError(
        f"this would remove {', '.join(named)} from the site; nothing was changed",
        hint="add --replace to remove it from the site,"
        " or choose another folder with -o",
    )
