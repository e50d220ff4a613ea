"""The theme that a person asks for, in front of what a configuration says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from wikisync.site.model import SiteOptions


class ThemeChoice(Struct, frozen=True):
    """What ``--theme``, ``--no-report``, ``--compress`` and their like say."""

    theme: str | None = None
    options: Mapping[str, object] = {}
    templates: Path | None = None
    has_report: bool = True
    compress: bool = False

    def over(self, site: SiteOptions) -> SiteOptions:
        """The options of a site with this choice in front.

        Another theme knows nothing of the options for the one before.
        """
        before = site.theme_options if self.theme in {None, site.theme} else {}
        return replace(
            site,
            theme=self.theme or site.theme,
            theme_options={**before, **self.options},
            templates=self.templates or site.templates,
            has_report=self.has_report and site.has_report,
            compress=self.compress or site.compress,
        )
