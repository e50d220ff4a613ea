"""Whether the service gives texts back without their front matter (Q8).

Some versions strip it from every answer and keep it in the page all the same.  A
service that does so shows no page with front matter; one page that still shows its
own is proof that somebody took it from the others.  In doubt the front matter is
kept: it costs one more edit, and no text.
"""

from __future__ import annotations

from wikisync.model import PageState, Slug, Snapshot, digest_of, fold_text
from wikisync.sync.echo import front_matter_of, with_front_matter
from wikisync.sync.state import WikiState


def is_stripping(known: WikiState, there: Snapshot) -> bool:
    """Whether this look shows that the service strips front matter."""
    if not any(_has_lost_it(known, there, slug) for slug in _changed(known, there)):
        return False
    return not any(
        _shows_it(known, there, slug) for slug in known.base() if slug in there.pages
    )


def is_stripped(known: WikiState, there: Snapshot, state: PageState) -> bool:
    """Whether a page's text is the agreed one but for its front matter."""
    text, seen = known.text(state.slug), there.texts.get(state.slug)
    if text is None or seen is None or not front_matter_of(text):
        return False
    whole = with_front_matter(seen.content, text)
    return digest_of(fold_text(whole)) == digest_of(fold_text(text))


def _changed(known: WikiState, there: Snapshot) -> list[Slug]:
    return [
        slug
        for slug, page in known.base().items()
        if slug in there.texts and there.pages[slug].digest != page.remote
    ]


def _has_lost_it(known: WikiState, there: Snapshot, slug: Slug) -> bool:
    had = front_matter_of(known.text(slug) or "")
    return bool(had) and not front_matter_of(there.texts[slug].content)


def _shows_it(known: WikiState, there: Snapshot, slug: Slug) -> bool:
    seen = there.texts.get(slug)
    if seen is not None:
        return bool(front_matter_of(seen.content))
    is_same = there.pages[slug].digest == known.base()[slug].remote
    return is_same and bool(front_matter_of(known.text(slug) or ""))
