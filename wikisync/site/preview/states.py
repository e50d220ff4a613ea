"""How a wiki and its pages stand, and what waits for a person.  Pure.

Only a workspace knows; a preview of any other folder knows nothing.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

import msgspec
from msgspec import Struct

from wikisync.core.model import Slug, WikiOwner
from wikisync.merging.conflict import Piece

StateName = Literal["", "synced", "same", "changed", "waiting", "held", "away"]
"""``same`` as at the last sync, or ``changed`` since, with no watch that runs; with
one, ``synced``, ``waiting`` on its way, or ``away``: the service does not answer."""


class PageStatus(Struct, frozen=True):
    """How far one page is."""

    state: StateName = ""
    note: str = ""
    """Why, for a person; empty where there is nothing to say."""


class Waiting(Struct, frozen=True):
    """One thing that waits, with its reason and the next step."""

    sentence: str
    slug: str = ""
    """Of the page that it is about, if it is about one."""
    is_conflict: bool = False
    batch: int = 0
    """That a person may approve or refuse; 0 for what is none."""
    pages: tuple[str, ...] = ()
    """Of the batch."""


class SyncStatus(Struct, frozen=True):
    """How a wiki stands."""

    line: str = ""
    """In a few words."""
    usual: PageStatus = PageStatus()
    """Of each page that nothing waits for."""
    pages: Mapping[Slug, PageStatus] = {}
    headline: str = ""
    """As ``status`` says it."""
    rows: Sequence[Waiting] = ()


def digest_of_pieces(pieces: Sequence[Piece]) -> str:
    """What a person who settles clashes has seen."""
    return hashlib.sha256(msgspec.json.encode(pieces)).hexdigest()


class EarlierText(Struct, frozen=True):
    """A text that a page had."""

    id: str
    """The digest of a text that is kept here, or a revision of the wiki."""
    at: str
    where: str
    html: str
    """What is different from the text before it, word by word."""
    is_cut: bool
    """There is more of it."""


class Decisions(Protocol):
    """What a person decides about a workspace in its preview; everything blocks."""

    def stamp(self) -> object:
        """Another one where a wiki may stand otherwise, but for its files."""

    def sync_status(self, owner: WikiOwner) -> SyncStatus:
        """How a wiki stands, with everything that waits."""

    def decide(self, owner: WikiOwner, batch: int, *, is_approved: bool) -> str:
        """Approve or refuse what a safety stop holds; says who carries it out."""

    def pieces(self, owner: WikiOwner, slug: Slug) -> Sequence[Piece]:
        """A page with its clashes; nothing where none is known."""

    def settle(self, owner: WikiOwner, slug: Slug, text: str, seen: str) -> str:
        """Make the text the page, if its clashes have this digest; says when."""

    def earlier(
        self, owner: WikiOwner, slug: Slug, *, of_wiki: bool
    ) -> Sequence[EarlierText]:
        """The texts that a page had, the newest first: kept here, or the wiki's."""

    def restore(self, owner: WikiOwner, slug: Slug, text_id: str) -> None:
        """Make an earlier text the page; the present one is kept."""
