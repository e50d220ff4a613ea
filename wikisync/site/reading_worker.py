"""The process that parses the pages of a site, and keeps what a build takes of them."""

from wikisync.core.model import Format, Page, Slug
from wikisync.markup.page import parse_page
from wikisync.markup.worker import main
from wikisync.site.reading import reading_of

if __name__ == "__main__":
    # most pages need it, and its parent has other things to do now
    parse_page(Page(Slug("start"), Format.MARKDOWN, ""))
    main(reading_of)
