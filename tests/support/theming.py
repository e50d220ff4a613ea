"""Contexts and theme folders for tests of themes, without a site around them."""

from pathlib import Path
from typing import Any

from wikisync.site import context

HOME = "docs/handbook/-/wikis/index.html"
HERE = "docs/handbook/-/wikis/a/b.html"
MANIFEST = 'name = "{name}"\nversion = "1"\napi = 1\n'


def site_context(**changes: Any) -> context.SiteContext:
    """The site's values, English and of two wikis unless changed."""
    reference = context.WikiRef(
        "Handbook", "project", "docs/handbook", HOME, "public", ""
    )
    values: dict[str, Any] = {
        "title": "Sample & more",
        "url": None,
        "lang": "en",
        "dir": "ltr",
        "description": "",
        "wikis": (reference, reference),
        "built_from": "0",
        "generator": "wikisync",
        "options": {},
        "noindex": False,
        "home_url": "index.html",
        "search_url": "-/search.html",
        "tags_url": "-/tags.html",
        "all_url": "-/all.html",
        "report_url": "-/report.html",
        "wanted_url": "-/wanted.html",
        "orphans_url": "-/orphans.html",
    }
    return context.SiteContext(**{**values, **changes})


def page_context(**changes: Any) -> context.PageContext:
    """The values of a page with nothing special about it."""
    values: dict[str, Any] = {
        "title": "Some <page>",
        "slug": "a/b",
        "format": "markdown",
        "url": HERE,
        "web_url": None,
        "edit_url": None,
        "source_url": None,
        "canonical_url": None,
        "summary": "",
        "meta": {},
        "tags": (),
        "changed": None,
        "first_seen": None,
        "is_home": False,
        "is_section": False,
        "features": frozenset(),
        "noindex": False,
    }
    return context.PageContext(**{**values, **changes})


def full_context(**changes: Any) -> dict[str, object]:
    """What a build hands over for a wiki page: every block has something to show."""
    wiki = context.WikiContext(
        title="Handbook",
        kind="project",
        full_path="docs/handbook",
        url=HOME,
        web_url="",
        visibility="public",
        description="A guide",
        home=HOME,
        page_count=1234,
        all_url="-/all/docs/handbook.html",
    )
    here = context.NavNode("b", HERE, active=True, current=True)
    everything = "-/all/docs/handbook.html"
    closed = context.NavNode(
        "closed folder", None, more=True, after=context.LeftOut(everything, "c d.html")
    )
    folder = context.NavNode(
        "a",
        None,
        active=True,
        open=True,
        children=(here, closed),
        more=True,
        before=context.LeftOut(everything, "a.html"),
        after=context.LeftOut("-/all/docs/handbook-2.html", "e.html"),
    )
    values: dict[str, object] = {
        "site": site_context(),
        "wiki": wiki,
        "page": page_context(),
        "content": "<h2 id='one'>One</h2>",
        "toc": (
            context.TocNode(2, "one", "One"),
            context.TocNode(2, "two words", "Two"),
        ),
        "nav": context.NavNode("Handbook", HOME, children=(folder,)),
        "ancestors": (context.PageRef("a", None),),
        "prev": context.PageRef("before", HOME),
        "next": context.PageRef("after", "docs/handbook/-/wikis/c & d.html"),
        "backlinks": (context.PageRef("linking", HOME, "Handbook"),),
    }
    return {**values, **changes}


def write_files(folder: Path, files: dict[str, str]) -> Path:
    """Write texts below a folder, and give the folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def write_theme(folder: Path, files: dict[str, str], manifest: str = "") -> Path:
    """A theme's folder with a manifest; ``manifest`` adds lines to it."""
    header = MANIFEST.format(name=folder.name) + manifest
    return write_files(folder, {"theme.toml": header, **files})
