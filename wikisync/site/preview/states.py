"""How far pages are on their way to the service, and what waits for a person.  Pure.

Only a workspace knows; a preview takes it from the program that runs it.  A preview of
any other folder knows nothing.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol

import msgspec
from msgspec import Struct

from wikisync.core.model import Slug, WikiOwner
from wikisync.merging.conflict import Piece

StateName = Literal["pushed", "waiting", "held"]


class PageStatus(Struct, frozen=True):
    """How far one page is."""

    state: StateName
    """``pushed``: the service has it; ``waiting``: it is on its way; ``held``: it
    stays here until a person decides."""
    note: str = ""
    """Why, for a person; empty where there is nothing to say."""


class PageStates:
    """How far pages are: nothing is known, unless a program overrides ``current``."""

    def __init__(self) -> None:
        """Nobody is notified yet."""
        self.wake: Callable[[], None] = lambda: None
        """Called whenever some page's status is another one; the preview sets it."""

    def current(self, owner: WikiOwner) -> Mapping[Slug, PageStatus]:  # noqa: ARG002
        """The pages of a wiki that something is known of; asked in the event loop."""
        return {}

    def wiki(self, owner: WikiOwner) -> PageStatus | None:  # noqa: ARG002
        """How far a wiki is as a whole; None while nobody knows."""
        return None


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

    def waiting(self, owner: WikiOwner) -> tuple[str, Sequence[Waiting]]:
        """A line on the wiki, and everything that waits."""
        ...

    def decide(self, owner: WikiOwner, batch: int, *, is_approved: bool) -> str:
        """Approve or refuse what a safety stop holds; says who carries it out."""
        ...

    def pieces(self, owner: WikiOwner, slug: Slug) -> Sequence[Piece]:
        """A page with its clashes; nothing where none is known."""
        ...

    def settle(self, owner: WikiOwner, slug: Slug, text: str, seen: str) -> str:
        """Make the text the page, if its clashes have this digest; says when."""
        ...

    def earlier(
        self, owner: WikiOwner, slug: Slug, *, of_wiki: bool
    ) -> Sequence[EarlierText]:
        """The texts that a page had, the newest first: kept here, or the wiki's."""
        ...

    def restore(self, owner: WikiOwner, slug: Slug, text_id: str) -> None:
        """Make an earlier text the page; the present one is kept."""
        ...
