"""One build of ``benchmarks/site.py``, in a process that loads what a build loads."""

import gc
import sys
from pathlib import Path

from wikisync.core.model import WikiOwner
from wikisync.markup.record import MarkupOptions
from wikisync.site.build import build_site
from wikisync.site.model import SiteOptions, WikiSource


def main(wiki: str, work: str, engine: str) -> None:
    """Build a wiki's site in a folder, by one of the engines of markdown."""
    assert engine in {"auto", "markdown-it"}
    owner = WikiOwner("project", "docs/handbook")
    source = WikiSource(owner, "Handbook", folder=Path(wiki), visibility="public")
    markup = MarkupOptions(engine="auto" if engine == "auto" else "markdown-it")
    options = SiteOptions("Handbook", markup=markup)
    build_site([source], Path(work, "site"), options, cache=Path(work, "cache"))
    gc.freeze()  # as the command ends


if __name__ == "__main__":
    main(*sys.argv[1:])
