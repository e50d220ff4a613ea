"""A page while the filters work on it."""

from msgspec import Struct, field

from wikisync.core.model import Page, Problem
from wikisync.markup.context import Include, include_nothing
from wikisync.markup.record import MarkupOptions, Section, TocEntry
from wikisync.markup.tokens import Document


class Draft(Struct):
    """The tokens of one page and what the filters have learned about it."""

    page: Page
    options: MarkupOptions
    document: Document
    toc: list[TocEntry] = field(default_factory=list)
    heading_indices: list[int] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    sections: list[Section] = field(default_factory=list)
    text: str = ""
    features: set[str] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)
    include: Include = include_nothing
    """Gives the drawing of a diagram too (``markup.diagrams``)."""
    struck: list[tuple[int, int]] = field(default_factory=list)
    """Indices of the tags around texts that are to be struck when they are finished."""

    def report(self, code: str, message: str, hint: str = "") -> None:
        """Add a problem of this page."""
        self.problems.append(Problem(code, self.page.slug, message, hint))
