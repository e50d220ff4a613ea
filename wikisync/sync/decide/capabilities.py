"""What a service does that a plan must reckon with; services differ.

Pure.  Learned from the service's answers and kept with the base; the defaults are
the careful ones and right for any service (``docs/service.md`` "Quirks").
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from wikisync.merging.front_matter import front_matter_of
from wikisync.model import Format, Snapshot


class Capabilities(Struct, frozen=True):
    """One service, as far as it is known."""

    folds_case: bool = True
    """It finds ``home`` where ``Home`` was asked for (Q5)."""
    moves_below: bool = True
    """A rename moves every page below the renamed one along (Q4)."""
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


ANY_SERVICE = Capabilities()
"""A service nothing is known of yet."""
