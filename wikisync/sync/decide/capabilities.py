"""What a service does that a plan must reckon with; services differ.

Pure.  Learned from the service's answers and kept with the base; the defaults are
the careful ones and right for any service (``docs/service.md`` "Quirks").
"""

from __future__ import annotations

from msgspec import Struct

from wikisync.model import Format


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


ANY_SERVICE = Capabilities()
"""A service nothing is known of yet."""
