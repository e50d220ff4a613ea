"""The options of a site as text, of which keys and fingerprints are made.  Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wikisync.site.model import SiteOptions


def options_text(options: SiteOptions) -> str:
    """The options that pages depend on, as text; no path of this machine."""
    return repr(
        (
            options.title,
            options.url,
            options.lang,
            options.description,
            sorted(options.theme_options.items()),
            options.drop_prefix,
            options.nav_links_max,
            options.markup,
            options.has_report,
            options.sources,
            options.history,
        )
    )
