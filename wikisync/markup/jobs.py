"""Messages between a renderer and the process that parses its pages.  Pure."""

import msgspec

from wikisync.core.model import Page
from wikisync.markup.context import PAGE_SECONDS_MAX
from wikisync.markup.record import MarkupOptions

OUT_OF_MEMORY = 71
"""Exit code of a worker that cannot even say so."""


class Job(msgspec.Struct, frozen=True, array_like=True):
    """A page to parse: from the renderer."""

    page: Page
    options: MarkupOptions
    seconds_max: float = PAGE_SECONDS_MAX
    """Of processor time; a page that takes more ends the worker."""
    aim: bytes = b""


Jobs = tuple[Job, ...]
"""Pages for one worker, which answers for each in their order: from the renderer."""


class Included(msgspec.Struct, frozen=True, array_like=True):
    """What the wiki has for an include: from the renderer."""

    text: str | None


class Wanted(msgspec.Struct, frozen=True, array_like=True, tag="wanted"):
    """A text that a page includes: from the worker, any number of times."""

    number: int
    """Of the page in its message, from 0."""
    target: str


class Done(msgspec.Struct, frozen=True, array_like=True, tag="done"):
    """What the worker makes of a parsed page: from the worker, last for a page."""

    made: msgspec.Raw
    """By default the ``ParsedPage`` itself."""
    is_spent: bool = False
    """The worker has taken much memory: another one takes the rest of its jobs."""


Answer = Wanted | Done
