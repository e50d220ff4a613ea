"""The process that parses the pages of a site, and keeps what a build takes of them."""

from __future__ import annotations

from wikisync.markup.worker import main
from wikisync.site.reading import reading_of

if __name__ == "__main__":
    main(reading_of)
