"""The values that templates see; the contract of themes.  Pure.

Names are fixed by the theme documentation: a field may be added, never renamed.
Every ``url`` is a path from the top of the site, not quoted; the filter ``url``
makes it a link from the page being rendered.  ``content``, ``sidebar``,
``wiki_footer``, the ``html`` of comments and nothing else is HTML, already safe; all
other text is escaped by the template.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

ListingKind = Literal[
    "all", "changes", "wanted", "orphans", "broken", "wikis", "tags", "tag"
]


class PageRef(Struct, frozen=True, gc=False):
    """A page (or wiki, or folder) as others link to it."""

    title: str
    url: str | None
    """None for a folder that has no page."""
    wiki: str = ""
    """Title of the wiki where it is not the one of the page rendered."""


class LeftOut(Struct, frozen=True, gc=False):
    """Where neighbours in the tree are listed; their number would change all pages."""

    url: str
    """The list of all pages, or the part of it where they begin."""
    id: str
    """Of their first entry there."""


class NavNode(Struct, frozen=True, gc=False):
    """One entry of the navigation tree, pruned to the open branch and capped."""

    title: str
    url: str | None
    """None for a folder without a page of its own."""
    active: bool = False
    """The current page lies in this branch, or is it."""
    current: bool = False
    """It is the current page."""
    open: bool = False
    """Its children are listed."""
    children: tuple[NavNode, ...] = ()
    more: bool = False
    """Some entries directly below it are not listed: all of them where the
    branch is closed, those outside the window where it is long."""
    before: LeftOut | None = None
    """Those of them above the window."""
    after: LeftOut | None = None
    """Those of them below the window; all, where the branch is closed and has no
    page."""


class TocNode(Struct, frozen=True):
    """A heading of the page with those below it."""

    level: int
    id: str
    text: str
    children: tuple[TocNode, ...] = ()


class WikiRef(Struct, frozen=True):
    """One of ``site.wikis``: nothing in it changes with the pages."""

    title: str
    kind: str
    """``group`` or ``project``."""
    full_path: str
    url: str
    visibility: str
    description: str


class WikiContext(WikiRef, frozen=True):
    """``wiki``: the wiki of the page."""

    web_url: str
    home: str
    """Same as ``url``."""
    page_count: int | None
    """None on the wiki's own pages: each page more would change all of them."""
    all_url: str
    """The list of all its pages."""
    groups: tuple[PageRef, ...] = ()
    """The groups above its owner, the outermost first; a group's own wiki is its
    address, where that is in the site."""
    changed: str | None = None
    """When the last page of it changed; None on the wiki's own pages, as above."""
    changes_url: str | None = None
    """The list of its changes, and below it their feed; None where none is known."""
    feed_url: str | None = None


class SiteContext(Struct, frozen=True):
    """``site``: the same for every page of one build."""

    title: str
    url: str | None
    lang: str
    dir: str
    """``ltr`` or ``rtl``, by the language."""
    description: str
    wikis: tuple[WikiRef, ...]
    built_from: str
    """Hash of theme and options: it changes no page when another one changes."""
    generator: str
    options: Mapping[str, object]
    noindex: bool
    """Search engines are asked to stay away from all of it: no wiki is public."""
    home_url: str
    search_url: str
    tags_url: str
    """The list of all tags, in a site that has some."""
    all_url: str
    report_url: str | None
    """It and the two below are None where the site has no report."""
    wanted_url: str | None
    orphans_url: str | None
    groups: tuple[GroupContext, ...] = ()
    """The same wikis below their groups."""
    changes_url: str | None = None
    """What changed in all wikis, and the feed of it; None where nothing is known."""
    feed_url: str | None = None


class PageContext(Struct, frozen=True):
    """``page``: what is rendered, a wiki page or a generated one."""

    title: str
    url: str
    slug: str = ""
    format: str = ""
    web_url: str | None = None
    edit_url: str | None = None
    source_url: str | None = None
    canonical_url: str | None = None
    summary: str = ""
    meta: Mapping[str, object] = {}
    tags: tuple[PageRef, ...] = ()
    """Each with the list of its pages."""
    changed: str | None = None
    first_seen: str | None = None
    is_home: bool = False
    is_section: bool = False
    """Other pages lie below it."""
    features: frozenset[str] = frozenset()
    """``code``, ``math``, ``table``, ``mermaid``: what style it may need."""
    noindex: bool = False
    dir: str = "ltr"
    """``ltr`` or ``rtl``, by its text."""
    changed_by: str = ""
    """A name; empty where it is not known."""
    is_seen: bool = False
    """``changed`` is when wikisync saw it, since no commit tells."""
    history_url: str | None = None
    """Its earlier versions; None where the site has none."""


class VersionContext(Struct, frozen=True):
    """One of ``versions`` of a page, the newest first."""

    kind: str
    """``created``, ``edited`` or ``renamed``."""
    changed: str | None
    by: str
    was: str
    commit: str
    """The first digits of it; empty for what wikisync saw itself."""
    added: int
    removed: int
    html: str
    """What is different from the version before, word by word."""
    is_cut: bool


class CommentContext(Struct, frozen=True):
    """One of ``comments``: what somebody wrote below the page on the service."""

    author: str
    created: str
    """``2026-11-21T14:30``, in UTC, or empty."""
    html: str


class ListingItem(Struct, frozen=True, gc=False):
    """One line of a list page."""

    title: str
    url: str | None = None
    wiki: str = ""
    """Full path of its wiki in a site of several."""
    note: str = ""
    """A link as the page has it, a reason, a visibility."""
    count: int | None = None
    id: str = ""
    """By which the navigation leads to a page in the list of all pages."""
    sources: tuple[PageRef, ...] = ()
    """The pages that are concerned: who links to a wanted page."""
    changed: str | None = None
    """When, where that is known, and by whom."""
    by: str = ""


class ListingPart(Struct, frozen=True):
    """One part of a list that is cut into several pages."""

    number: int
    url: str
    current: bool


class Listing(Struct, frozen=True):
    """``listing``: what a list page lists."""

    kind: ListingKind
    title: str
    items: tuple[ListingItem, ...]
    count: int
    """Of all parts together."""
    pages: tuple[ListingPart, ...] = ()
    """Empty where the list is whole."""
    problems: tuple[str, ...] = ()
    since: str | None = None
    """No change before is known, in a list of changes that may have had more."""


class GroupContext(Struct, frozen=True):
    """A group with what is in it, of ``site.groups`` or ``groups``."""

    title: str
    """Empty for the group that all wikis of the site lie in."""
    full_path: str
    wikis: tuple[WikiRef, ...]
    groups: tuple[GroupContext, ...] = field(default=())
