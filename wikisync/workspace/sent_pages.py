"""What is said of pages that went to the wiki as a person wrote them.

The wiki takes bad front matter and links to an old name; a site and its readers do not.
"""

import time
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from wikisync import errors
from wikisync.config.sections import WikiSection
from wikisync.core.model import Problem, Slug
from wikisync.site.preview.moves import plan_moves
from wikisync.site.preview.writing import WikiDesk
from wikisync.sync.base.state import WikiState

NAMED_MAX = 20
"""Pages of one cycle that are named."""
SENT_AS_IT_IS = "sent as it is: "
"""How the log begins its line on a page with bad front matter."""


def bad_front_matter(
    known: WikiState,
    section: WikiSection,
    sent: Sequence[str],
    wrong: dict[Slug, Sequence[Problem]],
) -> Iterator[Problem]:
    """Notes on pages that were sent with bad front matter, which the log has, too.

    ``wrong`` is by the names of their files; what was noted is taken out of it.
    """
    found = [
        (slug, one)
        for slug in map(Slug, sent)
        for one in wrong.pop(known.file_of(slug), ())
    ]
    for slug, one in found[:NAMED_MAX]:
        what = f"{SENT_AS_IT_IS}line {one.subject.rpartition(':')[2]}: {one.message}"
        known.note(time.time(), slug, what, is_warning=True)
        yield replace(one, is_note=True)
    if more := len(found[NAMED_MAX:]):
        message = f"{more} more pages were sent with bad front matter"
        step = f"to list them, run: {errors.command_line('check', section.folder)}"
        owner = str(section.owner)
        yield Problem("front-matter-more", owner, message, step, is_note=True)


def old_links(
    desk: WikiDesk, section: WikiSection, old: Slug, new: Slug
) -> Problem | None:
    """A note on the links to a page's old name; None where there is none."""
    try:
        links = plan_moves(desk, old, new).links
    except errors.WikisyncError:
        # nothing leads to its old name, or it has another again
        return None
    way = errors.command_line(
        "mv", f"{section.folder}/{old}", f"{section.folder}/{new}"
    )
    lead = "1 link leads" if links == 1 else f"{links} links lead"
    message = f"renamed to {new}; {lead} to the old name"
    step = f"to change them, run: {way}"
    return Problem("links-to-old-name", old, message, step, is_note=True)
