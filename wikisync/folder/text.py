"""A page file's bytes and a page's text: what one has that the other may.  Pure."""

import codecs

from wikisync.core.model import Page, Problem, Slug
from wikisync.errors import FolderError


def decode_page(content: bytes, path: str) -> str | Problem:
    """A page file's text, line ends and all; a problem where it is none."""
    hint = "save it as UTF-8"
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return Problem("page-not-text", path, "is not UTF-8 but UTF-16", hint)
    if b"\x00" in content:
        what = "contains a NUL character, which a page cannot have"
        hint = "remove the character, or move the file into uploads"
        return Problem("page-not-text", path, what, hint)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as exc:
        what = f"is not UTF-8 at byte {exc.start}"
        return Problem("page-not-text", path, what, hint)


def encode_page(page: Page) -> bytes:
    """A page's text as its file's bytes, which ``decode_page`` will take."""
    if "\x00" in page.content:
        what = "a NUL character"
    else:
        try:
            return page.content.encode("utf-8")
        except UnicodeEncodeError:
            what = "half a character"
    raise FolderError(
        f"the page {page.slug} contains {what}, which a text file cannot have",
        hint="remove it on the wiki",
    )


def title_of(slug: Slug) -> str:
    """The service's display title: the slug's leaf with hyphens as spaces."""
    return slug.rpartition("/")[2].replace("-", " ")
