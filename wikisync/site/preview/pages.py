"""The pages of a preview as HTML, each made when asked for and kept for a while."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from wikisync.core.model import Slug
from wikisync.site.fingerprint import hash_of
from wikisync.site.preview.frame import frame_digest
from wikisync.site.report import backlinks_of

if TYPE_CHECKING:
    from wikisync.site.crosslinks import ItemKey
    from wikisync.site.preview.world import World

RENDERED_MAX = 64
"""Rendered pages kept; more than there are windows open."""
MISSING = "missing"
"""Key of a page that is not there."""


class Rendered(Struct, frozen=True):
    """One answer of the site."""

    key: str
    """Hash of everything that it was made from."""
    content: bytes
    type: str
    frame: str = ""
    """Hash of what of a page only loading it again brings up to date."""
    is_found: bool = True


class RenderedPages:
    """Pages as they were rendered last."""

    def __init__(self) -> None:
        self._kept: dict[str, Rendered] = {}
        """By output path, the oldest first."""

    def page(self, world: World, path: str) -> Rendered:
        """A page's HTML, made once for all who look at it.

        Raises:
            SiteError: the theme fails for this page.
        """
        if not world.has(path):
            return _rendered(world, path, _not_found(world))
        page = _composed(world, path)
        rendered = self._kept.pop(path, None)
        if rendered is None or rendered.key != page.key:
            rendered = _rendered(world, path, page)
        while len(self._kept) >= RENDERED_MAX:
            del self._kept[next(iter(self._kept))]
        self._kept[path] = rendered
        return rendered


def drafted(world: World, path: str) -> str:
    """A page's HTML that nobody keeps.

    Raises:
        SiteError: the theme fails for this page.
    """
    return _rendered(world, path, _composed(world, path)).content.decode()


class _Composed(Struct, frozen=True):
    """A page that is ready to be rendered, if it has to be."""

    key: str
    template: str
    context: Callable[[], Mapping[str, object]]
    pictures: str = ""
    """The files that it shows: another one has the same address."""


def _rendered(world: World, path: str, page: _Composed) -> Rendered:
    text = world.theme.render(page.template, page.context(), at=path)
    frame = frame_digest(text, page.pictures)
    content = text.encode("utf-8", "replace")
    is_found = page.key != MISSING
    return Rendered(page.key, content, "text/html", frame, is_found)


def _composed(world: World, path: str) -> _Composed:
    place = world.layout.places.get(path)
    if place is None:
        generated = world.generated[path]
        key = hash_of(world.site.settings_key, generated.own).hex()
        return _Composed(key, generated.template, lambda: generated.context)
    composer = world.site.wikis[place.wiki]
    backlinks = tuple(
        world.site.backlink(one, place.wiki) for one in backlinks_of(world.wikis, place)
    )
    slug = Slug(place.name)
    pictures = _pictures(world, place)
    named = composer.key(slug, backlinks) + pictures.encode()
    key = hashlib.sha256(named).hexdigest()

    def context() -> Mapping[str, object]:
        return composer.template_context(composer.composed(slug, backlinks))

    return _Composed(key, "page.html", context, pictures)


def _not_found(world: World) -> _Composed:
    """The theme's page for addresses that lead nowhere, as seen from this one.

    A site has it once, with links from the top of its host; here it is made for each
    address, so that its frame is that of the page which may come.
    """
    page = world.not_found
    return _Composed(MISSING, page.template, lambda: page.context)


def _pictures(world: World, place: ItemKey) -> str:
    """The files that a page shows, with the hashes of what is in them."""
    scanned = world.scanned[place.wiki]
    names = world.page(place).finished.attachments
    known = ((name, scanned.file(name)) for name in names)
    return "".join(f"{name}\0{state.digest}\n" for name, state in known if state)
