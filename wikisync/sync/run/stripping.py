"""Services that give texts back without their front matter (Q8).

Some versions strip it from every answer and keep it in the page all the same.  That is
learned from an answer to our own write alone, and forgotten once a page shows its
front matter: on any other service a page without it is one whose front matter somebody
removed.
"""

from __future__ import annotations

from msgspec.structs import replace

from wikisync.model import Format, PageState, Snapshot, digest_of, fold_text
from wikisync.sync.base.state import WikiState
from wikisync.sync.decide.capabilities import Capabilities
from wikisync.sync.decide.normalisation import front_matter_of, with_front_matter


def with_stripped(service: Capabilities, page_format: Format) -> Capabilities:
    """The service, now that it stripped the front matter of a page of this format."""
    found = service.strips_front_matter_of | {page_format}
    return replace(service, strips_front_matter_of=found)


def without_shown(service: Capabilities, there: Snapshot) -> Capabilities:
    """The service without the formats of which a page shows its front matter."""
    shown = {
        page.format
        for page in there.texts.values()
        if page.format in service.strips_front_matter_of
        and front_matter_of(page.content)
    }
    if not shown:
        return service
    left = service.strips_front_matter_of - shown
    return replace(service, strips_front_matter_of=left)


def is_stripped(known: WikiState, there: Snapshot, state: PageState) -> bool:
    """Whether a page's text is the agreed one but for its front matter."""
    text, seen = known.text(state.slug), there.texts.get(state.slug)
    if text is None or seen is None or not front_matter_of(text):
        return False
    whole = with_front_matter(seen.content, text)
    return digest_of(fold_text(whole)) == digest_of(fold_text(text))
